"""Three ways to use the topic that a question is meant to be about: not at all, as a weight, and as a filter by strings."""

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from enum import StrEnum

from rag.documents import Chunk
from rag.fusion import ranked
from rag.index_reader import IndexReader
from rag.models.protocols import Vectors
from rag.reranker import Reranker
from rag.retriever import Retriever
from rag.search import Search, Stage
from rag.text import fold
from rag.types import Hit, Query

EVIDENCE_ITEMS = 5
"""How many first passages count as evidence, as in the published study."""

POOL = 20 * EVIDENCE_ITEMS
"""Candidates that are weighted or filtered: twenty times the evidence items, as in the published study."""

TITLE_WEIGHT, TEXT_WEIGHT = 1.0, 0.5
"""What naming the topic adds to a score, in its unit: as much as one and a half deviations of unrelated texts; not tuned."""

_CANDIDATES = 15  # as in `rag/search.py`


class Policy(StrEnum):
    """How retrieval treats the intended topic."""

    NONE = "none"
    SOFT = "soft"
    HARD = "hard"


class PolicySearch(Search):
    """The search of an answer under a policy; it keeps the last ranking, which the answering line does not give away.

    `topic_name` is the string that names the topic of the question that is asked next.
    """

    def __init__(self, retriever: Retriever, policy: Policy) -> None:
        reranker = Reranker()
        super().__init__(retriever, reranker)
        self._candidates, self._order = retriever, reranker
        self._policy = policy
        self.topic_name = ""
        self.found: list[Hit] = []

    def find(
        self, query: Query, reader: IndexReader, vectors: Sequence[Vectors], *, stage: Stage = lambda _: nullcontext()
    ) -> list[Hit]:
        """Find as the product does; under a policy, out of a larger pool that is weighted or filtered by the topic's name."""
        if self._policy is Policy.NONE:
            self.found = super().find(query, reader, vectors, stage=stage)
            return self.found
        with stage("retrieve"):
            hits = self._candidates.retrieve(query, k=POOL, reader=reader, vectors=vectors)
        with stage("rerank"):
            hits = self._order.rerank(query, hits, reader.statistics, k=POOL, vector=vectors[0])
            self.found = _POLICIES[self._policy](hits, self.topic_name)[:_CANDIDATES]
        return self.found


def weighted(hits: Sequence[Hit], topic_name: str) -> list[Hit]:
    """All hits, those that name the topic moved up: by a title more than by a heading or the text."""
    return ranked([replace(hit, score=hit.score + _weight(hit.chunk, topic_name)) for hit in hits])


def filtered(hits: Sequence[Hit], topic_name: str) -> list[Hit]:
    """Only hits whose title or text holds the topic's name, in their order."""
    return [hit for hit in hits if names(hit.chunk.title, topic_name) or names(hit.chunk.text, topic_name)]


def names(text: str, topic_name: str) -> bool:
    """Whether a text holds the name as a string, whatever its case and accents."""
    return fold(topic_name) in fold(text)


def _weight(chunk: Chunk, topic_name: str) -> float:
    in_text = any(names(part, topic_name) for part in (*chunk.heading_path, chunk.text))
    return TITLE_WEIGHT * names(chunk.title, topic_name) + TEXT_WEIGHT * in_text


_POLICIES: dict[Policy, Callable[[Sequence[Hit], str], list[Hit]]] = {Policy.SOFT: weighted, Policy.HARD: filtered}
