"""Tells the caller, and through the ledger everybody else, how far a run is; and notices when it is asked to stop."""

import asyncio
import contextlib
import threading
from collections.abc import AsyncIterator

from ingest.errors import RunCancelled
from ingest.ledger import Ledger
from ingest.report import OnProgress, Progress, RunProgress, Step

_NOTE_EVERY_S = 0.5  # a commit costs a disk write; nobody reads faster


class RunMonitor:
    """The progress of one run. `cancelled` may be asked from any thread."""

    def __init__(self, ledger: Ledger, run_id: int, on_progress: OnProgress) -> None:
        self._ledger = ledger
        self._run_id = run_id
        self._on_progress = on_progress
        self._cancelled = threading.Event()
        self._counts = {"new": 0, "changed": 0, "gone": 0, "failed": 0}
        self._latest: RunProgress | None = None
        self._pages = (0, 0)

    def cancelled(self) -> bool:
        """Whether the run was asked to stop."""
        return self._cancelled.is_set()

    def count(self, **more: int) -> None:
        """Add to the counts of new, changed, gone and failed pages."""
        for name, number in more.items():
            self._counts[name] += number

    def tell(self, step: Step, subject: str, done: int, total: int) -> None:
        """Tell how far a step is; on the event loop.

        Raises:
            RunCancelled: If the run was asked to stop.
        """
        self.show(step, subject, done, total)
        self.stop_if_cancelled()

    def stop_if_cancelled(self) -> None:
        """Let the run go on.

        Raises:
            RunCancelled: If it was asked to stop.
        """
        if self.cancelled():
            raise RunCancelled("the run was cancelled; what is published stays as it is")

    def show(self, step: Step, subject: str, done: int, total: int) -> None:
        """The same, but never raises."""
        self._on_progress(Progress(step=step, subject=subject, done=done, total=total))
        if step is not Step.EMBED:  # which counts texts; a run is followed by its pages
            self._pages = (done, total)
        self._note(step, subject)

    def embedded(self, subject: str, pages: int) -> None:
        """Note that so many more pages of those being read are embedded."""
        done, total = self._pages
        self._pages = (done + pages, max(total, done + pages))
        self._note(Step.EMBED, subject)

    def _note(self, step: Step, subject: str) -> None:
        done, total = self._pages
        self._latest = RunProgress(source=subject, step=step.value, done=done, total=total, **self._counts)

    @contextlib.asynccontextmanager
    async def watching(self) -> AsyncIterator[None]:
        """While the block runs, note progress in the ledger and look whether the run was asked to stop."""
        task = asyncio.create_task(self._watch())
        try:
            yield
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _watch(self) -> None:
        noted = None
        while True:
            if await self._ledger.is_cancelled(self._run_id):
                self._cancelled.set()
            if self._latest is not None and self._latest != noted:
                noted = self._latest
                await self._ledger.note_progress(self._run_id, noted)
            await asyncio.sleep(_NOTE_EVERY_S)
