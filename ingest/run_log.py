"""The runs of ingestion: how each stands, how far it is, and whether it has been asked to stop."""

import json
import sqlite3
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime

from ingest.errors import LedgerUnusable
from ingest.ledger_database import Book, now
from ingest.report import RunProgress, RunStatus

WHOLE = "all"
"""The scope of a run over all sources; else it is a source's id, or says that nothing was to be changed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRow:
    """A run as the bot may show it: `done` of `total` pages are read. `trigger` says who began it, `scope` what was read."""

    run_id: int
    started: datetime
    ended: datetime | None
    status: RunStatus
    done: int
    total: int
    report: Mapping[str, object] | None
    trigger: str = "command_line"
    progress: RunProgress | None = None
    scope: str = WHOLE

    @property
    def is_whole(self) -> bool:
        """True for a run over all sources that was meant to change something."""
        return self.scope == WHOLE


class RunLog(Book):
    """The part of the ledger that tells of runs."""

    async def begin_run(self, trigger: str = "command_line", scope: str = WHOLE) -> int:
        """Note a new run. Runs that still count as running were killed: the run lock lets no two run at once."""
        async with self._transaction():
            await self._db.execute("UPDATE runs SET status = ? WHERE status = ?", (RunStatus.INTERRUPTED, RunStatus.RUNNING))
            cursor = await self._db.execute(
                "INSERT INTO runs (started, status, cause, scope) VALUES (?, ?, ?, ?)",
                (now(), RunStatus.RUNNING, trigger, scope),
            )
            run_id = cursor.lastrowid
            await cursor.close()
        if run_id is None:
            raise LedgerUnusable("the ledger gave the run no number")
        return run_id

    async def note_progress(self, run_id: int, progress: RunProgress) -> None:
        """Note how far a run is."""
        async with self._transaction():
            await self._db.execute(
                "UPDATE runs SET done = ?, total = ?, progress = ? WHERE run_id = ?",
                (progress.done, progress.total, json.dumps(asdict(progress)), run_id),
            )

    async def end_run(self, run_id: int, status: RunStatus, report: Mapping[str, object]) -> None:
        """Note how a run ended."""
        async with self._transaction():
            await self._db.execute(
                "UPDATE runs SET ended = ?, status = ?, report = ? WHERE run_id = ?",
                (now(), status, json.dumps(report, ensure_ascii=False, default=str), run_id),
            )
            await self._db.execute("DELETE FROM runs WHERE run_id <= ? - 1000", (run_id,))

    async def latest_run(self) -> RunRow | None:
        """The run that began last."""
        return next(iter(await self.runs(1)), None)

    async def runs(self, limit: int) -> list[RunRow]:
        """The latest runs, newest first."""
        rows = await self._db.execute_fetchall(
            "SELECT run_id, started, ended, status, done, total, report, cause, progress, scope FROM runs"
            " ORDER BY run_id DESC LIMIT ?",
            (limit,),
        )
        return [_run_row(row) for row in rows]

    async def request_cancel(self) -> bool:
        """Ask the run that is under way to stop at its next batch. Returns whether there is one."""
        async with self._transaction():
            cursor = await self._db.execute("UPDATE runs SET is_cancelled = 1 WHERE status = ?", (RunStatus.RUNNING,))
            count = cursor.rowcount
            await cursor.close()
        return count > 0

    async def is_cancelled(self, run_id: int) -> bool:
        """Whether a run has been asked to stop."""
        rows = await self._db.execute_fetchall("SELECT is_cancelled FROM runs WHERE run_id = ?", (run_id,))
        return any(bool(row[0]) for row in rows)


def _run_row(row: sqlite3.Row | tuple[object, ...]) -> RunRow:
    run_id, started, ended, status, done, total, report, trigger, progress, scope = row
    return RunRow(
        run_id=int(str(run_id)),
        started=datetime.fromisoformat(str(started)),
        ended=datetime.fromisoformat(str(ended)) if ended else None,
        status=RunStatus(str(status)),
        done=int(str(done)),
        total=int(str(total)),
        report=json.loads(str(report)) if report else None,
        trigger=str(trigger),
        progress=RunProgress(**json.loads(str(progress))) if progress else None,
        scope=str(scope),
    )
