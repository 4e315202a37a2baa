from datetime import date

import pytest

from ingest.extraction.dates import read_date
from locales.language import Language


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("2024-03-12", "it"),
        ("2024-03-12T10:00:00+01:00", "es"),
        ("Ultimo aggiornamento: 12/03/2024", "it"),
        ("12.3.2024", "it"),
        ("Revisado: 12-03-2024", "es"),
        ("12 marzo 2024", "it"),
        ("mar. 12 Marzo 2024 ore 10", "it"),
        ("12 de marzo de 2024", "es"),
        ("12 mar 2024", "it"),
        ("el 12 de marzo del 2024", "es"),
    ],
)
def test_dates_are_read_as_pages_write_them(text: str, language: str) -> None:
    assert read_date(text, Language(language)) == date(2024, 3, 12)


@pytest.mark.parametrize("text", ["", "ieri", "31/02/2024", "12 foo 2024", "2024", "99/99/2024", "tra 3 giorni", "12 ma 2024"])
def test_what_is_no_date_gives_none(text: str) -> None:
    assert read_date(text, Language.ITALIAN) is None


def test_first_of_a_month_in_italian_is_read() -> None:
    assert read_date("1º aprile 2023", Language.ITALIAN) == date(2023, 4, 1)
