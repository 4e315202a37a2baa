"""How long each stage of a search takes, where one stage may run inside another."""

import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

_ORDER = ("open", "expand", "generate", "embed", "dense", "lexical", "fuse", "sentences", "rerank")
_REST = "other"


def in_order(stages: Iterable[str]) -> list[str]:
    """Stages as a search comes to them, each once; those that are not known here after these, and what is left over last."""
    known = {name: place for place, name in enumerate(_ORDER)}
    return sorted(dict.fromkeys(stages), key=lambda name: (name == _REST, known.get(name, len(known))))


class StageClock:
    """Sums up the seconds of named stages, each without those of the stages within it: together they are the whole time."""

    def __init__(self) -> None:
        self._seconds: dict[str, float] = defaultdict(float)
        self._within: list[float] = []  # for each open stage, the seconds of stages within it

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Add the seconds of the `with` block to the stage, also when it raises."""
        begun = time.perf_counter()
        self._within.append(0.0)
        try:
            yield
        finally:
            spent = time.perf_counter() - begun
            self._seconds[name] += spent - self._within.pop()
            if self._within:
                self._within[-1] += spent

    def add(self, name: str, seconds: float) -> None:
        """Correct a stage: it took so much more, or less if negative."""
        self._seconds[name] += seconds

    def take(self) -> dict[str, float]:
        """The seconds by stage since the last call, in the order in which they ended."""
        taken = {name: max(seconds, 0.0) for name, seconds in self._seconds.items()}
        self._seconds.clear()
        return taken
