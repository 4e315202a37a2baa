from datetime import UTC, datetime
from time import monotonic
from types import SimpleNamespace
from typing import Any

import pytest
from scrapy import Request
from scrapy.core.downloader import Slot
from scrapy.http import Response
from scrapy.robotstxt import ProtegoRobotParser
from scrapy.settings import Settings

from ingest.crawler.pace import Pace, retry_after_s

NOW = datetime(2026, 1, 1, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("120", 120.0),
        ("-5", 0.0),
        ("999999", 999999.0),
        ("Thu, 01 Jan 2026 12:01:30 GMT", 90.0),
        ("Thu, 01 Jan 2026 11:00:00 GMT", 0.0),
        ("Thursday, 01-Jan-26 12:00:30 GMT", 30.0),
        ("", None),
        ("presto", None),
        ("Thu, 01 Jan 99999 12:00:00 GMT", None),
        ("1" * 5000, None),
    ],
)
def test_h34_retry_after_is_read_in_both_forms(value: str, seconds: float | None) -> None:
    assert retry_after_s(value, now=NOW) == seconds


def pace(slots: dict[str, Slot], **settings: float) -> Pace:
    defaults = {"AUTOTHROTTLE_ENABLED": True, "AUTOTHROTTLE_MAX_DELAY": 60, "CRAWL_MAX_RETRY_AFTER": 120, "CRAWL_RETRY_PAUSE": 5}
    crawler: Any = SimpleNamespace(
        settings=Settings(defaults | settings),
        signals=SimpleNamespace(connect=lambda *_, **__: None),
        engine=SimpleNamespace(downloader=SimpleNamespace(slots=slots)),
    )
    made = Pace(crawler)
    made._spider_opened(None)  # type: ignore[arg-type]
    return made


def answer(made: Pace, host: str, status: int = 200, **headers: str) -> None:
    request = Request(f"http://{host}/", meta={"download_slot": host, "download_latency": 0.01})
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    made._response_downloaded(Response(request.url, status=status, headers=named), request, None)  # type: ignore[arg-type]


def test_h33_a_crawl_delay_of_2_5_s_outlasts_a_fast_server() -> None:
    slots = {"a.it": Slot(1, 0.5, 0), "b.it": Slot(1, 0.5, 0)}
    made = pace(slots)
    delay = ProtegoRobotParser(b"User-agent: *\nCrawl-delay: 2.5\n", None).crawl_delay("Salus")
    assert delay is not None
    made.keep_at_least("a.it", delay)
    for _ in range(20):
        answer(made, "a.it")
    assert slots["a.it"].delay == 2.5
    assert slots["b.it"].delay == 0.5


def test_h33_a_slot_that_is_made_anew_gets_its_crawl_delay_again() -> None:
    slots: dict[str, Slot] = {}
    made = pace(slots)
    made.keep_at_least("a.it", 2.5)
    slots["a.it"] = Slot(1, 0.5, 0)
    made._request_reached(Request("http://a.it/", meta={"download_slot": "a.it"}), None)  # type: ignore[arg-type]
    assert slots["a.it"].delay == 2.5


def test_a_huge_crawl_delay_is_capped() -> None:
    slots = {"a.it": Slot(1, 0.5, 0)}
    pace(slots).keep_at_least("a.it", 86_400)
    assert slots["a.it"].delay == 60


@pytest.mark.parametrize(
    ("status", "headers", "waits_s"),
    [
        (429, {"Retry_After": "30"}, 30),
        (503, {"Retry_After": "999999"}, 120),
        (429, {"Retry_After": "-5"}, 0),
        (429, {}, 5),
        (200, {"Retry_After": "30"}, 0),
    ],
)
def test_h34_one_host_alone_is_left_in_peace_for_the_time_it_asks_for(
    status: int, headers: dict[str, str], waits_s: float
) -> None:
    slots = {"a.it": Slot(1, 0, 0), "b.it": Slot(1, 0, 0)}
    answer(pace(slots), "a.it", status, **headers)
    waits = {host: slot.lastseen + slot.delay - monotonic() for host, slot in slots.items()}
    assert waits["a.it"] == pytest.approx(waits_s, abs=0.5) if waits_s else waits["a.it"] < 0.5
    assert waits["b.it"] < 0.5
