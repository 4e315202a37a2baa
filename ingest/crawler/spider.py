"""One source from its start addresses to its last page: sitemaps, feeds, links, and the pages that were known before."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Iterator
from itertools import chain
from typing import Any, Self
from urllib.parse import urljoin, urlsplit

from scrapy import Request, Spider, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import CannotResolveHostError, StopDownload
from scrapy.http import Headers, Response
from twisted.python.failure import Failure

from ingest.crawler.cache import ADDRESS, plain_headers, stored_response
from ingest.crawler.canonical import canonical_address
from ingest.crawler.frontier import Frontier, Step
from ingest.crawler.guard import HostHealth
from ingest.crawler.job import CrawlJob
from ingest.crawler.links import links_of
from ingest.crawler.listings import ListingUnreadable, feed_links, sitemap_entries
from ingest.crawler.outcomes import outcome
from ingest.crawler.page_store import PageStore
from ingest.crawler.report import ProgressReport
from ingest.crawler.reservations import is_reserved
from ingest.crawler.resolver import has_refused
from ingest.crawler.site import Site
from ingest.fetching import Fetch, Visit

_READ = {Fetch.FETCHED, Fetch.UNCHANGED}
_TEMPORARY, _PERMANENT = {302, 303, 307}, {301, 308}
_MAX_HOPS = 5
_MAX_SITEMAPS = 1_000
_FIRST, _KNOWN = 1_000, 500  # priorities: start addresses, pages of earlier crawls; then what is found, the nearest first
_NEVER_READ = ("image/", "audio/", "video/", "font/", "application/zip", "application/x-", "application/vnd.", "text/css")
_START = "is_start"  # key of a request's meta: a page that is read for its links alone
_HOPS = "hops"


class SourceSpider(Spider):
    """Asks for each address of a source once and notes how it answered."""

    name = "source"

    def __init__(self, *, job: CrawlJob, store: PageStore, report: ProgressReport) -> None:
        super().__init__()
        self.store = store
        self.site = Site.of(job.source)
        self.health = HostHealth(job.limits.max_failures_in_a_row)
        self.closed_because: str | None = None
        self._job = job
        self._report = report
        self._frontier = Frontier(max_pages=job.source.max_pages, max_depth=job.source.max_depth)
        self._sitemaps: set[str] = set()
        self._redirects: dict[str, str] = {}
        self._file = canonical_address(job.source.url or "")  # one that holds a whole source

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> Self:  # noqa: ANN401 - Scrapy's interface
        """Made by Scrapy."""
        spider: Self = super().from_crawler(crawler, *args, **kwargs)
        crawler.signals.connect(spider.headers_received, signal=signals.headers_received)
        return spider

    async def start(self) -> AsyncIterator[Request]:
        """The first requests. Pages that were known come before those that are found, so that a cap does not push them out."""
        start = self._job.source.start
        requests = [self._known(url) for url in self._job.only or self._job.known]
        if not self._job.only:
            # First of all, since a start page that was known too has its depth from here.
            requests[:0] = [self._start_page(url) for url in start.pages]
            requests += [self._sitemap(url) for url in start.sitemaps]
            requests += [iter([self._listing(url, self.on_feed)]) for url in start.feeds]
        for request in chain.from_iterable(requests):
            yield request

    def closed(self, reason: str) -> None:
        """Note why Scrapy ended the crawl; "finished" means that nothing was left to ask for."""
        self.closed_because = reason
        if self._frontier.is_full:
            self.store.note("max_pages")
        self.store.finish(is_whole=reason == "finished")
        self._report.finish()

    # Requests.

    def _known(self, url: str) -> Iterator[Request]:
        address = canonical_address(url)
        if address is None:
            return
        reason = self.site.refusal(address) or (None if self._job.only or self.site.reads(address) else "not_allowed")
        if reason is not None:
            self._settle(Visit(url=address, fetch=Fetch.REFUSED, reason=reason))
        elif self._frontier.find(address) is Step.ASK:
            yield self._page(address, priority=_KNOWN)

    def _start_page(self, url: str) -> Iterator[Request]:
        address = canonical_address(url)
        if address is None:
            return
        if not self.site.reads(address):
            yield self._page(address, priority=_FIRST, is_start=True)
        elif self._frontier.find(address, depth=0) is Step.ASK:
            yield self._page(address, priority=_FIRST)

    def _page(self, address: str, *, priority: int, is_start: bool = False, hops: int = 0) -> Request:
        self._report.asked()
        meta = {ADDRESS: address, "dont_redirect": True, _START: is_start, "dont_cache": is_start, _HOPS: hops}
        if address == self._file:
            meta["download_maxsize"] = self._job.limits.max_listing_bytes
        return Request(address, self.on_page, errback=self.on_failure, meta=meta, priority=priority, dont_filter=True)

    def _listing(self, url: str, callback: Any) -> Request:  # noqa: ANN401 - a method of this class
        limit = self._job.limits.max_listing_bytes
        meta = {ADDRESS: url, _START: True, "dont_cache": True, "download_maxsize": limit}
        return Request(url, callback, errback=self.on_failure, meta=meta, priority=_FIRST, dont_filter=True)

    def _sitemap(self, url: str) -> Iterator[Request]:
        if url in self._sitemaps or len(self._sitemaps) >= _MAX_SITEMAPS or self.site.refusal(url):
            return
        self._sitemaps.add(url)
        yield self._listing(url, self.on_sitemap)

    def _found(self, url: str, depth: int | None = None) -> tuple[str | None, Step]:
        """Take an address that a listing or a page names."""
        address = canonical_address(url)
        if address is None or self.site.refusal(address) or not self.site.reads(address):
            return None, Step.NOTHING
        return address, self._frontier.find(address, depth)

    # Answers.

    async def on_sitemap(self, response: Response) -> AsyncIterator[Request]:
        """Ask for the pages and the further sitemaps that a sitemap lists, until the cap is reached."""
        try:
            for entry in sitemap_entries(self._listing_body(response), max_bytes=self._job.limits.max_listing_bytes):
                if self._frontier.is_full:
                    break
                url = urljoin(response.url, entry.url)
                address, step = (None, Step.NOTHING) if entry.is_sitemap else self._found(url)
                if address is not None and step is Step.ASK:
                    yield self._page(address, priority=0)
                for request in self._sitemap(url) if entry.is_sitemap else ():
                    yield request
        except ListingUnreadable as error:
            self._unread(response.meta[ADDRESS], Fetch.FAILED, str(error))

    async def on_feed(self, response: Response) -> AsyncIterator[Request]:
        """Ask for the pages that a feed lists."""
        try:
            for url in feed_links(self._listing_body(response), max_bytes=self._job.limits.max_listing_bytes):
                address, step = self._found(urljoin(response.url, url))
                if address is not None and step is Step.ASK:
                    yield self._page(address, priority=0)
        except ListingUnreadable as error:
            self._unread(response.meta[ADDRESS], Fetch.FAILED, str(error))

    def _listing_body(self, response: Response) -> bytes:
        if response.status != 200:
            raise ListingUnreadable(f"http_{response.status}")
        body: bytes = response.body
        return body

    async def on_page(self, response: Response) -> AsyncIterator[Request]:
        """Note how a page answered, and ask for what it leads to."""
        address, is_start = response.meta[ADDRESS], response.meta[_START]
        if response.status in _TEMPORARY | _PERMANENT and "Location" in response.headers:
            for request in self._redirected(response, address, is_start=is_start):
                yield request
            return
        visit = self._visit(response, address)
        if is_start and visit.fetch in _READ:
            self._report.settled()
        elif is_start:
            self._unread(address, visit.fetch, visit.reason or visit.fetch.value)
        else:
            self._settle(visit)
        if visit.fetch in _READ:
            self._frontier.mark_read(address)
            async for request in self._followed(address, response):
                yield request

    def on_failure(self, failure: Failure) -> None:
        """Note that a request came to nothing."""
        request: Request = failure.request  # type: ignore[attr-defined]
        fetch, reason = outcome(failure.value) if failure.value else (Fetch.FAILED, "broken_response")
        if isinstance(failure.value, CannotResolveHostError) and has_refused(request.url):
            fetch, reason = Fetch.REFUSED, "private_address"
        if request.meta[_START]:
            self._unread(request.meta[ADDRESS], fetch, reason)
        else:
            self._settle(Visit(url=request.meta[ADDRESS], fetch=fetch, reason=reason))

    def headers_received(self, headers: Headers, request: Request) -> None:
        """Cut off what no reader of this project can read before its body comes."""
        media_type = (headers.get("Content-Type") or b"").decode("latin-1").strip().lower()
        is_page = "dont_redirect" in request.meta and request.meta[ADDRESS] != self._file
        if is_page and media_type.startswith(_NEVER_READ):
            raise StopDownload(fail=True)

    def _visit(self, response: Response, address: str) -> Visit:
        if response.status in {404, 410}:
            return Visit(url=address, fetch=Fetch.GONE)
        if response.status != 200:
            return Visit(url=address, fetch=Fetch.FAILED, reason=f"http_{response.status}")
        if is_reserved(plain_headers(response.headers)):
            self.store.forget(address)
            return Visit(url=address, fetch=Fetch.REFUSED, reason="reserved")
        fetch = Fetch.UNCHANGED if "cached" in response.flags else Fetch.FETCHED
        return Visit(url=address, fetch=fetch, body_hash=self.store.hash_of(address))

    def _redirected(self, response: Response, address: str, *, is_start: bool) -> Iterator[Request]:
        """A page that moved for good is its target; one that is elsewhere for now stays what it was. The target is read too."""
        location = (response.headers.get("Location") or b"").decode("utf-8", errors="replace")
        target, hops = canonical_address(urljoin(response.url, location)), response.meta[_HOPS] + 1
        reason = "off_site" if target is None else self.site.refusal(target)
        if reason is None and target and not (is_start or self._job.only or self.site.reads(target)):
            reason = "not_allowed"
        if target is None or reason is not None:
            self._told(Visit(url=address, fetch=Fetch.REFUSED, reason=reason), is_start=is_start)
            return
        if target == address or hops > _MAX_HOPS:
            self._told(Visit(url=address, fetch=Fetch.FAILED, reason="redirect_loop"), is_start=is_start)
            return
        if is_start:
            self._report.settled()
        elif response.status in _PERMANENT:
            self._settle(Visit(url=address, fetch=Fetch.MOVED, moved_to=target))
        else:
            self._settle(Visit(url=address, fetch=Fetch.FAILED, reason="temporary_redirect"))
        yield from self._to_target(address, target, hops=hops, is_start=is_start)

    def _to_target(self, address: str, target: str, *, hops: int, is_start: bool) -> Iterator[Request]:
        if is_start and not self.site.reads(target):
            yield self._page(target, priority=_FIRST, is_start=True, hops=hops)
            return
        self._redirects[address] = target
        self._frontier.mark_read(address)
        if self._frontier.find(target, 0 if is_start else self._frontier.depth(address), counts=False) is Step.ASK:
            yield self._page(target, priority=_KNOWN, hops=hops)

    async def _followed(self, address: str, response: Response | None) -> AsyncIterator[Request]:
        """Ask for what a page links to; a page that had been read before a chain of links reached it is followed now."""
        todo: deque[tuple[str, Response | None]] = deque([(address, response)])
        while todo:
            page, answer = todo.popleft()
            depth = 1 if answer is not None and answer.meta[_START] else self._frontier.depth_of_links(page)
            for url, at in self._leads(page, answer, depth):
                found, step = self._found(url, at)
                if found is not None and step is Step.ASK:
                    yield self._page(found, priority=-(at or 0))
                elif found is not None and step is Step.FOLLOW:
                    todo.append((found, None))
            await asyncio.sleep(0)  # downloads go on between two pages that are read from the store

    def _leads(self, page: str, answer: Response | None, depth: int | None) -> list[tuple[str, int | None]]:
        """Addresses that a page leads to, each with its distance from a start page."""
        if page in self._redirects:
            return [(self._redirects[page], self._frontier.depth(page))]
        if depth is None:
            return []
        shown = answer if answer is not None else stored_response(self.store, page)
        return [(url, depth) for url in links_of(shown)] if shown is not None else []

    # Notes.

    def _told(self, visit: Visit, *, is_start: bool) -> None:
        if is_start:
            self._unread(visit.url, visit.fetch, visit.reason or visit.fetch.value)
        else:
            self._settle(visit)

    def _unread(self, url: str, fetch: Fetch, reason: str) -> None:
        """A start address that could not be read is told as a visit too: what it would have listed is not known."""
        self.store.note(f"unread: {url} ({reason})")
        self._settle(Visit(url=url, fetch=fetch, reason=reason))

    def _settle(self, visit: Visit) -> None:
        self.store.record(visit)
        self.health.note(visit)
        if visit.reason == "host_down":
            self.store.note(f"host_down: {urlsplit(visit.url).netloc}")
        self._report.settled()
