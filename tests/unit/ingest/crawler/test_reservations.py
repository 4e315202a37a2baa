import pytest

from ingest.crawler.reservations import is_nofollow, is_reserved


@pytest.mark.parametrize(
    "headers",
    [
        {"tdm-reservation": ["1"]},
        {"x-robots-tag": ["noindex"]},
        {"x-robots-tag": ["NOFOLLOW, NoIndex"]},
        {"x-robots-tag": ["none"]},
        {"x-robots-tag": ["noai, noimageai"]},
        {"x-robots-tag": ["googlebot: nofollow", "noindex"]},
        {"x-robots-tag": ["salus: noindex"]},
        {"x-robots-tag": ["googlebot: nofollow, salus: noai"]},
        {"x-robots-tag": ["unavailable_after: 25 Jun 2027 15:00:00 PST, noindex"]},
    ],
)
def test_a_page_may_be_reserved_by_its_headers(headers: dict[str, list[str]]) -> None:
    assert is_reserved(headers)


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"tdm-reservation": ["0"]},
        {"x-robots-tag": ["noarchive, nofollow"]},
        {"x-robots-tag": ["googlebot: noindex, nofollow"]},
        {"x-robots-tag": ["unavailable_after: 25 Jun 2027 15:00:00 PST"]},
    ],
)
def test_other_headers_reserve_nothing(headers: dict[str, list[str]]) -> None:
    assert not is_reserved(headers)


@pytest.mark.parametrize(("value", "claim"), [("nofollow", True), ("none", True), ("noindex", False), ("altri: nofollow", False)])
def test_links_are_not_followed_where_the_header_says_so(value: str, claim: bool) -> None:
    assert is_nofollow({"x-robots-tag": [value]}) is claim
