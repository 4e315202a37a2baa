"""The candidates for an answer: every phrasing of a question searched by meaning and by words, and fused."""

from collections.abc import Callable, Sequence

from locales.language import Language
from rag import text
from rag.fusion import FusionWeights, add_expansions, fuse, renames
from rag.index_reader import IndexReader
from rag.models.protocols import Embedder, Vectors
from rag.types import Candidate, Hit, Query

_DEPTH = 50  # hits of each side that are fused
_NAMED = 3  # hits of the patient's own words whose titles may be the name that they use
_ROUNDS = 5  # a publication may fall into one search; five in a row are no accident


class Retriever:
    """Searches the live index of a query's language."""

    def __init__(
        self, open_reader: Callable[[Language], IndexReader], embedder: Embedder, weights: FusionWeights | None = None
    ) -> None:
        self._open_reader = open_reader
        self._embedder = embedder
        self._weights = weights or FusionWeights()

    def retrieve(
        self, query: Query, k: int = 15, reader: IndexReader | None = None, vectors: Sequence[Vectors] | None = None
    ) -> list[Hit]:
        """Find the `k` best chunks, each once, best first.

        Args:
            query: The patient's own words, always searched, and expansions, which weigh less.
            k: Most hits.
            reader: The reader of this question, if one is open already; else what is live now is opened.
            vectors: The embedded question and expansions, in this order; embedded here if not given.

        Raises:
            IndexMissing: If nothing has been published in the query's language.
            IndexMismatch: If the index was built with another embedder.
        """
        reader = reader or self._open_reader(query.language)
        phrasings = [query.question, *query.expansions]
        if vectors is None:
            vectors = list(self._embedder.embed_queries(phrasings))
        for _ in range(_ROUNDS):
            version = reader.version
            hits = self._of_all(query, phrasings, vectors, reader, k)
            if reader.version == version:
                break  # else words and meaning may have been searched in two versions
        return hits

    def _of_all(
        self, query: Query, phrasings: Sequence[str], vectors: Sequence[Vectors], reader: IndexReader, k: int
    ) -> list[Hit]:
        own, *others = [
            self._search(reader, phrasing, vector, query.language) for phrasing, vector in zip(phrasings, vectors, strict=True)
        ]
        titles = {hit.chunk.title for hit in reader.hits(own[:_NAMED])} if others else set()
        apart = [other for phrase, other in zip(query.expansions, others, strict=True) if not renames(query, phrase, titles)]
        return reader.hits(add_expansions(own, apart, self._weights)[:k])

    def _search(self, reader: IndexReader, phrasing: str, vector: Vectors, language: Language) -> list[Candidate]:
        tokens = text.query_tokens(phrasing, language)
        dense = reader.nearest(vector, _DEPTH)
        lexical = reader.matching(" ".join(tokens), _DEPTH, vector)
        return fuse(dense, lexical, reader.statistics, self._weights)
