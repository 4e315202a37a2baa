"""From a document to a page ready to be published: cut into chunks, surfaces and sentences embedded."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ingest.chunker import CHUNKER_VERSION, DEFAULT_MAX_TOKENS, Chunker, sentence_text
from ingest.staging import StagedPage
from rag.documents import Chunk, Document, Surface
from rag.models.protocols import Embedder

# Texts embedded in one go: a few seconds with the starter embedder, which is what a killed run loses at most.
_BATCH = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class CutPage:
    """A page cut into chunks, with all the texts of it that will be embedded: its surfaces, then its sentences."""

    document: Document
    chunks: tuple[Chunk, ...]
    surfaces: tuple[Surface, ...]
    texts: tuple[str, ...]


class PageBuilder:
    """Cuts and embeds pages in one way; `indexed_with` names that way, so that pages made in another are recognised."""

    def __init__(self, embedder: Embedder, *, sentence_vectors: bool = True) -> None:
        max_tokens = min(DEFAULT_MAX_TOKENS, embedder.max_tokens)
        self._embedder = embedder
        self._chunker = Chunker(embedder.count_tokens, max_tokens)
        self._sentence_vectors = sentence_vectors
        sentences = "with" if sentence_vectors else "without"
        self.indexed_with = f"{embedder.fingerprint}; chunker {CHUNKER_VERSION}, {max_tokens} tokens, {sentences} sentences"

    def cut(self, document: Document) -> CutPage:
        """Cut a document and list what of it will be embedded."""
        chunks, surfaces = self._chunker.chunks(document)
        texts = [surface.text for surface in surfaces]
        if self._sentence_vectors:
            texts += [sentence_text(chunk, sentence) for chunk in chunks for sentence in chunk.sentences]
        return CutPage(document=document, chunks=tuple(chunks), surfaces=tuple(surfaces), texts=tuple(texts))

    def batches(self, documents: Iterable[Document]) -> list[list[CutPage]]:
        """Cut documents and group them so that each group holds about as many texts."""
        return list(_grouped(self.cut(document) for document in documents))

    def embed(self, pages: Sequence[CutPage]) -> list[StagedPage]:
        """Embed pages; equal texts, of which lists have many, are embedded once.

        Raises:
            ModelError: If the embedder fails.
        """
        distinct = list(dict.fromkeys(text for page in pages for text in page.texts))
        parts = [self._embedder.embed_passages(distinct[at : at + _BATCH]) for at in range(0, len(distinct), _BATCH)]
        vectors = np.concatenate(parts) if parts else np.zeros((0, self._embedder.dimension), dtype=np.float32)
        row_of = {text: row for row, text in enumerate(distinct)}
        return [
            StagedPage(
                document=page.document,
                chunks=page.chunks,
                surfaces=page.surfaces,
                vectors=vectors[[row_of[text] for text in page.texts]],
                indexed_with=self.indexed_with,
            )
            for page in pages
        ]


def _grouped(pages: Iterable[CutPage]) -> Iterator[list[CutPage]]:
    group: list[CutPage] = []
    texts = 0
    for page in pages:
        group.append(page)
        texts += len(page.texts)
        if texts >= _BATCH:
            yield group
            group, texts = [], 0
    if group:
        yield group
