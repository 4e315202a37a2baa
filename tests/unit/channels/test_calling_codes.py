import pytest

from channels.calling_codes import canonical, country_of


@pytest.mark.parametrize(
    ("number", "country"),
    [
        ("+393331234567", "IT"),
        ("+34600111222", "ES"),
        ("+5215512345678", "MX"),
        ("+5491112345678", "AR"),
        ("+50688887777", "CR"),
        ("+18095551234", "DO"),
        ("+14165551234", "CA"),
        ("+12125551234", "US"),
        ("+18765551234", None),
        ("+9991234567", None),
        ("", None),
    ],
)
def test_the_country_follows_from_the_longest_prefix(number: str, country: str | None) -> None:
    assert country_of(number) == country


@pytest.mark.parametrize(("one", "other"), [("+5215512345678", "+525512345678"), ("+5491112345678", "541112345678")])
def test_both_spellings_of_a_number_are_one_person(one: str, other: str) -> None:
    assert canonical(one) == canonical(other)


def test_other_numbers_keep_their_digits() -> None:
    assert canonical("+393331234567") == "393331234567"
