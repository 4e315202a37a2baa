import numpy as np
import pytest

from rag.evaluation.probabilities import (
    Bin,
    area_under_roc,
    brier_score,
    calibration_error,
    reliability,
    roc_curve,
    share_reaching,
)


def test_kinds_that_are_parted_have_an_area_of_one_and_mixed_ones_of_one_half() -> None:
    parted = area_under_roc([0.9, 0.8], [0.1, 0.2])
    assert (parted.area, parted.low, parted.high) == (1.0, 1.0, 1.0)
    assert area_under_roc([0.1, 0.2], [0.9, 0.8]).area == 0.0
    assert area_under_roc([0.4, 0.4], [0.4]).area == 0.5


def test_an_area_counts_the_pairs_in_their_order() -> None:
    assert area_under_roc([0.3, 0.6, 0.9], [0.2, 0.6]).area == pytest.approx((1 + 0 + 1 + 0.5 + 1 + 1) / 6)


def test_an_interval_holds_its_area_and_narrows_with_more_questions() -> None:
    generator = np.random.default_rng(3)
    few = area_under_roc(list(generator.normal(1, 1, 20)), list(generator.normal(0, 1, 20)))
    many = area_under_roc(list(generator.normal(1, 1, 500)), list(generator.normal(0, 1, 500)))
    assert few.low < few.area < few.high
    assert many.high - many.low < few.high - few.low
    assert area_under_roc([0.3, 0.9], [0.1, 0.5]) == area_under_roc([0.3, 0.9], [0.1, 0.5])


def test_a_curve_goes_from_nothing_answered_to_all() -> None:
    assert roc_curve([0.9, 0.5], [0.5, 0.1]) == [(0.0, 0.0), (0.0, 0.5), (0.5, 1.0), (1.0, 1.0)]


def test_a_share_counts_what_is_no_less_than_the_threshold() -> None:
    assert share_reaching([0.2, 0.3, 0.4, 0.5], 0.4) == 0.5
    assert share_reaching([], 0.4) == 0.0


def test_certainties_that_come_true_have_no_error_and_those_that_do_not_the_largest() -> None:
    assert brier_score([1.0, 0.0], [True, False]) == 0.0
    assert brier_score([1.0, 0.0], [False, True]) == 1.0
    assert brier_score([0.5, 0.5], [False, True]) == 0.25


def test_probabilities_are_compared_with_what_came_true_tenth_by_tenth() -> None:
    bins = reliability([0.11, 0.19, 0.95, 1.0], [True, False, True, True])
    assert [(one.n, round(one.predicted, 3), one.observed) for one in bins] == [(2, 0.15, 0.5), (2, 0.975, 1.0)]


def test_an_error_weighs_each_tenth_by_its_number() -> None:
    bins = [Bin(n=3, predicted=0.2, observed=0.0), Bin(n=1, predicted=0.9, observed=0.5)]
    assert calibration_error(bins) == pytest.approx((3 * 0.2 + 0.4) / 4)


def test_what_cannot_be_measured_is_said() -> None:
    for positive, negative in (([], [0.1]), ([0.1], [])):
        with pytest.raises(ValueError, match="both kinds"):
            area_under_roc(positive, negative)
        with pytest.raises(ValueError, match="both kinds"):
            roc_curve(positive, negative)
    with pytest.raises(ValueError, match="paired"):
        brier_score([0.5], [True, False])
    with pytest.raises(ValueError, match="paired"):
        reliability([], [])
    with pytest.raises(ValueError, match="no probabilities"):
        calibration_error([])
