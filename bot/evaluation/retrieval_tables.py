"""How a terminal shows the figures of a measurement of retrieval, also one of 80 columns."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from bot.tables import narrow_table, show_table
from rag.evaluation.datasets import ALL_SETS
from rag.evaluation.metrics import KS
from rag.evaluation.stage_clock import in_order

_MOST_PROBLEMS = 20

_Rows = Sequence[Mapping[str, Any]]


def print_retrieval(figures: Mapping[str, Any], out: Console) -> None:
    """Set by set what was found and what changed, then times."""
    rows, comparisons = figures["rows"], figures["comparisons"]
    for name in dict.fromkeys(row["set"] for row in rows):
        own = [row for row in rows if row["set"] == name]
        show_table(out, f"{name}: {own[0]['n']} questions, 95 % intervals", _quality(own))
        if comparisons:
            compared = [row for row in comparisons if row["set"] == name]
            show_table(out, f"{name}: against the one before", _comparisons(compared))
    every = [row for row in rows if row["set"] == ALL_SETS]
    show_table(out, "milliseconds: half / 95 of 100 questions took no longer", _times(every))


def print_problems(problems: _Rows, err: Console) -> None:
    """The first problems, one line each, and how many more there are."""
    for problem in problems[:_MOST_PROBLEMS]:
        fate = "; left out" if problem["left_out"] else ""
        named = f", {problem['id']}" if problem["id"] else ""
        told = f"! {problem['file']}, line {problem['line']}{named}: {problem['detail']}{fate}"
        err.print(told, style="yellow", markup=False, highlight=False, soft_wrap=True)
    if len(problems) > _MOST_PROBLEMS:
        err.print(f"! and {len(problems) - _MOST_PROBLEMS} more: --json names them all", style="yellow", highlight=False)


def _quality(rows: _Rows) -> Table:
    table = narrow_table("config", *(f"hit@{k}" for k in KS), "mrr@10", "ndcg@10")
    for row in rows:
        hits = [_with_interval(row, f"hit@{k}") for k in KS]
        table.add_row(escape(row["config"]), *hits, _with_interval(row, "mrr@10"), f"{row['ndcg@10']:.3f}")
    return table


def _comparisons(rows: _Rows) -> Table:
    table = narrow_table("change", "mrr@10", "interval", "p", "hit@5", "p")
    for row in rows:
        gain, low, high = (f"{row[f'mrr@10_{key}']:+.3f}" for key in ("gain", "low", "high"))
        style = None if not row["mrr@10_is_clear"] else "green" if row["mrr@10_gain"] > 0 else "red"
        table.add_row(
            escape(f"{row['first']} → {row['second']}"),
            *(gain, f"{low} {high}", _p(row["mrr@10_p"])),
            *(f"+{row['hit@5_gained']} −{row['hit@5_lost']}", _p(row["hit@5_p"])),
            style=style,
        )
    return table


def _times(rows: _Rows) -> Table:
    table = narrow_table("stage", *(row["config"] for row in rows))
    for stage in in_order(stage for row in rows for stage in row["stages"]):
        table.add_row(stage, *(_pair(row["stages"][stage]) if stage in row["stages"] else "" for row in rows))
    table.add_section()
    table.add_row("together", *(_pair(row) for row in rows))
    return table


def _with_interval(row: Mapping[str, Any], key: str) -> str:
    if f"{key}_low" not in row:
        return f"{row[key]:.3f}"
    low, high = (f"{row[f'{key}_{end}']:.2f}" for end in ("low", "high"))
    return f"{row[key]:.3f} {low}–{high}"


def _pair(times: Mapping[str, float]) -> str:
    return f"{times['p50_ms']:.1f} / {times['p95_ms']:.1f}"


def _p(value: float | None) -> str:
    return "—" if value is None else "<0.001" if value < 0.001 else f"{value:.3f}"
