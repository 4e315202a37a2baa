"""How often something may be done, for each of many."""

import math
from collections import OrderedDict
from collections.abc import Callable

_MOST_COUNTED = 10_000


class RateLimit:
    """So many calls a minute for each key; unused ones add up to a minute's worth.

    Args:
        a_minute: How many.
        clock: Seconds that never go back.
    """

    def __init__(self, a_minute: int, clock: Callable[[], float]) -> None:
        self._most = float(a_minute)
        self._clock = clock
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, key: str) -> int:
        """Count a call; 0 when it may go on, else the whole seconds after which one may."""
        now = self._clock()
        left, since = self._left.pop(key, (self._most, now))
        left = min(self._most, left + max(0.0, now - since) * self._most / 60)
        is_free = left >= 1
        self._left[key] = (left - 1 if is_free else left, now)
        if len(self._left) > _MOST_COUNTED:
            self._left.popitem(last=False)
        return 0 if is_free else math.ceil((1 - left) * 60 / self._most)
