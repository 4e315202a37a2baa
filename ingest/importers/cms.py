"""Content events of a CMS: what one must hold, and the document that it gives."""

from datetime import date, datetime
from enum import StrEnum
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints, ValidationError, model_validator

from ingest.addresses import WebAddress
from ingest.documents import new_document
from ingest.errors import SourceUnreadable
from ingest.importers.forms import Text
from ingest.sources import SourceRow
from locales.language import Language
from rag.documents import Document, DocumentKind

# What may stand in a document's id, and so in the path of its page.
_Id = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,119}$")]


class EventKind(StrEnum):
    """What happened to a piece of content."""

    PUBLISHED = "content.published"
    UPDATED = "content.updated"
    ARCHIVED = "content.archived"
    DELETED = "content.deleted"

    @property
    def is_withdrawal(self) -> bool:
        """True when the content may no longer be cited."""
        return self in {EventKind.ARCHIVED, EventKind.DELETED}


class ContentKind(StrEnum):
    """What a piece of content is."""

    ARTICLE = "article"
    GUIDE = "guide"
    FAQ = "faq"
    TIMELINE = "timeline"  # a dated entry


class Content(BaseModel):
    """A piece of content; `body` is HTML."""

    model_config = ConfigDict(extra="ignore", populate_by_name=True)

    content_id: _Id = Field(alias="contentId")
    kind: ContentKind = Field(default=ContentKind.ARTICLE, alias="contentType")
    language: Language | None = None
    title: Text | None = None
    body: Annotated[str, StringConstraints(max_length=2_000_000)] = ""
    url: Annotated[WebAddress | None, BeforeValidator(lambda v: v or None)] = None
    aliases: tuple[Text, ...] = Field(default=(), max_length=100)
    category: Text | None = None
    reviewed_on: date | None = Field(default=None, alias="reviewedOn")
    date: datetime | None = None
    """Of a dated entry."""


class ContentEvent(BaseModel):
    """One event. `event_id` makes a repetition recognisable."""

    model_config = ConfigDict(extra="ignore", populate_by_name=True)

    event_id: Annotated[str, StringConstraints(min_length=1, max_length=200)] = Field(alias="id")
    kind: EventKind = Field(alias="event")
    content: Content

    @model_validator(mode="after")
    def _has_text(self) -> "ContentEvent":
        if not self.kind.is_withdrawal and not (self.content.title and self.content.body.strip()):
            raise ValueError("content needs a title and a body")
        return self


def read_event(payload: str | bytes) -> ContentEvent:
    """Read an event.

    Raises:
        SourceUnreadable: If it is no event; the message names the key, and never holds a value.
    """
    try:
        return ContentEvent.model_validate_json(payload)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        place = ".".join(str(part) for part in first["loc"]) or "event"
        raise SourceUnreadable(f"{place}: {first['msg'].removeprefix('Value error, ')}") from None


def event_document_id(event: ContentEvent, source: SourceRow) -> str:
    """The id of the document that a piece of content is."""
    return f"{source.id}-{event.content.content_id}"


def event_document(event: ContentEvent, source: SourceRow) -> Document:
    """The document of published or updated content.

    Raises:
        SourceUnreadable: If it has no text, or is in another language than its source.
    """
    from ingest.extraction.blocks import plain_of_markup

    content = event.content
    language = content.language or source.language
    if language is None:
        raise SourceUnreadable(f"content.language: is missing, and {source.id} names none")
    if source.language and language is not source.language:
        raise SourceUnreadable(f"content.language: {source.id} holds pages in {source.language.value} only")
    text = plain_of_markup(content.body)
    if not any(c.isalpha() for c in text):
        raise SourceUnreadable("body: holds no text")
    return new_document(
        document_id=event_document_id(event, source),
        source_id=source.id,
        url=content.url,
        title=content.title,
        publisher=source.publisher,
        authority=source.authority,
        language=language,
        text=text,
        reviewed_on=content.reviewed_on,
        synonyms=tuple(dict.fromkeys(content.aliases)),
        kind=DocumentKind.FAQ if content.kind is ContentKind.FAQ else DocumentKind.ARTICLE,
        category=content.category,
        published_on=content.date.date() if content.date else None,
    )
