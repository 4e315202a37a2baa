"""How sure it is that a page found is on the question's topic: the figure that is shown with a source, and limited by a setting.

A cosine means little by itself. How sure it is that the index covers the question tells more, and so does how far a page lies
behind the best one: where two come near, either may be right.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rag.corpus import CorpusStatistics
from rag.coverage import nearness
from rag.types import Hit

_SUREST = 0.999  # of a coverage, so that its logarithm has bounds


@dataclass(frozen=True, slots=True, kw_only=True)
class SimilaritySigns:
    """What tells of a page: the log-odds that the index covers the question, and how far its score lies behind the best one."""

    coverage: float
    behind: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SimilarityWeights:
    """Coefficients of the signs, and the constant, of a logistic regression."""

    coverage: float
    behind: float
    constant: float

    def probability(self, signs: SimilaritySigns) -> float:
        """How sure it is that a page is on the question's topic, 0 to 1."""
        total = self.constant + self.coverage * signs.coverage + self.behind * signs.behind
        return 0.5 + 0.5 * math.tanh(total / 2.0)


def page_similarities(
    hits: Sequence[Hit], statistics: CorpusStatistics, coverage: float, weights: SimilarityWeights | None
) -> dict[str, float]:
    """Tell of each page among hits how sure it is that it is on the question's topic, 0 to 1, by page id.

    Args:
        hits: The candidates, reranked.
        statistics: Figures of the corpus.
        coverage: How sure it is that the index covers the question, 0 to 1.
        weights: What was fitted to the index; without, the cosine alone tells, on a scale that was set by hand.
    """
    first = best_hits(hits)
    if weights is None:
        return {hit.chunk.document_id: nearness(hit.dense, statistics) for hit in first}
    signs = similarity_signs(first, coverage)
    return {hit.chunk.document_id: weights.probability(found) for hit, found in zip(first, signs, strict=True)}


def best_hits(hits: Iterable[Hit]) -> list[Hit]:
    """The first hit of each page, in their order."""
    first: dict[str, Hit] = {}
    for hit in hits:
        first.setdefault(hit.chunk.document_id, hit)
    return list(first.values())


def similarity_signs(first: Sequence[Hit], coverage: float) -> list[SimilaritySigns]:
    """What tells of each page, by its best hit, and by how sure it is that the index covers the question."""
    bounded = min(max(coverage, 1.0 - _SUREST), _SUREST)
    odds = math.log(bounded / (1.0 - bounded))
    highest = max((hit.score for hit in first), default=0.0)
    return [SimilaritySigns(coverage=odds, behind=highest - hit.score) for hit in first]
