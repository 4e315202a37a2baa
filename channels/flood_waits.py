"""How long a messenger has asked to leave each chat alone."""

import time
from collections import OrderedDict
from collections.abc import Callable

_MOST_CHATS = 10_000


class FloodWaits:
    """Remembers a messenger's "retry after" for each chat, in memory and until it is over."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._until: OrderedDict[str, float] = OrderedDict()

    def note(self, address: str, wait_s: float) -> None:
        """The messenger asks to wait."""
        now = self._clock()
        for over in [chat for chat, until in self._until.items() if until <= now]:
            del self._until[over]
        until = now + wait_s
        self._until[address] = max(until, self._until.pop(address, 0.0))
        while len(self._until) > _MOST_CHATS:
            self._until.popitem(last=False)

    def wait_s(self, address: str) -> float:
        """Seconds still to wait; 0 if nothing was asked for, or it is over."""
        left = self._until.get(address, 0.0) - self._clock()
        if left <= 0:
            self._until.pop(address, None)
        return max(left, 0.0)
