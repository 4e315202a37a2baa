"""A page between embedding and publication, and how the ledger keeps it."""

import json
from dataclasses import dataclass

import numpy as np

from rag.documents import Chunk, Document, Surface, SurfaceKind
from rag.models.protocols import Vectors
from rag.store_schema import decode_chunk, decode_document, encode


@dataclass(frozen=True, slots=True, kw_only=True)
class StagedPage:
    """A page ready to be published.

    `vectors` holds one row a surface and then, where sentences were embedded too, one row a sentence, in the order of the chunks.
    `indexed_with` names all that shaped chunks and vectors beside the text: chunker, embedder and their settings.
    """

    document: Document
    chunks: tuple[Chunk, ...]
    surfaces: tuple[Surface, ...]
    vectors: Vectors
    indexed_with: str

    @property
    def surface_vectors(self) -> Vectors:
        """Vectors of the surfaces, in their order."""
        return self.vectors[: len(self.surfaces)]

    def sentence_vectors(self) -> dict[str, Vectors]:
        """Vectors of the sentences by chunk id; empty where sentences were not embedded."""
        found: dict[str, Vectors] = {}
        start = len(self.surfaces)
        if start == len(self.vectors):
            return found
        for chunk in self.chunks:
            found[chunk.chunk_id] = self.vectors[start : start + len(chunk.sentences)]
            start += len(chunk.sentences)
        return found


def encode_page(page: StagedPage) -> tuple[str, str, str, bytes, int]:
    """Document, chunks and surfaces as JSON, the vectors as little-endian float32, and their dimension."""
    return (
        encode(page.document),
        json.dumps([encode(chunk) for chunk in page.chunks]),
        json.dumps([[surface.kind, surface.text, surface.chunk_id] for surface in page.surfaces], ensure_ascii=False),
        page.vectors.astype("<f4").tobytes(),
        page.vectors.shape[1],
    )


def decode_page(indexed_with: str, document: str, chunks: str, surfaces: str, vectors: bytes, dimension: int) -> StagedPage:
    """Read a page that `encode_page` wrote."""
    found = [Surface(kind=SurfaceKind(kind), text=text, chunk_id=chunk_id) for kind, text, chunk_id in json.loads(surfaces)]
    return StagedPage(
        document=decode_document(document),
        chunks=tuple(decode_chunk(chunk) for chunk in json.loads(chunks)),
        surfaces=tuple(found),
        vectors=np.frombuffer(vectors, dtype="<f4").reshape(-1, dimension),
        indexed_with=indexed_with,
    )
