"""How an evaluation that can fill a report ends: the report if one is wanted, then JSON or tables."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from bot.tables import print_figures
from bot.terminal import OUT

Report = Annotated[Path | None, typer.Option(dir_okay=False, writable=True, help="Also write a report as HTML.")]


def hand_over(
    figures: dict[str, Any],
    show: Callable[[dict[str, Any], Console], None],
    *,
    as_json: bool,
    write: Callable[[dict[str, Any], Path], None],
    report: Path | None,
) -> None:
    """Write what was measured to `report`, where one is wanted, and print it as JSON or by `show`.

    Raises:
        ReportUnwritable: If the file cannot be written; nothing is printed then.
    """
    if report:
        write(figures, report)
    if as_json:
        print_figures(figures, OUT, as_json=True)
    else:
        show(figures, OUT)
