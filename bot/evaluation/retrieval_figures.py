"""The figures of a measurement of retrieval: means with intervals, times by stage, and what changed from one to the next."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from rag.evaluation.datasets import ALL_SETS
from rag.evaluation.metrics import Judged, percentile
from rag.evaluation.stage_clock import in_order
from rag.evaluation.statistics import discordance, mean_interval, paired_difference

WITH_INTERVAL = ("hit@5", "mrr@10")
"""The figures that are told with the bounds of their 95 % interval."""


def figure_rows(config: str, judged: Sequence[Judged]) -> list[dict[str, Any]]:
    """One row a set, and `all` last."""
    return [_row(name, config, answers) for name, answers in _by_set(judged).items()]


def comparison_rows(judged: Mapping[str, Sequence[Judged]]) -> list[dict[str, Any]]:
    """Each configuration against the one before it on the same questions, one row a set, and `all` last."""
    return [
        _comparison(name, (first, answers), (second, after[name]))
        for (first, before), (second, then) in pairwise(judged.items())
        for after in [_by_set(then)]
        for name, answers in _by_set(before).items()
    ]


def _by_set(judged: Sequence[Judged]) -> dict[str, list[Judged]]:
    sets: dict[str, list[Judged]] = {}
    for one in judged:
        sets.setdefault(one.set_name, []).append(one)
    return {**sets, ALL_SETS: list(judged)}


def _row(name: str, config: str, judged: Sequence[Judged]) -> dict[str, Any]:
    row: dict[str, Any] = {"set": name, "config": config}
    for key in judged[0].figures:
        row[key] = round(sum(_values(judged, key)) / len(judged), 4)
    row |= {"n": len(judged), **_times([sum(one.stages_s.values()) for one in judged])}
    for key in WITH_INTERVAL:
        low, high = mean_interval(_values(judged, key))
        row |= {f"{key}_low": round(low, 4), f"{key}_high": round(high, 4)}
    stages = in_order(stage for one in judged for stage in one.stages_s)
    row["stages"] = {stage: _times([one.stages_s.get(stage, 0.0) for one in judged]) for stage in stages}
    return row


def _comparison(name: str, before: tuple[str, Sequence[Judged]], after: tuple[str, Sequence[Judged]]) -> dict[str, Any]:
    (first, was), (second, now) = before, after
    gain = paired_difference(_values(was, "mrr@10"), _values(now, "mrr@10"))
    changed = discordance(_values(was, "hit@5"), _values(now, "hit@5"))
    return {
        "set": name,
        "first": first,
        "second": second,
        "n": len(was),
        "mrr@10_gain": round(gain.mean, 4),
        "mrr@10_low": round(gain.low, 4),
        "mrr@10_high": round(gain.high, 4),
        "mrr@10_p": round(gain.p, 4),
        "mrr@10_is_clear": gain.is_clear,
        "hit@5_gained": changed.gained,
        "hit@5_lost": changed.lost,
        "hit@5_p": None if changed.p is None else float(f"{changed.p:.4g}"),
    }


def _values(judged: Sequence[Judged], key: str) -> list[float]:
    return [one.figures[key] for one in judged]


def _times(seconds: Sequence[float]) -> dict[str, float]:
    """Milliseconds that half, and 95 of 100, of the questions did not take longer than."""
    return {"p50_ms": round(percentile(seconds, 0.5) * 1000, 2), "p95_ms": round(percentile(seconds, 0.95) * 1000, 2)}
