"""The gate's second reading in a conversation: beside the event loop, in the order of the messages, and within a limit."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Protocol

from bot.safety import GateReading
from bot.telemetry import Telemetry

_OVERRULE_LIMIT_S = 1.0  # a rule's emergency waits no longer for the second reading
_LIMIT_S = 5.0
_LONG = 600  # characters


class ReadsTwice(Protocol):
    """What the second reading needs of the gate."""

    def reread(self, text: str, earlier: tuple[str, ...], first: GateReading) -> GateReading:
        """Read a message once more; runs in a thread."""


class SecondReader:
    """Completes or corrects what the rules found in a message; without its model, or too late, what they found stands."""

    def __init__(self, gate: ReadsTwice, telemetry: Telemetry) -> None:
        self._gate = gate
        self._telemetry = telemetry
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="gate")
        # Long messages take a second each: they keep nobody else's short one waiting.
        self._long = ThreadPoolExecutor(max_workers=1, thread_name_prefix="gate-long")

    async def read(
        self, text: str, burst: tuple[str, ...], first: GateReading, on_late: Callable[[GateReading], None] = lambda _: None
    ) -> GateReading:
        """Read a message that the rules read as `first`; `burst` is what the patient wrote just before it, oldest first.

        What the rules took for an emergency does not queue behind other messages. Nothing that breaks here may take it away.
        Where many write at once, a reading may come after its limit: an emergency that it finds then goes to `on_late`.
        """
        loop = asyncio.get_running_loop()
        lane = self._thread if len(text) <= _LONG else self._long
        thread, limit_s = (None, _OVERRULE_LIMIT_S) if first.red_flag is not None else (lane, _LIMIT_S)
        try:
            reading = loop.run_in_executor(thread, self._gate.reread, text, burst, first)
            done, _ = await asyncio.wait({reading}, timeout=limit_s)
            if done:
                return reading.result()
            reading.add_done_callback(partial(self._told_late, first, on_late))
            self._telemetry.warning("reread_late")
        except Exception as error:  # noqa: BLE001 - an emergency is told whatever the second reading fails at
            self._telemetry.failure("reread_failed", error)
        return first

    def _told_late(
        self, first: GateReading, on_late: Callable[[GateReading], None], reading: "asyncio.Future[GateReading]"
    ) -> None:
        if reading.cancelled():
            return
        if (error := reading.exception()) is not None:
            self._telemetry.failure("reread_failed", error)
        elif first.red_flag is None and reading.result().red_flag is not None:
            on_late(reading.result())

    def close(self) -> None:
        """Let go of the threads; nothing is read any more."""
        for thread in (self._thread, self._long):
            thread.shutdown(wait=False, cancel_futures=True)
