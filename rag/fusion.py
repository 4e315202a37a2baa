"""Two rankings of one question made into one: a sum of cosine and BM25, each on a scale that means the same in every question."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from rag import text
from rag.corpus import CorpusStatistics
from rag.types import Candidate, Hit, Query

_Scored = TypeVar("_Scored", Candidate, Hit)


@dataclass(frozen=True, slots=True, kw_only=True)
class FusionWeights:
    """What one point of BM25, and one point of an expansion's score, counts in a score.

    The unit of a score is one standard deviation of the cosine of unrelated texts, so that the same weights hold for another
    embedder.
    """

    # 0.09: swept on the development sets, docs/adr/0003-fusion-weights.md and 0019; 0.08 to 0.15 lie within two points of it.
    lexical: float = 0.09
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


def fuse(
    dense: Sequence[Candidate], lexical: Sequence[Candidate], statistics: CorpusStatistics, weights: FusionWeights
) -> list[Candidate]:
    """Order the chunks of both rankings, each once; those of the lexical one must bring their cosine with them."""
    merged = {candidate.chunk_id: candidate for candidate in lexical}
    for candidate in dense:
        twin = merged.get(candidate.chunk_id)
        merged[candidate.chunk_id] = replace(candidate, lexical=twin.lexical if twin else 0.0)
    return ranked([replace(one, score=combined(one.dense, one.lexical, statistics, weights)) for one in merged.values()])


def add_expansions(
    own: Sequence[Candidate], expansions: Sequence[Sequence[Candidate]], weights: FusionWeights
) -> list[Candidate]:
    """Add to the ranking of the patient's own words those of other phrasings, at a lower weight.

    A chunk that a ranking does not hold counts as its last one: nearer it was not.
    """
    if not any(expansions):
        return list(own)
    candidates = {candidate.chunk_id: candidate for ranking in (*reversed(expansions), own) for candidate in ranking}
    totals = dict.fromkeys(candidates, 0.0)
    share = weights.expansion / len(expansions)
    for ranking, weight in ((own, 1.0), *((expansion, share) for expansion in expansions)):
        scores = {candidate.chunk_id: candidate.score for candidate in ranking}
        last = min(scores.values(), default=0.0)
        for chunk_id in candidates:
            totals[chunk_id] += weight * scores.get(chunk_id, last)
    return ranked([replace(candidate, score=totals[chunk_id]) for chunk_id, candidate in candidates.items()])


def ranked(scored: Sequence[_Scored]) -> list[_Scored]:
    """Order by falling score, equal ones by chunk id, so that the same index always gives the same order."""
    return sorted(scored, key=lambda one: (-one.score, one.chunk_id))


def renames(query: Query, expansion: str, titles: Iterable[str]) -> bool:
    """Whether an expansion only gives another name to what the question calls by a page's title.

    "¿Qué es la hipertensión?" asks for the page "Hipertensión": what else it is called leads to others.
    """
    asked = set(text.content_tokens(query.question, query.language))
    replaced = asked - set(text.content_tokens(expansion, query.language))
    return any(replaced <= title <= asked for title in (set(text.content_tokens(title, query.language)) for title in titles))
