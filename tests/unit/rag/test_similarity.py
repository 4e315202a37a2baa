"""How sure it is that a page found is on the question's topic."""

from collections.abc import Sequence

import pytest

from rag.corpus import CorpusStatistics
from rag.similarity import SimilaritySigns, SimilarityWeights, best_hits, page_similarities, similarity_signs
from rag.types import Hit
from tests import builders

BACKGROUND = CorpusStatistics(background_mean=0.0, background_std=0.1)
WEIGHTS = SimilarityWeights(coverage=1.0, behind=-3.0, constant=0.0)


def hits(*scored: tuple[str, float], dense: float = 0.4) -> list[Hit]:
    return [
        Hit(chunk=builders.chunk(document_id=page, chunk_id=f"{page}#{place}"), score=score, dense=dense)
        for place, (page, score) in enumerate(scored)
    ]


def told(found: Sequence[Hit], coverage: float = 0.5, weights: SimilarityWeights | None = WEIGHTS) -> dict[str, float]:
    return page_similarities(found, BACKGROUND, coverage, weights)


def test_the_best_page_of_a_covered_question_is_as_sure_as_the_coverage() -> None:
    assert told(hits(("flu", 7.0)), coverage=0.8) == {"flu": pytest.approx(0.8)}


def test_a_page_far_behind_is_seldom_the_right_one_and_two_abreast_may_both_be() -> None:
    found = told(hits(("flu", 7.0), ("cold", 6.9), ("gout", 3.0)))

    assert found["flu"] > found["cold"] > 0.4 > 0.01 > found["gout"]


def test_a_page_counts_by_its_best_passage_alone() -> None:
    assert told(hits(("flu", 7.0), ("cold", 6.0), ("flu", 1.0))) == told(hits(("flu", 7.0), ("cold", 6.0)))


def test_without_figures_of_the_index_the_cosine_tells() -> None:
    near, far = hits(("flu", 7.0), dense=0.4), hits(("cold", 6.0), dense=0.1)

    found = told([*near, *far], weights=None)

    assert found["flu"] == pytest.approx(0.5)  # four deviations
    assert 0.0 < found["cold"] < 0.1


@pytest.mark.parametrize("coverage", [0.0, 1.0])
def test_no_coverage_and_no_distance_is_out_of_bounds(coverage: float) -> None:
    found = told(hits(("flu", 1e6), ("cold", -1e6)), coverage=coverage)

    assert all(0.0 <= similarity <= 1.0 for similarity in found.values())


def test_without_hits_there_are_no_pages() -> None:
    assert told([]) == {}
    assert similarity_signs([], 0.5) == []


def test_signs_tell_the_odds_of_coverage_and_the_distance_to_the_highest_score() -> None:
    first = best_hits(hits(("flu", 5.0), ("cold", 7.0)))

    assert similarity_signs(first, 0.5) == [SimilaritySigns(coverage=0.0, behind=2.0), SimilaritySigns(coverage=0.0, behind=0.0)]
