"""Two rankings of one question made into one: a sum of cosine and BM25, each on a scale that means the same in every question."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from rag.corpus import CorpusStatistics
from rag.types import Hit


@dataclass(frozen=True, slots=True, kw_only=True)
class FusionWeights:
    """What one point of BM25, and one point of an expansion's score, counts in a score.

    The unit of a score is one standard deviation of the cosine of unrelated texts, so that the same weights hold for another
    embedder.
    """

    # 0.11: swept 0–0.3 on the development sets, docs/adr/0003-fusion-weights.md; 0.08 to 0.15 lie within two points of it.
    lexical: float = 0.11
    # 0.4: swept 0.15–1, docs/adr/0003-fusion-weights.md. From 0.6 on, questions that need no other words lose pages.
    expansion: float = 0.4


def combined(dense: float, lexical: float, statistics: CorpusStatistics, weights: FusionWeights) -> float:
    """Score a chunk by cosine and BM25.

    BM25 is taken as it is, not scaled to the best hit of the question. It sums over the words of the question, weighted by how
    rare they are; so it counts little in a question of one common word, and much in a long story whose vector says nothing.
    """
    return deviations(dense, statistics) + weights.lexical * lexical


def deviations(cosine: float, statistics: CorpusStatistics) -> float:
    """A cosine in deviations of the background: how far it stands out from that of unrelated texts."""
    return (cosine - statistics.background_mean) / (statistics.background_std or 1.0)


def fuse(dense: Sequence[Hit], lexical: Sequence[Hit], statistics: CorpusStatistics, weights: FusionWeights) -> list[Hit]:
    """Order the chunks of both rankings, each once; hits of the lexical one must bring their cosine with them."""
    merged = {hit.chunk.chunk_id: hit for hit in lexical}
    for hit in dense:
        twin = merged.get(hit.chunk.chunk_id)
        merged[hit.chunk.chunk_id] = replace(hit, lexical=twin.lexical if twin else 0.0)
    return ranked([replace(hit, score=combined(hit.dense, hit.lexical, statistics, weights)) for hit in merged.values()])


def add_expansions(own: Sequence[Hit], expansions: Sequence[Sequence[Hit]], weights: FusionWeights) -> list[Hit]:
    """Add to the ranking of the patient's own words those of other phrasings, at a lower weight.

    A chunk that a ranking does not hold counts as its last one: nearer it was not.
    """
    if not any(expansions):
        return list(own)
    hits = {hit.chunk.chunk_id: hit for ranking in (*reversed(expansions), own) for hit in ranking}
    totals = dict.fromkeys(hits, 0.0)
    share = weights.expansion / len(expansions)
    for ranking, weight in ((own, 1.0), *((expansion, share) for expansion in expansions)):
        scores = {hit.chunk.chunk_id: hit.score for hit in ranking}
        last = min(scores.values(), default=0.0)
        for chunk_id in hits:
            totals[chunk_id] += weight * scores.get(chunk_id, last)
    return ranked([replace(hit, score=totals[chunk_id]) for chunk_id, hit in hits.items()])


def ranked(hits: Sequence[Hit]) -> list[Hit]:
    """Order hits by falling score, equal ones by chunk id, so that the same index always gives the same order."""
    return sorted(hits, key=lambda hit: (-hit.score, hit.chunk.chunk_id))
