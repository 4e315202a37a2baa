import csv
import json
from pathlib import Path

import pytest

from bot.evaluation.rating_sheets import RecordedAnswer, SheetsRefused, draw_sheets, read_answers, write_sheets
from bot.evaluation.rating_words import ASPECTS, rating_words
from bot.evaluation.shipped import SetUnreadable
from locales.language import Language

ITALIAN, SPANISH = Language.ITALIAN, Language.SPANISH


def answer(system: str, question: str = "q1", language: Language = ITALIAN, text: str = "La tosse passa.") -> RecordedAnswer:
    return RecordedAnswer(system=system, question_id=question, language=language, question=f"Domanda {question}?", text=text)


ANSWERS = [
    answer(system, f"{language.value}{number}", language, f"{system} {number}")
    for system in ("Fast", "No-RAG")
    for language in Language
    for number in range(4)
]


def cells(path: Path) -> list[list[str]]:
    return list(csv.reader(path.read_text(encoding="utf-8-sig").splitlines(), delimiter=";"))


def test_records_are_read_and_other_lines_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "compare.jsonl"
    record = {"system": "Fast", "id": "q1", "lang": "es", "question": "¿Y la tos?", "text": "Pasa."}
    path.write_text('{"generator": "x"}\n\n' + json.dumps(record) + '\n{"system": "Fa', encoding="utf-8")

    assert read_answers([path]) == [
        RecordedAnswer(system="Fast", question_id="q1", language=SPANISH, question="¿Y la tos?", text="Pasa.")
    ]


def test_a_file_without_answers_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text('{"id": "q1"}\n', encoding="utf-8")
    with pytest.raises(SetUnreadable, match=r"x\.jsonl holds no answer"):
        read_answers([tmp_path / "x.jsonl"])


def test_nothing_on_a_sheet_tells_the_system(tmp_path: Path) -> None:
    answers = [answer(one.system, one.question_id, one.language, "Uguale.") for one in ANSWERS]

    written = write_sheets(draw_sheets(answers), tmp_path / "sheets", tmp_path / "key.json")

    assert len(written) == 2 * 3 * 3
    for path in written:
        assert "Fast" not in path.read_text(encoding="utf-8")
        assert "RAG" not in path.read_text(encoding="utf-8")


def test_the_key_tells_it_of_every_code(tmp_path: Path) -> None:
    write_sheets(draw_sheets(ANSWERS, raters=1), tmp_path / "sheets", tmp_path / "key.json")

    key = json.loads((tmp_path / "key.json").read_text(encoding="utf-8"))
    header, *rows = cells(tmp_path / "sheets" / "es-1-scores.csv")

    assert header[:4] == ["evaluador", "código", "pregunta", "respuesta"]
    assert len(rows) == 8
    for row in rows:
        one = key["answers"][row[1]]
        assert row[3] == f"{one['system']} {one['id'][-1]}"
        assert row[4:] == [""] * (len(ASPECTS) + 1)
    _, *pairs = cells(tmp_path / "sheets" / "es-1-preferences.csv")
    assert [row[3] for row in pairs] == [f"{key['pairs'][row[1]]['a']} {key['pairs'][row[1]]['id'][-1]}" for row in pairs]


def test_each_rater_has_an_order_of_their_own_and_a_seed_gives_the_same_sheets(tmp_path: Path) -> None:
    for name in ("one", "two"):
        write_sheets(draw_sheets(ANSWERS, seed=7), tmp_path / name, tmp_path / f"{name}.json")

    first, second = (cells(tmp_path / "one" / f"it-{number}-scores.csv") for number in (1, 2))
    assert {row[1] for row in first[1:]} == {row[1] for row in second[1:]}
    assert [row[1] for row in first] != [row[1] for row in second]
    assert first == cells(tmp_path / "two" / "it-1-scores.csv")


def test_a_system_stands_first_and_second_in_pairs() -> None:
    many = [answer(system, f"q{number}") for system in ("Fast", "No-RAG") for number in range(40)]
    first = [pair.a.system for pair in draw_sheets(many).pairs.values()]
    assert 8 < first.count("Fast") < 32


def test_a_limit_is_of_questions_a_language() -> None:
    sheets = draw_sheets(ANSWERS, limit=1)
    assert len(sheets.answers) == 4
    assert len({one.question_id for one in sheets.answers.values()}) == 2


def test_questions_that_one_system_did_not_answer_are_left_out() -> None:
    sheets = draw_sheets([answer("Fast", "q1"), answer("Fast", "q2"), answer("No-RAG", "q2")])
    assert {one.question_id for one in sheets.answers.values()} == {"q2"}


def test_a_refusal_is_shown_as_one(tmp_path: Path) -> None:
    write_sheets(draw_sheets([answer("Fast", text=""), answer("No-RAG")], raters=1), tmp_path / "s", tmp_path / "key.json")
    assert "(nessuna risposta" in (tmp_path / "s" / "it-1-scores.csv").read_text(encoding="utf-8")


def test_an_answer_that_looks_like_a_formula_is_none_for_a_spreadsheet(tmp_path: Path) -> None:
    answers = [answer("Fast", text="=HYPERLINK(1)"), answer("No-RAG")]
    write_sheets(draw_sheets(answers, raters=1), tmp_path / "s", tmp_path / "key.json")
    assert ";'=HYPERLINK(1);" in (tmp_path / "s" / "it-1-scores.csv").read_text(encoding="utf-8")


@pytest.mark.parametrize("systems", [["Fast"], ["Fast", "Slow"]])
def test_two_systems_that_exist_are_needed(systems: list[str]) -> None:
    with pytest.raises(SheetsRefused):
        draw_sheets(ANSWERS, systems=systems)


def test_a_key_among_the_sheets_is_refused_and_nothing_is_overwritten(tmp_path: Path) -> None:
    sheets = draw_sheets(ANSWERS, raters=1)
    with pytest.raises(SheetsRefused, match="raters must not see it"):
        write_sheets(sheets, tmp_path / "s", tmp_path / "s" / "keys" / "key.json")
    write_sheets(sheets, tmp_path / "s", tmp_path / "key.json")
    before = (tmp_path / "key.json").read_bytes()

    for folder, key in (("s", "other.json"), ("t", "key.json")):
        with pytest.raises(SheetsRefused, match="nothing is overwritten"):
            write_sheets(sheets, tmp_path / folder, tmp_path / key)
    assert (tmp_path / "key.json").read_bytes() == before


def test_both_languages_have_the_same_words() -> None:
    italian, spanish = (rating_words(language) for language in Language)
    assert italian.columns.keys() == spanish.columns.keys()
    assert italian.meanings.keys() == spanish.meanings.keys() == set(ASPECTS)
    for words in (italian, spanish):
        assert "{file}" in words.introduction
        assert "{file}" in words.pairs_introduction
        assert "=" in words.equal
