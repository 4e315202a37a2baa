"""The way of an emergency through the conversation: read twice, told at once, and never followed by what it has overtaken."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from typing import Any

from bot.delivery import Delivery
from bot.escalation import ANSWER_PAYLOAD
from bot.follow_ups import read_follow_up
from bot.hints import language_of
from bot.intake import put_off, read_with_story
from bot.outcomes import Escalation, Notice, Topic, kind_of
from bot.parts import Parts
from bot.safety import GateReading, Level, RedFlag
from bot.second_reading import SecondReader
from bot.session import Session
from bot.telemetry import TurnLog
from channels.messages import InboundMessage, MessageKind
from rag.intake_replies import is_mere_reply


class EmergencyDesk:
    """Reads every message before anything else does, and says whom to call.

    Args:
        parts: What a conversation is made of.
        delivery: Sends what is said.
        spawn: Runs something beside the turn.
    """

    def __init__(self, parts: Parts, delivery: Delivery, spawn: Callable[[Coroutine[Any, Any, None]], None]) -> None:
        self._parts = parts
        self._delivery = delivery
        self._spawn = spawn
        self._second_reader = SecondReader(parts.gate, parts.telemetry)

    def close(self) -> None:
        """Let go of the threads; nothing is read any more."""
        self._second_reader.close()

    def read(self, message: InboundMessage, session: Session, now: float) -> GateReading:
        """What the rules find in a message."""
        gate = self._parts.gate
        if message.kind is MessageKind.BUTTON and message.text == ANSWER_PAYLOAD:
            return GateReading(about=ANSWER_PAYLOAD)  # no emergency, the patient says: answered, with the emergency line first
        if message.kind is MessageKind.BUTTON and read_follow_up(message.text) is not None:
            return GateReading()  # holds no word; what was written before it has been read already
        if session.intake is not None:
            return read_with_story(gate, message, session.intake, session.burst(now), now)
        return gate.read(message.text, session.burst(now))

    async def read_again(
        self,
        message: InboundMessage,
        session: Session,
        arrival: int,
        burst: tuple[str, ...],
        reading: GateReading,
        log: TurnLog,
    ) -> tuple[GateReading, bool]:
        """The gate's second reading, and whether an emergency or a wish to stop has come before its end."""
        before = session.rereading
        if message.kind is MessageKind.TEXT:
            dialogue = session.intake
            is_reply = dialogue is not None and is_mere_reply(message.text, dialogue.story.language)
            session.remember(message.text, self._parts.clock(), message.original_id)
            session.unread |= {arrival}
            with log.stage("reread"):
                tell_late = partial(self._tell_late, message, session)
                again = _nothing_more(reading) if is_reply else self._second_reader.read(message.text, burst, reading, tell_late)
                session.rereading = asyncio.ensure_future(_in_order(again, before))
                reading = await session.rereading
        elif before is not None and reading.red_flag is None:
            await asyncio.wait({before})
        session.unread -= {arrival}
        is_overtaken = arrival in session.dropped
        session.dropped -= {arrival}
        return reading, is_overtaken

    async def tell(self, red_flag: RedFlag, message: InboundMessage, session: Session, now: float) -> str:
        """Say whom to call: before any lock or queue, and without models or index."""
        if session.intake is not None:
            session.keep_pending(put_off(message, session.intake, now), session.intake.at)
            session.intake = None
        elif message.kind is MessageKind.TEXT:
            session.keep_pending(self._withdrawn(message, session), now)
        session.dropped |= session.unread  # what it has overtaken is not answered
        repeated = session.note_escalation(red_flag, now)
        language = language_of(message, session)
        session.language_prior = language  # the next word may be too short to tell
        outcome = Escalation(red_flag=red_flag, language=language, repeated=repeated)
        self._parts.metrics.note(outcome, message.sender.platform)
        if red_flag.level is not Level.ABUSE:
            await self._delivery.send(outcome, message, session)
        elif message.is_group:  # never where others read it
            await self._delivery.send(Notice(topic=Topic.ABUSE_IN_GROUP, language=language), message, session)
        else:
            handle = await self._delivery.post(outcome, message, session)
            session.deletable = (*session.deletable, *session.message_ids(), *((handle,) if handle else ()))[-20:]
        return kind_of(outcome)

    def _withdrawn(self, message: InboundMessage, session: Session) -> str:
        """The message with those before it that still waited for it: none of them is answered now."""
        before = session.gathering
        if before is None or not before.is_open:
            return message.text
        text = f"{before.text}\n{message.text}"
        before.withdraw()
        return text

    def _tell_late(self, message: InboundMessage, session: Session, reading: GateReading) -> None:
        """An emergency that was found only after its message had gone on."""
        if reading.red_flag is not None and not session.is_over:
            self._spawn(self._tell_after_all(reading.red_flag, message, session))

    async def _tell_after_all(self, red_flag: RedFlag, message: InboundMessage, session: Session) -> None:
        session.stop_answering()
        try:
            await self.tell(red_flag, message, session, self._parts.clock())
        except Exception as error:  # noqa: BLE001 - nothing more can be said to this patient
            self._parts.telemetry.failure("send_failed", error, patient=self._parts.telemetry.patient(message))


async def _nothing_more(reading: GateReading) -> GateReading:
    """The reading of a reply of one or two words to a question of ours: like a tap, it is read by the rules alone."""
    return reading


async def _in_order(again: Awaitable[GateReading], before: asyncio.Future[Any] | None) -> GateReading:
    """A second reading, given once those before it have ended: nothing but an emergency overtakes the words before it."""
    reading = await again
    if before is not None and reading.red_flag is None:
        await asyncio.wait({before})
    return reading
