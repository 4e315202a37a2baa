import json
from pathlib import Path
from typing import Any

import pytest

from bot.evaluation.shipped import Half, SetUnreadable
from bot.evaluation.simulated_patient import Case, Fact, SimulatedPatient, read_cases
from locales.language import Language
from rag.intake_features import ReplyKind

IT = (
    Fact(words=("tosse", "tossire", "starnuto"), has=True, reply="sì, se tossisco mi parte una scossa"),
    Fact(words=("febbre", "temperatura", "brividi"), has=False, reply="no, 36 e mezzo"),
    Fact(words=("cominciato", "quando", "settimane"), has=True, reply="da due settimane"),
    Fact(words=("gamba", "coscia", "scende"), has=True, reply="scende fino al polpaccio"),
)
ES = (
    Fact(words=("tos", "toser", "estornudo"), has=True, reply="si toso me da un latigazo"),
    Fact(words=("fiebre", "calentura"), has=False, reply="no, fiebre nada"),
    Fact(words=("apetito", "comer", "comes"), has=True, reply="no me entra la comida"),
)


def patient(*facts: Fact, language: Language = Language.ITALIAN) -> SimulatedPatient:
    case = Case(case_id="1", language=language, condition="sciatica", opening="…", facts=facts, story="…")
    return SimulatedPatient(case)


@pytest.mark.parametrize(
    ("language", "facts", "question", "kind", "fact"),
    [
        (Language.ITALIAN, IT, "Tossendo il dolore aumenta?", ReplyKind.YES, 0),
        (Language.ITALIAN, IT, "Ha la febbre?", ReplyKind.NO, 1),
        (Language.ITALIAN, IT, "Il dolore scende lungo le gambe?", ReplyKind.YES, 3),
        (Language.ITALIAN, IT, "Le prude la pelle?", ReplyKind.UNSURE, None),
        (Language.SPANISH, ES, "¿Le duele más con la tos?", ReplyKind.YES, 0),
        (Language.SPANISH, ES, "¿Tiene fiebre?", ReplyKind.NO, 1),
        (Language.SPANISH, ES, "¿Le pica la piel?", ReplyKind.UNSURE, None),
    ],
)
def test_a_question_is_answered_by_the_fact_whose_words_it_has_in_any_inflection(
    language: Language, facts: tuple[Fact, ...], question: str, kind: ReplyKind, fact: int | None
) -> None:
    reply = patient(*facts, language=language).reply(question)

    assert (reply.kind, reply.fact) == (kind, fact)


@pytest.mark.parametrize(
    ("language", "facts", "question", "text"),
    [
        (Language.ITALIAN, IT, "Ha brividi?", "no, 36 e mezzo"),
        (Language.ITALIAN, IT, "Ha il naso chiuso?", "non so"),
        (Language.SPANISH, ES, "¿Estornuda?", "si toso me da un latigazo"),
        (Language.SPANISH, ES, "¿Tiene la nariz tapada?", "no sé"),
    ],
)
def test_in_its_own_words_the_patient_says_what_the_case_has_it_say(
    language: Language, facts: tuple[Fact, ...], question: str, text: str
) -> None:
    assert patient(*facts, language=language).reply(question).text == text


def test_the_fact_that_shares_most_words_answers() -> None:
    one, more = Fact(words=("gola",), has=False, reply="no"), Fact(words=("placche", "bianche"), has=True, reply="sì, bianche")

    assert patient(one, more).reply("Vede placche bianche in gola?").fact == 1


def test_of_equals_the_first_answers() -> None:
    assert patient(IT[1], IT[0]).reply("Ha tosse o febbre?").fact == 0


@pytest.mark.parametrize(
    ("language", "facts", "question"),
    [(Language.ITALIAN, IT, "È cominciato all'improvviso?"), (Language.SPANISH, ES, "¿Duele como un latido?")],
)
def test_words_that_only_ask_are_about_no_fact(language: Language, facts: tuple[Fact, ...], question: str) -> None:
    assert patient(*facts, language=language).reply(question).kind is ReplyKind.UNSURE


def test_who_has_a_part_of_what_is_asked_does_not_say_yes_to_the_whole() -> None:
    feverish = Fact(words=("febbre",), has=True, reply="sì, 38")

    assert patient(feverish).reply("Ha febbre e il collo così rigido che non lo piega?").kind is ReplyKind.UNSURE


def test_who_lacks_a_part_of_what_is_asked_says_no_to_the_whole() -> None:
    assert patient(IT[1]).reply("Ha febbre e il collo così rigido che non lo piega?").kind is ReplyKind.NO


def test_a_patient_without_facts_knows_nothing() -> None:
    assert patient().reply("Ha la febbre?").kind is ReplyKind.UNSURE


@pytest.mark.parametrize(
    ("language", "facts", "choices", "place"),
    [
        (Language.ITALIAN, IT, ("alla schiena", "alla gamba"), 1),
        (Language.ITALIAN, IT, ("febbre", "prurito"), None),
        (Language.SPANISH, ES, ("con fiebre", "al estornudar"), 1),
        (Language.SPANISH, ES, ("la piel", "los ojos"), None),
    ],
)
def test_the_choice_is_taken_that_shares_most_with_something_that_the_patient_has(
    language: Language, facts: tuple[Fact, ...], choices: tuple[str, ...], place: int | None
) -> None:
    assert patient(*facts, language=language).choose(choices) == place


def test_a_case_tells_what_the_patient_has_and_not_what_it_lacks() -> None:
    case = patient(IT[0], IT[1], IT[3]).case

    assert case.told == "sì, se tossisco mi parte una scossa\nscende fino al polpaccio"


# The halves that ship.


@pytest.mark.parametrize("half", Half)
def test_each_half_has_the_same_number_of_cases_a_language_and_a_condition_each(half: Half) -> None:
    cases = read_cases(half)

    for language in Language:
        own = [case.condition for case in cases if case.language is language]
        assert len(own) == len(set(own)) == 33


def test_languages_take_turns_so_that_few_cases_are_of_both() -> None:
    assert [case.language for case in read_cases(Half.DEV, 4)] == [Language.ITALIAN, Language.SPANISH] * 2


def test_no_case_is_in_both_halves() -> None:
    halves = [{case.opening for case in read_cases(half)} | {case.case_id for case in read_cases(half)} for half in Half]

    assert not halves[0] & halves[1]


@pytest.mark.parametrize("half", Half)
def test_each_case_has_at_least_four_facts_of_either_kind(half: Half) -> None:
    for case in read_cases(half):
        has = [fact.has for fact in case.facts]
        assert min(has.count(True), has.count(False)) >= 4, case.case_id


def write(folder: Path, **changes: Any) -> None:
    row = {"id": "1", "lang": "it", "condition": "gout", "opening": "…", "facts": [], "story": "…"} | changes
    for language in Language:
        told = row | {"id": f"{row['id']}-{language.value}"} | ({} if "lang" in changes else {"lang": language.value})
        (folder / f"{language.value}.jsonl").write_text(json.dumps(told) + "\n", encoding="utf-8")


@pytest.mark.parametrize("changes", [{"facts": [{"words": ["tosse"], "has": True}]}, {"facts": ["tosse"]}, {"lang": "es"}])
def test_a_malformed_case_is_refused(changes: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, **changes)
    monkeypatch.setattr("bot.evaluation.simulated_patient.dialogue_cases", lambda lang, _: tmp_path / f"{lang.value}.jsonl")

    with pytest.raises(SetUnreadable):
        read_cases(Half.DEV)
