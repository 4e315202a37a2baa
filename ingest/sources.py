"""Which sources are read: the rows of `sources.toml`, checked before anything is fetched."""

import re
import tomllib
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, ValidationError, model_validator

from ingest.addresses import WebAddress
from ingest.errors import SourceUnreadable
from locales.language import Language
from rag.documents import Authority

SHIPPED_SOURCES = Path(__file__).with_name("sources.toml")

SourceId = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$", max_length=60)]
Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]


def _is_pattern(value: str) -> str:
    try:
        re.compile(value)
    except re.error as error:
        raise ValueError(f"is no regular expression: {error}") from error
    return value


Pattern = Annotated[str, AfterValidator(_is_pattern)]


class SourceKind(StrEnum):
    """What a source is, and with it how its pages are reached and read."""

    FOLDER = "folder"  # files on this machine
    ENCYCLOPAEDIA = "encyclopaedia"  # crawled; articles
    FAQ = "faq"  # crawled; questions with the publisher's answers
    FORUM = "forum"  # crawled; questions of people with doctors' answers
    HEALTH_TOPICS = "health_topics"  # one XML file in the form of MedlinePlus
    CMS = "cms"  # pages arrive as events

    @property
    def is_crawled(self) -> bool:
        """True when pages are fetched from a web site."""
        return self in {SourceKind.ENCYCLOPAEDIA, SourceKind.FAQ, SourceKind.FORUM}


class Start(BaseModel):
    """Where a crawl begins; a sitemap or a feed lists pages, a page is followed by its links."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    sitemaps: tuple[WebAddress, ...] = ()
    pages: tuple[WebAddress, ...] = ()
    feeds: tuple[WebAddress, ...] = ()

    @property
    def addresses(self) -> tuple[str, ...]:
        """All of them."""
        return (*self.sitemaps, *self.pages, *self.feeds)


class Selectors(BaseModel):
    """CSS selectors of a site's own pages, read where a page has no structured data that tells the same."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    title: Text | None = None
    body: Text | None = None
    remove: tuple[Text, ...] = ()
    reviewed_on: Text | None = None
    question: Text | None = None
    answer: Text | None = None
    answered_by: Text | None = None  # the role, not the name
    published_on: Text | None = None
    category: Text | None = None


class SourceRow(BaseModel):
    """One publisher's pages and how to reach them."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: SourceId
    kind: SourceKind
    publisher: Text
    authority: Authority = Authority.PUBLISHER
    language: Language | None = None
    path: Path | None = None
    """Folder or file of a `folder`; the XML file of `health_topics`, unless it is fetched from `url`."""
    url: WebAddress | None = None
    start: Start = Start()
    allow_private: bool = False
    """Let the start addresses lead into a private network, where their names look public. One that is written as private may."""
    allow: tuple[Pattern, ...] = ()
    """Regular expressions; a page is read if its address matches one of them, or if there are none."""
    deny: tuple[Pattern, ...] = ()
    delay_s: float = Field(default=2.0, ge=0, le=600)
    max_pages: int = Field(default=5_000, ge=1, le=1_000_000)
    max_depth: int = Field(default=5, ge=0, le=50)
    selectors: Selectors = Selectors()
    licence: Text | None = None
    terms: Text | None = None
    """What the publisher's terms say about reading the pages by machine, and since when we know it."""
    enabled: bool = True
    disabled_because: Text | None = None

    @model_validator(mode="after")
    def _is_reachable(self) -> "SourceRow":
        """Refuse a row whose kind lacks what it is reached by, or that is disabled without a word why."""
        if self.kind is SourceKind.FOLDER and self.path is None:
            raise ValueError("a folder needs a path")
        if self.kind is SourceKind.HEALTH_TOPICS and (self.path is None) == (self.url is None):
            raise ValueError("health_topics needs either a path or a url")
        if self.kind.is_crawled and not self.start.addresses:
            raise ValueError("a crawled source needs start.sitemaps, start.pages or start.feeds")
        if self.kind not in {SourceKind.FOLDER, SourceKind.CMS} and self.language is None:
            raise ValueError("a source that is neither a folder nor a CMS needs a language")
        if not self.enabled and not self.disabled_because:
            raise ValueError("a disabled source needs disabled_because")
        return self

    @model_validator(mode="after")
    def _has_what_its_kind_reads(self) -> "SourceRow":
        """Refuse a key that another kind is reached by: it would be passed over, or lead elsewhere, without a word."""
        on_disk = {SourceKind.FOLDER, SourceKind.HEALTH_TOPICS}
        foreign = {
            "path": self.path is not None and self.kind not in on_disk,
            "url": self.url is not None and self.kind is not SourceKind.HEALTH_TOPICS,
            "start": bool(self.start.addresses) and not self.kind.is_crawled,
            "allow and deny": bool(self.allow or self.deny) and not self.kind.is_crawled,
            "selectors": self.selectors != Selectors() and not self.kind.is_crawled,
            "allow_private": self.allow_private and not self.start.addresses and self.url is None,
        }
        for key, stands in foreign.items():
            if stands:
                raise ValueError(f"a source of kind {self.kind.value} has no {key}")
        return self


