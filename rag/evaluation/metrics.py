"""How good a ranking is: hit rate, mean reciprocal rank and normalised discounted cumulative gain, each for one question."""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from rag.evaluation.datasets import JudgedQuery

KS = (1, 3, 5, 10)
"""How many first places a hit is counted in."""


def hit_at(ranking: Sequence[str], gold: Collection[str], k: int) -> float:
    """1 if any of the first `k` is right, else 0."""
    return float(any(document_id in gold for document_id in ranking[:k]))


def reciprocal_rank(ranking: Sequence[str], gold: Collection[str], k: int = 10) -> float:
    """One over the place of the first right one among the first `k`, or 0."""
    return next((1.0 / place for place, document_id in enumerate(ranking[:k], start=1) if document_id in gold), 0.0)


def ndcg(ranking: Sequence[str], gold: Collection[str], k: int = 10) -> float:
    """Discounted gain of the first `k` over the best that was possible, all right ones counting alike; 0 without gold."""
    gain = sum(1.0 / math.log2(place + 1) for place, document_id in enumerate(ranking[:k], start=1) if document_id in gold)
    best = sum(1.0 / math.log2(place + 1) for place in range(1, min(len(gold), k) + 1))
    return gain / best if best else 0.0


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that at least `share` of the values do not exceed; 0 for no values."""
    if not values:
        return 0.0
    ordered = sorted(values)
    return ordered[max(math.ceil(share * len(ordered)) - 1, 0)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """One question's figures under one configuration, and the seconds of its search by stage."""

    set_name: str
    figures: Mapping[str, float]
    stages_s: Mapping[str, float]


def judge(query: JudgedQuery, ranking: Sequence[str], stages_s: Mapping[str, float]) -> Judged:
    """Judge a ranking of document ids by the question's right ones."""
    figures = {f"hit@{k}": hit_at(ranking, query.gold, k) for k in KS}
    figures |= {"mrr@10": reciprocal_rank(ranking, query.gold), "ndcg@10": ndcg(ranking, query.gold)}
    return Judged(set_name=query.set_name, figures=figures, stages_s=stages_s)
