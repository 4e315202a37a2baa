"""The candidates of a question in their final order: words, meaning, nearest sentence, and whether they tell what is asked."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from rank_bm25 import BM25Okapi

from rag import text
from rag.aspects import AspectWords
from rag.corpus import CorpusStatistics, lexical_column
from rag.fusion import FusionWeights, deviations, ranked
from rag.models.protocols import Vectors
from rag.types import Hit, Query

# As the full-text index has them.
_K1 = 1.2
_B = 0.75


@dataclass(frozen=True, slots=True, kw_only=True)
class RerankWeights:
    """What a candidate's nearest sentence and what it tells count, in the unit of `FusionWeights`; see docs/adr/0016."""

    sentence: float = 0.3  # of the cosine, the rest is the passage's
    aspect: float = 0.5


class Reranker:
    """Orders candidates; it never drops one for a low score."""

    def __init__(self, weights: FusionWeights | None = None, rerank_weights: RerankWeights | None = None) -> None:
        self._weights = weights or FusionWeights()
        self._rerank = rerank_weights or RerankWeights()

    def rerank(
        self,
        query: Query,
        hits: Sequence[Hit],
        statistics: CorpusStatistics,
        k: int = 5,
        *,
        vector: Vectors | None = None,
    ) -> list[Hit]:
        """Order `hits` anew and return the `k` best, with `lexical` set for all of them.

        The index gives a BM25 score only to its first hits; a chunk found by meaning alone, or by an expansion, gets here what
        the patient's own words are worth in it. A long passage on many things is as near as its nearest sentence, in part; one
        without vectors of its sentences is as near as it is whole.

        Args:
            query: The question.
            hits: The candidates, fused.
            statistics: Figures of the corpus.
            k: Most hits.
            vector: The embedded question, unit length.
        """
        tokens = text.query_tokens(query.question, query.language)
        passages = [lexical_column(hit.chunk).split() if hit.tokens is None else hit.tokens for hit in hits]
        scores = bm25_scores(tokens, passages, statistics)
        words = AspectWords.load(query.language)
        asked = words.asked(query.question)
        reranked = []
        for hit, passage, score in zip(hits, passages, scores, strict=True):
            gain = self._weights.lexical * (score - hit.lexical)
            gain += self._rerank.aspect * words.told(asked, hit.chunk, passage)
            gain += self._nearer_by(hit, vector, statistics)
            reranked.append(replace(hit, score=hit.score + gain, lexical=score))
        return ranked(reranked)[:k]

    def _nearer_by(self, hit: Hit, vector: Vectors | None, statistics: CorpusStatistics) -> float:
        if vector is None or hit.sentence_vectors is None or not len(hit.sentence_vectors):
            return 0.0
        nearest = float(np.max(hit.sentence_vectors @ vector))
        return self._rerank.sentence * (deviations(nearest, statistics) - deviations(hit.dense, statistics))


def bm25_scores(tokens: Sequence[str], passages: Sequence[Sequence[str]], statistics: CorpusStatistics) -> list[float]:
    """Score passages with BM25 as if all of the corpus were there: its idf and mean length replace the candidates' own.

    Over fifteen candidates idf is noise: a word that all of them hold would count against them.
    """
    if not any(passages) or not tokens:
        return [0.0] * len(passages)  # the library divides by the mean length
    model = BM25Okapi([list(passage) for passage in passages], k1=_K1, b=_B)
    model.idf = {token: statistics.idf(token) for token in tokens}
    model.avgdl = statistics.avgdl or model.avgdl
    return [float(score) for score in model.get_scores(list(tokens))]