class GoldenQuestion(BaseModel):
    """A question that must keep finding its page: a version of an index in which it no longer does is not published."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    language: Language
    question: Text
    document: Text
    """The id of the page."""


class _SourceFile(BaseModel):
    model_config = ConfigDict(extra="forbid")

    source: list[SourceRow] = Field(min_length=1)
    golden: list[GoldenQuestion] = Field(default_factory=list)


def load_sources(path: Path = SHIPPED_SOURCES) -> tuple[SourceRow, ...]:
    """Read the rows of a source file, each `path` made absolute.

    Raises:
        SourceUnreadable: If the file is missing, is not TOML, or a row is wrong; the message names the row and the key.
    """
    file = _read(path)
    base = path.resolve().parent
    try:
        rows = tuple(row.model_copy(update={"path": base / row.path.expanduser()}) if row.path else row for row in file.source)
    except RuntimeError as error:  # "~somebody/…"
        raise SourceUnreadable(f"{path}: a path begins with ~ and names nobody on this machine") from error
    check_unique(rows)
    return rows


def load_golden(path: Path = SHIPPED_SOURCES) -> tuple[GoldenQuestion, ...]:
    """Read the golden questions of a source file.

    Raises:
        SourceUnreadable: As `load_sources`.
    """
    return tuple(_read(path).golden)


def check_unique(rows: Sequence[SourceRow]) -> None:
    """Refuse two rows of one id, also when they come from different files.

    Raises:
        SourceUnreadable: If an id stands twice.
    """
    seen: set[str] = set()
    for row in rows:
        if row.id in seen:
            raise SourceUnreadable(f"the source id {row.id!r} stands twice")
        seen.add(row.id)


def _read(path: Path) -> _SourceFile:
    try:
        return _SourceFile.model_validate(tomllib.loads(path.read_text(encoding="utf-8-sig")))
    except OSError as error:
        raise SourceUnreadable(f"{path}: cannot be read ({error.strerror})") from error
    except UnicodeDecodeError as error:
        raise SourceUnreadable(f"{path}: is not UTF-8") from error
    except tomllib.TOMLDecodeError as error:
        raise SourceUnreadable(f"{path}: is not TOML: {error}") from error
    except ValidationError as error:
        raise SourceUnreadable(f"{path}: {_first_error(error)}") from error
    except (RecursionError, ValueError) as error:  # brackets in brackets without end, a number of thousands of digits
        raise SourceUnreadable(f"{path}: is no TOML that can be read: {error}") from error


def _first_error(error: ValidationError) -> str:
    first = error.errors(include_url=False)[0]
    said = "there is no such key" if first["type"] == "extra_forbidden" else first["msg"].removeprefix("Value error, ")
    match first["loc"]:
        case (("source" | "golden") as table, int(index), *keys):
            return f"{table} {index + 1}, {'.'.join(map(str, keys)) or 'row'}: {said}"
        case keys:
            return f"{'.'.join(map(str, keys))}: {said}"
