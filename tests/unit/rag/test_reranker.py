from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from rag.corpus import CorpusStatistics, lexical_column
from rag.fusion import FusionWeights
from rag.models.protocols import Vectors
from rag.reranker import Reranker, RerankWeights, bm25_scores
from rag.text import lexical_tokens
from rag.types import Hit, Query
from tests.integration.pages import ITALIAN, Page

STATISTICS = CorpusStatistics(n=1000, avgdl=10.0, document_frequency={"febbr": 50, "toss": 40, "secc": 5}, background_std=0.02)


def found(document_id: str, title: str, text: str, score: float = 0.0, vectors: Vectors | None = None) -> Hit:
    return Hit(chunk=Page(document_id, title, text).chunk, score=score, dense=0.85, sentence_vectors=vectors)


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
    """H27"""
    passages = [lexical_tokens(text, ITALIAN) for text in ("la febbre alta", "la febbre bassa", "febbre")]
    assert min(bm25_scores(["febbr"], passages, STATISTICS)) > 0.0


def test_a_corpus_of_one_page_scores_above_zero_h27() -> None:
    one = CorpusStatistics(n=1, avgdl=2.0, document_frequency={"febbr": 1, "alt": 1})
    assert bm25_scores(["febbr"], [["febbr", "alt"]], one)[0] > 0.0


def test_only_the_best_are_returned() -> None:
    hits = [found(str(place), "Febbre", "La febbre", score=float(place)) for place in range(8)]
    assert [hit.chunk.document_id for hit in Reranker().rerank(question("febbre"), hits, STATISTICS, k=3)] == ["7", "6", "5"]


QUESTION_VECTOR: Vectors = np.array([1.0, 0.0], dtype=np.float32)
WORDS_ALONE = RerankWeights(sentence=0.0, aspect=0.0)


def sentences(*cosines: float) -> Vectors:
    """Unit vectors of sentences that stand at these cosines to the question."""
    return np.array([[cosine, (1.0 - cosine**2) ** 0.5] for cosine in cosines], dtype=np.float32).reshape(-1, 2)


def order(hits: Sequence[Hit]) -> list[str]:
    return [hit.chunk.document_id for hit in hits]


def test_a_passage_with_a_near_sentence_rises_above_one_whose_sentences_are_all_as_far_as_itself() -> None:
    even = found("a", "Febbre", "La febbre", vectors=sentences(0.85, 0.85))
    near = found("b", "Febbre", "La febbre", vectors=sentences(0.2, 0.95))

    best = Reranker().rerank(question("febbre"), [even, near], STATISTICS, vector=QUESTION_VECTOR)

    assert order(best) == ["b", "a"]
    assert best[0].score - best[1].score == pytest.approx(
        RerankWeights().sentence * (0.95 - 0.85) / STATISTICS.background_std, rel=1e-4
    )


def test_a_passage_whose_nearest_sentence_is_far_sinks() -> None:
    hits = [found("a", "Febbre", "La febbre", vectors=sentences(0.6, 0.7)), found("b", "Febbre", "La febbre")]

    best = Reranker().rerank(question("febbre"), hits, STATISTICS, vector=QUESTION_VECTOR)

    assert order(best) == ["b", "a"]


@pytest.mark.parametrize("vectors", [None, sentences()])
def test_candidates_without_sentence_vectors_keep_their_scores(vectors: Vectors | None) -> None:
    hits = [found("a", "Febbre", "La febbre", 2.0, vectors), found("b", "Tosse", "La tosse", 1.0)]

    with_vectors = Reranker().rerank(question("febbre"), hits, STATISTICS, vector=QUESTION_VECTOR)

    assert with_vectors == Reranker().rerank(question("febbre"), hits, STATISTICS)


def test_sentence_vectors_count_nothing_without_the_questions_own() -> None:
    far = found("a", "Febbre", "La febbre", score=1.0)
    near, unread = (found("b", "Febbre", "La febbre", vectors=vectors) for vectors in (sentences(1.0), None))

    best = Reranker().rerank(question("febbre"), [far, near], STATISTICS)

    assert best == Reranker().rerank(question("febbre"), [far, unread], STATISTICS)


def test_the_tokens_that_the_index_holds_are_taken_instead_of_the_text() -> None:
    unread = found("a", "Febbre", "La febbre")
    read = replace(unread, tokens=("toss",))

    (best,) = Reranker().rerank(question("tosse"), [read], STATISTICS)

    assert best.lexical > 0.0
    assert Reranker().rerank(question("tosse"), [unread], STATISTICS)[0].lexical == 0.0


def test_a_passage_that_tells_what_is_asked_rises_above_an_equal_one() -> None:
    hits = [found("a", "Febbre", "Dura poco, beva spesso."), found("b", "Febbre", "La provoca un virus, beva spesso.")]
    asked = question("da cosa dipende la febbre")

    assert order(Reranker().rerank(asked, hits, STATISTICS)) == ["b", "a"]
    assert order(Reranker().rerank(question("febbre"), hits, STATISTICS)) == ["a", "b"]


def test_weights_of_zero_give_the_order_and_scores_of_the_words_alone() -> None:
    hits = [
        found("a", "Febbre", "Si cura con il riposo.", score=1.0),
        found("b", "Febbre", "Un virus la provoca sempre.", 0.9, sentences(0.99)),
        found("c", "Tosse", "La tosse secca.", 0.5, sentences(1.0)),
    ]
    asked = question("da cosa dipende la febbre")

    best = Reranker(rerank_weights=WORDS_ALONE).rerank(asked, hits, STATISTICS, vector=QUESTION_VECTOR)

    assert order(best) == ["a", "b", "c"]
    assert [hit.score - FusionWeights().lexical * hit.lexical for hit in best] == pytest.approx([1.0, 0.9, 0.5])
    assert order(Reranker().rerank(asked, hits, STATISTICS, vector=QUESTION_VECTOR)) != ["a", "b", "c"]


def test_no_candidate_is_dropped_however_far_its_sentences_and_whatever_it_tells() -> None:
    hits = [found(str(place), "Febbre", "Si cura così.", -float(place), sentences(-1.0)) for place in range(5)]

    best = Reranker().rerank(question("cos'è la febbre"), hits, STATISTICS, vector=QUESTION_VECTOR)

    assert sorted(order(best)) == ["0", "1", "2", "3", "4"]


def test_equal_candidates_are_ordered_by_their_ids_however_they_come() -> None:
    hits = [found(name, "Febbre", "La febbre è un virus.", vectors=sentences(0.9)) for name in ("c", "a", "b")]

    for came in (hits, hits[::-1]):
        best = Reranker().rerank(question("cosa causa la febbre"), came, STATISTICS, vector=QUESTION_VECTOR)
        assert order(best) == ["a", "b", "c"]


def test_a_corpus_whose_background_has_no_spread_divides_nothing() -> None:
    flat = replace(STATISTICS, background_std=0.0)
    hits = [found("a", "Febbre", "La febbre"), found("b", "Febbre", "La febbre", vectors=sentences(0.95))]

    assert order(Reranker().rerank(question("febbre"), hits, flat, vector=QUESTION_VECTOR)) == ["b", "a"]
