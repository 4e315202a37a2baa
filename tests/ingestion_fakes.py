"""Stand-ins for ingestion as administrators see it: a runner with a view of the ledger, and a clock that moves when one waits."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from bot.errors import AlreadyRunning
from ingest.ledger import PublishedIndex, RunRow, RunStatus, SourceState
from ingest.report import RunProgress
from ingest.sources import SourceKind, SourceRow, Start
from locales.language import Language

NOON = datetime(2026, 7, 21, 12, 0, tzinfo=UTC)


def run_row(run_id: int = 1, status: RunStatus = RunStatus.RUNNING, **changes: Any) -> RunRow:
    ended = None if status is RunStatus.RUNNING else NOON + timedelta(minutes=5)
    values: dict[str, Any] = {"run_id": run_id, "started": NOON, "ended": ended, "status": status, "done": 0, "total": 0}
    return RunRow(**(values | {"report": None, "trigger": "admin"} | changes))


def progress(done: int = 10, total: int = 100, **changes: Any) -> RunProgress:
    values: dict[str, Any] = {"source": "humanitas", "step": "fetch", "done": done, "total": total}
    return RunProgress(**(values | changes))


def source_row(source_id: str = "humanitas", **changes: Any) -> SourceRow:
    start = Start(pages=("https://esempio.it/",))
    values: dict[str, Any] = {"id": source_id, "kind": SourceKind.ENCYCLOPAEDIA, "publisher": "Editore", "start": start}
    return SourceRow(**(values | {"language": Language.ITALIAN} | changes))


@dataclass
class FakeIngestion:
    """Runner and view in one; `look` is called at each look at the runs and may change them."""

    history: list[RunRow] = field(default_factory=list)  # oldest first
    rows: tuple[SourceRow, ...] = (source_row(), source_row("forum", enabled=False, disabled_because="Consent is needed."))
    states: dict[str, SourceState] = field(default_factory=dict)
    counts: dict[tuple[str, Language], int] = field(default_factory=dict)
    indexes: dict[Language, PublishedIndex] = field(default_factory=dict)
    started: list[dict[str, Any]] = field(default_factory=list)
    cancelled: int = 0
    is_running: bool = False
    failure: Exception | None = None
    start_failure: Exception | None = None
    look: Callable[["FakeIngestion"], None] = lambda _: None

    async def start(self, **request: Any) -> None:
        await asyncio.sleep(0)
        if self.is_running:
            raise AlreadyRunning("A run is going on.")
        if self.start_failure is not None:
            raise self.start_failure
        self.is_running = True
        self.started.append(request)

    async def cancel(self) -> bool:
        self.cancelled += 1
        return self.is_running

    def begin(self, run_id: int | None = None, **changes: Any) -> None:
        """The run's process has got as far as the ledger."""
        self.history.append(run_row(run_id or len(self.history) + 1, **changes))

    def note(self, **changes: Any) -> None:
        """Change the latest run."""
        latest = self.history[-1]
        values = {name: getattr(latest, name) for name in RunRow.__dataclass_fields__}
        self.history[-1] = RunRow(**(values | changes))

    def end(self, status: RunStatus = RunStatus.COMPLETE, **report: Any) -> None:
        """The latest run has ended, and its process with it."""
        self.note(status=status, ended=NOON + timedelta(minutes=5), report=report)
        self.is_running = False

    async def latest_run(self) -> RunRow | None:
        return next(iter(await self.runs(1)), None)

    async def runs(self, limit: int) -> list[RunRow]:
        self._fail()
        self.look(self)
        return self.history[::-1][:limit]

    async def configured(self) -> tuple[SourceRow, ...]:
        self._fail()
        return self.rows

    async def source_states(self) -> dict[str, SourceState]:
        self._fail()
        return self.states

    async def page_counts(self) -> dict[tuple[str, Language], int]:
        self._fail()
        return self.counts

    async def publications(self) -> dict[Language, PublishedIndex]:
        self._fail()
        return self.indexes

    async def choose_source(self, source_id: str, enabled: bool) -> None:
        self._fail()
        self.states[source_id] = SourceState(
            source_id=source_id, publisher="", read_at=None, pages=0, problem=None, enabled=enabled
        )

    def _fail(self) -> None:
        if self.failure is not None:
            raise self.failure


class FakeTime:
    """Seconds that pass only while somebody sleeps; `at` holds what happens at which second."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.slept: list[float] = []
        self.at: dict[float, Callable[[], None]] = {}

    def __call__(self) -> float:
        return self.seconds

    def now(self) -> datetime:
        return NOON + timedelta(seconds=self.seconds)

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.seconds += seconds
        for moment in sorted(moment for moment in self.at if moment <= self.seconds):
            self.at.pop(moment)()
        await asyncio.sleep(0)
