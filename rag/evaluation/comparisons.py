"""Every pair of systems compared on the same questions, measure by measure, as one family of tests."""

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

from rag.evaluation.statistics import holm, mean_interval, paired_difference, signed_rank

Values = Mapping[str, Mapping[str, Sequence[float | None]]]
"""By system and measure, a figure a question, in the same order everywhere; None where there is none."""


def compared(values: Values) -> list[dict[str, Any]]:
    """Compare each system with each later one.

    Returns:
        Rows `first`, `second`, `measure`, `n` (questions with both figures), `difference` (mean of the second less the first)
        with `low` and `high` of its 95 % interval by a paired bootstrap, `p` of the signed-rank test, and `p_holm`, the same by
        Holm's correction over all rows. Pairs without a common question are left out.
    """
    rows = []
    for first, second in combinations(values, 2):
        for measure in values[first]:
            pairs = _pairs(values[first][measure], values[second][measure])
            if pairs:
                rows.append({"first": first, "second": second, "measure": measure, **_row(pairs)})
    for row, adjusted in zip(rows, holm([row["p"] for row in rows]), strict=True):
        row["p_holm"] = adjusted
    return rows


def with_interval(name: str, values: Sequence[float]) -> dict[str, float | None]:
    """The mean of figures under `name`, and the bounds of its 95 % interval under `…_low` and `…_high`; None for no figures."""
    if not values:
        return dict.fromkeys((name, f"{name}_low", f"{name}_high"))
    low, high = mean_interval(values)
    return {name: mean(values), f"{name}_low": round(low, 4), f"{name}_high": round(high, 4)}


def mean(values: Sequence[float]) -> float:
    """The mean, as reports tell it; 0 for no figures."""
    return round(sum(values) / len(values), 4) if values else 0.0


def _pairs(first: Sequence[float | None], second: Sequence[float | None]) -> list[tuple[float, float]]:
    return [(one, other) for one, other in zip(first, second, strict=True) if one is not None and other is not None]


def _row(pairs: Sequence[tuple[float, float]]) -> dict[str, Any]:
    before, after = [one for one, _ in pairs], [other for _, other in pairs]
    change = paired_difference(before, after)
    told = {"difference": change.mean, "low": change.low, "high": change.high}
    return {"n": len(pairs), **{name: round(value, 4) for name, value in told.items()}, "p": signed_rank(before, after)}
