"""The nouns of a source: its pages, the passages they are cut into, and what those are found by. Everything here is frozen."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime
from enum import StrEnum

from locales.language import Language


class Authority(StrEnum):
    """How far a source may be trusted; a demonstration text has not been reviewed by a clinician."""

    DEMONSTRATION = "demonstration"
    PUBLISHER = "publisher"


class DocumentKind(StrEnum):
    """What a page is, for it decides what of it is embedded and how it is introduced to a reader."""

    ARTICLE = "article"
    FAQ = "faq"  # sections whose headings are questions
    FORUM = "forum"  # what a doctor answered to another person


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """A page that a patient may open."""

    title: str
    publisher: str
    url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """One page of a source, as extracted text.

    `text` is Markdown of the plainest kind: `## ` headings, `- ` items, blank lines between paragraphs. `url` is None when the
    page has no public address of its own; it is then served at `/sources/{document_id}`.

    `asked` is what patients ask who need this page, as its editors imagine it, or what a person asked in a forum, without what
    could tell who it was, in pieces short enough to be embedded: the page is found by it, and it is never shown. `answered_by`
    is the role of who answered, never a name. `published_on` is the date of a forum answer or of a dated entry.
    """

    document_id: str
    source_id: str
    url: str | None
    title: str
    publisher: str
    authority: Authority
    language: Language
    text: str
    reviewed_on: date | None
    fetched_at: datetime
    content_hash: str
    topic: str | None = None
    synonyms: tuple[str, ...] = ()
    further_reading: tuple[Link, ...] = ()
    kind: DocumentKind = DocumentKind.ARTICLE
    asked: tuple[str, ...] = ()
    answered_by: str | None = None
    category: str | None = None
    published_on: date | None = None


def pages_hash(pages: Iterable[Document]) -> str:
    """A hash of what pages say, in whatever order they come."""
    told = sorted(f"{page.document_id} {page.content_hash}" for page in pages)
    return hashlib.sha256("\n".join(told).encode()).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Sentence:
    """One sentence of a chunk as it may be quoted, a list item together with its lead-in.

    `start` and `end` are offsets into `Chunk.text` of the sentence itself, without the lead-in.
    """

    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """A passage that can be cited alone: it knows the page it came from."""

    chunk_id: str
    document_id: str
    source_id: str
    url: str | None
    title: str
    publisher: str
    authority: Authority
    language: Language
    heading_path: tuple[str, ...]
    text: str
    sentences: tuple[Sentence, ...]
    position: int
    reviewed_on: date | None = None
    topic: str | None = None
    synonyms: tuple[str, ...] = ()
    further_reading: tuple[Link, ...] = ()
    kind: DocumentKind = DocumentKind.ARTICLE


class SurfaceKind(StrEnum):
    """What a surface is: the passage itself, a question it answers, or a pseudo medical history."""

    PASSAGE = "passage"
    QUESTION = "question"
    PSEUDO_HISTORY = "pseudo_history"


@dataclass(frozen=True, slots=True, kw_only=True)
class Surface:
    """A text that is embedded so that its chunk can be found; it is never shown."""

    kind: SurfaceKind
    text: str
    chunk_id: str
