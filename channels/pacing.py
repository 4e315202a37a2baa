"""Keeps to a messenger's limit of one message in so many seconds."""

import asyncio
import time


class Pace:
    """Lets one message through every `pace_s` seconds, in the order asked; an urgent one goes before those that wait."""

    def __init__(self, pace_s: float) -> None:
        self._pace_s = pace_s
        self._free_at = 0.0
        self._queue = asyncio.Lock()

    async def turn(self, *, urgent: bool = False) -> None:
        """Wait until a message may be sent."""
        if urgent:
            await self._wait_free()
            return
        async with self._queue:
            await self._wait_free()

    async def _wait_free(self) -> None:
        while (wait_s := self._free_at - time.monotonic()) > 0:  # noqa: ASYNC110 - of two that wake at once, one waits on
            await asyncio.sleep(wait_s)
        self._free_at = time.monotonic() + self._pace_s
