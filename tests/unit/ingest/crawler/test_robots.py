import asyncio
from types import SimpleNamespace
from typing import Any

import pytest
from scrapy import Request
from scrapy.http import Response

from ingest.crawler.outcomes import NotRead
from ingest.crawler.robots import RobotsRules


class Engine:
    """Answers each robots.txt and counts how often it was asked for."""

    def __init__(self, status: int = 200, body: bytes = b"", error: Exception | None = None) -> None:
        self.asked: list[str] = []
        self._answer = (status, body, error)

    async def download_async(self, request: Request) -> Response:
        self.asked.append(request.url)
        await asyncio.sleep(0)
        status, body, error = self._answer
        if error is not None:
            raise error
        return Response(request.url, status=status, body=body)


class RecordingPace:
    def __init__(self) -> None:
        self.least: list[tuple[str, float]] = []

    def keep_at_least(self, host: str, delay_s: float) -> None:
        self.least.append((host, delay_s))


def rules(engine: Engine, pace: RecordingPace | None = None) -> RobotsRules:
    crawler: Any = SimpleNamespace(engine=engine, get_extension=lambda _: pace)
    return RobotsRules(crawler)


async def reason(made: RobotsRules, url: str = "https://a.it/x") -> str | None:
    try:
        await made.process_request(Request(url))
    except NotRead as refusal:
        return refusal.reason
    return None


@pytest.mark.parametrize("status", [400, 401, 403, 404, 410])
async def test_h33_a_missing_file_forbids_nothing(status: int) -> None:
    assert await reason(rules(Engine(status, b"User-agent: *\nDisallow: /"))) is None


@pytest.mark.parametrize("status", [429, 500, 503, 301, 204])
async def test_h33_a_file_that_cannot_be_had_forbids_everything(status: int) -> None:
    assert await reason(rules(Engine(status))) == "robots_unreachable"


async def test_h33_no_answer_forbids_everything() -> None:
    assert await reason(rules(Engine(error=OSError("niente rete")))) == "robots_unreachable"


@pytest.mark.parametrize(
    ("body", "path", "told"),
    [
        (b"User-agent: *\nDisallow: /*.pdf$", "/a.pdf", "robots"),
        (b"User-agent: *\nDisallow: /*.pdf$", "/a.pdf?x=1", None),
        (b"User-agent: *\nDisallow: /\nAllow: /salute/", "/salute/tosse", None),
        (b"User-agent: *\nDisallow: /\nAllow: /salute/", "/notizie", "robots"),
        (b"\xef\xbb\xbfUser-agent: *\nDisallow: /", "/x", "robots"),
        (b"User-agent: Salus\nDisallow: /\n\nUser-agent: *\nAllow: /", "/x", "robots"),
        (b"User-agent: *\nDisallow: /\n\nUser-agent: salus\nDisallow:", "/x", None),
        (b"User-agent: esempio\nDisallow: /", "/x", None),
        (b"<html>pagina</html>", "/x", None),
        (b"User-agent: *\nDisallow: /perch%C3%A9", "/perch\xc3\xa9".encode("latin-1").decode(), "robots"),
    ],
)
async def test_h33_the_longest_rule_for_this_crawler_decides(body: bytes, path: str, told: str | None) -> None:
    assert await reason(rules(Engine(body=body)), f"https://a.it{path}") == told


async def test_each_host_is_asked_once_also_by_requests_at_the_same_time() -> None:
    engine = Engine()
    made = rules(engine)
    await asyncio.gather(
        *(reason(made, url) for url in ("https://a.it/1", "https://a.it/2", "http://a.it/3", "https://b.it:8443/"))
    )
    assert sorted(engine.asked) == ["http://a.it/robots.txt", "https://a.it/robots.txt", "https://b.it:8443/robots.txt"]


async def test_h33_a_crawl_delay_with_decimals_is_handed_on() -> None:
    pace = RecordingPace()
    await reason(rules(Engine(body=b"User-agent: *\nCrawl-delay: 2.5\n"), pace))
    assert pace.least == [("a.it", 2.5)]
