"""Whether one configuration is better than another, or only luckier with these questions."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """Mean of a second minus a first configuration, with the bounds of its 95 % interval."""

    mean: float
    low: float
    high: float

    @property
    def is_clear(self) -> bool:
        """Whether the interval leaves out zero."""
        return self.low > 0.0 or self.high < 0.0


def paired_difference(first: Sequence[float], second: Sequence[float], rounds: int = 2000, seed: int = 0) -> Difference:
    """Compare two configurations on the same questions by a paired bootstrap (Efron 1979) over the questions.

    Raises:
        ValueError: If there are no questions, or not the same number of both.
    """
    if not first or len(first) != len(second):
        raise ValueError(f"{len(first)} and {len(second)} figures cannot be paired")
    gains = np.asarray(second, dtype=np.float64) - np.asarray(first, dtype=np.float64)
    drawn = np.random.default_rng(seed).integers(0, len(gains), size=(rounds, len(gains)))
    low, high = np.percentile(gains[drawn].mean(axis=1), [2.5, 97.5])
    return Difference(mean=float(gains.mean()), low=float(low), high=float(high))
