import sys

import pytest

from rag.evaluation.statistics import discordance, holm, mean_interval, paired_difference, sign_test, signed_rank


def test_a_steady_gain_is_clear_and_a_balanced_one_is_not() -> None:
    gain = paired_difference([0.0] * 50, [1.0] * 40 + [0.0] * 10)
    assert gain.is_clear
    assert gain.mean == pytest.approx(0.8)
    assert gain.low < gain.mean < gain.high
    assert gain.p < 0.01
    balanced = paired_difference([0.0, 1.0] * 25, [1.0, 0.0] * 25)
    assert not balanced.is_clear
    assert balanced.p > 0.5


def test_no_change_is_no_gain() -> None:
    same = paired_difference([0.5, 1.0, 0.0], [0.5, 1.0, 0.0])
    assert (same.mean, same.low, same.high, same.p) == (0.0, 0.0, 0.0, 1.0)


def test_an_interval_holds_its_mean_and_narrows_with_more_questions() -> None:
    few, many = mean_interval([0.0, 1.0] * 10), mean_interval([0.0, 1.0] * 1000)
    assert few[0] < many[0] < 0.5 < many[1] < few[1]
    assert few == mean_interval([0.0, 1.0] * 10)
    assert mean_interval([1.0]) == (1.0, 1.0)


def test_many_questions_are_drawn_in_parts_with_the_same_outcome(monkeypatch: pytest.MonkeyPatch) -> None:
    values = [float(number % 3) for number in range(300)]
    whole = mean_interval(values)
    monkeypatch.setattr("rag.evaluation.statistics._AT_ONCE", 1000)
    assert mean_interval(values) == whole


def test_questions_gained_and_lost_are_counted_and_tested_exactly() -> None:
    changed = discordance([0.0] * 8 + [1.0] * 10, [1.0] * 8 + [0.0] + [1.0] * 9)
    assert (changed.gained, changed.lost) == (8, 1)
    assert changed.p == pytest.approx(2 * (1 + 9) / 2**9)
    assert discordance([1.0, 0.0], [1.0, 0.0]).p == 1.0


def test_without_scipy_the_counts_are_told_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "scipy.stats", None)
    changed = discordance([0.0], [1.0])
    assert (changed.gained, changed.lost, changed.p) == (1, 0, None)


def test_unpaired_figures_are_refused() -> None:
    with pytest.raises(ValueError, match="paired"):
        paired_difference([1.0], [])
    with pytest.raises(ValueError, match="paired"):
        discordance([1.0], [])
    with pytest.raises(ValueError, match="no figures"):
        mean_interval([])


def test_the_signed_rank_test_counts_ranks_and_not_sizes() -> None:
    # Six gains and no loss: both tails of 2**6 signs are one each.
    assert signed_rank([0.0] * 6, [1.0, 2.0, 3.0, 4.0, 5.0, 60.0]) == pytest.approx(2 / 64)


def test_questions_without_a_difference_do_not_count_in_the_signed_rank_test() -> None:
    gains = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    assert signed_rank([0.0] * 9, [*gains, 0.0, 0.0, 0.0]) == pytest.approx(signed_rank([0.0] * 6, gains), abs=0.02)
    assert signed_rank([1.0, 2.0], [1.0, 2.0]) == 1.0


def test_the_signed_rank_test_needs_pairs() -> None:
    with pytest.raises(ValueError, match="cannot be paired"):
        signed_rank([1.0], [1.0, 2.0])


def test_holm_multiplies_by_the_tests_that_are_left_and_never_falls() -> None:
    # Holm 1979: .01·4, then .02·3, then .03·2 = .06 which is no less than .06, then .9.
    assert holm([0.9, 0.01, 0.03, 0.02]) == pytest.approx([0.9, 0.04, 0.06, 0.06])
    assert holm([0.6, 0.7]) == [1.0, 1.0]
    assert holm([]) == []


def test_the_sign_test_is_that_of_a_fair_coin() -> None:
    assert sign_test(5, 0) == pytest.approx(2 / 32)
    assert sign_test(3, 3) == 1.0
    assert sign_test(0, 0) == 1.0
