"""What the crawling process says while it works: JSON, a line each."""

import json
import time
from typing import TextIO

_EVERY_S = 0.25


class ProgressReport:
    """Counts addresses and writes the counts down now and then."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._done = 0
        self._known = 0
        self._last = 0.0

    def asked(self) -> None:
        """One more address will be asked for."""
        self._known += 1

    def settled(self) -> None:
        """One more address has been dealt with."""
        self._done += 1
        if time.monotonic() - self._last >= _EVERY_S:
            self._write()

    def finish(self) -> None:
        """Write the last counts."""
        self._write()

    def _write(self) -> None:
        self._last = time.monotonic()
        self._out.write(json.dumps({"done": self._done, "known": max(self._done, self._known)}) + "\n")
        self._out.flush()
