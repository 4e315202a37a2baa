from ingest.crawler.guard import HostHealth
from ingest.fetching import Fetch, Visit

URL = "https://a.it/x"


def visit(fetch: Fetch, reason: str | None = None) -> Visit:
    return Visit(url=URL, fetch=fetch, reason=reason)


def test_a_host_is_down_after_so_many_failures_in_a_row() -> None:
    health = HostHealth(2)
    health.note(visit(Fetch.FAILED, "timeout"))
    assert not health.is_down(URL)
    health.note(visit(Fetch.FAILED, "http_503"))
    assert health.is_down("https://a.it/altro")
    assert not health.is_down("https://b.it/")


def test_an_answer_ends_the_row_and_a_refusal_does_not() -> None:
    answered, refused = HostHealth(2), HostHealth(2)
    for health, between in ((answered, visit(Fetch.GONE)), (refused, visit(Fetch.REFUSED, "robots"))):
        health.note(visit(Fetch.FAILED, "timeout"))
        health.note(between)
        health.note(visit(Fetch.FAILED, "timeout"))
    assert not answered.is_down(URL)
    assert refused.is_down(URL)


def test_a_page_with_an_error_of_its_own_says_nothing_about_the_host() -> None:
    health = HostHealth(1)
    health.note(visit(Fetch.FAILED, "http_500"))
    assert not health.is_down(URL)


def test_a_host_that_is_down_stays_so() -> None:
    health = HostHealth(1)
    health.note(visit(Fetch.FAILED, "timeout"))
    health.note(visit(Fetch.FAILED, "host_down"))
    health.note(visit(Fetch.FETCHED))
    assert health.is_down(URL)
