"""robots.txt as RFC 9309 has it; Scrapy's own middleware takes a file that cannot be fetched for leave to crawl."""

import asyncio
from typing import Self
from urllib.parse import urlsplit

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.http import Response
from scrapy.http.request import NO_CALLBACK
from scrapy.robotstxt import ProtegoRobotParser

from ingest.crawler.job import PRODUCT
from ingest.crawler.outcomes import NotRead
from ingest.crawler.pace import Pace
from ingest.crawler.resolver import has_refused
from ingest.fetching import Fetch

_EXEMPT = "is_robots_txt"
_PRIORITY = 1000
_MAX_PARSED = 512 * 1024  # RFC 9309, section 2.5: at least 500 KiB are read; the rest may be ignored


class RobotsRules:
    """Asks each host for its rules once and keeps to them.

    A missing file (4xx) forbids nothing. A server error, a 429 or no answer forbids everything, for this crawl.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._rules: dict[str, asyncio.Future[ProtegoRobotParser | None]] = {}

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Made by Scrapy."""
        return cls(crawler)

    async def process_request(self, request: Request) -> None:
        """Let the request pass.

        Raises:
            NotRead: If the rules forbid it, or are not to be had.
        """
        if request.meta.get(_EXEMPT):
            return
        parts = urlsplit(request.url)
        origin = f"{parts.scheme}://{parts.netloc}"
        if origin not in self._rules:
            self._rules[origin] = asyncio.ensure_future(self._fetched(origin, parts.hostname or ""))
        rules = await self._rules[origin]
        if rules is None:
            raise NotRead(Fetch.REFUSED, "private_address" if has_refused(request.url) else "robots_unreachable")
        if not rules.allowed(request.url, PRODUCT):
            raise NotRead(Fetch.REFUSED, "robots")

    async def _fetched(self, origin: str, host: str) -> ProtegoRobotParser | None:
        meta = {_EXEMPT: True, "dont_cache": True}
        request = Request(f"{origin}/robots.txt", meta=meta, priority=_PRIORITY, callback=NO_CALLBACK, dont_filter=True)
        try:
            response: Response = await self._crawler.engine.download_async(request)
        except Exception:  # noqa: BLE001 - whatever went wrong, there are no rules that allow anything
            return None
        if 400 <= response.status < 500 and response.status != 429:
            return ProtegoRobotParser(b"", None)
        if response.status != 200:
            return None
        rules = ProtegoRobotParser(response.body[:_MAX_PARSED], None)
        pace = self._crawler.get_extension(Pace)
        if pace is not None:
            pace.keep_at_least(host, rules.crawl_delay(PRODUCT) or 0.0)
        return rules
