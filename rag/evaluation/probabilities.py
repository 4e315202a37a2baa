"""How good probabilities are: whether they part right from wrong, and whether they mean what they say."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

_BINS = 10
_ROUNDS = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class Area:
    """Area under a ROC curve: how often a positive ranks above a negative; with the bounds of its 95 % interval."""

    area: float
    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Bin:
    """Probabilities of one tenth: their number and mean, and the share that came true."""

    n: int
    predicted: float
    observed: float


def area_under_roc(positive: Sequence[float], negative: Sequence[float], rounds: int = _ROUNDS, seed: int = 0) -> Area:
    """Measure how well probabilities part two kinds of questions, by a bootstrap over each of them (Efron 1979).

    Raises:
        ValueError: If there are none of a kind.
    """
    if not positive or not negative:
        raise ValueError("an area needs questions of both kinds")
    above, below = np.asarray(positive, dtype=np.float64), np.asarray(negative, dtype=np.float64)
    wins = (above[:, None] > below[None, :]) + 0.5 * (above[:, None] == below[None, :])
    generator = np.random.default_rng(seed)
    # Drawing a question twice is giving it twice its weight, so no draw needs to rank anew.
    rows = generator.multinomial(len(above), np.full(len(above), 1.0 / len(above)), size=rounds)
    columns = generator.multinomial(len(below), np.full(len(below), 1.0 / len(below)), size=rounds)
    drawn = np.einsum("rp,rp->r", rows @ wins, columns) / wins.size
    low, high = np.percentile(drawn, [2.5, 97.5])
    return Area(area=float(wins.mean()), low=float(low), high=float(high))


def roc_curve(positive: Sequence[float], negative: Sequence[float]) -> list[tuple[float, float]]:
    """Shares of the negatives and of the positives that reach each threshold, from (0, 0) to (1, 1).

    Raises:
        ValueError: If there are none of a kind.
    """
    if not positive or not negative:
        raise ValueError("a curve needs questions of both kinds")
    thresholds = sorted({*positive, *negative}, reverse=True)
    return [(0.0, 0.0), *((share_reaching(negative, at), share_reaching(positive, at)) for at in thresholds)]


def share_reaching(probabilities: Sequence[float], threshold: float) -> float:
    """Share of probabilities that are no less than a threshold; 0 for none."""
    return sum(one >= threshold for one in probabilities) / len(probabilities) if probabilities else 0.0


def brier_score(probabilities: Sequence[float], outcomes: Sequence[bool]) -> float:
    """Mean squared distance of probabilities from what came true (Brier 1950): 0 is perfect, .25 is always saying one half.

    Raises:
        ValueError: If there are none, or not as many outcomes.
    """
    predicted, came_true = _paired(probabilities, outcomes)
    return float(np.mean((predicted - came_true) ** 2))


def reliability(probabilities: Sequence[float], outcomes: Sequence[bool]) -> list[Bin]:
    """Compare probabilities with the shares that came true, tenth by tenth; a tenth without any is left out.

    Raises:
        ValueError: If there are none, or not as many outcomes.
    """
    predicted, came_true = _paired(probabilities, outcomes)
    tenth = np.minimum((predicted * _BINS).astype(int), _BINS - 1)
    return [
        Bin(n=int(inside.sum()), predicted=float(predicted[inside].mean()), observed=float(came_true[inside].mean()))
        for place in range(_BINS)
        if (inside := tenth == place).any()
    ]


def calibration_error(bins: Sequence[Bin]) -> float:
    """Expected calibration error (Naeini et al. 2015): mean distance of predicted from observed, each tenth by its number.

    Raises:
        ValueError: If there are no probabilities in them.
    """
    total = sum(one.n for one in bins)
    if not total:
        raise ValueError("no probabilities have no error")
    return sum(one.n * abs(one.predicted - one.observed) for one in bins) / total


def _paired(probabilities: Sequence[float], outcomes: Sequence[bool]) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    if not probabilities or len(probabilities) != len(outcomes):
        raise ValueError(f"{len(probabilities)} probabilities and {len(outcomes)} outcomes cannot be paired")
    return np.asarray(probabilities, dtype=np.float64), np.asarray(outcomes, dtype=np.float64)
