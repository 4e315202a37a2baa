"""Shows each verified sentence while the rest of the answer is still being written, and takes nothing back.

Where the messenger can change a message, one message grows; elsewhere further parts follow it. Of each answer one stream is made,
and one thread writes answers, so no two streams hurry in one chat.
"""

import asyncio
import contextlib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Self

from bot.growing_message import continued, unshown
from bot.opening import opening_of
from bot.renderer import Reader, Renderer
from bot.telemetry import Telemetry
from channels.base import Channel
from channels.errors import DeliveryFailed, MessageGone, RecipientGone, TryLater
from channels.messages import OutboundMessage, Patient, Platform
from rag.types import Question, SupportedSentence

Compose = Callable[[Sequence[SupportedSentence]], OutboundMessage]
"""Words the answer as far as its sentences go."""

_LAST_TRIES = 5
_LONGEST_WAIT_S = 60.0  # a patient who is made to wait longer has gone elsewhere


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How eagerly sentences are shown: seconds from the first one, seconds between two showings, and how many at most.

    An answer that is complete before `first_s` is one message.
    """

    first_s: float
    next_s: float
    most: int | None = None


PACES: Mapping[Platform, Pace] = {
    # Telegram asks for no more than about one message a second in a chat, edits included. Without a generator all sentences come
    # at once: a moment's patience saves the edits.
    Platform.TELEGRAM: Pace(first_s=0.3, next_s=1.0),
    # Each part is a message, which is paid for and makes a phone ring: worth it for who would look at nothing for seconds.
    Platform.WHATSAPP: Pace(first_s=6.0, next_s=8.0, most=2),
    Platform.CONSOLE: Pace(first_s=0.0, next_s=0.0),
}


@dataclass(slots=True, eq=False)
class AnswerStream:
    """One answer on its way to a patient; used in the event loop, but for `take`, which any thread may call.

    Args:
        channel: The patient's messenger.
        to: The patient.
        begin: Finds, in a thread, how the answer to a question begins, and gives what words it from there.
        telemetry: Told what could not be shown.
        pace: How eagerly sentences are shown; None shows nothing before the answer is complete.
        unwanted: Turns true when the patient wants to read nothing more of it.
    """

    channel: Channel
    to: Patient = field(repr=False)
    begin: Callable[[Question], Compose] = field(repr=False)
    telemetry: Telemetry
    pace: Pace | None
    unwanted: Callable[[], bool] = lambda: False
    _loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.get_running_loop, init=False, repr=False)
    _news: asyncio.Event = field(default_factory=asyncio.Event, init=False, repr=False)
    _closed: asyncio.Event = field(default_factory=asyncio.Event, init=False, repr=False)
    _question: Question | None = field(default=None, init=False, repr=False)
    _sentences: list[SupportedSentence] = field(default_factory=list, init=False, repr=False)
    _shown: OutboundMessage | None = field(default=None, init=False, repr=False)
    _handle: str | None = field(default=None, init=False, repr=False)
    _lost: bool = field(default=False, init=False)  # nothing more is shown before the end
    _not_before: float = field(default=0.0, init=False)
    _showing: asyncio.Task[None] | None = field(default=None, init=False, repr=False)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self._close()
        if self._showing is not None:
            self._showing.cancel()
            await asyncio.gather(self._showing, return_exceptions=True)

    def listen(self, question: Question) -> Callable[[SupportedSentence], None]:
        """What takes the verified sentences of the answer to a question, from the thread that writes it."""
        self._question = question
        return self.take

    def take(self, sentence: SupportedSentence) -> None:
        """Show one more sentence as soon as it may be."""
        with contextlib.suppress(RuntimeError):  # the loop has been closed: nobody reads any more
            self._loop.call_soon_threadsafe(self._add, sentence)

    async def settle(self) -> tuple[SupportedSentence, ...]:
        """Show nothing more by itself, and let what is under way end.

        Returns:
            All sentences that were taken if any of them has been shown; else none.

        Raises:
            RecipientGone: If the patient blocked the bot or opted out.
        """
        self._close()
        if self._showing is not None:
            await self._showing
        return () if self._shown is None else tuple(self._sentences)

    async def finish(self, message: OutboundMessage) -> None:
        """Deliver the whole message; of what has been shown already, only what continues it.

        A first part of which nobody knows whether it arrived counts as not shown: a sentence read twice is better than an
        answer with a hole.

        Raises:
            RecipientGone: If the patient blocked the bot or opted out.
            DeliveryFailed: If the messenger refuses the message for good or may not have received it.
        """
        await self.settle()
        if self.unwanted():
            return
        if self._shown is None:
            await self.channel.send(self.to, message)
            return
        message = continued(self._shown, message)
        is_changed = await self._change_at_last(message)
        if self.unwanted():
            return
        if is_changed:
            await self.channel.send_rest(self.to, message)
        else:
            await self.channel.send(self.to, unshown(self._shown, message))

    def _add(self, sentence: SupportedSentence) -> None:
        if self._closed.is_set() or self.pace is None:
            return
        self._sentences.append(sentence)
        self._news.set()
        if self._showing is None and self._question is not None:
            self._not_before = time.monotonic() + self.pace.first_s
            self._showing = asyncio.create_task(self._show_as_they_come(self._question, self.pace))

    def _close(self) -> None:
        self._closed.set()
        self._news.set()

    async def _show_as_they_come(self, question: Question, pace: Pace) -> None:
        try:
            compose = await asyncio.to_thread(self.begin, question)
            times = 0
            while not self._lost and times != pace.most:
                await self._news.wait()
                if await self._closes_before(self._not_before):
                    return
                self._news.clear()  # after the wait: what came meanwhile is in this showing
                times += await self._show(compose(tuple(self._sentences)), pace)
        except RecipientGone:
            raise
        except Exception as error:  # noqa: BLE001 - the answer arrives whole at the end
            self.telemetry.failure("stream_failed", error, platform=self.to.platform.value)

    async def _closes_before(self, moment: float) -> bool:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._closed.wait(), moment - time.monotonic())
        return self._closed.is_set()

    async def _show(self, message: OutboundMessage, pace: Pace) -> bool:
        """Show what there is; a change that fails is left for the next sentence, or the end, to catch up."""
        self._not_before = time.monotonic() + pace.next_s
        if self._handle is not None:
            return await self._change(message, pace)
        try:
            if self._shown is None:
                self._handle = await self.channel.post(self.to, message)
            else:
                await self.channel.send(self.to, unshown(self._shown, message))
        except RecipientGone:
            raise
        except DeliveryFailed as error:
            self._lost = True
            self.telemetry.failure("stream_not_shown", error, platform=self.to.platform.value)
            return False
        self._not_before = time.monotonic() + pace.next_s
        self._shown = message
        return True

    async def _change_at_last(self, message: OutboundMessage) -> bool:
        """Bring the posted message to its final state; false where there is none, or none that can be changed (any more)."""
        give_up_at = time.monotonic() + _LONGEST_WAIT_S
        for _ in range(_LAST_TRIES):
            if self._handle is None or self.pace is None or self._not_before > give_up_at:
                return False
            await asyncio.sleep(self._not_before - time.monotonic())
            if self.unwanted():
                return False
            if await self._change(message, self.pace):
                return True
        return False

    async def _change(self, message: OutboundMessage, pace: Pace) -> bool:
        assert self._handle is not None  # noqa: S101 - a caller's mistake
        self._not_before = time.monotonic() + pace.next_s
        try:
            await self.channel.edit(self.to, self._handle, message)
        except RecipientGone:
            raise
        except MessageGone:
            self._handle, self._lost = None, True
        except TryLater as wait:
            self._not_before = time.monotonic() + max(wait.wait_s, pace.next_s)
        except DeliveryFailed as error:
            self.telemetry.failure("stream_not_shown", error, platform=self.to.platform.value)
        else:
            self._shown = message
            return True
        return False


@dataclass(frozen=True, slots=True, kw_only=True)
class Streams:
    """Makes the stream of each answer. With `paces` empty, answers are sent when they are complete."""

    renderer: Renderer
    telemetry: Telemetry
    extractive: bool = False
    paces: Mapping[Platform, Pace] = field(default_factory=lambda: PACES)

    def open(
        self,
        channel: Channel,
        to: Patient,
        reader: Reader,
        *,
        about_emergency: bool,
        unwanted: Callable[[], bool] = lambda: False,
    ) -> AnswerStream:
        """A stream to one patient; used as a context manager, so that nothing goes on when a turn ends early."""

        def begin(question: Question) -> Compose:
            opening = opening_of(question, extractive=self.extractive, about_emergency=about_emergency)
            return partial(self.renderer.begin, opening, reader)

        pace = self.paces.get(to.platform)
        return AnswerStream(channel=channel, to=to, begin=begin, telemetry=self.telemetry, pace=pace, unwanted=unwanted)
