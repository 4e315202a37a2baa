"""Bars for work that takes longer than a second: on a terminal they move, elsewhere a line now and then."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from ingest.report import OnProgress
from ingest.report import Progress as IngestProgress

Counted = Callable[[str, int, int], None]
"""Told (what, done, of how many); 0 where the total is not known."""

_PLAIN_LINE_EVERY_S = 10.0


@contextmanager
def counted_progress(console: Console) -> Iterator[Counted]:
    """One bar for each thing that is counted."""
    if not console.is_terminal:
        yield _PlainLines(console)
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console) as bars:
        yield _Bars(bars)


@contextmanager
def ingest_progress(console: Console) -> Iterator[OnProgress]:
    """The same for a run of ingestion."""
    with counted_progress(console) as counted:

        def on_progress(progress: IngestProgress) -> None:
            counted(f"{progress.step.value} {progress.subject}", progress.done, progress.total)

        yield on_progress


class _Bars:
    def __init__(self, bars: Progress) -> None:
        self._bars = bars
        self._tasks: dict[str, TaskID] = {}

    def __call__(self, what: str, done: int, total: int) -> None:
        if what not in self._tasks:
            self._tasks[what] = self._bars.add_task(what, total=total or None)
        self._bars.update(self._tasks[what], completed=done, total=total or None)


class _PlainLines:
    def __init__(self, console: Console) -> None:
        self._console = console
        self._last = ("", 0.0)

    def __call__(self, what: str, done: int, total: int) -> None:
        now = time.monotonic()
        last, printed_at = self._last
        if what == last and now - printed_at < _PLAIN_LINE_EVERY_S:
            return
        self._last = (what, now)
        of = f" of {total}" if total else ""
        self._console.print(f"{what}: {done}{of}", highlight=False, markup=False)
