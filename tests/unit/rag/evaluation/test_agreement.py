import pytest

from rag.evaluation.agreement import krippendorff_alpha, mean_kappa


def ratings(**by_rater: list[int | str | None]) -> dict[tuple[str, str], int | str]:
    return {
        (rater, str(item)): score for rater, scores in by_rater.items() for item, score in enumerate(scores) if score is not None
    }


def test_alpha_is_one_less_observed_over_expected_distance() -> None:
    # Pairs (3, 3) and (5, 4): observed (0+0+1+1)/4; expected over 3, 3, 5, 4: 2·(4+4+1+1+1)/(4·3). The lone 1 is left out.
    found = krippendorff_alpha(ratings(a=[3, 5, 1], b=[3, 4, None]))
    assert found == pytest.approx(1 - 0.5 / (22 / 12))


def test_full_agreement_is_one_by_both_figures() -> None:
    same = ratings(a=[0, 5, 3], b=[0, 5, 3], c=[0, 5, 3])
    assert krippendorff_alpha(same) == pytest.approx(1.0)
    assert mean_kappa(same, range(6)) == pytest.approx(1.0)


def test_quadratic_weights_forgive_the_next_score_more_than_the_farthest() -> None:
    near = mean_kappa(ratings(a=[0, 5, 3, 2], b=[0, 5, 3, 3]), range(6))
    far = mean_kappa(ratings(a=[0, 5, 3, 0], b=[0, 5, 3, 5]), range(6))
    assert near is not None
    assert far is not None
    assert near > 0.9 > far


def test_names_agree_or_do_not() -> None:
    # Two of four alike; each name half of the time for both: kappa = (1/2 − 1/2) / (1 − 1/2) = 0.
    assert mean_kappa(ratings(a=["x", "x", "y", "y"], b=["x", "y", "x", "y"]), ["x", "y"], nominal=True) == pytest.approx(0.0)
    assert krippendorff_alpha(ratings(a=["x", "y"], b=["x", "y"]), nominal=True) == pytest.approx(1.0)


@pytest.mark.parametrize("given", [{}, ratings(a=[3, 4]), ratings(a=[4, 4], b=[4, 4])])
def test_nothing_is_said_where_there_is_nothing_to_compare(given: dict[tuple[str, str], int]) -> None:
    assert krippendorff_alpha(given) is None
    assert mean_kappa(given, range(6)) is None
