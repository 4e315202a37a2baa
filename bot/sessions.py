"""The sessions of all patients: in memory only, and for thirty minutes at most."""

import asyncio
import math
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence

from bot.session import Session
from channels.messages import InboundMessage, Platform

_MOST_KEPT = 5_000  # sessions that keep an answer, of some 10 kB each
_SWEEP_EVERY_S = 5.0
_SLICE = 500  # sessions looked at before others get their turn

SessionKey = tuple[Platform, str, str]


def key_of(message: InboundMessage) -> SessionKey:
    """Whose session a message belongs to: one person in one chat of one messenger."""
    return message.sender.platform, message.chat, message.sender.identity


class Sessions:
    """All sessions by patient, the longest untouched first.

    Args:
        idle_s: Seconds after which a session, and any single turn, is dropped.
        limit: Sessions kept; one more drops the one that was longest untouched.
        clock: Seconds that only grow.
    """

    def __init__(self, *, idle_s: float = 1800.0, limit: int = 10_000, clock: Callable[[], float] = time.monotonic) -> None:
        self._idle_s = idle_s
        self._limit = limit
        self._clock = clock
        self._sessions: OrderedDict[SessionKey, Session] = OrderedDict()
        self._opened = asyncio.Event()
        self._kept: OrderedDict[SessionKey, None] = OrderedDict()

    def __len__(self) -> int:
        return len(self._sessions)

    def touch(self, key: SessionKey) -> Session:
        """The session of a patient, opened if there is none, and from now on the freshest."""
        now = self._clock()
        session = self._sessions.get(key)
        if session is None:
            session = self._sessions[key] = Session(last_seen=now)
            if len(self._sessions) > self._limit:
                self._remove(next(iter(self._sessions)))
            self._opened.set()
        session.last_seen = now
        self._sessions.move_to_end(key)
        return session

    def note_kept(self, key: SessionKey) -> None:
        """A session keeps an answer: of all that do, the latest few thousand; a tap on an older one gets a polite sentence."""
        self._kept[key] = None
        self._kept.move_to_end(key)
        if len(self._kept) > _MOST_KEPT:
            session = self._sessions.get(self._kept.popitem(last=False)[0])
            if session is not None:
                session.kept = ()

    def drop_all(self, platform: Platform, identity: str) -> None:
        """Forget a patient in every chat."""
        for key in [key for key in self._sessions if key[0] is platform and key[2] == identity]:
            self.drop(key)

    def drop(self, key: SessionKey) -> None:
        """Forget a patient altogether; what is under way for the patient is stopped."""
        session = self._remove(key)
        if session is not None:
            session.is_over = True
            session.stop_answering()
            session.forget()

    def _remove(self, key: SessionKey) -> Session | None:
        """Take a session out, and its key, which names a patient, out of everything."""
        self._kept.pop(key, None)
        return self._sessions.pop(key, None)

    def purge(self) -> float | None:
        """Drop what is too old.

        Returns:
            Seconds until something else will be, None when nothing is kept.
        """
        return self._due_in(list(self._sweep(self._clock() - self._idle_s)))

    async def purge_forever(self) -> None:
        """Drop sessions and turns before they become too old, whether anybody writes or not; others get their turn meanwhile."""
        pause_s = min(_SWEEP_EVERY_S, self._idle_s / 100)
        while True:
            oldest = []
            for moment in self._sweep(self._clock() - self._idle_s + pause_s):
                oldest.append(moment)
                await asyncio.sleep(0)
            due_s = self._due_in(oldest)
            if due_s is None:
                self._opened.clear()
                await self._opened.wait()
            else:
                await asyncio.sleep(max(pause_s / 2, due_s - pause_s))

    def _sweep(self, then: float) -> Iterator[float]:
        """Drop what was written, or touched last, before `then`; gives the oldest moment of each slice of what stays."""
        oldest = math.inf
        for number, (key, session) in enumerate(list(self._sessions.items()), start=1):
            if self._sessions.get(key) is not session:
                continue  # gone, or opened anew, while others had their turn
            if session.last_seen <= then:
                self._remove(key)
            else:
                session.forget_before(then)
                oldest = min(oldest, session.oldest())
            if number % _SLICE == 0:
                yield oldest
                oldest = math.inf
        yield oldest

    def _due_in(self, oldest: Sequence[float]) -> float | None:
        if not self._sessions:
            return None
        earliest = min(oldest, default=math.inf)
        return max(0.0, earliest + self._idle_s - self._clock()) if earliest < math.inf else 0.0
