import json
from pathlib import Path

import pytest

from bot.evaluation.rating_returns import Key, Returned, read_returned
from bot.evaluation.shipped import SetUnreadable

KEY = Key(
    raters=("it-1",),
    answers={code: {"system": system, "id": "q1", "lang": "it"} for code, system in (("R001", "Fast"), ("R002", "No-RAG"))},
    pairs={"C001": {"a": "No-RAG", "b": "Fast", "id": "q1", "lang": "it"}},
)
HEADER = "valutatore;codice;domanda;risposta;accuratezza;pertinenza;completezza;chiarezza;coerenza;note\n"
FULL = "it-1;R001;d;r;5;4;3;2;1;\n"
PAIRS = "valutatore;codice;domanda;risposta A;risposta B;preferenza;note\n"


def returned(tmp_path: Path, *rows: str, header: str = HEADER, name: str = "it-1-scores.csv") -> Returned:
    (tmp_path / name).write_text(header + "".join(rows), encoding="utf-8")
    return read_returned([tmp_path], KEY)


def problems(found: Returned) -> list[str]:
    return [f"{one.line} {one.code} {one.detail}" for one in found.problems if "gave no" not in one.detail]


def test_scores_are_read_by_rater_code_and_aspect(tmp_path: Path) -> None:
    found = returned(tmp_path, FULL)
    assert found.scores["it-1", "R001", "accuracy"] == 5
    assert found.scores["it-1", "R001", "consistency"] == 1
    assert problems(found) == []


@pytest.mark.parametrize(
    ("cell", "detail"),
    [
        ("", "accuracy is missing"),
        ("6", "accuracy is '6', not a whole number from 0 to 5"),
        ("-1", "accuracy is '-1', not a whole number from 0 to 5"),
        ("3,5", "accuracy is '3,5', not a whole number from 0 to 5"),
        ("buono", "accuracy is 'buono', not a whole number from 0 to 5"),
        ("nan", "accuracy is 'nan', not a whole number from 0 to 5"),
    ],
)
def test_a_bad_score_is_named_and_the_others_of_its_row_count(tmp_path: Path, cell: str, detail: str) -> None:
    found = returned(tmp_path, f"it-1;R001;d;r;{cell};4;3;2;1;\n")
    assert problems(found) == [f"2 R001 {detail}"]
    assert len(found.scores) == 4


def test_an_unknown_code_is_named(tmp_path: Path) -> None:
    assert problems(returned(tmp_path, FULL, "it-1;R009;d;r;5;4;3;2;1;\n")) == ["3 R009 this code is of no answer in the key"]


def test_a_second_score_for_the_same_answer_is_named_and_the_first_counts(tmp_path: Path) -> None:
    found = returned(tmp_path, FULL, "it-1;r001;d;r;0;4;3;2;1;\n")
    assert problems(found) == ["3 R001 accuracy was 5 before; that one counts"]
    assert found.scores["it-1", "R001", "accuracy"] == 5


def test_what_a_rater_left_open_is_told(tmp_path: Path) -> None:
    found = returned(tmp_path, FULL, "it-1;R002;d;r;;;;;;\n")
    assert [one.detail for one in found.problems] == [
        "it-1 gave no scores for 1 of 2: R002",
        "it-1 gave no preferences for 1 of 1: C001",
    ]


def test_a_rater_without_a_name_is_called_by_the_file_and_one_that_the_key_does_not_know_counts_too(tmp_path: Path) -> None:
    found = returned(tmp_path, ";R001;d;r;5;4;3;2;1;\n", name="anna.csv")
    assert found.scores["anna", "R001", "accuracy"] == 5
    assert problems(found) == [
        "2 R001 no rater is named; counted as anna",
        "0  anna is no rater of the key; counted all the same",
    ]


@pytest.mark.parametrize(("cell", "choice"), [("A", "a"), ("b", "b"), ("=", "="), ("'=", "="), ("uguali", "="), ("Iguales", "=")])
def test_preferences_are_read(tmp_path: Path, cell: str, choice: str) -> None:
    found = returned(tmp_path, f"it-1;C001;d;x;y;{cell};\n", header=PAIRS)
    assert found.preferences == {("it-1", "C001"): choice}


def test_a_preference_for_neither_letter_is_named(tmp_path: Path) -> None:
    (tmp_path / "scores.csv").write_text(HEADER + FULL, encoding="utf-8")
    assert problems(returned(tmp_path, "it-1;C001;d;x;y;C;\n", header=PAIRS, name="p.csv")) == [
        "2 C001 the preference 'C' is none of A, B and ="
    ]


def test_spanish_titles_other_delimiters_and_encodings_of_spreadsheets_are_understood(tmp_path: Path) -> None:
    header = "evaluador,código,exactitud,pertinencia,exhaustividad,claridad,coherencia\n"
    (tmp_path / "x.csv").write_bytes((header + 'it-1,R001,"5,0",4,3,2,1\n').encode("cp1252"))
    found = read_returned([tmp_path / "x.csv"], KEY)
    assert found.scores["it-1", "R001", "accuracy"] == 5
    assert problems(found) == []


def test_a_file_without_a_column_is_named_and_the_others_count(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("valutatore;codice;accuratezza\nit-1;R001;5\n", encoding="utf-8")
    found = returned(tmp_path, FULL)
    assert problems(found) == [
        "0  has no column for relevance, completeness, clarity, consistency; nothing of it counts",
    ]
    assert len(found.scores) == 5


def test_a_short_row_lacks_its_last_scores(tmp_path: Path) -> None:
    assert problems(returned(tmp_path, "it-1;R001;d;r;5;4\n")) == [
        f"2 R001 {aspect} is missing" for aspect in ("completeness", "clarity", "consistency")
    ]


@pytest.mark.parametrize("rows", ["", "it-1;R001;d;r;;;;;;\n"])
def test_sheets_without_any_score_are_refused(tmp_path: Path, rows: str) -> None:
    with pytest.raises(SetUnreadable, match="No score and no preference"):
        returned(tmp_path, rows)


def test_no_sheet_at_all_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SetUnreadable, match="There is no sheet"):
        read_returned([tmp_path], KEY)


@pytest.mark.parametrize("text", ["", "[]", '{"raters": []}'])
def test_a_file_that_is_no_key_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "key.json").write_text(text, encoding="utf-8")
    with pytest.raises(SetUnreadable, match="is no key of sheets"):
        Key.read(tmp_path / "key.json")


def test_a_key_is_read(tmp_path: Path) -> None:
    told = {"seed": 0, "raters": ["it-1"], "answers": dict(KEY.answers), "pairs": dict(KEY.pairs)}
    (tmp_path / "key.json").write_text(json.dumps(told), encoding="utf-8")
    assert Key.read(tmp_path / "key.json") == KEY
