"""Reading one published version of an index, the same for a whole question however often a new one is published meanwhile."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
from lancedb.query import MatchQuery

from locales.language import Language
from rag import store_schema as schema
from rag.calibration import Calibration
from rag.corpus import CorpusStatistics
from rag.documents import Document, SurfaceKind
from rag.errors import StoreError
from rag.fusion import ranked
from rag.models.protocols import Vectors
from rag.table_indexes import nearest
from rag.types import Candidate, Hit

_Found = TypeVar("_Found")

_UNREADABLE = (RuntimeError, OSError, ValueError)  # as LanceDB raises where files are missing or damaged

_IS_PASSAGE = f"kind = {schema.quoted(SurfaceKind.PASSAGE)}"
# Rows fetched at first for each chunk wanted where chunks have several surfaces: of the 100 nearest to a question, 50 to 90 were
# of different chunks.
_SURFACES_A_CHUNK = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Passages:
    """Where the passages of one version are: the row of each chunk, and the chunk of each row.

    Both ways because rows are found faster without their ids, and fetched in half the time that a look-up by id takes: of 385,000
    surfaces, a question that is told ids by rows takes the processors an eighth less.
    """

    rows: Mapping[str, int]
    chunk_ids: Mapping[int, str]

    def __len__(self) -> int:
        return len(self.rows)


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """One published version, through a handle of its own that nothing moves; `described_ns` is when its metadata were written.

    `passages` takes 80 ms to read at 77,000 chunks. `searched_parts` counts those of the vector index, 0 if every vector is
    compared.
    """

    language: Language
    table: Any
    version: int
    metadata: schema.Metadata
    described_ns: int
    passages: Passages
    has_questions: bool
    searched_parts: int


class IndexReader:
    """Searches one version of one language's index.

    A version may be cleaned away while it is read: the read is then repeated once on the live one. Safe in several threads. Every
    read may raise `StoreError`.
    """

    def __init__(self, snapshot: Snapshot, reopen: Callable[[], Snapshot]) -> None:
        self._snapshot = snapshot
        self._reopen = reopen

    @property
    def version(self) -> int:
        """The version that is read."""
        return self._snapshot.version

    @property
    def dimension(self) -> int:
        """Length of a vector."""
        return self._snapshot.metadata.dimension

    @property
    def statistics(self) -> CorpusStatistics:
        """Figures of the whole corpus."""
        return self._snapshot.metadata.statistics

    @property
    def calibration(self) -> Calibration | None:
        """What was fitted to this version; None for a small one, which is judged as the starter corpus is."""
        return self._snapshot.metadata.calibration

    @property
    def is_demonstration(self) -> bool:
        """Whether any page is a demonstration text that no clinician has reviewed."""
        return self._snapshot.metadata.is_demonstration

    def dense(self, vector: Vectors, k: int) -> list[Hit]:
        """Find the `k` chunks with the surface nearest to a unit `vector`, best first; `score` is the cosine."""
        return self._read(lambda snapshot: _hits(snapshot, _nearest(snapshot, vector, k)))

    def lexical(self, tokens_text: str, k: int, vector: Vectors | None = None) -> list[Hit]:
        """Find up to `k` chunks that hold any of the tokens, best first; `score` is the BM25 score.

        Args:
            tokens_text: Tokens joined by blanks, as `rag.text` makes them; empty finds nothing.
            k: Most hits.
            vector: The question's vector, if `Hit.dense` shall hold the cosine of the passage.
        """
        return self._read(lambda snapshot: _hits(snapshot, _matching(snapshot, tokens_text, k, vector)))

    def nearest(self, vector: Vectors, k: int) -> list[Candidate]:
        """Find what `dense` does, and read none of it."""
        return self._read(lambda snapshot: _nearest(snapshot, vector, k))

    def matching(self, tokens_text: str, k: int, vector: Vectors | None = None) -> list[Candidate]:
        """Find what `lexical` does, and read none of it."""
        return self._read(lambda snapshot: _matching(snapshot, tokens_text, k, vector))

    def hits(self, candidates: Sequence[Candidate]) -> list[Hit]:
        """Read candidates, all at once, in their order; those that have been withdrawn meanwhile are left out."""
        return self._read(lambda snapshot: _hits(snapshot, candidates))

    def page(self, document_id: str, vector: Vectors) -> list[Hit]:
        """Get all passages of a page in its order; `score` is the cosine of a passage's own text to a unit `vector`."""
        return self._read(lambda snapshot: _page(snapshot, document_id, vector))

    def sentence_vectors(self, chunk_ids: Sequence[str]) -> dict[str, Vectors]:
        """Get the vectors of the sentences of chunks, rows in the order of `Chunk.sentences`.

        Chunks that were published without sentence vectors are left out.
        """
        return self._read(lambda snapshot: _sentence_vectors(snapshot, chunk_ids))

    def get_document(self, document_id: str) -> Document | None:
        """Get a stored document."""
        return self._read(lambda snapshot: _document(snapshot, document_id))

    def exhaustive(self) -> "IndexReader":
        """The same version, every vector of it compared: what an approximate search is measured against."""
        snapshot = replace(self._snapshot, searched_parts=0)
        return IndexReader(snapshot, lambda: snapshot)

    def calibrated(self, calibration: Calibration | None) -> "IndexReader":
        """The same version with another calibration, or without."""
        snapshot = replace(self._snapshot, metadata=replace(self._snapshot.metadata, calibration=calibration))
        return IndexReader(snapshot, lambda: snapshot)

    def pages(self) -> list[Document]:
        """Get all stored documents."""
        return self._read(lambda snapshot: _documents(snapshot))

    def _read(self, operation: Callable[[Snapshot], _Found]) -> _Found:
        try:
            return operation(self._snapshot)
        except _UNREADABLE as error:
            if "not found" not in str(error).lower():
                raise StoreError(f"The index cannot be read ({type(error).__name__}).") from error
            self._snapshot = self._reopen()
        try:
            return operation(self._snapshot)
        except _UNREADABLE as error:
            raise StoreError(f"The index cannot be read ({type(error).__name__}).") from error


