"""Seconds of each stage of one run."""

import time
from collections.abc import Iterator
from contextlib import contextmanager


class Stopwatch:
    """Measures named stages; a stage that runs several times is summed up."""

    def __init__(self) -> None:
        self._started = time.monotonic()
        self.timings_s: dict[str, float] = {}

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Add the seconds of the `with` block to the stage, also when it raises."""
        begun = time.monotonic()
        try:
            yield
        finally:
            self.add(name, time.monotonic() - begun)

    def add(self, name: str, seconds: float) -> None:
        """Add seconds that were measured elsewhere to a stage."""
        self.timings_s[name] = self.timings_s.get(name, 0.0) + seconds

    def mark(self, name: str) -> None:
        """Note the seconds from the start to now, the first time only."""
        self.timings_s.setdefault(name, time.monotonic() - self._started)
