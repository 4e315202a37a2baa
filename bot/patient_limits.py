"""How many messages one patient, and all together, may send: so that a flood costs the others nothing."""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from bot.rate_limit import RateLimit

_FIRST_QUIET_S = 30.0
_LONGEST_QUIET_S = 3600.0
_STRIKE_EVERY = 10  # messages into the quiet; each doubles it
_MOST_QUIET = 10_000


class Verdict(StrEnum):
    """What becomes of a message."""

    ADMITTED = "admitted"
    TOO_MANY = "too_many"  # the patient is told
    BUSY = "busy"  # all together write too much; the patient is told
    IGNORED = "ignored"  # has been told


@dataclass(slots=True)
class _Quiet:
    until: float
    strikes: int = 0
    refused: int = 0


class PatientLimits:
    """Counts messages by patient, in memory.

    Whoever goes over the limit is told once, and nothing more of theirs is taken for half a minute. Who goes on meanwhile waits
    twice as long with every ten messages, up to an hour. Nothing here concerns emergencies: they are read before.

    Args:
        a_minute: Of one patient; unused ones add up to a minute's worth.
        in_all_a_minute: Of all together.
        clock: Seconds that never go back.
    """

    def __init__(self, *, a_minute: int, in_all_a_minute: int, clock: Callable[[], float]) -> None:
        self._own = RateLimit(a_minute, clock)
        self._all = RateLimit(in_all_a_minute, clock)
        self._clock = clock
        self._quiet: OrderedDict[str, _Quiet] = OrderedDict()

    def admit(self, patient: str) -> Verdict:
        """Count a message of a patient, known by a hash."""
        now = self._clock()
        quiet = self._quiet.get(patient)
        if quiet is not None and now < quiet.until:
            quiet.refused += 1
            if quiet.refused % _STRIKE_EVERY == 0:
                quiet.strikes += 1
                quiet.until = now + _length_s(quiet.strikes)
            return Verdict.IGNORED
        if self._own.take(patient):
            self._silence(patient, now, quiet.strikes + 1 if quiet is not None else 0)
            return Verdict.TOO_MANY
        if self._all.take(""):
            self._silence(patient, now, 0)
            return Verdict.BUSY
        if quiet is not None and now - quiet.until > _LONGEST_QUIET_S:
            del self._quiet[patient]
        return Verdict.ADMITTED

    def _silence(self, patient: str, now: float, strikes: int) -> None:
        self._quiet[patient] = _Quiet(now + _length_s(strikes), strikes)
        self._quiet.move_to_end(patient)
        if len(self._quiet) > _MOST_QUIET:
            self._quiet.popitem(last=False)


def _length_s(strikes: int) -> float:
    return min(_FIRST_QUIET_S * 2.0 ** min(strikes, 16), _LONGEST_QUIET_S)
