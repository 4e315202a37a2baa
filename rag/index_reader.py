"""Reading one published version of an index, the same for a whole question however often a new one is published meanwhile."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from lancedb.query import MatchQuery

from rag import store_schema as schema
from rag.corpus import CorpusStatistics
from rag.documents import Chunk, Document, SurfaceKind
from rag.models.protocols import Vectors
from rag.types import Hit

_Found = TypeVar("_Found")

_IS_PASSAGE = f"kind = {schema.quoted(SurfaceKind.PASSAGE)}"
_REFINE = 4  # an approximate index keeps vectors in 8 bits: four times the candidates are compared exactly
_SURFACES_A_CHUNK = 4  # rows fetched for each chunk wanted where chunks have several surfaces


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """One published version, through a handle of its own that nothing moves."""

    table: Any
    version: int
    metadata: schema.Metadata
    has_questions: bool
    is_approximate: bool


class IndexReader:
    """Searches one version of one language's index.

    A version may be cleaned away while it is read: the read is then repeated once on the live one. Safe in several threads.
    """

    def __init__(self, snapshot: Snapshot, reopen: Callable[[], Snapshot]) -> None:
        self._snapshot = snapshot
        self._reopen = reopen

    @property
    def version(self) -> int:
        """The version that is read."""
        return self._snapshot.version

    @property
    def statistics(self) -> CorpusStatistics:
        """Figures of the whole corpus."""
        return self._snapshot.metadata.statistics

    @property
    def is_demonstration(self) -> bool:
        """Whether any page is a demonstration text that no clinician has reviewed."""
        return self._snapshot.metadata.is_demonstration

    def dense(self, vector: Vectors, k: int) -> list[Hit]:
        """Find the `k` chunks with the surface nearest to a unit `vector`, best first; `score` is the cosine."""
        return self._read(lambda snapshot: _dense(snapshot, vector, k))

    def lexical(self, tokens_text: str, k: int, vector: Vectors | None = None) -> list[Hit]:
        """Find up to `k` chunks that hold any of the tokens, best first; `score` is the BM25 score.

        Args:
            tokens_text: Tokens joined by blanks, as `rag.text` makes them; empty finds nothing.
            k: Most hits.
            vector: The question's vector, if `Hit.dense` shall hold the cosine of the passage.
        """
        if not tokens_text.strip():
            return []
        return self._read(lambda snapshot: _lexical(snapshot, tokens_text, k, vector))

    def chunks(self, chunk_ids: Sequence[str]) -> dict[str, Chunk]:
        """Get chunks by id; unknown ids are left out."""
        return self._read(lambda snapshot: _chunks(snapshot, chunk_ids))

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

    def _read(self, operation: Callable[[Snapshot], _Found]) -> _Found:
        try:
            return operation(self._snapshot)
        except (RuntimeError, OSError, ValueError) as error:
            if "not found" not in str(error).lower():
                raise
            self._snapshot = self._reopen()
            return operation(self._snapshot)


def read_rows(table: Any, columns: list[str], filters: Sequence[str]) -> list[dict[str, Any]]:  # noqa: ANN401 - LanceDB is untyped
    """Read columns of the rows that match any of the filters."""
    found: list[dict[str, Any]] = []
    for condition in filters:
        found.extend(table.search().where(condition).select(columns).limit(None).to_list())
    return found


def _dense(snapshot: Snapshot, vector: Vectors, k: int) -> list[Hit]:
    search = snapshot.table.search(np.asarray(vector, dtype=np.float32), vector_column_name="vector").distance_type("cosine")
    if snapshot.is_approximate:
        search = search.refine_factor(_REFINE)
    wanted = k * (_SURFACES_A_CHUNK if snapshot.has_questions else 1)
    rows = search.select(["chunk_id", "chunk", "_distance"]).limit(wanted).to_list()
    cosines: dict[str, float] = {}
    written: dict[str, str] = {}
    for row in rows:
        chunk_id, cosine = row["chunk_id"], 1.0 - float(row["_distance"])
        cosines[chunk_id] = max(cosine, cosines.get(chunk_id, -1.0))
        if row["chunk"] is not None:
            written[chunk_id] = row["chunk"]
    best = sorted(cosines, key=lambda chunk_id: (-cosines[chunk_id], chunk_id))[:k]
    others = _chunks(snapshot, [chunk_id for chunk_id in best if chunk_id not in written])
    found = {chunk_id: others.get(chunk_id) or schema.decode_chunk(written[chunk_id]) for chunk_id in best}
    return [Hit(chunk=found[chunk_id], score=cosines[chunk_id], dense=cosines[chunk_id]) for chunk_id in best]


def _lexical(snapshot: Snapshot, tokens_text: str, k: int, vector: Vectors | None) -> list[Hit]:
    columns = ["chunk_id", "chunk", "_score"] + ([] if vector is None else ["vector"])
    matches = MatchQuery(tokens_text, "lexical")  # type: ignore[call-arg]  # the others have defaults that mypy does not see
    search = snapshot.table.search(matches, query_type="fts")
    hits = []
    for row in search.select(columns).limit(k).to_list():
        cosine = 0.0 if vector is None else float(np.dot(np.asarray(row["vector"], dtype=np.float32), vector))
        score = float(row["_score"])
        hits.append(Hit(chunk=schema.decode_chunk(row["chunk"]), score=score, dense=cosine, lexical=score))
    return sorted(hits, key=lambda hit: (-hit.score, hit.chunk.chunk_id))


def _chunks(snapshot: Snapshot, chunk_ids: Sequence[str]) -> dict[str, Chunk]:
    rows = read_rows(snapshot.table, ["chunk_id", "chunk"], _passages(chunk_ids))
    return {row["chunk_id"]: schema.decode_chunk(row["chunk"]) for row in rows}


def _page(snapshot: Snapshot, document_id: str, vector: Vectors) -> list[Hit]:
    of_page = [f"{condition} AND {_IS_PASSAGE}" for condition in schema.is_in("document_id", [document_id])]
    hits = []
    for row in read_rows(snapshot.table, ["chunk", "vector"], of_page):
        cosine = float(np.dot(np.asarray(row["vector"], dtype=np.float32), vector))
        hits.append(Hit(chunk=schema.decode_chunk(row["chunk"]), score=cosine, dense=cosine))
    return sorted(hits, key=lambda hit: hit.chunk.position)


def _sentence_vectors(snapshot: Snapshot, chunk_ids: Sequence[str]) -> dict[str, Vectors]:
    rows = read_rows(snapshot.table, ["chunk_id", "sentence_vectors"], _passages(chunk_ids))
    dimension = snapshot.metadata.dimension
    return {
        row["chunk_id"]: schema.decode_sentence_vectors(row["sentence_vectors"], dimension)
        for row in rows
        if row["sentence_vectors"] is not None
    }


def _document(snapshot: Snapshot, document_id: str) -> Document | None:
    wanted = [f"{condition} AND document IS NOT NULL" for condition in schema.is_in("document_id", [document_id])]
    rows = read_rows(snapshot.table, ["document"], wanted)
    return schema.decode_document(rows[0]["document"]) if rows else None


def _passages(chunk_ids: Sequence[str]) -> list[str]:
    return [f"{condition} AND {_IS_PASSAGE}" for condition in schema.is_in("chunk_id", chunk_ids)]
