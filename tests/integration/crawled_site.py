"""A publisher's web server on a loopback address, with routes that tests fill and a log of what was asked."""

import asyncio
import contextlib
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from ingest.crawler.crawl import crawl
from ingest.crawler.job import CrawlLimits, CrawlSummary
from ingest.crawler.page_store import PageStore
from ingest.fetching import Fetch, Visit
from ingest.sources import SourceRow


@dataclass(frozen=True)
class Asked:
    """One request as it came."""

    path: str
    headers: Message
    at: float


@dataclass
class Reply:
    """What a route answers; with an ETag, a conditional request is answered with 304."""

    body: bytes = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)

    def __call__(self, exchange: "Exchange") -> None:
        etag = self.headers.get("ETag")
        is_known = etag is not None and exchange.headers.get("If-None-Match") == etag
        exchange.answer(Reply(b"", 304, self.headers) if is_known else self)


def html(text: str = "", *links: str, **headers: str) -> Reply:
    """A page with links; `_` in the name of a header stands for a hyphen."""
    anchors = "".join(f'<a href="{link}">{link}</a> ' for link in links)
    named = {"Content-Type": "text/html; charset=utf-8", **{name.replace("_", "-"): value for name, value in headers.items()}}
    return Reply(f"<html><body><p>{text}</p>{anchors}</body></html>".encode(), headers=named)


def redirect(status: int, location: str) -> Reply:
    return Reply(b"", status, {"Location": location})


def robots(text: str) -> Reply:
    return Reply(text.encode(), headers={"Content-Type": "text/plain"})


class Exchange(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # headers and body are two writes, and the second would wait 40 ms for the first
    site: "Site"

    def do_GET(self) -> None:
        self.site.asked.append(Asked(self.path, self.headers, time.monotonic()))
        route = self.site.routes.get(self.path) or self.site.routes.get(self.path.partition("?")[0]) or self.site.otherwise
        route(self)

    def answer(self, reply: Reply) -> None:
        self.send_response(reply.status)
        for name, value in reply.headers.items():
            self.send_header(name, value)
        if reply.status != 304:
            self.send_header("Content-Length", str(len(reply.body)))
        self.end_headers()
        self.wfile.write(reply.body)

    def log_message(self, *_: Any) -> None:
        pass


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: Any) -> None:  # a crawler that hangs up is no error here
        pass


class Site:
    """Routes by path, with or without query; what has none is a 404."""

    def __init__(self, host: str = "127.0.0.1", certificate: ssl.SSLContext | None = None) -> None:
        self.routes: dict[str, Callable[[Exchange], None]] = {}
        self.otherwise: Callable[[Exchange], None] = Reply(b"non trovata", 404, {"Content-Type": "text/html"})
        self.asked: list[Asked] = []
        self._server = _Server((host, 0), type("Bound", (Exchange,), {"site": self}))
        if certificate is not None:
            self._server.socket = certificate.wrap_socket(self._server.socket, server_side=True)
        self.url = f"{'https' if certificate else 'http'}://{host}:{self._server.server_port}"

    @property
    def paths(self) -> list[str]:
        """What was asked for, in order."""
        return [asked.path for asked in self.asked]

    def headers_of(self, path: str) -> Message:
        """Headers of the last request for a path."""
        return next(asked.headers for asked in reversed(self.asked) if asked.path == path)

    @contextlib.contextmanager
    def serving(self) -> Iterator["Site"]:
        thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self._server.shutdown()
            thread.join()
            self._server.server_close()


MAX_BYTES = 2**20
LIMITS = CrawlLimits(timeout_s=1, retries=1, max_bytes=MAX_BYTES, max_retry_after_s=0.5, retry_pause_s=0, max_delay_s=5)
DEPTH = 4


def source(**overrides: Any) -> SourceRow:
    row = {"id": "editore", "kind": "faq", "publisher": "Editore", "language": "it", "delay_s": 0, "max_depth": DEPTH}
    return SourceRow.model_validate(row | overrides)


def crawled(row: SourceRow, store: Path, **overrides: Any) -> CrawlSummary:
    arguments: dict[str, Any] = {"known": (), "contact": None, "limits": LIMITS, "cancelled": lambda: False}
    arguments["on_progress"] = lambda done, known: None
    return asyncio.run(crawl(row, store, **(arguments | overrides)))


def visits(store: Path, site: Site) -> dict[str, Visit]:
    """Visits by path."""
    with PageStore.open(store) as pages:
        return {visit.url.removeprefix(site.url): visit for visit in pages.visits() if visit.url.startswith(site.url)}


def outcome(visit: Visit) -> tuple[Fetch, str | None]:
    return visit.fetch, visit.reason
