from dataclasses import replace

import pytest

from rag.corpus import CorpusStatistics, lexical_column
from rag.fusion import FusionWeights
from rag.reranker import Reranker, bm25_scores
from rag.text import lexical_tokens
from rag.types import Hit, Query
from tests.integration.pages import ITALIAN, Page

STATISTICS = CorpusStatistics(n=1000, avgdl=10.0, document_frequency={"febbr": 50, "toss": 40, "secc": 5}, background_std=0.02)


def found(document_id: str, title: str, text: str, score: float = 0.0) -> Hit:
    return Hit(chunk=Page(document_id, title, text).chunk, score=score, dense=0.85)


def question(text: str) -> Query:
    return Query(question=text, language=ITALIAN)


def test_the_words_of_the_question_decide_between_equals() -> None:
    hits = [found("a", "Tosse", "La tosse grassa"), found("b", "Tosse", "La tosse secca")]
    best = Reranker().rerank(question("tosse secca"), hits, STATISTICS)
    assert [hit.chunk.document_id for hit in best] == ["b", "a"]
    assert best[0].lexical > best[1].lexical > 0.0


def test_one_common_word_does_not_turn_a_clear_order() -> None:
    hits = [found("a", "Influenza", "Riposo", score=5.0), found("b", "Febbre", "La febbre", score=2.0)]
    assert [hit.chunk.document_id for hit in Reranker().rerank(question("febbre"), hits, STATISTICS)] == ["a", "b"]


def test_a_score_that_the_index_gave_is_replaced_not_counted_twice() -> None:
    chunk = Page("a", "Febbre", "La febbre").chunk
    exact = bm25_scores(["febbr"], [lexical_column(chunk).split()], STATISTICS)[0]
    known, unknown = Hit(chunk=chunk, score=2.0 + FusionWeights().lexical * exact, lexical=exact), Hit(chunk=chunk, score=2.0)
    scores = [Reranker().rerank(question("febbre"), [hit], STATISTICS)[0].score for hit in (known, unknown)]
    assert scores[0] == pytest.approx(scores[1])


@pytest.mark.parametrize("text", ["", "¿?", "parola sconosciuta"])
def test_a_question_without_known_words_keeps_all_hits_in_order(text: str) -> None:
    hits = [found("a", "Febbre", "La febbre", score=2.0), found("b", "Tosse", "La tosse", score=1.0)]
    assert [hit.chunk.document_id for hit in Reranker().rerank(question(text), hits, STATISTICS)] == ["a", "b"]


def test_no_hits_and_blank_hits_divide_nothing_h27() -> None:
    assert Reranker().rerank(question("febbre"), [], STATISTICS) == []
    blank = found("a", "…", "…")
    assert Reranker().rerank(question("febbre"), [blank], STATISTICS) == [replace(blank, lexical=0.0)]


def test_a_word_in_every_candidate_still_counts_for_them() -> None:
    passages = [lexical_tokens(text, ITALIAN) for text in ("la febbre alta", "la febbre bassa", "febbre")]
    assert min(bm25_scores(["febbr"], passages, STATISTICS)) > 0.0


def test_a_corpus_of_one_page_scores_above_zero_h27() -> None:
    one = CorpusStatistics(n=1, avgdl=2.0, document_frequency={"febbr": 1, "alt": 1})
    assert bm25_scores(["febbr"], [["febbr", "alt"]], one)[0] > 0.0


def test_only_the_best_are_returned() -> None:
    hits = [found(str(place), "Febbre", "La febbre", score=float(place)) for place in range(8)]
    assert [hit.chunk.document_id for hit in Reranker().rerank(question("febbre"), hits, STATISTICS, k=3)] == ["7", "6", "5"]
