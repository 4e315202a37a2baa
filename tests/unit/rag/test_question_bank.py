"""Which questions of the bank an index covers, and which of them a question resembles."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from locales.language import Language
from rag.question_bank import COVERED, OPEN, UNCOVERED, AnsweredBank, BankQuestion, bank, pages_on, uncovered_names

IT, ES = Language.ITALIAN, Language.SPANISH

_FEWEST_QUESTIONS = 1_500


def asked(*names: str, text: str = "che cos'è?") -> BankQuestion:
    return BankQuestion(topic="topic", names=names, text=text)


def found(names: Sequence[str], *titles: str, language: Language = IT, synonyms: Sequence[str] = ()) -> tuple[set[int], int]:
    pages = [(title, synonyms) for title in titles]
    on_topic, labels = pages_on([asked(*names)], pages, language)
    return set(on_topic[0]), int(labels[0])


def answered(*cosines_and_labels: tuple[float, int]) -> AnsweredBank:
    """A bank whose questions have these cosines to the vector (1, 0)."""
    cosines = np.array([cosine for cosine, _ in cosines_and_labels], dtype=np.float32)
    return AnsweredBank(
        vectors=np.stack([cosines, np.sqrt(1.0 - cosines**2)], axis=1),
        labels=np.array([label for _, label in cosines_and_labels], dtype=np.int8),
    )


VECTOR = np.array([1.0, 0.0], dtype=np.float32)


@pytest.mark.parametrize("language", Language)
def test_the_bank_of_a_language_is_large(language: Language) -> None:
    assert len(bank(language)) >= _FEWEST_QUESTIONS


@pytest.mark.parametrize("language", Language)
def test_no_question_of_a_bank_is_written_twice(language: Language) -> None:
    texts = [question.text.casefold() for question in bank(language)]

    assert len(texts) == len(set(texts))


@pytest.mark.parametrize("language", Language)
def test_every_question_says_something_without_blanks_around(language: Language) -> None:
    fields = [field for question in bank(language) for field in (question.topic, question.text, *question.names)]

    assert [field for field in fields if field != field.strip()] == []
    assert all(question.text for question in bank(language))


@pytest.mark.parametrize("language", Language)
def test_a_topic_of_health_has_names_and_what_is_off_topic_has_none(language: Language) -> None:
    assert [question.text for question in bank(language) if bool(question.topic) != bool(question.names)] == []
    assert {bool(question.topic) for question in bank(language)} == {True, False}


@pytest.mark.parametrize("language", Language)
def test_a_topic_has_the_same_names_in_all_its_questions(language: Language) -> None:
    named = {(question.topic, question.names) for question in bank(language)}

    assert len(named) == len({topic for topic, _ in named})


def test_both_languages_ask_about_questions_that_no_page_answers() -> None:
    assert all(pages_on(bank(language), [], language)[1].tolist() == [UNCOVERED] * len(bank(language)) for language in Language)


@pytest.mark.parametrize(
    ("language", "name", "title"),
    [
        (IT, "calcoli renali", "Calcoli renali"),
        (IT, "calcolo renale", "I calcoli renali e la colica"),
        (IT, "calcoli renali", "Colica renale da calcolo"),
        (ES, "cálculos renales", "Cálculos renales"),
        (ES, "cálculo renal", "Los cálculos renales y el cólico"),
        (ES, "cálculos renales", "Cólico renal por cálculo"),
    ],
)
def test_a_page_is_found_by_the_words_of_its_title_in_any_order_and_form(language: Language, name: str, title: str) -> None:
    assert found([name], "Febbre", title, language=language) == ({1}, COVERED)


@pytest.mark.parametrize(("language", "name", "title"), [(IT, "calcoli renali", "Calcoli"), (ES, "cálculos renales", "Cálculos")])
def test_a_page_without_one_of_the_words_is_not_on_the_topic(language: Language, name: str, title: str) -> None:
    assert found([name], title, language=language) == (set(), UNCOVERED)


def test_words_of_two_titles_make_no_page() -> None:
    assert found(["calcoli renali"], "Calcoli biliari", "Colica renale") == (set(), UNCOVERED)


def test_one_of_the_names_is_enough_and_every_page_so_titled_is_found() -> None:
    assert found(["cefalea", "emicrania"], "Emicrania", "Febbre", "Cefalea tensiva") == ({0, 2}, COVERED)


@pytest.mark.parametrize(
    ("language", "title", "synonym", "name"),
    [(IT, "Mal di testa", "Emicranie", "emicrania"), (ES, "Dolor de cabeza", "Las jaquecas", "jaqueca")],
)
def test_a_topic_that_is_only_another_name_of_a_page_stays_open(language: Language, title: str, synonym: str, name: str) -> None:
    assert found([name], title, language=language, synonyms=[synonym]) == (set(), OPEN)


def test_a_synonym_that_says_more_than_the_name_tells_nothing() -> None:
    assert found(["emicrania"], "Mal di testa", synonyms=["emicrania con aura"]) == (set(), UNCOVERED)


def test_a_question_off_topic_is_covered_by_no_page() -> None:
    assert found([], "Febbre", synonyms=["", "di"]) == (set(), UNCOVERED)


def test_a_name_without_a_word_of_its_own_is_on_no_page() -> None:
    assert found(["di"], "Febbre", synonyms=["di"]) == (set(), UNCOVERED)


def test_what_is_found_comes_in_the_order_of_the_questions() -> None:
    questions = [asked("tosse"), asked(), asked("febbre"), asked("tosse", text="quanto dura?")]

    on_topic, labels = pages_on(questions, [("Febbre", ["tosse"]), ("Febbre alta", [])], IT)

    assert on_topic == [set(), set(), {0, 1}, set()]
    assert labels.tolist() == [OPEN, UNCOVERED, COVERED, OPEN]


@pytest.mark.parametrize(("covered", "uncovered"), [(0.9, 0.5), (0.5, 0.9)])
def test_a_question_leans_to_the_kind_that_it_is_nearer_to(covered: float, uncovered: float) -> None:
    lean = answered((covered, COVERED), (uncovered, UNCOVERED)).lean(VECTOR)

    assert lean == pytest.approx(covered - uncovered, abs=1e-6)


def test_only_the_three_nearest_of_each_kind_count() -> None:
    covered = [(cosine, COVERED) for cosine in (0.1, 0.9, 0.8, 0.4)]
    uncovered = [(cosine, UNCOVERED) for cosine in (0.6, 0.5, 0.0, 0.4)]

    assert answered(*covered, *uncovered).lean(VECTOR) == pytest.approx(0.7 - 0.5, abs=1e-6)


def test_a_question_of_the_bank_is_not_judged_by_itself() -> None:
    covered = [(1.0, COVERED), (0.6, COVERED), (0.6, COVERED), (0.6, COVERED)]

    assert answered(*covered, (0.6, UNCOVERED)).lean(VECTOR, without=0) == pytest.approx(0.0, abs=1e-6)


def test_an_open_question_counts_on_neither_side() -> None:
    assert answered((0.8, COVERED), (0.5, UNCOVERED), (1.0, OPEN)).lean(VECTOR) == pytest.approx(0.3, abs=1e-6)


@pytest.mark.parametrize("label", [COVERED, UNCOVERED, OPEN])
def test_without_questions_of_both_kinds_nothing_leans(label: int) -> None:
    assert answered((0.9, label), (0.8, OPEN)).lean(VECTOR) == 0.0


@pytest.mark.parametrize("label", [COVERED, UNCOVERED])
def test_a_question_that_alone_is_of_its_kind_leans_nowhere(label: int) -> None:
    assert answered((1.0, label), (0.8, -label)).lean(VECTOR, without=0) == 0.0


def uncovered(
    *topics: Sequence[str], titles: Sequence[str] = (), synonyms: Sequence[str] = (), language: Language = IT
) -> AnsweredBank:
    """A bank of these topics, as an index with these pages knows it; `synonyms` are the first page's."""
    questions = [asked(*names) for names in topics]
    pages = [(title, synonyms if place == 0 else ()) for place, title in enumerate(titles)]
    _, labels = pages_on(questions, pages, language)
    return replace(answered(), uncovered=uncovered_names(questions, labels, pages, language))


