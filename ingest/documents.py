"""How a document gets its identity and the hash by which a change is recognised."""

import hashlib
import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from rag.documents import Document, DocumentKind


def web_document_id(source_id: str, url: str) -> str:
    """The id of a page with an address: the same on every machine, and fit to stand in an address itself."""
    return f"{source_id}-{hashlib.sha256(url.encode()).hexdigest()[:16]}"


def new_document(*, fetched_at: datetime | None = None, **fields: Any) -> Document:  # noqa: ANN401 - the fields of Document
    """Make a document with its content hash; `fetched_at` is now unless given."""
    document = Document(**fields, fetched_at=fetched_at or datetime.now(UTC), content_hash="")
    return replace(document, content_hash=content_hash(document))


def content_hash(document: Document) -> str:
    """SHA-256 over all that a reader may see or a search may use of a page; the time of fetching is not part of it."""
    links = [[link.title, link.publisher, link.url] for link in document.further_reading]
    reviewed_on = document.reviewed_on.isoformat() if document.reviewed_on else None
    fields: list[object] = [
        *[document.source_id, document.url, document.title, document.publisher, document.authority, document.language],
        *[document.text, reviewed_on, document.topic, document.synonyms, links],
    ]
    published_on = document.published_on.isoformat() if document.published_on else None
    further = [document.kind, document.asked, document.answered_by, document.category, published_on]
    if further != [DocumentKind.ARTICLE, (), None, None, None]:  # an article's hash stays what it always was
        fields += further
    return hashlib.sha256(json.dumps(fields, ensure_ascii=False).encode()).hexdigest()
