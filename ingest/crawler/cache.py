"""The page store as Scrapy's HTTP cache: every page is asked for again, with what tells the server which version is here."""

from scrapy import Request, Spider
from scrapy.downloadermiddlewares.httpcache import HttpCacheMiddleware
from scrapy.extensions.httpcache import RFC2616Policy
from scrapy.http import Headers, Response
from scrapy.responsetypes import responsetypes
from scrapy.settings import BaseSettings

from ingest.crawler.page_store import PageStore
from ingest.crawler.reservations import is_reserved

ADDRESS = "address"  # key of a request's meta: the canonical address that the page is kept under
_NOT_KEPT = {"set-cookie", "content-encoding", "transfer-encoding", "connection", "keep-alive", "content-length"}


def plain_headers(headers: Headers) -> dict[str, list[str]]:
    """Headers with names in lower case."""
    return {
        name.decode("latin-1").lower(): [value.decode("latin-1") for value in values]
        for name, values in headers.items()
        if values is not None
    }


class AlwaysRevalidate(RFC2616Policy):
    """Conditional requests as the standard has them, but at each crawl, and whatever Cache-Control says.

    What is kept is not served to anyone: it is what the run has yet to read.
    """

    def should_cache_request(self, request: Request) -> bool:  # noqa: ARG002 - Scrapy's interface
        """Each page is kept."""
        return True

    def should_cache_response(self, response: Response, request: Request) -> bool:  # noqa: ARG002
        """True for a page that its publisher lets machines read."""
        return bool(response.status == 200 and not is_reserved(plain_headers(response.headers)))

    def is_cached_response_fresh(self, cachedresponse: Response, request: Request) -> bool:
        """Never: age does not keep us from asking."""
        self._set_conditional_validators(request, cachedresponse)
        return False

    def is_cached_response_valid(self, cachedresponse: Response, response: Response, request: Request) -> bool:  # noqa: ARG002
        """Only a 304 says so; a server error is told as one."""
        return bool(response.status == 304)


class Revalidation(HttpCacheMiddleware):
    """Scrapy's own, but a page that could not be fetched is told as that, not served from the cache."""

    DOWNLOAD_EXCEPTIONS = ()  # type: ignore[assignment]


class StoredPages:
    """The storage behind the cache; the spider owns the store."""

    def __init__(self, settings: BaseSettings) -> None:
        self._ignores_cache = settings.getbool("CRAWL_IGNORE_CACHE")
        self._store: PageStore | None = None

    def open_spider(self, spider: Spider) -> None:
        """Take the spider's store."""
        self._store = spider.store  # type: ignore[attr-defined]

    def close_spider(self, spider: Spider) -> None:
        """Leave the store to the spider."""

    def retrieve_response(self, spider: Spider, request: Request) -> Response | None:  # noqa: ARG002
        """The page of the crawl before."""
        if self._store is None or self._ignores_cache or request.meta.get(ADDRESS) is None:
            return None
        return stored_response(self._store, request.meta[ADDRESS])

    def store_response(self, spider: Spider, request: Request, response: Response) -> None:  # noqa: ARG002
        """Keep a page that came, or renew the headers of one that was confirmed."""
        if self._store is None or request.meta.get(ADDRESS) is None:
            return
        headers = {name: ", ".join(values) for name, values in plain_headers(response.headers).items() if name not in _NOT_KEPT}
        self._store.put(request.meta[ADDRESS], response.body, headers, is_new="cached" not in response.flags)


def stored_response(store: PageStore, url: str) -> Response | None:
    """A stored page in the form in which Scrapy reads it."""
    page = store.page(url)
    if page is None:
        return None
    headers = Headers(dict(page.headers))
    response_class = responsetypes.from_args(headers=headers, url=url, body=page.body)
    return response_class(url=url, status=200, headers=headers, body=page.body)
