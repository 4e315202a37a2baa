"""Shows how a download goes: bars on a terminal, now and then a plain line elsewhere."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TaskID, TextColumn, TimeRemainingColumn, TransferSpeedColumn

_PLAIN_LINE_EVERY_S = 10.0
_LOOK_EVERY_S = 0.25


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """Where a download stands: `text` names the step; bytes are 0 of 0 where the step is only a message."""

    text: str
    done_bytes: int = 0
    total_bytes: int = 0


Report = Callable[[Step], None]


def silent(step: Step) -> None:
    """Show nothing."""


@contextmanager
def shown(console: Console | None = None) -> Iterator[Report]:
    """A reporter for `pull`: one bar for each step on a terminal, plain lines where there is none."""
    console = console or Console(stderr=True)
    if not console.is_terminal:
        yield _PlainLines(console)
        return
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console) as progress:
        yield _Bars(progress)


class _Bars:
    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._task: tuple[str, TaskID] | None = None

    def __call__(self, step: Step) -> None:
        if not step.total_bytes:
            self._progress.console.print(step.text, highlight=False, markup=False)
            return
        if self._task is None or self._task[0] != step.text:
            self._task = (step.text, self._progress.add_task(step.text, total=step.total_bytes))
        self._progress.update(self._task[1], completed=step.done_bytes)


class _PlainLines:
    def __init__(self, console: Console) -> None:
        self._console = console
        self._last = ("", 0.0)
        self._finished = ""

    def __call__(self, step: Step) -> None:
        now = time.monotonic()
        text, printed_at = self._last
        finished = step.done_bytes >= step.total_bytes
        if step.text == self._finished or (step.text == text and now - printed_at < _PLAIN_LINE_EVERY_S and not finished):
            return
        if finished:
            self._finished = step.text
        self._last = (step.text, now)
        size = f": {_megabytes(step.done_bytes)} of {_megabytes(step.total_bytes)}" if step.total_bytes else ""
        self._console.print(step.text + size, highlight=False, markup=False, soft_wrap=True)


@contextmanager
def watched(folder: Path, report: Report, *, text: str, total_bytes: int) -> Iterator[None]:
    """Report how many bytes lie under `folder` while somebody else's code downloads into it."""
    done = threading.Event()

    def look() -> None:
        while not done.wait(_LOOK_EVERY_S):
            report(Step(text=text, done_bytes=min(_bytes_under(folder), total_bytes), total_bytes=total_bytes))

    watcher = threading.Thread(target=look, name="download-progress", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()


def _bytes_under(folder: Path) -> int:
    total = 0
    for path in folder.rglob("*"):
        try:
            total += path.stat().st_size if path.is_file() else 0
        except OSError:  # files come and go while they are counted
            continue
    return total


def _megabytes(count: int) -> str:
    return f"{count / 1e6:,.0f} MB"
