"""Personal and general sentences of answers in forums, read from lists that a clinician can check."""

from pathlib import Path

import pytest

from locales.language import Language
from rag.personal_advice import is_personal

_EXAMPLES = Path(__file__).parent / "personal_advice_examples.tsv"
_FEWEST = {"personal": 120, "general": 80}
_GENERAL_FLOOR = 0.85


def _examples(label: str, language: Language) -> list[str]:
    rows = [line.split("\t") for line in _EXAMPLES.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    return [text for kind, code, text in rows if kind == label and code == language]


_PERSONAL = [(language, text) for language in Language for text in _examples("personal", language)]


@pytest.mark.parametrize(("language", "sentence"), _PERSONAL)
def test_a_sentence_to_one_person_is_personal(language: Language, sentence: str) -> None:
    assert is_personal(sentence, language)


@pytest.mark.parametrize(("language", "sentence"), _PERSONAL)
def test_a_personal_sentence_stays_so_in_capitals_and_without_accents(language: Language, sentence: str) -> None:
    plain = sentence.translate(str.maketrans("àèéìòùáíóú", "aeeiouaiou"))

    assert is_personal(sentence.upper(), language)
    assert is_personal(plain, language)


@pytest.mark.parametrize("language", Language)
@pytest.mark.parametrize("label", _FEWEST)
def test_there_are_enough_examples_and_none_stands_twice(label: str, language: Language) -> None:
    examples = _examples(label, language)

    assert len(examples) >= _FEWEST[label]
    assert len(examples) == len(set(examples))


@pytest.mark.parametrize("language", Language)
def test_most_general_sentences_are_general(language: Language) -> None:
    general = _examples("general", language)
    passed = [sentence for sentence in general if not is_personal(sentence, language)]

    assert len(passed) / len(general) >= _GENERAL_FLOOR, [sentence for sentence in general if sentence not in passed]


def test_one_personal_sentence_makes_a_list_personal() -> None:
    assert not is_personal("La gastrite è un'infiammazione della mucosa dello stomaco.", Language.ITALIAN)
    assert is_personal("La gastrite è un'infiammazione della mucosa. Riposo; molta acqua.", Language.ITALIAN)


@pytest.mark.parametrize("sentence", ["", "…", "La gastrite", "La gastrite è frequente:", "La gastrite è frequente?"])
def test_what_is_no_whole_statement_is_personal(sentence: str) -> None:
    assert is_personal(sentence, Language.ITALIAN)
    assert is_personal(sentence, Language.SPANISH)
