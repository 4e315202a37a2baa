"""A page and a host of the site, before anybody asks for them."""

import hashlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

from starlette.types import Receive, Scope, Send

from ingest.sources import SourceKind, SourceRow
from locales.language import Language
from tests.doubles.health_site.expected import ExpectedDocument

ORIGIN = "%ORIGIN%"  # in a body: the address of the host that serves it
_WRITTEN = datetime(2026, 1, 5, 8, 0, tzinfo=UTC)

Answer = Callable[["Host", Scope, Receive, Send], Awaitable[None]]


@dataclass(slots=True, kw_only=True)
class Page:
    """One address. What becomes of it stands beside it: a document, a refusal, a failure, or nothing at all.

    With both a document and a refusal either is right.

    `changeable` is a sentence of the body that `HealthSite.change` may rewrite. `answer` serves the page in place of the body.
    """

    path: str
    title: str = ""
    body: bytes = b""
    content_type: str = "text/html; charset=utf-8"
    headers: dict[str, str] = field(default_factory=dict)
    status: int = 200
    answer: Answer | None = None
    document: ExpectedDocument | None = None
    refused: frozenset[str] = frozenset()
    failed: frozenset[str] = frozenset()
    moved_to: str | None = None
    is_navigation: bool = False
    is_forbidden: bool = False
    is_listed: bool = True
    changeable: str | None = None
    revision: int = 0

    def rendered(self, origin: str) -> bytes:
        return self.body.replace(ORIGIN.encode(), origin.encode())

    def validators(self, origin: str) -> dict[str, str]:
        """ETag, Last-Modified or both, so that each kind of conditional request is met."""
        digest = hashlib.sha256(self.rendered(origin)).hexdigest()[:20]
        tag = {"etag": f'W/"{digest}"' if self.flavour == 3 else f'"{digest}"'}
        dated = {"last-modified": format_datetime(_WRITTEN + timedelta(days=self.revision), usegmt=True)}
        return {0: tag, 1: dated, 2: tag | dated, 3: tag}[self.flavour]

    @property
    def flavour(self) -> int:
        return hashlib.sha256(self.path.encode()).digest()[0] % 4

    def rewritten(self, old: str, new: str) -> None:
        """Replace one sentence of the body, and what is expected of the page with it."""
        charset = "utf-8"
        if old.encode(charset) not in self.body:
            raise ValueError(f"{self.path} does not hold {old!r}")
        self.body = self.body.replace(old.encode(charset), new.encode(charset))
        self.revision += 1
        self.changeable = new
        if self.document:
            kept = tuple(sentence for sentence in self.document.sentences if sentence != old)
            self.document = replace(self.document, sentences=(*kept, new), absent=(*self.document.absent, old))


@dataclass(slots=True, kw_only=True)
class Host:
    """One publisher's server: its pages, and the row by which it is read. Several hosts differ by their port."""

    name: str
    language: Language
    kind: SourceKind = SourceKind.ENCYCLOPAEDIA
    pages: dict[str, Page] = field(default_factory=dict)
    robots: bytes | int | None = b"User-agent: *\nDisallow: /amministrazione/\n"
    """Body, or the status with which there is none; None is 404."""
    robots_headers: dict[str, str] = field(default_factory=dict)
    row: Callable[["Host"], SourceRow] | None = None
    base: str = ""
    bases: dict[str, str] = field(default_factory=dict)  # of all hosts of the site, by name
    removed: dict[str, int] = field(default_factory=dict)  # path -> status with which it is gone
    one_of: tuple[frozenset[str], ...] = ()
    at_most: int | None = None
    is_content: bool = False
    prefixes: dict[str, Answer] = field(default_factory=dict)
    """Answers for all addresses that begin so, where there is no page."""

    def put(self, *pages: Page) -> None:
        for page in pages:
            if page.path in self.pages:
                raise ValueError(f"{self.name}: {page.path} stands twice")
            self.pages[page.path] = page

    def listed(self) -> list[Page]:
        """Pages that lists and sitemaps name, in the order in which they were made."""
        return [page for page in self.pages.values() if page.is_listed and not page.is_navigation]
