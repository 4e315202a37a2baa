import pytest

from locales.language import Language
from rag.corpus import CorpusStatistics
from rag.fusion import FusionWeights, add_expansions, combined, fuse, renames
from rag.types import Candidate, Query

STATISTICS = CorpusStatistics(n=100, avgdl=50.0, background_mean=0.8, background_std=0.02)
WEIGHTS = FusionWeights(lexical=0.07, expansion=0.4)


def candidate(name: str, *, dense: float = 0.8, lexical: float = 0.0, score: float = 0.0) -> Candidate:
    return Candidate(chunk_id=name, score=score, dense=dense, lexical=lexical)


def order(candidates: list[Candidate]) -> list[str]:
    return [found.chunk_id for found in candidates]


def test_a_chunk_of_both_rankings_is_fused_once_with_both_scores() -> None:
    (found,) = fuse([candidate("a", dense=0.86)], [candidate("a", dense=0.86, lexical=10.0)], STATISTICS, WEIGHTS)
    assert found.dense == 0.86
    assert found.lexical == 10.0
    assert found.score == pytest.approx(3.7)


def test_a_short_question_follows_its_meaning_and_a_long_one_its_words() -> None:
    near, worded = candidate("near", dense=0.88), candidate("worded", dense=0.84, lexical=6.0)
    assert order(fuse([near, worded], [worded], STATISTICS, WEIGHTS)) == ["near", "worded"]
    story = candidate("worded", dense=0.84, lexical=60.0)
    assert order(fuse([near, worded], [story], STATISTICS, WEIGHTS)) == ["worded", "near"]


def test_one_side_alone_is_enough() -> None:
    assert order(fuse([candidate("a", dense=0.9), candidate("b", dense=0.85)], [], STATISTICS, WEIGHTS)) == ["a", "b"]
    assert order(fuse([], [candidate("a", lexical=1.0), candidate("b", lexical=2.0)], STATISTICS, WEIGHTS)) == ["b", "a"]
    assert fuse([], [], STATISTICS, WEIGHTS) == []


def test_no_hit_is_dropped_for_a_score_below_zero() -> None:
    assert order(fuse([candidate("a", dense=-0.3)], [], STATISTICS, WEIGHTS)) == ["a"]


def test_a_spread_of_zero_divides_nothing() -> None:
    flat = CorpusStatistics(background_mean=0.8, background_std=0.0)
    assert combined(0.9, 0.0, flat, WEIGHTS) == pytest.approx(0.1)


def test_equal_scores_keep_one_order() -> None:
    assert order(fuse([candidate("b"), candidate("a")], [], STATISTICS, WEIGHTS)) == ["a", "b"]


def test_without_expansions_the_own_ranking_stays() -> None:
    own = [candidate("a", score=2.0), candidate("b", score=1.0)]
    assert add_expansions(own, [], WEIGHTS) == own
    assert add_expansions(own, [[]], WEIGHTS) == own


def test_an_expansion_lifts_what_it_finds_but_never_above_equal_own_words() -> None:
    own = [candidate("own", score=5.0), candidate("last", score=1.0)]
    other = [candidate("other", score=5.0), candidate("last", score=1.0)]
    assert order(add_expansions(own, [other], WEIGHTS)) == ["own", "other", "last"]


def test_two_expansions_together_weigh_no_more_than_one() -> None:
    own = [candidate("own", score=5.0), candidate("last", score=1.0)]
    other = [candidate("other", score=5.0), candidate("last", score=1.0)]
    one = {found.chunk_id: found.score for found in add_expansions(own, [other], WEIGHTS)}
    two = {found.chunk_id: found.score for found in add_expansions(own, [other, other], WEIGHTS)}
    assert two == pytest.approx(one)


def test_a_chunk_of_the_own_ranking_keeps_its_own_cosine() -> None:
    found = add_expansions([candidate("a", dense=0.85, score=2.0)], [[candidate("a", dense=0.95, score=6.0)]], WEIGHTS)
    assert [item.dense for item in found] == [0.85]


@pytest.mark.parametrize(
    ("language", "question", "expansion", "title", "expected"),
    [
        (Language.SPANISH, "¿Qué es la hipertensión?", "¿Qué es la presión alta?", "Hipertensión", True),
        (Language.SPANISH, "síntomas del ataque al corazón", "síntomas del infarto", "Ataque al corazón", True),
        (Language.SPANISH, "síntomas del ataque al corazón", "síntomas del infarto", "Corazón", False),
        (Language.SPANISH, "tengo la presión alta", "tengo hipertensión", "Hipertensión", False),
        (Language.ITALIAN, "cos'è la cefalea?", "cos'è il mal di testa?", "La cefalea", True),
        (Language.ITALIAN, "cos'è la cefalea?", "cos'è il mal di testa?", "Cefalea a grappolo", False),
        (Language.ITALIAN, "apendicite, cosa fare?", "appendicite, cosa fare?", "Appendicite", False),
        (Language.ITALIAN, "la cefalea mi toglie il sonno", "il mal di testa mi sveglia", "La cefalea", False),
    ],
)
def test_an_expansion_renames_what_the_question_calls_by_a_title(
    language: Language, question: str, expansion: str, title: str, expected: bool
) -> None:
    assert renames(Query(question=question, language=language), expansion, ["Altro", title]) is expected
    assert not renames(Query(question=question, language=language), expansion, [])