@pytest.mark.parametrize(
    ("language", "names", "question"),
    [
        (IT, ("endometriosi",), "Endometriosi e fertilità"),
        (IT, ("gambe senza riposo",), "la sera ho le gambe che non trovano riposo, senza tregua"),
        (IT, ("calcolo salivare",), "calcoli salivari, si tolgono?"),
        (ES, ("piernas inquietas",), "piernas inquietas"),
        (ES, ("hongos en las uñas",), "hongos uñas pies"),
        (ES, ("noche en vela",), "noches en vela"),
        (ES, ("zumbido en el oído",), "ZUMBIDOS OIDOS"),
    ],
)
def test_a_question_that_names_an_uncovered_topic_is_known(language: Language, names: Sequence[str], question: str) -> None:
    assert uncovered(names, titles=["Fiebre"], language=language).names_uncovered(question, language)


@pytest.mark.parametrize(
    ("language", "names", "question"),
    [
        (IT, ("mania",), "mi fa male la mano"),
        (IT, ("calcolo salivare",), "ho un calcolo al rene"),
        (ES, ("duelo",), "me duele la cabeza"),
        (ES, ("TOC",), "cuándo me toca la vacuna"),
        (ES, ("ano",), "tengo un año con tos"),
        (ES, ("en el",), "en el pie"),
    ],
)
def test_what_only_resembles_the_name_of_a_topic_names_none(language: Language, names: Sequence[str], question: str) -> None:
    assert not uncovered(names, titles=["Fiebre"], language=language).names_uncovered(question, language)


@pytest.mark.parametrize(
    ("titles", "synonyms"), [(["Fiebre"], ()), (["Tos"], ("calentura",)), (["Tos"], ("Calenturas",)), (["La calentura"], ())]
)
def test_a_name_of_a_page_names_nothing_uncovered(titles: Sequence[str], synonyms: Sequence[str]) -> None:
    known = uncovered(("fiebre", "calentura"), ("paludismo", "calentura"), titles=titles, synonyms=synonyms, language=ES)

    assert not known.names_uncovered("tengo calentura", ES)


def test_a_name_of_two_topics_names_the_covered_one() -> None:
    known = uncovered(("fiebre", "calentura"), ("paludismo", "calentura"), titles=["Fiebre"], language=ES)

    assert not known.names_uncovered("tengo calentura", ES)
    assert known.names_uncovered("tengo paludismo", ES)
