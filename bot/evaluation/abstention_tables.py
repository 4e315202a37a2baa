"""How a terminal shows the figures of a measurement of abstention, also one of 80 columns."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table

_KINDS = {"right": "right page", "astray": "wrong page", "near_miss": "near miss", "off_topic": "off topic"}

_Rows = Sequence[Mapping[str, Any]]


def print_abstention(figures: Mapping[str, Any], out: Console) -> None:
    """Areas, then what thresholds answer, then whether the probabilities hold, each language by itself."""
    languages: _Rows = figures["languages"]
    _show(out, "area under the ROC, 95 % intervals, and questions by kind", _areas(languages))
    for row in languages:
        _show(out, f"{row['language']}: shares answered, * at the index's threshold", _thresholds(row))
    _show(out, "probabilities: Brier score and expected calibration error", _scores(languages))
    for row in languages:
        for name, told in row["reliability"].items():
            _show(out, f"{row['language']}, {name}: mean told, share that came true", _bins(told["bins"]))


def _areas(rows: _Rows) -> Table:
    kinds = list(rows[0]["auc"])
    table = _table("lang", *(_KINDS[kind] for kind in kinds), *(f"n {name}" for name in _KINDS.values()))
    for row in rows:
        told = [f"{row['auc'][kind]['area']:.3f} {row['auc'][kind]['low']:.2f}–{row['auc'][kind]['high']:.2f}" for kind in kinds]
        table.add_row(row["language"], *told, *(str(row["questions"][kind]) for kind in _KINDS))
    return table


def _thresholds(row: Mapping[str, Any]) -> Table:
    table = _table("threshold", *_KINDS.values())
    table.add_row("decided", *(f"{row['decided'][kind]:.3f}" for kind in _KINDS), style="bold")
    for at in row["at_thresholds"]:
        chosen = " *" if at["threshold"] == row["threshold"] else ""
        table.add_row(f"{at['threshold']:.3f}{chosen}", *(f"{at[kind]:.3f}" for kind in _KINDS))
    return table


def _scores(rows: _Rows) -> Table:
    table = _table("lang, figure", "Brier", "ECE", "n")
    for row in rows:
        for name, told in row["reliability"].items():
            table.add_row(f"{row['language']}, {name}", f"{told['brier']:.3f}", f"{told['ece']:.3f}", str(told["n"]))
    return table


def _bins(bins: _Rows) -> Table:
    table = _table("told", "came true", "n")
    for one in bins:
        table.add_row(f"{one['predicted']:.3f}", f"{one['observed']:.3f}", str(one["n"]))
    return table


def _show(out: Console, title: str, table: Table) -> None:
    out.print(title, style="italic", markup=False, highlight=False, soft_wrap=True)
    out.print(table)


def _table(first: str, *figures: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    table.add_column(first, overflow="fold")
    for name in figures:
        table.add_column(name, justify="right", overflow="fold")
    return table
