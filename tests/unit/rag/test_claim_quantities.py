import pytest

from locales.language import Language
from rag.claim_quantities import quantity
from rag.claim_words import ParaphraseWords
from rag.claims import words_of


def key(text: str, language: Language = Language.ITALIAN) -> str | None:
    found = quantity(words_of(text), 0, ParaphraseWords.load(language).units)
    return found.key if found else None


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("0,5 g", "500 mg"),
        ("0.5 g", "0,5 g"),
        ("24 ore", "un giorno"),
        ("7 giorni", "una settimana"),
        ("12 mesi", "un anno"),
        ("5–7 giorni", "da 5 a 7 giorni"),
        ("tra 5 e 7 giorni", "da cinque a sette giorni"),
        ("1.000 mg", "1 g"),
        ("39 °C", "39 gradi"),
    ],
)
def test_one_quantity_has_one_key(one: str, other: str) -> None:
    assert key(one) is not None
    assert key(one) == key(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("5 mg", "5 mcg"),
        ("5 mg", "5 ml"),
        ("1,5 mg", "15 mg"),
        ("1 mg", "1.000 mg"),
        ("5–7 giorni", "5–9 giorni"),
        ("1 o 2 settimane", "da 1 a 2 settimane"),
        ("3 giorni", "3 ore"),
        ("10 %", "10"),
        ("140/90 mmhg", "150/90 mmhg"),
        ("un mese", "30 giorni"),
    ],
)
def test_another_quantity_has_another_key(one: str, other: str) -> None:
    assert key(one) != key(other)


@pytest.mark.parametrize("text", ["un medico", "da un medico", "la febbre", "una o"])
def test_an_article_is_no_number(text: str) -> None:
    assert key(text) is None
