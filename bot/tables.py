"""How the command line shows figures and the report of a run."""

import json
from typing import TYPE_CHECKING, Any

from rich import box
from rich.console import Console
from rich.table import Table

if TYPE_CHECKING:
    from ingest.report import RunReport


def print_report(report: "RunReport", out: Console, err: Console) -> None:
    """What a run of ingestion did, and what went wrong."""
    table = Table("language", "new", "changed", "unchanged", "moved", "retired", "pages", "chunks")
    for row in report.languages:
        counts = (row.new, row.changed, row.unchanged, row.moved, row.retired, row.pages, row.chunks)
        table.add_row(row.language.value, *map(str, counts))
    out.print(table)
    out.print(f"{report.status.value} in {report.seconds:.1f} s", highlight=False)
    for source, reasons in report.refusals.items():
        told = ", ".join(f"{reason} {count}" for reason, count in sorted(reasons.items()))
        out.print(f"{source}: not taken: {told}", markup=False, highlight=False, soft_wrap=True)
    for problem in report.problems:
        err.print(f"! {problem}", style="yellow", markup=False, highlight=False, soft_wrap=True)


def print_figures(figures: dict[str, Any], out: Console, *, as_json: bool) -> None:
    """Figures as JSON, or their rows as a table."""
    if as_json:
        print(json.dumps(figures, ensure_ascii=False, indent=2))  # noqa: T201
        return
    rows = figures.get("rows")
    if not rows:
        out.print_json(data=figures)
        return
    table = Table(*rows[0])
    for row in rows:
        table.add_row(*(f"{value:.3f}" if isinstance(value, float) else str(value) for value in row.values()))
    out.print(table)


def show_table(out: Console, title: str, table: Table) -> None:
    """Print a table under its title."""
    out.print(title, style="italic", markup=False, highlight=False, soft_wrap=True)
    out.print(table)


def narrow_table(first: str, *figures: str) -> Table:
    """A table for terminals of 80 columns: names to the left, figures to the right."""
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    table.add_column(first, overflow="fold")
    for name in figures:
        table.add_column(name, justify="right", overflow="fold")
    return table
