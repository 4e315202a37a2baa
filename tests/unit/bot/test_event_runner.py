"""The runner with a stand-in for the process, so that every turn of events can be told apart."""

import asyncio
import itertools
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from bot import event_runner
from bot.event_runner import EventRunner
from bot.settings import Settings
from bot.telemetry import Telemetry
from ingest.ledger import Ledger
from ingest.run import ledger_path

PAUSE_S = 0.03


class Bench:
    """A ledger, a runner, and instead of its process a function of this one."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.runs: list[frozenset[str]] = []
        self.work: Callable[[frozenset[str]], Any] = self.settle
        self.status = 0
        self.at_once = self.most_at_once = 0
        self.runner = EventRunner(Settings(home=home), Telemetry(), first_pause_s=PAUSE_S, longest_pause_s=4 * PAUSE_S)
        self.runner._run = self._run  # type: ignore[method-assign]

    async def _run(self) -> int:
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        waiting = await self.waiting()
        self.runs.append(waiting)
        await self.work(waiting)
        self.at_once -= 1
        return self.status

    async def settle(self, event_ids: frozenset[str], problem: str | None = None) -> None:
        async with Ledger.open(ledger_path(self.home)) as ledger:
            for event_id in event_ids:
                await ledger.settle_event(event_id, problem)

    async def add(self, *event_ids: str) -> None:
        async with Ledger.open(ledger_path(self.home)) as ledger:
            for event_id in event_ids:
                await ledger.add_event(event_id, datetime.now(UTC), "{}")

    async def waiting(self) -> frozenset[str]:
        return await self.runner._waiting()

    async def until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(5):
            while not condition():
                await asyncio.sleep(0.005)

    async def settled(self) -> None:
        async with asyncio.timeout(5):
            while await self.waiting() or self.at_once:
                await asyncio.sleep(0.005)


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    bench = Bench(tmp_path)
    yield bench
    await bench.runner.stop()


async def test_event_is_carried_out_when_it_arrives(bench: Bench) -> None:
    bench.runner.start()
    await asyncio.sleep(PAUSE_S)
    assert bench.runs == []
    await bench.add("1")
    bench.runner.wake()
    await bench.settled()
    assert bench.runs == [{"1"}]


async def test_without_a_ledger_nothing_waits_and_none_is_made(bench: Bench) -> None:
    bench.runner.start()
    bench.runner.wake()
    await asyncio.sleep(PAUSE_S)
    assert bench.runs == []
    assert not ledger_path(bench.home).exists()


async def test_what_waits_at_the_start_is_carried_out(bench: Bench) -> None:
    await bench.add("1", "2")
    bench.runner.start()
    await bench.settled()
    assert bench.runs == [{"1", "2"}]


async def test_waking_in_vain_starts_no_process(bench: Bench) -> None:
    await bench.add("1")
    bench.runner.start()
    await bench.settled()
    for _ in range(3):
        bench.runner.wake()
        await asyncio.sleep(PAUSE_S)
    assert len(bench.runs) == 1


async def test_event_that_arrives_during_a_run_leads_to_one_more(bench: Bench) -> None:
    async def be_interrupted(waiting: frozenset[str]) -> None:
        if len(bench.runs) == 1:
            await bench.add("2", "3")
            bench.runner.wake()
            bench.runner.wake()
        await bench.settle(waiting)

    bench.work = be_interrupted
    await bench.add("1")
    bench.runner.start()
    await bench.until(lambda: len(bench.runs) == 2)
    await bench.settled()
    assert bench.runs == [{"1"}, {"2", "3"}]
    assert bench.most_at_once == 1


async def test_failed_process_is_tried_again_after_growing_pauses(bench: Bench) -> None:
    times: list[float] = []

    async def fail_four_times(waiting: frozenset[str]) -> None:
        times.append(asyncio.get_running_loop().time())
        if len(times) == 5:
            await bench.settle(waiting)

    bench.work, bench.status = fail_four_times, -9
    await bench.add("1")
    with capture_logs() as events:
        bench.runner.start()
        await bench.settled()
        await bench.runner.stop()
    pauses = [after - before for before, after in itertools.pairwise(times)]
    assert len(pauses) == 4
    assert [pause >= factor * PAUSE_S for pause, factor in zip(pauses, (1, 2, 4, 4), strict=True)] == [True] * 4
    waits = [entry for entry in events if entry["event"] == "events_wait"]
    assert [(entry["count"], entry["outcome"]) for entry in waits] == [(1, "status_-9")] * 4


async def test_new_event_ends_a_long_pause(bench: Bench) -> None:
    async def leave_the_first(waiting: frozenset[str]) -> None:
        await bench.settle(waiting - {"1"})

    bench.runner._longest_pause_s = 1000.0
    bench.work = leave_the_first
    await bench.add("1")
    bench.runner.start()
    await bench.until(lambda: len(bench.runs) >= 2)
    bench.runner._first_pause_s = 0.01  # the pause that runs now is a long one
    await bench.add("2")
    bench.runner.wake()
    await bench.until(lambda: {"1", "2"} in bench.runs)
    await bench.until(lambda: bench.at_once == 0)
    assert await bench.waiting() == {"1"}


async def test_trouble_of_any_kind_does_not_end_the_work(bench: Bench) -> None:
    async def break_once(waiting: frozenset[str]) -> None:
        bench.at_once = 0
        if len(bench.runs) == 1:
            raise OSError("canary")
        bench.at_once = 1
        await bench.settle(waiting)

    bench.work = break_once
    await bench.add("1")
    with capture_logs() as events:
        bench.runner.start()
        await bench.settled()
    assert len(bench.runs) == 2
    assert [entry["error"] for entry in events if entry["event"] == "events_not_carried_out"] == ["OSError"]
    assert "canary" not in str(events)


async def test_event_that_cannot_be_carried_out_is_counted_and_told_by_no_word(bench: Bench) -> None:
    async def refuse(waiting: frozenset[str]) -> None:
        await bench.settle(frozenset({"bad-canary"}), "event bad-canary: body: holds no text")
        await bench.settle(waiting - {"bad-canary"})

    bench.work, bench.status = refuse, 1
    await bench.add("1", "2", "bad-canary")
    with capture_logs() as events:
        bench.runner.start()
        await bench.until(lambda: any(entry["event"] == "events_refused" for entry in events))
    figures = {entry["event"]: entry.get("count") for entry in events}
    assert figures == {"events_carried_out": 2, "events_refused": 1}
    assert "canary" not in str(events)


async def test_stopped_runner_starts_nothing_more(bench: Bench) -> None:
    bench.runner.start()
    await bench.runner.stop()
    await bench.add("1")
    bench.runner.wake()
    await asyncio.sleep(2 * PAUSE_S)
    assert bench.runs == []


async def test_runner_that_never_started_can_be_stopped(bench: Bench) -> None:
    bench.runner.wake()
    await bench.runner.stop()


def test_pauses_are_those_that_the_documentation_tells() -> None:
    runner = EventRunner(Settings(), Telemetry())
    assert (runner._first_pause_s, runner._longest_pause_s, event_runner._LIMIT_S) == (5.0, 60.0, 1800.0)
