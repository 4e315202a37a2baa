"""The candidates of a question in their final order: each one's exact BM25, with the corpus's own figures, beside its cosine."""

from collections.abc import Sequence
from dataclasses import replace

from rank_bm25 import BM25Okapi

from rag import text
from rag.corpus import CorpusStatistics, lexical_column
from rag.fusion import FusionWeights, ranked
from rag.types import Hit, Query

# As the full-text index has them.
_K1 = 1.2
_B = 0.75


class Reranker:
    """Orders candidates by their words and their meaning together; it never drops one for a low score."""

    def __init__(self, weights: FusionWeights | None = None) -> None:
        self._weights = weights or FusionWeights()

    def rerank(self, query: Query, hits: Sequence[Hit], statistics: CorpusStatistics, k: int = 5) -> list[Hit]:
        """Order `hits` anew and return the `k` best, with `lexical` set for all of them.

        The index gives a BM25 score only to its first hits; a chunk found by meaning alone, or by an expansion, gets here what
        the patient's own words are worth in it.
        """
        tokens = text.query_tokens(query.question, query.language)
        scores = bm25_scores(tokens, [lexical_column(hit.chunk).split() for hit in hits], statistics)
        return ranked(
            [
                replace(hit, score=hit.score + self._weights.lexical * (score - hit.lexical), lexical=score)
                for hit, score in zip(hits, scores, strict=True)
            ]
        )[:k]


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
