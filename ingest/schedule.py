"""The nightly schedule: one run for each local date, in one process, late rather than never."""

import asyncio
import fcntl
import os
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import IO

from apscheduler.events import EVENT_JOB_MAX_INSTANCES, EVENT_JOB_SUBMITTED, JobSubmissionEvent
from apscheduler.schedulers.asyncio import AsyncIOScheduler

from ingest.nightly_trigger import NightlyTrigger, ScheduleInvalid

__all__ = ["Nightly", "NightlyTrigger", "ScheduleInvalid"]

_JOB = "nightly"
_CATCH_UP = timedelta(hours=12)  # later than that the next night is nearer than the missed one
_LATE = timedelta(hours=1)
_STOP_S = 5.0


class Nightly:
    """Starts the job each night in exactly one of all processes that share a home.

    The process that holds `<home>/scheduler.lock` leads; the others try again each minute and take over when it has ended,
    however it ended. A run that begins late begins all the same, once. While one is going on no other begins.

    Args:
        job: The run; it ends when the run has ended, so that the next does not overlap it.
        home: Directory of the lock, made if it is missing.
        at: Time of day on the wall, "HH:MM".
        zone: IANA name of the time zone.
        last_started: Asked whenever this process begins to lead: when the latest run over all sources began; None if none did.
        on_missed: Told the due time of a run that did not begin in time, and whether it begins now instead.
        on_trouble: Told what the job, `last_started` or the lock raised; the schedule goes on.
        clock: Tells the time, with a zone.
        beat_s: Seconds between two looks at the lock and the clock.

    Raises:
        ScheduleInvalid: If there is no such time or zone.
    """

    def __init__(
        self,
        job: Callable[[], Awaitable[None]],
        *,
        home: Path,
        at: str,
        zone: str,
        last_started: Callable[[], Awaitable[datetime | None]] | None = None,
        on_missed: Callable[[datetime, bool], None] = lambda _due, _is_made_up: None,
        on_trouble: Callable[[Exception], None] = lambda _: None,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        beat_s: float = 60.0,
    ) -> None:
        self._job = job
        self._at, self._zone = at, zone
        self._trigger = NightlyTrigger(at, zone)
        self._lock = _SchedulerLock(home / "scheduler.lock")
        self._last_started = last_started
        self._on_missed = on_missed
        self._on_trouble = on_trouble
        self._clock = clock
        self._beat_s = beat_s
        self._scheduler: AsyncIOScheduler | None = None
        self._running: asyncio.Future[None] | None = None
        self._beating: asyncio.Task[None] | None = None
        self._stopping = asyncio.Event()
        self._trouble: str | None = None
        self._missed: datetime | None = None

    @property
    def is_leader(self) -> bool:
        """True while the nightly run begins in this process."""
        return self._scheduler is not None

    @property
    def next_run(self) -> datetime | None:
        """When the next run is due, in whichever process; None while this schedule is not started."""
        if self._beating is None:
            return None
        job = self._scheduler.get_job(_JOB) if self._scheduler is not None else None
        return job.next_run_time if job is not None else self._trigger.get_next_fire_time(None, self._now())

    @property
    def missed(self) -> datetime | None:
        """When the run was due that did not begin in time, also if it was made up for; None once a later one begins in time."""
        return self._missed

    async def start(self) -> None:
        """Begin to lead, or to wait for it. A run that was missed in the last twelve hours begins at once."""
        self._stopping.clear()
        await self._beat()
        self._beating = asyncio.create_task(self._beat_on())

    async def stop(self) -> None:
        """Let go of the schedule; a job under way is cancelled, and another process takes over."""
        self._stopping.set()
        if self._beating is not None:
            await asyncio.wait({self._beating}, timeout=_STOP_S)
            self._beating.cancel()
            await asyncio.gather(self._beating, return_exceptions=True)
            self._beating = None
        await self._resign()
        await asyncio.to_thread(self._lock.release)

    async def _beat_on(self) -> None:
        while not self._stopping.is_set():
            with suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), self._beat_s)
                return
            await self._beat()

    async def _beat(self) -> None:
        try:
            is_mine = await asyncio.to_thread(self._lock.hold)
            self._trouble = None
        except OSError as error:
            is_mine = False
            if self._trouble != str(error):  # told once, not once a minute
                self._on_trouble(error)
            self._trouble = str(error)
        await (self._lead() if is_mine else self._resign())

    async def _lead(self) -> None:
        if self._scheduler is not None:
            self._follow_clock(self._scheduler)
            return
        last_started = await self._read_last_started()
        now = self._now()
        self._trigger = NightlyTrigger(self._at, self._zone, last_started=last_started)
        missed = self._trigger.missed(last_started, now) if last_started is not None else None
        is_made_up = missed is not None and now - missed < _CATCH_UP
        if missed is not None:
            self._note_missed(missed, is_made_up)
        first = missed if is_made_up else self._trigger.get_next_fire_time(None, now)
        # Without a zone the library takes the machine's, and by its default it drops a run that begins a second late.
        scheduler = AsyncIOScheduler(timezone=self._trigger.zone)
        scheduler.add_job(
            self._fire, self._trigger, id=_JOB, next_run_time=first, coalesce=True, max_instances=1, misfire_grace_time=None
        )
        scheduler.add_listener(self._on_event, EVENT_JOB_SUBMITTED | EVENT_JOB_MAX_INSTANCES)
        scheduler.start()
        self._scheduler = scheduler

    def _follow_clock(self, scheduler: AsyncIOScheduler) -> None:
        """The library sleeps for a number of seconds: it would oversleep when the clock is set or the machine was suspended."""
        job = scheduler.get_job(_JOB)
        due = self._trigger.get_next_fire_time(None, self._now())
        if due.astimezone(UTC) < job.next_run_time.astimezone(UTC):
            job.modify(next_run_time=due)
        scheduler.wakeup()

    async def _resign(self) -> None:
        scheduler, self._scheduler = self._scheduler, None
        if scheduler is None:
            return
        scheduler.remove_all_jobs()
        if self._running is not None and not self._running.done():
            self._running.cancel()
            await asyncio.wait({self._running}, timeout=_STOP_S)
        await asyncio.sleep(0)  # the library notes the end of the job first, else it logs a failure
        scheduler.shutdown(wait=False)
        await asyncio.sleep(0)  # it shuts down in the next turn of the loop

    async def _fire(self) -> None:
        self._running = asyncio.ensure_future(self._job())
        await asyncio.wait({self._running})
        if not self._running.cancelled():
            error = self._running.exception()
            if isinstance(error, Exception):
                self._on_trouble(error)

    def _on_event(self, event: JobSubmissionEvent) -> None:
        due = event.scheduled_run_times[-1]
        if event.code == EVENT_JOB_MAX_INSTANCES:
            self._note_missed(due, is_made_up=False)
        elif due != self._missed:
            self._missed = None
            if self._now() - due > _LATE:
                self._note_missed(due, is_made_up=True)

    def _note_missed(self, due: datetime, is_made_up: bool) -> None:
        self._missed = due
        self._on_missed(due, is_made_up)

    def _now(self) -> datetime:
        return self._clock().astimezone(UTC)

    async def _read_last_started(self) -> datetime | None:
        if self._last_started is None:
            return None
        try:
            return await self._last_started()
        except Exception as error:  # noqa: BLE001 - without it nothing is made up for, but the nights to come are kept
            self._on_trouble(error)
            return None


class _SchedulerLock:
    """A lock file. The system lets go of it when the process ends, however it ends."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: IO[str] | None = None

    def hold(self) -> bool:
        """Whether this process has the lock, taken now if it was free. A file that was deleted or replaced locks nobody out."""
        if self._file is not None:
            if self._is_in_place(self._file):
                return True
            self.release()
        self._path.parent.mkdir(parents=True, exist_ok=True)
        file = self._path.open("a")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            file.close()
            if isinstance(error, BlockingIOError):
                return False
            raise
        self._file = file
        return self._is_in_place(file)

    def release(self) -> None:
        """Let another process have it."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _is_in_place(self, file: IO[str]) -> bool:
        try:
            return os.path.samestat(os.fstat(file.fileno()), self._path.stat())
        except OSError:
            return False
