"""The search of an answer, the same for patients, for calibration and for evaluations: retrieve, then rerank."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext

from rag.index_reader import IndexReader
from rag.models.protocols import Vectors
from rag.reranker import Reranker
from rag.retriever import Retriever
from rag.types import Hit, Query

Stage = Callable[[str], AbstractContextManager[None]]

_CANDIDATES = 15


class Search:
    """Finds the passages that an answer would be made from, at most `k`."""

    def __init__(self, retriever: Retriever, reranker: Reranker | None = None, *, k: int = _CANDIDATES) -> None:
        self._retriever = retriever
        self._k = k
        self._reranker = reranker or Reranker()

    def find(
        self, query: Query, reader: IndexReader, vectors: Sequence[Vectors], *, stage: Stage = lambda _: nullcontext()
    ) -> list[Hit]:
        """Find the candidates of a query in their final order, best first; none in an index without pages.

        Args:
            query: The patient's own words and expansions.
            reader: What is searched.
            vectors: The embedded question and expansions, in this order.
            stage: Told when each of the stages `retrieve` and `rerank` begins and ends.

        Raises:
            StoreError: If the index cannot be read.
        """
        with stage("retrieve"):
            hits = self._retriever.retrieve(query, k=self._k, reader=reader, vectors=vectors)
        with stage("rerank"):
            return self._reranker.rerank(query, hits, reader.statistics, k=self._k, vector=vectors[0])
