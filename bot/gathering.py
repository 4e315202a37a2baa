"""Messages that come within a moment of each other are one question: people write as they speak."""

import asyncio
import contextlib
from collections.abc import Callable

from channels.messages import InboundMessage

_LONGEST_S = 6.0  # who goes on writing is answered all the same
_MOST_PARTS = 10
_MOST_CHARACTERS = 4_000


class Gathering:
    """The messages of one patient that will be answered as one.

    Args:
        first: The first of them.
        about_emergency: Whether it asks about a condition that can be an emergency; whether any of them does, later on.
        quiet_s: Seconds without another message after which they are complete.
        clock: Seconds that never go back.
    """

    def __init__(
        self, first: InboundMessage, quiet_s: float, clock: Callable[[], float], *, about_emergency: bool = False
    ) -> None:
        self._quiet_s = quiet_s
        self._clock = clock
        self._began = self._last = clock()
        self._parts = {first.original_id: first.text}
        self._closed = asyncio.Event()
        self.is_withdrawn = False
        self.about_emergency = about_emergency

    def __repr__(self) -> str:
        return "Gathering()"

    @property
    def is_open(self) -> bool:
        """Whether it still waits for more."""
        return not self._closed.is_set()

    @property
    def text(self) -> str:
        """All of it, a message a line."""
        return "\n".join(self._parts.values())

    def takes(self, message: InboundMessage, *, about_emergency: bool = False) -> bool:
        """Add a message if it belongs to the others; an edited one replaces what it was (H03)."""
        now = self._clock()
        if self._closed.is_set() or now - self._last > self._quiet_s:
            return False
        if len(self._parts) >= _MOST_PARTS or len(self.text) + len(message.text) >= _MOST_CHARACTERS:
            return False
        self._parts[message.original_id] = message.text
        self.about_emergency |= about_emergency
        self._last = now
        return True

    def close(self) -> None:
        """Take nothing more: the patient has gone on to something else."""
        self._closed.set()

    def withdraw(self) -> None:
        """Answer none of it."""
        self.is_withdrawn = True
        self._parts.clear()
        self.close()

    async def settle(self) -> None:
        """Wait until nothing more comes."""
        while not self._closed.is_set():
            left_s = min(self._last + self._quiet_s, self._began + _LONGEST_S) - self._clock()
            if left_s <= 0:
                break
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._closed.wait(), left_s)
        self.close()
