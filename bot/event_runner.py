"""Sees to it that content events are carried out: at once, one process at a time, and again when one fails."""

import asyncio
import contextlib
import time
from collections.abc import Sequence
from datetime import UTC, datetime

from bot.ingestion import COMMAND, end, launch
from bot.settings import Settings
from bot.telemetry import Telemetry
from ingest.ledger import Ledger
from ingest.run import ledger_path

_LIMIT_S = 1800.0
_STOP_GRACE_S = 5.0


class EventRunner:
    """Starts `salus ingest --events` while events wait in the ledger.

    Should the bot be killed, the process that carries out events goes on to its end, and the next bot finds what is left. Those
    that wait when the bot starts are carried out too.

    Args:
        settings: Whose home is read and written; all else reaches the process through the environment.
        telemetry: Notes how many events were carried out, how many could not be, and how many still wait.
        command: Stands in for the command line; arguments are added to it.
        first_pause_s: After a process that left events behind. Doubles each time, and a new event ends a longer one.
        longest_pause_s: The longest pause.
    """

    def __init__(
        self,
        settings: Settings,
        telemetry: Telemetry,
        *,
        command: Sequence[str] = COMMAND,
        first_pause_s: float = 5.0,
        longest_pause_s: float = 60.0,
    ) -> None:
        self._home = settings.home
        self._telemetry = telemetry
        self._command = tuple(command)
        self._first_pause_s = first_pause_s
        self._longest_pause_s = longest_pause_s
        self._woken = asyncio.Event()
        self._child: asyncio.subprocess.Process | None = None
        self._working: asyncio.Task[None] | None = None

    def wake(self) -> None:
        """Tell that an event waits; costs nothing. To be called on the event loop."""
        self._woken.set()

    def start(self) -> None:
        """Begin with what waits already; to be called on the event loop."""
        if self._working is None:
            self.wake()
            self._working = asyncio.create_task(self._work())

    async def stop(self) -> None:
        """End the process that carries out events; what it leaves is carried out after the next start."""
        if self._working is None:
            return
        self._working.cancel()
        await asyncio.gather(self._working, return_exceptions=True)
        if self._child is not None:
            await end(self._child, after_s=0.0, grace_s=_STOP_GRACE_S)

    async def _work(self) -> None:
        while True:
            await self._woken.wait()
            pause_s = self._first_pause_s
            while not await self._is_all_done():
                await self._rest(pause_s)
                pause_s = min(2 * pause_s, self._longest_pause_s)

    async def _is_all_done(self) -> bool:
        """Carry out what waits; False when something that waited before still does."""
        self._woken.clear()  # before looking: an event that comes after the look wakes us again
        try:
            if not (waiting := await self._waiting()):
                return True
            begun, since = time.monotonic(), datetime.now(UTC)
            status = await self._run()
            left, carried_out, refused = await self._outcome(waiting, since)
        except Exception as error:  # noqa: BLE001 - whatever it is, the events are tried again
            self._telemetry.failure("events_not_carried_out", error)
            return False
        duration_s = round(time.monotonic() - begun, 1)
        self._telemetry.event("events_carried_out", count=carried_out, duration_s=duration_s)
        if refused:
            self._telemetry.warning("events_refused", count=refused)
        if left:
            self._telemetry.warning("events_wait", count=left, outcome=f"status_{status}")
        return not left

    async def _run(self) -> int | None:
        """Start a process and wait for its end; returns its exit status, negative for a signal."""
        nowhere = asyncio.subprocess.DEVNULL  # `salus ingest --events` by hand says what is wrong
        self._child = await launch(self._command, ["ingest", "--events"], self._home, out=nowhere, err=nowhere)
        await end(self._child, after_s=_LIMIT_S, grace_s=_STOP_GRACE_S)
        return self._child.returncode

    async def _waiting(self) -> frozenset[str]:
        path = ledger_path(self._home)
        if not await asyncio.to_thread(path.is_file):
            return frozenset()
        async with Ledger.open(path) as ledger:
            return frozenset(event.event_id for event in await ledger.pending_events())

    async def _outcome(self, waited: frozenset[str], since: datetime) -> tuple[int, int, int]:
        """How many of the events still wait, and how many, of these and of later ones, were carried out and refused for good."""
        left = waited & await self._waiting()
        async with Ledger.open(ledger_path(self._home)) as ledger:
            carried_out, refused = await ledger.settled_since(since)
        return len(left), carried_out, refused

    async def _rest(self, pause_s: float) -> None:
        await asyncio.sleep(self._first_pause_s)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._woken.wait(), pause_s - self._first_pause_s)
