import asyncio
import threading
import time
from collections.abc import AsyncIterator, Callable

import pytest

from bot.errors import Busy
from bot.inference_worker import InferenceWorker
from rag.errors import Cancelled, DeadlineExceeded


@pytest.fixture
async def worker() -> AsyncIterator[InferenceWorker]:
    made = InferenceWorker(limit=8, run_limit_s=5.0)
    made.start()
    yield made
    await made.stop()


def constant(value: object) -> Callable[[float, Callable[[], bool]], object]:
    return lambda _deadline, _cancelled: value


class Gatekeeper:
    """Work that holds the thread until it is let go."""

    def __init__(self) -> None:
        self.running = threading.Event()
        self.go = threading.Event()

    def __call__(self, _deadline: float, cancelled: Callable[[], bool]) -> str:
        self.running.set()
        while not self.go.wait(0.005):
            if cancelled():
                raise Cancelled("cancelled")
        return "held"


async def hold(worker: InferenceWorker) -> tuple[Gatekeeper, "asyncio.Task[str]"]:
    keeper = Gatekeeper()
    task = asyncio.create_task(worker.run("holder", keeper))
    await asyncio.to_thread(keeper.running.wait, 2)
    return keeper, task


async def test_it_returns_what_the_work_returns(worker: InferenceWorker) -> None:
    assert await worker.run("a", constant(7)) == 7


async def test_an_exception_reaches_the_waiter_and_the_thread_lives_on(worker: InferenceWorker) -> None:
    def fail(_deadline: float, _cancelled: Callable[[], bool]) -> None:
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        await worker.run("a", fail)
    assert await worker.run("a", constant("still here")) == "still here"


async def test_eight_patients_at_once_get_their_own_answer_one_after_the_other_h22() -> None:
    worker = InferenceWorker(limit=8)
    worker.start()
    at_once: list[int] = []
    running = 0

    def work(value: int) -> Callable[[float, Callable[[], bool]], int]:
        def run(_deadline: float, _cancelled: Callable[[], bool]) -> int:
            nonlocal running
            running += 1
            at_once.append(running)
            time.sleep(0.01)
            running -= 1
            return value

        return run

    answers = await asyncio.gather(*(worker.run(f"patient-{number}", work(number)) for number in range(8)))
    await worker.stop()
    assert answers == list(range(8))
    assert max(at_once) == 1


async def test_the_loop_is_never_blocked(worker: InferenceWorker) -> None:
    keeper, task = await hold(worker)
    longest, last = 0.0, time.monotonic()
    for _ in range(20):
        await asyncio.sleep(0.005)
        now = time.monotonic()
        longest, last = max(longest, now - last), now
    keeper.go.set()
    await task
    assert longest < 0.2


async def test_a_patient_with_many_questions_waits_between_the_others(worker: InferenceWorker) -> None:
    keeper, holder = await hold(worker)
    order: list[str] = []

    def note(name: str) -> Callable[[float, Callable[[], bool]], None]:
        return lambda _deadline, _cancelled: order.append(name)

    tasks = []
    for name in ("a1", "a2", "a3", "b1", "c1"):
        tasks.append(asyncio.create_task(worker.run(name[0], note(name))))
        await asyncio.sleep(0)
    keeper.go.set()
    await asyncio.gather(holder, *tasks)
    assert order == ["a1", "b1", "c1", "a2", "a3"]


async def test_the_waiter_is_told_how_many_go_first(worker: InferenceWorker) -> None:
    keeper, holder = await hold(worker)
    positions: dict[str, int] = {}
    tasks = []
    for name in ("a1", "a2", "b1"):
        tasks.append(
            asyncio.create_task(worker.run(name[0], constant(None), on_position=lambda n, k=name: positions.update({k: n})))
        )
        await asyncio.sleep(0)
    keeper.go.set()
    await asyncio.gather(holder, *tasks)
    assert positions == {"a1": 1, "a2": 2, "b1": 2}


async def test_nobody_ahead_means_no_position(worker: InferenceWorker) -> None:
    positions: list[int] = []
    await worker.run("a", constant(None), on_position=positions.append)
    assert positions == []


async def test_a_full_queue_refuses(worker: InferenceWorker) -> None:
    keeper, holder = await hold(worker)
    tasks = [asyncio.create_task(worker.run(number, constant(number))) for number in range(8)]
    await asyncio.sleep(0)
    with pytest.raises(Busy):
        await worker.run("one too many", constant(None))
    keeper.go.set()
    await asyncio.gather(holder, *tasks)


async def test_a_waiter_that_gives_up_leaves_the_queue(worker: InferenceWorker) -> None:
    keeper, holder = await hold(worker)
    ran: list[bool] = []
    task = asyncio.create_task(worker.run("a", lambda _deadline, _cancelled: ran.append(True)))
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert worker.depth == 0
    keeper.go.set()
    await holder
    assert ran == []


async def test_a_waiter_that_gives_up_stops_its_running_work(worker: InferenceWorker) -> None:
    _, task = await hold(worker)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert await asyncio.wait_for(worker.run("next", constant("free again")), 1) == "free again"


async def test_the_deadline_begins_when_the_turn_has_come() -> None:
    worker = InferenceWorker(run_limit_s=5.0)
    worker.start()
    left = await worker.run("a", lambda deadline, _cancelled: deadline - time.monotonic())
    await worker.stop()
    assert 4.5 < left <= 5.0


async def test_work_that_ignores_its_deadline_does_not_keep_the_waiter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bot.inference_worker._OVERRUN_S", 0.05)
    worker = InferenceWorker(run_limit_s=0.05)
    worker.start()
    release = threading.Event()
    with pytest.raises(DeadlineExceeded):
        await worker.run("a", lambda _deadline, _cancelled: release.wait(5))
    release.set()
    await worker.stop()


async def test_stopping_cancels_what_waits_and_what_runs(worker: InferenceWorker) -> None:
    _, running = await hold(worker)
    waiting = asyncio.create_task(worker.run("a", constant(None)))
    await asyncio.sleep(0)
    await worker.stop(grace_s=0.05)
    outcomes = await asyncio.gather(running, waiting, return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [Cancelled, Cancelled]
    with pytest.raises(Cancelled):
        await worker.run("late", constant(None))
    assert not worker.is_alive


async def test_stopping_lets_running_work_end_within_the_grace(worker: InferenceWorker) -> None:
    keeper, task = await hold(worker)
    asyncio.get_running_loop().call_later(0.05, keeper.go.set)
    await worker.stop(grace_s=2)
    assert await task == "held"
