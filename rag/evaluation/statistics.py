"""How sure a figure is, and whether one configuration is better than another or only luckier with these questions."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

_ROUNDS = 2000
_AT_ONCE = 4_000_000  # draws in memory at a time


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """Mean of a second minus a first configuration, with the bounds of its 95 % interval, and its two-sided p value."""

    mean: float
    low: float
    high: float
    p: float

    @property
    def is_clear(self) -> bool:
        """Whether the interval leaves out zero."""
        return self.low > 0.0 or self.high < 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Discordance:
    """Questions that only the second of two configurations got right, and only the first; `p` is None without SciPy."""

    gained: int
    lost: int
    p: float | None


def mean_interval(values: Sequence[float], rounds: int = _ROUNDS, seed: int = 0) -> tuple[float, float]:
    """The bounds of the 95 % interval of a mean, by a bootstrap over the questions (Efron 1979).

    Raises:
        ValueError: If there are no values.
    """
    if not values:
        raise ValueError("no figures have no interval")
    low, high = np.percentile(_resampled_means(np.asarray(values, dtype=np.float64), rounds, seed), [2.5, 97.5])
    return float(low), float(high)


def paired_difference(first: Sequence[float], second: Sequence[float], rounds: int = _ROUNDS, seed: int = 0) -> Difference:
    """Compare two configurations on the same questions by a paired bootstrap (Efron 1979) over the questions.

    Raises:
        ValueError: If there are no questions, or not the same number of both.
    """
    _paired(first, second)
    gains = np.asarray(second, dtype=np.float64) - np.asarray(first, dtype=np.float64)
    means = _resampled_means(gains, rounds, seed)
    low, high = np.percentile(means, [2.5, 97.5])
    # One more of each: no number of draws shows a chance of zero.
    tail = min(int(np.sum(means <= 0.0)), int(np.sum(means >= 0.0)))
    return Difference(mean=float(gains.mean()), low=float(low), high=float(high), p=min(1.0, 2.0 * (tail + 1) / (rounds + 1)))


def discordance(first: Sequence[float], second: Sequence[float]) -> Discordance:
    """Compare two configurations by the questions that one got right and the other did not: McNemar's test in its exact form.

    Raises:
        ValueError: If there are no questions, or not the same number of both.
    """
    _paired(first, second)
    gained = sum(after > before for before, after in zip(first, second, strict=True))
    lost = sum(after < before for before, after in zip(first, second, strict=True))
    return Discordance(gained=gained, lost=lost, p=sign_test(gained, lost))


def sign_test(gained: int, lost: int) -> float | None:
    """The two-sided p of so many changes to the better and to the worse, if each were as likely; None without SciPy."""
    if gained + lost == 0:
        return 1.0
    try:
        from scipy.stats import binomtest
    except ImportError:
        return None
    return float(binomtest(gained, gained + lost, 0.5).pvalue)


def signed_rank(first: Sequence[float], second: Sequence[float]) -> float:
    """The two-sided p of the signed-rank test (Wilcoxon 1945) on the same questions; 1 if no question differs.

    Questions without a difference are left out, as Wilcoxon did.

    Raises:
        ValueError: If there are no questions, or not the same number of both.
    """
    from scipy.stats import wilcoxon

    _paired(first, second)
    gains = np.asarray(second, dtype=np.float64) - np.asarray(first, dtype=np.float64)
    return float(wilcoxon(gains).pvalue) if np.any(gains) else 1.0


def holm(chances: Sequence[float]) -> list[float]:
    """The p values of one family of tests, adjusted so that the whole family errs with its level at most (Holm 1979)."""
    adjusted = [0.0] * len(chances)
    worst = 0.0
    for place, at in enumerate(sorted(range(len(chances)), key=lambda at: chances[at])):
        worst = max(worst, min(1.0, chances[at] * (len(chances) - place)))
        adjusted[at] = worst
    return adjusted


def _paired(first: Sequence[float], second: Sequence[float]) -> None:
    if not first or len(first) != len(second):
        raise ValueError(f"{len(first)} and {len(second)} figures cannot be paired")


def _resampled_means(values: npt.NDArray[np.float64], rounds: int, seed: int) -> npt.NDArray[np.float64]:
    generator = np.random.default_rng(seed)
    count = len(values)
    step = max(_AT_ONCE // count, 1)
    sizes = [min(step, rounds - at) for at in range(0, rounds, step)]
    return np.concatenate([values[generator.integers(0, count, size=(size, count))].mean(axis=1) for size in sizes])
