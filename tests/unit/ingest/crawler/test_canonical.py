import pytest

from ingest.crawler.canonical import canonical_address


@pytest.mark.parametrize(
    ("written", "canonical"),
    [
        ("https://Esempio.IT/Febbre#top", "https://esempio.it/Febbre"),
        ("https://esempio.it", "https://esempio.it/"),
        ("https://esempio.it:443/a", "https://esempio.it/a"),
        ("http://esempio.it:8080/a", "http://esempio.it:8080/a"),
        ("https://esempio.it/a?utm_source=x&UTM_medium=y", "https://esempio.it/a"),
        ("https://esempio.it/a?fbclid=1&id=7&gclid=2&mc_eid=3&ref=home", "https://esempio.it/a?id=7"),
        ("https://esempio.it/a?b=2&a=1&b=1", "https://esempio.it/a?a=1&b=1&b=2"),
        ("https://esempio.it/a?vuoto=", "https://esempio.it/a?vuoto="),
        ("https://esempio.it/a;jsessionid=0A1B?x=1", "https://esempio.it/a?x=1"),
        ("https://esempio.it/a/../b/./c", "https://esempio.it/b/c"),
        ("https://esempio.it/perch%c3%a9", "https://esempio.it/perch%C3%A9"),
        ("https://esempio.it/perché", "https://esempio.it/perch%C3%A9"),
        ("https://esempio.it/a?riferimento=1", "https://esempio.it/a?riferimento=1"),
    ],
)
def test_an_address_has_one_spelling(written: str, canonical: str) -> None:
    assert canonical_address(written) == canonical
    assert canonical_address(canonical) == canonical


def test_a_slash_at_the_end_makes_another_page() -> None:
    assert canonical_address("https://esempio.it/febbre/") != canonical_address("https://esempio.it/febbre")


@pytest.mark.parametrize(
    "written",
    [
        "mailto:a@b.it",
        "javascript:void(0)",
        "https://",
        "https://io:segreto@esempio.it/",
        "http://[::1",
        "http://a.it:x/",
        "",
        "ftp://a.it/",
    ],
)
def test_what_is_no_web_address_has_none(written: str) -> None:
    assert canonical_address(written) is None


def test_an_absurdly_long_address_has_none() -> None:
    assert canonical_address(f"https://esempio.it/{'a' * 3000}") is None
