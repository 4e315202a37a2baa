"""From a document to a page ready to be published: cut into chunks, surfaces and sentences embedded."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from ingest.chunker import CHUNKER_VERSION, DEFAULT_MAX_TOKENS, Chunker, sentence_text, symptom_chunk
from ingest.staging import StagedPage
from rag.documents import Chunk, Document, Surface, SurfaceKind
from rag.models.protocols import Embedder, Vectors

# Texts embedded in one go: a few seconds with the starter embedder, which is what a killed run loses at most.
_BATCH = 64

Vector = Vectors
"""One row of `Vectors`."""

PseudoTexts = Mapping[SurfaceKind, Sequence[str]]
"""Texts that the generator wrote for a page, by the kind of surface that each becomes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CutPage:
    """A page cut into chunks, with all the texts of it that will be embedded: its surfaces, then its sentences."""

    document: Document
    chunks: tuple[Chunk, ...]
    surfaces: tuple[Surface, ...]
    texts: tuple[str, ...]


class PageBuilder:
    """Cuts and embeds pages in one way; `indexed_with` names that way, so that pages made in another are recognised."""

    def __init__(self, embedder: Embedder, *, sentence_vectors: bool = True, pseudo: str | None = None) -> None:
        max_tokens = min(DEFAULT_MAX_TOKENS, embedder.max_tokens)
        self._embedder = embedder
        self._chunker = Chunker(embedder.count_tokens, max_tokens)
        self._sentence_vectors = sentence_vectors
        self._no_vectors = np.zeros((0, embedder.dimension), dtype=np.float32)
        sentences = "with" if sentence_vectors else "without"
        self.indexed_with = f"{embedder.fingerprint}; chunker {CHUNKER_VERSION}, {max_tokens} tokens, {sentences} sentences"
        if pseudo:
            self.indexed_with += f"; {pseudo}"

    def cut(self, document: Document, pseudo: PseudoTexts = MappingProxyType({})) -> CutPage:
        """Cut a document and list what of it will be embedded; it is also found by the `pseudo` texts."""
        chunks, surfaces = self._chunker.chunks(document)
        for kind, texts in pseudo.items() if chunks else ():
            told = symptom_chunk(chunks).chunk_id
            surfaces += [Surface(kind=kind, text=text, chunk_id=told) for text in texts]
        return CutPage(
            document=document,
            chunks=tuple(chunks),
            surfaces=tuple(surfaces),
            texts=tuple(self._texts(chunks, surfaces)),
        )

    def grouped(self, pages: Iterable[CutPage]) -> Iterator[list[CutPage]]:
        """Group pages so that each group holds about as many texts."""
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

    def embed(self, pages: Sequence[CutPage], known: Mapping[str, Vector] = MappingProxyType({})) -> list[StagedPage]:
        """Embed pages; equal texts, of which lists have many, are embedded once, and those of `known` not at all.

        Raises:
            ModelError: If the embedder fails.
        """
        distinct = [text for text in dict.fromkeys(text for page in pages for text in page.texts) if text not in known]
        parts = [self._embedder.embed_passages(distinct[at : at + _BATCH]) for at in range(0, len(distinct), _BATCH)]
        vector_of = {**known, **dict(zip(distinct, (row for part in parts for row in part), strict=True))}
        return [
            StagedPage(
                document=page.document,
                chunks=page.chunks,
                surfaces=page.surfaces,
                vectors=np.stack([vector_of[text] for text in page.texts]) if page.texts else self._no_vectors,
                indexed_with=self.indexed_with,
            )
            for page in pages
        ]

    def vectors(self, pages: Iterable[StagedPage]) -> dict[str, Vector]:
        """The vectors of pages that were embedded in this way, by text."""
        found: dict[str, Vector] = {}
        for page in pages:
            if page.indexed_with == self.indexed_with:
                found.update(zip(self._texts(page.chunks, page.surfaces), page.vectors, strict=True))
        return found

    def _texts(self, chunks: Sequence[Chunk], surfaces: Sequence[Surface]) -> list[str]:
        texts = [surface.text for surface in surfaces]
        if self._sentence_vectors:
            texts += [sentence_text(chunk, sentence) for chunk in chunks for sentence in chunk.sentences]
        return texts
