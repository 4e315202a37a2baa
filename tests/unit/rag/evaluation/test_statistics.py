import sys

import pytest

from rag.evaluation.statistics import discordance, mean_interval, paired_difference


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
