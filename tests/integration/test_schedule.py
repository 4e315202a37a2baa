"""The nightly schedule with the real scheduler: simulated years, late starts, clock jumps, several processes. # H30, H20"""

import asyncio
import logging
import os
import signal
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from apscheduler.schedulers import base
from apscheduler.schedulers.asyncio import AsyncIOScheduler
from apscheduler.triggers.cron import CronTrigger

from ingest.schedule import Nightly

ROME = ZoneInfo("Europe/Rome")


class Clock:
    """The time of day for us and for the library: it stands still until it is set, or runs from where it was set."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        clock = self
        self._base = datetime(2026, 5, 10, 1, tzinfo=UTC)
        self._since: float | None = None

        class Patched(datetime):
            @classmethod
            def now(cls, tz: Any = None) -> datetime:
                return clock.now().astimezone(tz)

        monkeypatch.setattr(base, "datetime", Patched)

    def now(self) -> datetime:
        return self._base + timedelta(seconds=time.monotonic() - self._since if self._since is not None else 0)

    def set(self, moment: datetime | str, *, runs: bool = False) -> None:
        self._base = (datetime.fromisoformat(moment) if isinstance(moment, str) else moment).astimezone(UTC)
        self._since = time.monotonic() if runs else None


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


class Runs:
    """A job that notes when it was begun; it lasts until `go_on` is set."""

    def __init__(self, clock: Clock) -> None:
        self.begun: list[datetime] = []
        self.go_on = asyncio.Event()
        self.go_on.set()
        self.most_at_once = 0
        self._running = 0
        self._clock = clock

    async def __call__(self) -> None:
        self.begun.append(self._clock.now().astimezone(ROME))
        self._running += 1
        self.most_at_once = max(self.most_at_once, self._running)
        try:
            await self.go_on.wait()
        finally:
            self._running -= 1

    @property
    def times(self) -> list[str]:
        return [f"{moment:%m-%d %H:%M}" for moment in self.begun]


@asynccontextmanager
async def nightly(home: Path, clock: Clock, job: Callable[[], Awaitable[None]], **options: Any) -> AsyncIterator[Nightly]:
    schedule = Nightly(job, home=home, clock=clock.now, **({"at": "03:30", "zone": "Europe/Rome", "beat_s": 0.01} | options))
    await schedule.start()
    try:
        yield schedule
    finally:
        await schedule.stop()


async def turns(count: int = 5) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


async def until(condition: Callable[[], bool], limit_s: float = 5.0) -> None:
    deadline = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < deadline
        await asyncio.sleep(0.01)


async def live_through(clock: Clock, scheduler: AsyncIOScheduler, first: datetime, end: datetime) -> None:
    """Wake the scheduler when it wants to be woken, every six hours besides, and often around the changes of the clocks."""
    clock.set(first)
    while clock.now() < end:
        scheduler.wakeup()
        await turns()
        (job,) = scheduler.get_jobs()
        zone = scheduler.timezone
        around = [clock.now() + timedelta(days=days) for days in (-1, 1)]
        is_change = len({moment.astimezone(zone).utcoffset() for moment in around}) > 1
        step = timedelta(minutes=7) if is_change else timedelta(hours=6)
        clock.set(min(clock.now() + step, max(job.next_run_time.astimezone(UTC), clock.now() + timedelta(microseconds=1))))


@pytest.mark.parametrize("hour", ["03:30", "02:30", "00:30", "02:00", "23:30"])
@pytest.mark.parametrize(("zone", "year"), [("Europe/Rome", 2026), ("America/Mexico_City", 2022), ("America/Santiago", 2026)])
async def test_a_year_has_one_run_a_night(tmp_path: Path, clock: Clock, zone: str, year: int, hour: str) -> None:
    """H30"""
    runs = Runs(clock)
    first, end = (datetime(y, 1, 1, tzinfo=ZoneInfo(zone)) for y in (year, year + 1))
    clock.set(first)

    async with nightly(tmp_path, clock, runs, zone=zone, at=hour, beat_s=600) as schedule:
        assert schedule._scheduler is not None
        await live_through(clock, schedule._scheduler, first, end)

    nights = [moment.astimezone(ZoneInfo(zone)).date() for moment in runs.begun]
    assert nights == [date(year, 1, 1) + timedelta(days=n) for n in range(365)]
    assert schedule.missed is None


async def test_the_librarys_own_trigger_runs_twice_on_the_autumn_night(clock: Clock) -> None:
    runs = Runs(clock)
    first, end = datetime(2026, 10, 23, tzinfo=ROME), datetime(2026, 10, 28, tzinfo=ROME)
    clock.set(first)
    scheduler = AsyncIOScheduler(timezone=ROME)
    scheduler.add_job(runs.__call__, CronTrigger(hour=2, minute=30, timezone=ROME), misfire_grace_time=None)
    scheduler.start()

    await live_through(clock, scheduler, first, end)
    scheduler.shutdown()
    await turns()

    assert Counter(moment.date() for moment in runs.begun)[date(2026, 10, 25)] == 2


async def test_a_blocked_loop_delays_the_run_and_does_not_drop_it(tmp_path: Path, clock: Clock) -> None:
    """H30"""
    runs = Runs(clock)
    clock.set("2026-05-10T03:29:59.800+02:00", runs=True)

    async with nightly(tmp_path, clock, runs, beat_s=600):
        time.sleep(5)  # noqa: ASYNC251 - the loop is meant to stand still; by the library's default, one second late is too late
        await until(lambda: bool(runs.begun))
        await asyncio.sleep(0.05)

    assert len(runs.begun) == 1
    assert runs.begun[0] > datetime(2026, 5, 10, 3, 30, 1, tzinfo=ROME)


async def test_a_run_longer_than_a_day_is_not_overlapped_and_the_skipped_one_is_seen(tmp_path: Path, clock: Clock) -> None:
    """H30"""
    runs, missed = Runs(clock), []
    runs.go_on.clear()
    clock.set("2026-05-10T03:00+02:00")

    async with nightly(tmp_path, clock, runs, on_missed=lambda due, made_up: missed.append((due.day, made_up))) as schedule:
        clock.set("2026-05-10T03:30+02:00")
        await until(lambda: len(runs.begun) == 1)
        clock.set("2026-05-11T03:30+02:00")
        await until(lambda: bool(missed))
        assert schedule.missed == datetime(2026, 5, 11, 3, 30, tzinfo=ROME)
        runs.go_on.set()
        await turns()
        clock.set("2026-05-12T03:30+02:00")
        await until(lambda: len(runs.begun) == 2)
        assert schedule.missed is None

    assert runs.times == ["05-10 03:30", "05-12 03:30"]
    assert runs.most_at_once == 1
    assert missed == [(11, False)]


async def test_a_clock_set_back_two_hours_after_the_run_begins_no_other(tmp_path: Path, clock: Clock) -> None:
    runs = Runs(clock)
    clock.set("2026-05-10T03:00+02:00")

    async with nightly(tmp_path, clock, runs) as schedule:
        for moment in ("03:30", "03:40", "01:40", "02:40", "03:29", "03:30", "03:31", "12:00"):
            clock.set(f"2026-05-10T{moment}+02:00")
            await asyncio.sleep(0.03)
        assert schedule.next_run == datetime(2026, 5, 11, 3, 30, tzinfo=ROME)
        clock.set("2026-05-11T03:30+02:00")
        await until(lambda: len(runs.begun) == 2)

    assert runs.times == ["05-10 03:30", "05-11 03:30"]


async def test_a_clock_set_forward_three_days_and_back_again_loses_no_night(tmp_path: Path, clock: Clock) -> None:
    runs = Runs(clock)
    clock.set("2026-05-10T04:00+02:00")

    async with nightly(tmp_path, clock, runs) as schedule:
        clock.set("2026-05-13T04:00+02:00")  # the library's timer still sleeps for most of a day
        await until(lambda: len(runs.begun) == 1)
        await asyncio.sleep(0.03)
        clock.set("2026-05-10T04:10+02:00")
        await until(lambda: schedule.next_run == datetime(2026, 5, 11, 3, 30, tzinfo=ROME))
        clock.set("2026-05-11T03:30+02:00")
        await until(lambda: len(runs.begun) == 2)
        clock.set("2026-05-12T03:30+02:00")
        await until(lambda: len(runs.begun) == 3)
        clock.set("2026-05-13T03:30+02:00")
        await asyncio.sleep(0.03)
        assert schedule.next_run == datetime(2026, 5, 14, 3, 30, tzinfo=ROME)

    assert runs.times == ["05-13 04:00", "05-11 03:30", "05-12 03:30"]


async def test_a_run_that_begins_hours_late_is_told_of(tmp_path: Path, clock: Clock) -> None:
    """H30"""
    runs, missed = Runs(clock), []
    clock.set("2026-05-10T03:00+02:00")

    async with nightly(tmp_path, clock, runs, on_missed=lambda due, made_up: missed.append((due, made_up))):
        clock.set("2026-05-10T09:00+02:00")  # the machine was suspended
        await until(lambda: bool(runs.begun))

    assert missed == [(datetime(2026, 5, 10, 3, 30, tzinfo=ROME), True)]


@pytest.fixture
def no_local_zone(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    def refuse() -> None:
        raise AssertionError("the machine's zone was asked for")

    monkeypatch.setattr(base, "get_localzone", refuse)
    monkeypatch.delenv("TZ", raising=False)
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.usefixtures("no_local_zone")
async def test_the_zone_of_the_machine_plays_no_part(tmp_path: Path, clock: Clock) -> None:
    """H30"""
    clock.set("2026-05-10T00:00+00:00")

    async with nightly(tmp_path, clock, Runs(clock)) as schedule:
        assert schedule.next_run is not None
        assert schedule.next_run.isoformat() == "2026-05-10T03:30:00+02:00"


def started(text: str | None) -> Callable[[], Awaitable[datetime | None]]:
    async def last_started() -> datetime | None:
        return datetime.fromisoformat(text) if text else None

    return last_started


@pytest.mark.parametrize(
    ("last", "now", "begins", "is_missed"),
    [
        ("2026-05-09T01:30:03+00:00", "10:00", True, True),
        ("2026-05-09T01:30:03+00:00", "15:29", True, True),
        ("2026-05-09T01:30:03+00:00", "15:31", False, True),
        ("2026-05-10T01:30:03+00:00", "10:00", False, False),
        ("2026-05-09T20:00:00+00:00", "03:00", False, False),
        (None, "10:00", False, False),
    ],
)
async def test_a_run_missed_while_nobody_was_there_is_made_up_for_until_noon_is_long_past(
    tmp_path: Path, clock: Clock, last: str | None, now: str, begins: bool, is_missed: bool
) -> None:
    """H30"""
    runs, missed = Runs(clock), []
    clock.set(f"2026-05-10T{now}+02:00")

    async with nightly(
        tmp_path, clock, runs, last_started=started(last), on_missed=lambda due, made_up: missed.append(made_up)
    ) as schedule:
        await asyncio.sleep(0.03)
        assert (schedule.missed is not None) == is_missed
        assert len(runs.begun) == begins
        assert missed == ([begins] if is_missed else [])
        clock.set("2026-05-11T03:30+02:00")
        await until(lambda: len(runs.begun) == begins + 1)
        assert schedule.missed is None


async def test_a_job_that_fails_is_told_of_and_the_next_night_comes(tmp_path: Path, clock: Clock) -> None:
    runs, troubles = Runs(clock), []

    async def job() -> None:
        await runs()
        raise ConnectionError("down")

    clock.set("2026-05-10T03:00+02:00")
    async with nightly(tmp_path, clock, job, on_trouble=troubles.append):
        for day in (10, 11):
            clock.set(f"2026-05-{day}T03:30+02:00")
            await until(lambda day=day: len(troubles) == day - 9)  # type: ignore[misc]

    assert [str(error) for error in troubles] == ["down", "down"]


async def test_a_ledger_that_cannot_be_read_does_not_cost_the_night(tmp_path: Path, clock: Clock) -> None:
    runs, troubles = Runs(clock), []

    async def unreadable() -> datetime | None:
        raise OSError("no ledger")

    clock.set("2026-05-10T03:00+02:00")
    async with nightly(tmp_path, clock, runs, last_started=unreadable, on_trouble=troubles.append):
        clock.set("2026-05-10T03:30+02:00")
        await until(lambda: bool(runs.begun))

    assert [str(error) for error in troubles] == ["no ledger"]


async def test_stopping_cancels_the_job_quietly_and_lets_another_lead(
    tmp_path: Path, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    runs = Runs(clock)
    runs.go_on.clear()
    clock.set("2026-05-10T03:00+02:00")
    async with nightly(tmp_path, clock, runs) as first, nightly(tmp_path, clock, runs) as second:
        assert (first.is_leader, second.is_leader) == (True, False)
        assert second.next_run == first.next_run
        clock.set("2026-05-10T03:30+02:00")
        await until(lambda: len(runs.begun) == 1)

        await first.stop()
        await until(lambda: second.is_leader)

        assert (first.is_leader, first.next_run) == (False, None)

    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


async def test_a_lock_file_that_was_replaced_leaves_one_leader(tmp_path: Path, clock: Clock) -> None:
    async with nightly(tmp_path, clock, Runs(clock)) as first, nightly(tmp_path, clock, Runs(clock)) as second:
        for _ in range(3):
            (tmp_path / "scheduler.lock").unlink()
            await asyncio.sleep(0.1)
            assert [first.is_leader, second.is_leader].count(True) == 1


async def test_a_home_that_cannot_be_written_is_told_of_once_and_waited_for(tmp_path: Path, clock: Clock) -> None:
    troubles: list[Exception] = []
    (tmp_path / "home").write_text("a file")

    async with nightly(tmp_path / "home", clock, Runs(clock), on_trouble=troubles.append) as schedule:
        await asyncio.sleep(0.1)
        assert (schedule.is_leader, len(troubles)) == (False, 1)
        (tmp_path / "home").unlink()
        await until(lambda: schedule.is_leader)


PROCESS = """
import asyncio, os, sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from ingest.schedule import Nightly

