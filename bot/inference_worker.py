"""The one thread that may touch the models: a bounded queue, fair between patients, with a deadline and a way out.

A llama.cpp context cannot serve two completions at once, so the lock belongs to the worker and not to whoever waits: a waiter
that gives up leaves the running inference to end by itself.
"""

import asyncio
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from bot.errors import Busy
from rag.errors import Cancelled, DeadlineExceeded

T = TypeVar("T")

Work = Callable[[float, Callable[[], bool]], Any]
"""Takes its deadline (`time.monotonic()` seconds) and a function that turns true when it should stop."""

# How long a waiter still waits for work that should have stopped at its deadline.
_OVERRUN_S = 5.0


@dataclass(slots=True, eq=False)
class _Job:
    key: Hashable = field(repr=False)
    work: Work = field(repr=False)
    loop: asyncio.AbstractEventLoop
    future: asyncio.Future[Any] = field(repr=False)
    started: asyncio.Event
    cancelled: threading.Event = field(default_factory=threading.Event)


class InferenceWorker:
    """Runs synchronous work one piece at a time, one piece of each patient in turn.

    Args:
        limit: Pieces of work that may wait; the next one is refused.
        run_limit_s: Seconds that a piece may run once its turn has come.
        wait_limit_s: Seconds that a piece may wait for its turn.
    """

    def __init__(self, *, limit: int = 32, run_limit_s: float = 60.0, wait_limit_s: float = 300.0) -> None:
        self._limit = limit
        self._wait_limit_s = wait_limit_s
        self._run_limit_s = run_limit_s
        self._waiting: OrderedDict[Hashable, deque[_Job]] = OrderedDict()
        self._changed = threading.Condition()
        self._running: _Job | None = None
        self._running_since = 0.0
        self._closed = False
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin to work through the queue."""
        self._thread = threading.Thread(target=self._work_through, name="inference", daemon=True)
        self._thread.start()

    @property
    def is_alive(self) -> bool:
        """True while the thread runs and no piece of work has long overrun its deadline."""
        with self._changed:
            stuck = self._running is not None and time.monotonic() - self._running_since > self._run_limit_s + 6 * _OVERRUN_S
        return self._thread is not None and self._thread.is_alive() and not stuck

    @property
    def depth(self) -> int:
        """Pieces of work that wait."""
        with self._changed:
            return sum(len(jobs) for jobs in self._waiting.values())

    async def run(
        self,
        key: Hashable,
        work: Callable[[float, Callable[[], bool]], T],
        *,
        on_position: Callable[[int], None] | None = None,
    ) -> T:
        """Wait for the turn of `key`, then for the result of `work`.

        Cancelling this call takes the work out of the queue or, once it runs, asks it to stop.

        Args:
            key: Whose work it is: a patient with several pieces waits between the others.
            work: Called in the worker's thread.
            on_position: Told at once how many pieces go first, if any do.

        Raises:
            Busy: If the queue is full, or did not move in time.
            DeadlineExceeded: If the work did not end in its time.
            Cancelled: If the worker was stopped before or while the work ran.
        """
        loop = asyncio.get_running_loop()
        job = _Job(key=key, work=work, loop=loop, future=loop.create_future(), started=asyncio.Event())
        ahead = self._enqueue(job)
        try:
            if on_position is not None and ahead:
                on_position(ahead)
            result: T = await self._result(job)
            return result
        finally:
            job.cancelled.set()
            job.future.cancel()
            self._withdraw(job)

    async def stop(self, grace_s: float = 0.0) -> None:
        """Refuse new work, cancel what waits, and give what runs `grace_s` seconds before it is cancelled too."""
        with self._changed:
            self._closed = True
            jobs = [job for waiting in self._waiting.values() for job in waiting]
            self._waiting.clear()
            self._changed.notify_all()
        for job in jobs:
            _fail(job, Cancelled("The bot is stopping."))
        if self._thread is None:
            return
        await asyncio.to_thread(self._thread.join, grace_s)
        with self._changed:
            running = self._running
        if running is not None:
            running.cancelled.set()
        await asyncio.to_thread(self._thread.join, _OVERRUN_S)

    async def _result(self, job: _Job) -> Any:  # noqa: ANN401 - whatever the work returns
        started = asyncio.ensure_future(job.started.wait())
        try:
            done, _ = await asyncio.wait({started, job.future}, timeout=self._wait_limit_s, return_when=asyncio.FIRST_COMPLETED)
            if not done:
                raise Busy("The queue moves too slowly.")
            return await asyncio.wait_for(job.future, self._run_limit_s + _OVERRUN_S)
        except TimeoutError:
            raise DeadlineExceeded("The work did not stop at its deadline.") from None
        finally:
            started.cancel()

    def _enqueue(self, job: _Job) -> int:
        with self._changed:
            if self._closed:
                raise Cancelled("The bot is stopping.")
            # One more than the limit may be here: it runs, or will as soon as the thread looks.
            if sum(len(jobs) for jobs in self._waiting.values()) + (self._running is not None) > self._limit:
                raise Busy("The queue is full.")
            own = self._waiting.setdefault(job.key, deque())
            # Every other patient goes before this one at most as often as this one has pieces in the queue.
            ahead = sum(min(len(jobs), len(own) + 1) for key, jobs in self._waiting.items() if key != job.key)
            ahead += len(own) + (self._running is not None)
            own.append(job)
            self._changed.notify()
        return ahead

    def _withdraw(self, job: _Job) -> None:
        with self._changed:
            jobs = self._waiting.get(job.key)
            if jobs is not None and job in jobs:
                jobs.remove(job)
                if not jobs:
                    del self._waiting[job.key]

    def _work_through(self) -> None:
        while (job := self._next()) is not None:
            try:
                _announce(job)
                result = job.work(time.monotonic() + self._run_limit_s, job.cancelled.is_set)
            except BaseException as error:  # noqa: BLE001 - it belongs to the waiter; the thread must live on
                _fail(job, error)
            else:
                _succeed(job, result)
                del result
            with self._changed:
                self._running = None
            del job  # while the queue is empty nothing of a patient stays in this frame

    def _next(self) -> _Job | None:
        with self._changed:
            while not self._waiting:
                if self._closed:
                    return None
                self._changed.wait()
            key, jobs = next(iter(self._waiting.items()))
            job = jobs.popleft()
            del self._waiting[key]
            if jobs:
                self._waiting[key] = jobs  # to the end of the round
            self._running, self._running_since = job, time.monotonic()
            return job


def _announce(job: _Job) -> None:
    job.loop.call_soon_threadsafe(job.started.set)


def _succeed(job: _Job, result: object) -> None:
    _tell(job, lambda: job.future.set_result(result))


def _fail(job: _Job, error: BaseException) -> None:
    _tell(job, lambda: job.future.set_exception(error))


def _tell(job: _Job, settle: Callable[[], None]) -> None:
    def settle_unless_done() -> None:
        if not job.future.done():
            settle()

    try:
        job.loop.call_soon_threadsafe(settle_unless_done)
    except RuntimeError:  # the loop has been closed: nobody waits any more
        job.cancelled.set()
