"""What waits for no turn: to stop an answer, to erase everything, to be left alone, and the emergency numbers."""

from collections.abc import Callable, Coroutine
from typing import Any

from bot import commands
from bot.delivery import Delivery
from bot.hints import language_of
from bot.outcomes import Notice, Topic
from bot.parts import Parts
from bot.session import Session
from bot.sessions import key_of
from channels.messages import InboundMessage, MessageKind, Platform
from channels.opt_out import is_opt_in, is_opt_out
from rag.intake_replies import read_reply


class Immediate:
    """Does such things before any limit, and whatever is being worked on.

    Args:
        parts: What a conversation is made of.
        delivery: Says that it is done.
        spawn: Runs something beside the turn.
    """

    def __init__(self, parts: Parts, delivery: Delivery, spawn: Callable[[Coroutine[Any, Any, None]], None]) -> None:
        self._parts = parts
        self._delivery = delivery
        self._spawn = spawn

    def ends(self, message: InboundMessage, session: Session) -> bool:
        """Whether a message ends its session: what arrives behind it, be it in the same instant, belongs to a new one."""
        if message.kind is MessageKind.COMMAND:
            return commands.erases(message.text)
        return message.kind is MessageKind.TEXT and _opts_out(message, session)

    def passes_limits(self, message: InboundMessage, session: Session) -> bool:
        """Whether a message is heard however much its writer has sent: who wants to be left alone or forgotten is."""
        is_command = message.kind is MessageKind.COMMAND
        return self.ends(message, session) or (is_command and commands.stops(message.text))

    async def act(self, message: InboundMessage, session: Session) -> str | None:
        """Do what the message asks for; None if it is nothing of this kind.

        Raises:
            ChannelError: If the reply cannot be delivered.
        """
        if message.kind is MessageKind.TEXT:
            if _opts_out(message, session):
                return await self._leave_alone(message, session)
            return await self._welcome_back(message, session) if _opts_in(message, session) else None
        if message.kind is not MessageKind.COMMAND:
            return None
        if commands.stops(message.text):
            return self._stop(message, session)
        if commands.erases(message.text):
            return await self._erase(message, session)
        if commands.asks_for_numbers(message.text):
            await self._delivery.send(self._notice(Topic.EMERGENCY_NUMBERS, message, session), message, session)
            return "notice"
        return None

    def _stop(self, message: InboundMessage, session: Session) -> str | None:
        if not session.stop_answering():
            return None  # told in its turn
        if session.answering is None:  # nothing ran yet that could tell it
            self._spawn(self._delivery.try_to_send(self._notice(Topic.STOPPED, message, session), message, session))
        return "stopped"

    async def _erase(self, message: InboundMessage, session: Session) -> str:
        """Forget everything but an opt-out, at once, and say so."""
        notice = self._notice(Topic.ERASED, message, session)
        new = self._parts.sessions.touch(key_of(message))
        new.language_prior = new.language_prior or notice.language  # the next word may be too short to tell
        if self._parts.consent is not None:
            await self._parts.consent.forget(message)
        await self._parts.registry.forget(message.sender.platform, message.sender.identity)
        await self._delivery.send(notice, message, session)
        return "notice"

    async def _leave_alone(self, message: InboundMessage, session: Session) -> str:
        notice = self._notice(Topic.OPTED_OUT, message, session)
        if self._parts.consent is not None and not await self._parts.consent.opt_out(message):
            return "notice"  # has been told
        await self._delivery.send(notice, message, session)
        return "notice"

    async def _welcome_back(self, message: InboundMessage, session: Session) -> str:
        if self._parts.consent is not None:
            await self._parts.consent.welcome_back(message)
        await self._delivery.send(self._notice(Topic.START, message, session), message, session)
        return "notice"

    def _notice(self, topic: Topic, message: InboundMessage, session: Session) -> Notice:
        spoken = (
            commands.spoken_language(message.text) if message.kind is MessageKind.COMMAND and session.language is None else None
        )
        return Notice(topic=topic, language=spoken or language_of(message, session))


def _opts_in(message: InboundMessage, session: Session) -> bool:
    return message.sender.platform is Platform.WHATSAPP and session.intake is None and is_opt_in(message.text)


def _opts_out(message: InboundMessage, session: Session) -> bool:
    """Whether a message says "stop"; where the bot has asked whether a pressure is high or low, "baja" is the answer."""
    if message.sender.platform is not Platform.WHATSAPP or not is_opt_out(message.text):
        return False
    dialogue = session.intake
    if dialogue is None:
        return True
    return not read_reply(dialogue.question, message.text, dialogue.story.language).chosen