home, name = Path(sys.argv[1]), sys.argv[2]
due = datetime.now(UTC) - timedelta(hours=1)

async def job():
    with (home / "runs").open("a") as file:
        file.write(name)

async def last_started():
    return due + timedelta(minutes=5) if (home / "runs").exists() else due - timedelta(minutes=5)

async def main():
    schedule = Nightly(job, home=home, at=f"{due:%H:%M}", zone="UTC", last_started=last_started, beat_s=0.05)
    await schedule.start()
    while True:
        (home / f"{name}.new").write_text(str(schedule.is_leader))
        os.replace(home / f"{name}.new", home / name)
        await asyncio.sleep(0.02)

asyncio.run(main())
"""


async def test_of_two_processes_one_leads_and_the_other_takes_over_when_it_is_killed(tmp_path: Path) -> None:
    """H30"""

    def leaders() -> set[str]:
        return {name for name in "ab" if (tmp_path / name).read_text() == "True"}

    processes = {name: await asyncio.create_subprocess_exec(sys.executable, "-c", PROCESS, tmp_path, name) for name in "ab"}
    try:
        await until(lambda: all((tmp_path / name).exists() for name in "ab"), 20)
        await until(lambda: len(leaders()) == 1)
        for _ in range(20):
            assert len(leaders()) == 1
            await asyncio.sleep(0.02)
        (leader,) = leaders()
        (other,) = {"a", "b"} - {leader}

        os.kill(processes[leader].pid, signal.SIGKILL)

        await until(lambda: (tmp_path / other).read_text() == "True")
        await asyncio.sleep(0.1)
        assert (tmp_path / "runs").read_text() == leader  # what had been missed was made up for once
    finally:
        for process in processes.values():
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()
