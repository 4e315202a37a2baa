"""Small pages for tests that need a real index."""

import hashlib
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from locales.language import Language
from rag.documents import Authority, Chunk, Document, Sentence, Surface, SurfaceKind
from rag.store import IndexStore
from tests.fakes import HashEmbedder

ITALIAN = Language.ITALIAN


class Page:
    """A document of one chunk, with as many question surfaces as wanted."""

    def __init__(
        self, document_id: str, title: str, text: str, *, questions: Sequence[str] = (), demonstration: bool = False
    ) -> None:
        authority = Authority.DEMONSTRATION if demonstration else Authority.PUBLISHER
        self.document = Document(
            document_id=document_id,
            source_id="prova",
            url=None,
            title=title,
            publisher="Prova",
            authority=authority,
            language=ITALIAN,
            text=text,
            reviewed_on=None,
            fetched_at=datetime(2026, 1, 1, tzinfo=UTC),
            content_hash=hashlib.sha256(text.encode()).hexdigest(),
        )
        self.chunk = Chunk(
            chunk_id=f"{document_id}:0",
            document_id=document_id,
            source_id="prova",
            url=None,
            title=title,
            publisher="Prova",
            authority=authority,
            language=ITALIAN,
            heading_path=(),
            text=text,
            sentences=(Sentence(text=text, start=0, end=len(text)),),
            position=0,
        )
        passage = Surface(kind=SurfaceKind.PASSAGE, text=f"{title}. {text}", chunk_id=self.chunk.chunk_id)
        asked = [Surface(kind=SurfaceKind.QUESTION, text=question, chunk_id=self.chunk.chunk_id) for question in questions]
        self.surfaces = [passage, *asked]


def publish(
    store: IndexStore, *pages: Page, embedder: HashEmbedder | None = None, retired: Sequence[str] = (), full: bool = False
) -> int:
    embedder = embedder or HashEmbedder()
    surfaces = [surface for page in pages for surface in page.surfaces]
    return store.publish(
        ITALIAN,
        documents=[page.document for page in pages],
        chunks=[page.chunk for page in pages],
        surfaces=surfaces,
        vectors=embedder.embed_passages([surface.text for surface in surfaces]),
        embedder=embedder,
        sentence_vectors={page.chunk.chunk_id: embedder.embed_passages([page.chunk.text]) for page in pages},
        retired=retired,
        full=full,
    )


def files_under(path: Path) -> int:
    return sum(1 for file in path.rglob("*") if file.is_file())
