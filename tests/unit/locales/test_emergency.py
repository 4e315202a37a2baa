"""Which number, in which country, at which hour."""

from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from locales.emergency import DirectoryError, EmergencyDirectory, LineKind
from locales.language import Language

IT, ES = Language.ITALIAN, Language.SPANISH


@pytest.fixture(scope="module")
def directory() -> EmergencyDirectory:
    return EmergencyDirectory.load()


@pytest.mark.parametrize(
    ("country", "number"), [("IT", "112"), ("ES", "112"), ("MX", "911"), ("AR", "911"), ("CO", "123"), ("US", "911")]
)
def test_each_country_has_its_number(directory: EmergencyDirectory, country: str, number: str) -> None:
    assert directory.emergency_number(country, IT) == directory.emergency_number(country, ES) == number


@pytest.mark.parametrize("country", [None, "", "FR", "CH"])
def test_an_unknown_country_still_has_a_number(directory: EmergencyDirectory, country: str | None) -> None:
    assert directory.emergency_number(country, IT) == "112"
    assert directory.emergency_number(country, ES) == "112 en España; 911 en México, Argentina y Estados Unidos; 123 en Colombia"


@pytest.mark.parametrize(
    ("number", "country"),
    [
        ("+393331234567", "IT"),
        ("0034600000000", "ES"),
        ("whatsapp:+5215512345678", "MX"),
        ("+5491122334455", "AR"),
        ("+573001234567", "CO"),
        ("+12025550100", "US"),
        ("+41791234567", "CH"),
        ("+33123456789", None),
        ("3331234567", None),
        ("", None),
        ("+", None),
    ],
)
def test_the_country_follows_from_the_prefix(directory: EmergencyDirectory, number: str, country: str | None) -> None:
    assert directory.country_from_phone_prefix(number) == country


@pytest.mark.parametrize(
    ("hour", "is_open"),
    [((2026, 1, 10, 7, 59), False), ((2026, 1, 10, 8, 0), True), ((2026, 1, 10, 22, 59), True), ((2026, 1, 10, 23, 0), False)],
)
def test_the_italian_crisis_line_is_open_from_nine_to_midnight(
    directory: EmergencyDirectory, hour: tuple[int, int, int, int, int], is_open: bool
) -> None:
    assert bool(directory.open_lines("IT", LineKind.CRISIS, datetime(*hour, tzinfo=UTC))) is is_open


def test_a_line_of_unknown_hours_is_never_among_the_open_ones(directory: EmergencyDirectory) -> None:
    now = datetime(2026, 1, 10, 12, tzinfo=UTC)

    for code in directory.countries:
        for kind in LineKind:
            assert not set(directory.open_lines(code, kind, now)) & set(directory.lines_of_unknown_hours(code, kind))


@pytest.mark.parametrize("country", ["MX", "CO"])
def test_no_poison_centre_is_offered_where_none_was_verified(directory: EmergencyDirectory, country: str) -> None:
    assert directory.lines(country, LineKind.POISON) == ()


def test_every_line_names_its_source_and_no_date_lies_in_the_future(directory: EmergencyDirectory) -> None:
    for code in directory.countries:
        for line in directory.lines(code):
            assert line.source.startswith("http")
            assert line.verified_on[:4] <= str(date.today().year)  # noqa: DTZ011 (a year is enough)


@pytest.mark.parametrize(
    "content", ["", "[countries]", "nonsense [", "[countries.IT]\ntime_zone = 'Nowhere/None'\nphone_prefix = '39'\nlines = []"]
)
def test_an_unusable_table_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "numbers.toml"
    path.write_text(content, encoding="utf-8")

    with pytest.raises(DirectoryError):
        EmergencyDirectory.load(path)