def read_rows(table: Any, columns: list[str], filters: Sequence[str]) -> list[dict[str, Any]]:  # noqa: ANN401 - LanceDB is untyped
    """Read columns of the rows that match any of the filters."""
    found: list[dict[str, Any]] = []
    for condition in filters:
        found.extend(table.search().where(condition).select(columns).limit(None).to_list())
    return found


def read_passages(table: Any) -> Passages:  # noqa: ANN401
    """Read the row ids of all passages; they hold for the table's version only."""
    found = table.search().where(_IS_PASSAGE).select(["chunk_id"]).with_row_id(True).limit(None).to_arrow()
    chunk_ids = dict(zip(found["_rowid"].to_pylist(), found["chunk_id"].to_pylist(), strict=True))
    return Passages(rows={chunk_id: row for row, chunk_id in chunk_ids.items()}, chunk_ids=chunk_ids)


def _nearest(snapshot: Snapshot, vector: Vectors, k: int) -> list[Candidate]:
    rows = k * (_SURFACES_A_CHUNK if snapshot.has_questions else 1)
    cosines: dict[str, float] = {}
    while True:
        found = nearest(snapshot.table, vector, rows, parts=snapshot.searched_parts)
        for chunk_id, distance in zip(found["chunk_id"].to_pylist(), found["_distance"].to_pylist(), strict=True):
            cosines.setdefault(chunk_id, 1.0 - distance)  # its nearest surface comes first
        if len(cosines) >= k or found.num_rows < rows:
            break
        rows *= 2
    best = sorted(cosines, key=lambda chunk_id: (-cosines[chunk_id], chunk_id))[:k]
    return [Candidate(chunk_id=chunk_id, score=cosines[chunk_id], dense=cosines[chunk_id]) for chunk_id in best]


