"""How a terminal shows the figures of a measurement of abstention, also one of 80 columns."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from bot.tables import narrow_table, show_table

_KINDS = {"right": "right page", "astray": "wrong page", "near_miss": "near miss", "off_topic": "off topic"}

_Rows = Sequence[Mapping[str, Any]]


def print_abstention(figures: Mapping[str, Any], out: Console) -> None:
    """Areas, then what thresholds answer, then whether the probabilities hold, each language by itself."""
    languages: _Rows = figures["languages"]
    show_table(out, "area under the ROC, 95 % intervals, and questions by kind", _areas(languages))
    for row in languages:
        show_table(out, f"{row['language']}: shares answered, * at the index's threshold", _thresholds(row))
    show_table(out, "probabilities: Brier score and expected calibration error", _scores(languages))
    for row in languages:
        for name, told in row["reliability"].items():
            show_table(out, f"{row['language']}, {name}: mean told, share that came true", _bins(told["bins"]))


def _areas(rows: _Rows) -> Table:
    kinds = list(rows[0]["auc"])
    table = narrow_table("lang", *(_KINDS[kind] for kind in kinds), *(f"n {name}" for name in _KINDS.values()))
    for row in rows:
        told = [f"{row['auc'][kind]['area']:.3f} {row['auc'][kind]['low']:.2f}–{row['auc'][kind]['high']:.2f}" for kind in kinds]
        table.add_row(row["language"], *told, *(str(row["questions"][kind]) for kind in _KINDS))
    return table


def _thresholds(row: Mapping[str, Any]) -> Table:
    table = narrow_table("threshold", *_KINDS.values())
    table.add_row("decided", *(f"{row['decided'][kind]:.3f}" for kind in _KINDS), style="bold")
    for at in row["at_thresholds"]:
        chosen = " *" if at["threshold"] == row["threshold"] else ""
        table.add_row(f"{at['threshold']:.3f}{chosen}", *(f"{at[kind]:.3f}" for kind in _KINDS))
    return table


def _scores(rows: _Rows) -> Table:
    table = narrow_table("lang, figure", "Brier", "ECE", "n")
    for row in rows:
        for name, told in row["reliability"].items():
            table.add_row(f"{row['language']}, {name}", f"{told['brier']:.3f}", f"{told['ece']:.3f}", str(told["n"]))
    return table


def _bins(bins: _Rows) -> Table:
    table = narrow_table("told", "came true", "n")
    for one in bins:
        table.add_row(f"{one['predicted']:.3f}", f"{one['observed']:.3f}", str(one["n"]))
    return table
