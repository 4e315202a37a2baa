import pytest

from rag.corpus import CorpusStatistics
from rag.fusion import FusionWeights, add_expansions, combined, fuse
from rag.types import Hit
from tests.integration.pages import Page

STATISTICS = CorpusStatistics(n=100, avgdl=50.0, background_mean=0.8, background_std=0.02)
WEIGHTS = FusionWeights(lexical=0.07, expansion=0.4)


def hit(name: str, *, dense: float = 0.8, lexical: float = 0.0, score: float = 0.0) -> Hit:
    return Hit(chunk=Page(name, "Titolo", "Testo").chunk, score=score, dense=dense, lexical=lexical)


def order(hits: list[Hit]) -> list[str]:
    return [found.chunk.document_id for found in hits]


def test_a_chunk_of_both_rankings_is_fused_once_with_both_scores() -> None:
    (found,) = fuse([hit("a", dense=0.86)], [hit("a", dense=0.86, lexical=10.0)], STATISTICS, WEIGHTS)
    assert found.dense == 0.86
    assert found.lexical == 10.0
    assert found.score == pytest.approx(3.7)


def test_a_short_question_follows_its_meaning_and_a_long_one_its_words() -> None:
    near, worded = hit("near", dense=0.88), hit("worded", dense=0.84, lexical=6.0)
    assert order(fuse([near, worded], [worded], STATISTICS, WEIGHTS)) == ["near", "worded"]
    story = hit("worded", dense=0.84, lexical=60.0)
    assert order(fuse([near, worded], [story], STATISTICS, WEIGHTS)) == ["worded", "near"]


def test_one_side_alone_is_enough() -> None:
    assert order(fuse([hit("a", dense=0.9), hit("b", dense=0.85)], [], STATISTICS, WEIGHTS)) == ["a", "b"]
    assert order(fuse([], [hit("a", lexical=1.0), hit("b", lexical=2.0)], STATISTICS, WEIGHTS)) == ["b", "a"]
    assert fuse([], [], STATISTICS, WEIGHTS) == []


def test_no_hit_is_dropped_for_a_score_below_zero() -> None:
    assert order(fuse([hit("a", dense=-0.3)], [], STATISTICS, WEIGHTS)) == ["a"]


def test_a_spread_of_zero_divides_nothing() -> None:
    flat = CorpusStatistics(background_mean=0.8, background_std=0.0)
    assert combined(0.9, 0.0, flat, WEIGHTS) == pytest.approx(0.1)


def test_equal_scores_keep_one_order() -> None:
    assert order(fuse([hit("b"), hit("a")], [], STATISTICS, WEIGHTS)) == ["a", "b"]


def test_without_expansions_the_own_ranking_stays() -> None:
    own = [hit("a", score=2.0), hit("b", score=1.0)]
    assert add_expansions(own, [], WEIGHTS) == own
    assert add_expansions(own, [[]], WEIGHTS) == own


def test_an_expansion_lifts_what_it_finds_but_never_above_equal_own_words() -> None:
    own = [hit("own", score=5.0), hit("last", score=1.0)]
    other = [hit("other", score=5.0), hit("last", score=1.0)]
    assert order(add_expansions(own, [other], WEIGHTS)) == ["own", "other", "last"]


def test_two_expansions_together_weigh_no_more_than_one() -> None:
    own = [hit("own", score=5.0), hit("last", score=1.0)]
    other = [hit("other", score=5.0), hit("last", score=1.0)]
    one = {found.chunk.document_id: found.score for found in add_expansions(own, [other], WEIGHTS)}
    two = {found.chunk.document_id: found.score for found in add_expansions(own, [other, other], WEIGHTS)}
    assert two == pytest.approx(one)


def test_a_chunk_of_the_own_ranking_keeps_its_own_cosine() -> None:
    found = add_expansions([hit("a", dense=0.85, score=2.0)], [[hit("a", dense=0.95, score=6.0)]], WEIGHTS)
    assert [item.dense for item in found] == [0.85]