def _matching(snapshot: Snapshot, tokens_text: str, k: int, vector: Vectors | None) -> list[Candidate]:
    if not tokens_text.strip():
        return []
    columns = ["_score"] + ([] if vector is None else ["vector"])
    matches = MatchQuery(tokens_text, "lexical")  # type: ignore[call-arg]  # the others have defaults that mypy does not see
    found = snapshot.table.search(matches, query_type="fts").select(columns).with_row_id(True).limit(k).to_arrow()
    cosines = [0.0] * found.num_rows if vector is None else (_matrix(found["vector"]) @ vector).tolist()
    candidates = [
        Candidate(chunk_id=snapshot.passages.chunk_ids[row], score=score, dense=cosine, lexical=score)
        for row, score, cosine in zip(found["_rowid"].to_pylist(), found["_score"].to_pylist(), cosines, strict=True)
    ]
    return ranked(candidates)


def _hits(snapshot: Snapshot, candidates: Sequence[Candidate]) -> list[Hit]:
    passages = _of_passages(snapshot, [candidate.chunk_id for candidate in candidates], ["chunk", "lexical", "sentence_vectors"])
    known = [(candidate, passages[candidate.chunk_id]) for candidate in candidates if candidate.chunk_id in passages]
    return [
        Hit(
            chunk=schema.decode_chunk(passage["chunk"]),
            score=candidate.score,
            dense=candidate.dense,
            lexical=candidate.lexical,
            tokens=tuple(passage["lexical"].split()),
            sentence_vectors=_decoded(snapshot, passage["sentence_vectors"]),
        )
        for candidate, passage in known
    ]


def _of_passages(snapshot: Snapshot, chunk_ids: Sequence[str], columns: list[str]) -> dict[str, dict[str, Any]]:
    """Columns of the passages of chunks, by chunk id; unknown ids are left out."""
    known = snapshot.passages.rows
    rows = [known[chunk_id] for chunk_id in dict.fromkeys(chunk_ids) if chunk_id in known]
    if not rows:
        return {}
    found = snapshot.table.take_row_ids(rows).select(["chunk_id", *columns]).to_arrow()
    return {row["chunk_id"]: row for row in found.to_pylist()}


def _matrix(vectors: pa.ChunkedArray) -> Vectors:
    rows = vectors.combine_chunks()
    matrix: Vectors = rows.flatten().to_numpy().reshape(len(rows), rows.type.list_size)
    return matrix


def _page(snapshot: Snapshot, document_id: str, vector: Vectors) -> list[Hit]:
    of_page = [f"{condition} AND {_IS_PASSAGE}" for condition in schema.is_in("document_id", [document_id])]
    hits = []
    for row in read_rows(snapshot.table, ["chunk", "vector"], of_page):
        cosine = float(np.dot(np.asarray(row["vector"], dtype=np.float32), vector))
        hits.append(Hit(chunk=schema.decode_chunk(row["chunk"]), score=cosine, dense=cosine))
    return sorted(hits, key=lambda hit: hit.chunk.position)


def _sentence_vectors(snapshot: Snapshot, chunk_ids: Sequence[str]) -> dict[str, Vectors]:
    passages = _of_passages(snapshot, chunk_ids, ["sentence_vectors"])
    decoded = {chunk_id: _decoded(snapshot, passage["sentence_vectors"]) for chunk_id, passage in passages.items()}
    return {chunk_id: vectors for chunk_id, vectors in decoded.items() if vectors is not None}


def _decoded(snapshot: Snapshot, sentence_vectors: bytes | None) -> Vectors | None:
    return None if sentence_vectors is None else schema.decode_sentence_vectors(sentence_vectors, snapshot.metadata.dimension)


def _document(snapshot: Snapshot, document_id: str) -> Document | None:
    wanted = [f"{condition} AND document IS NOT NULL" for condition in schema.is_in("document_id", [document_id])]
    rows = read_rows(snapshot.table, ["document"], wanted)
    return schema.decode_document(rows[0]["document"]) if rows else None


def _documents(snapshot: Snapshot) -> list[Document]:
    rows = read_rows(snapshot.table, ["document"], ["document IS NOT NULL"])
    return [schema.decode_document(row["document"]) for row in rows]
