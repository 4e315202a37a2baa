"""What stands between the crawler and a request it must not make, or a body it must not unpack."""

import zlib
from typing import Self
from urllib.parse import urlsplit

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.downloadermiddlewares.httpcompression import HttpCompressionMiddleware
from scrapy.exceptions import IgnoreRequest
from scrapy.http import Response

from ingest.crawler.outcomes import HOST_TROUBLE, NotRead
from ingest.crawler.site import Site
from ingest.fetching import Fetch, Visit


class HostHealth:
    """Which hosts have failed so often in a row that they are left alone for the rest of the crawl."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._failures: dict[str, int] = {}

    def is_down(self, url: str) -> bool:
        """True when the host is to be left alone."""
        return self._failures.get(urlsplit(url).netloc, 0) >= self._limit

    def note(self, visit: Visit) -> None:
        """Count an answer, or that none came; what was refused says nothing about the host."""
        host = urlsplit(visit.url).netloc
        if visit.reason in HOST_TROUBLE:
            self._failures[host] = self._failures.get(host, 0) + 1
        elif visit.fetch is not Fetch.REFUSED and not self.is_down(visit.url):
            self._failures.pop(host, None)


class Guard:
    """Refuses each request outside the site, also after a redirect, and those to a host that is down."""

    def __init__(self, site: Site, health: HostHealth) -> None:
        self._site = site
        self._health = health

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Made by Scrapy; site and health are those of the spider."""
        spider = crawler.spider
        return cls(spider.site, spider.health)  # type: ignore[union-attr]

    def process_request(self, request: Request) -> None:
        """Let the request pass.

        Raises:
            NotRead: If it must not be made.
        """
        reason = self._site.refusal(request.url)
        if reason is not None:
            raise NotRead(Fetch.REFUSED, reason)
        if self._health.is_down(request.url):
            raise NotRead(Fetch.FAILED, "host_down")


class Decompression(HttpCompressionMiddleware):
    """Scrapy's own, saying why a body was not unpacked."""

    def process_response(self, request: Request, response: Response) -> Request | Response:  # type: ignore[override]
        """Unpack the body.

        Raises:
            NotRead: If it grows beyond the cap, or is damaged.
        """
        try:
            unpacked: Request | Response = super().process_response(request, response)
        except IgnoreRequest as error:
            raise NotRead(Fetch.REFUSED, "too_large") from error
        except (OSError, EOFError, zlib.error) as error:
            raise NotRead(Fetch.FAILED, "broken_encoding") from error
        if isinstance(unpacked, Response) and unpacked.headers.get("Content-Encoding", b"identity") != b"identity":
            raise NotRead(Fetch.FAILED, "broken_encoding")  # one that nobody here can unpack
        return unpacked
