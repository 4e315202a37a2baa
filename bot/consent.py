"""Nobody's question is worked on before its writer has been told what the bot is, and has agreed."""

import unicodedata
from collections.abc import Callable
from dataclasses import dataclass, replace

from bot import commands
from bot.escalation import ANSWER_PAYLOAD
from bot.outcomes import Notice, Topic
from bot.patient_registry import PatientRegistry
from bot.sessions import Session
from channels.messages import InboundMessage, MessageKind
from locales.language import Language

ACCEPT_PAYLOAD = "consent:yes"
DECLINE_PAYLOAD = "consent:no"

_ACCEPTS = frozenset(
    {"accetto", "acconsento", "si accetto", "accetto si", "si", "ok", "okay", "va bene", "d'accordo", "certo", "sono d'accordo"}
    | {"acepto", "si acepto", "consiento", "vale", "de acuerdo", "estoy de acuerdo", "esta bien", "dale", "claro", "bueno"}
)  # fmt: skip
_DECLINES = frozenset({"no", "non accetto", "no grazie", "rifiuto", "no acepto", "no gracias", "rechazo"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Admitted:
    """What is to be answered now: the message, or the question that has waited for consent.

    `about_emergency` is true when that question was about a condition that can be an emergency.
    """

    message: InboundMessage
    about_emergency: bool


class ConsentDesk:
    """Asks for consent at first contact and keeps the question meanwhile, in the session.

    Args:
        registry: Where consents and opt-outs are kept.
        clock: As the sessions'.
    """

    def __init__(self, registry: PatientRegistry, clock: Callable[[], float]) -> None:
        self._registry = registry
        self._clock = clock

    async def admit(
        self, message: InboundMessage, session: Session, language: Language, *, about_emergency: bool
    ) -> Admitted | Notice:
        """Let a message through, or say what stands in its way.

        Commands that tell about the bot, or change how it speaks, need no consent; a message that nobody can read neither.
        """
        if session.has_consented is None:
            await self._look_up(message, session)
        said = _said(message, session)
        if said is False:
            return await self._decline(message, session, language)
        if said is True:
            return await self._accept(message, session, language)
        if session.has_consented or _needs_none(message):
            return Admitted(message=message, about_emergency=about_emergency)
        self._hold(message, session, about_emergency=about_emergency)
        topic = Topic.CONSENT_AGAIN if session.consent_asked else Topic.CONSENT
        session.consent_asked = True
        return Notice(topic=topic, language=language)

    async def opt_out(self, message: InboundMessage) -> None:
        """Write nothing more to this patient, until the patient writes again."""
        await self._registry.note_opt_out(message.sender)

    async def forget(self, message: InboundMessage) -> None:
        """Erase the consent."""
        await self._registry.forget(message.sender)

    async def _look_up(self, message: InboundMessage, session: Session) -> None:
        standing = await self._registry.standing(message.sender)
        session.has_consented = standing.has_consented
        if standing.has_opted_out:
            await self._registry.note_return(message.sender)

    async def _accept(self, message: InboundMessage, session: Session, language: Language) -> Admitted | Notice:
        await self._registry.note_consent(message.sender)
        session.has_consented, session.consent_asked = True, False
        held = session.take_held()
        if held is None:
            return Notice(topic=Topic.CONSENT_GIVEN, language=language)
        question = replace(message, text=held.text, kind=MessageKind.TEXT)
        return Admitted(message=question, about_emergency=held.about_emergency)

    async def _decline(self, message: InboundMessage, session: Session, language: Language) -> Notice:
        await self._registry.forget(message.sender)
        session.forget()
        session.has_consented, session.consent_asked = False, True
        session.language_prior = language
        return Notice(topic=Topic.CONSENT_DECLINED, language=language)

    def _hold(self, message: InboundMessage, session: Session, *, about_emergency: bool) -> None:
        now = self._clock()
        if message.kind is MessageKind.TEXT:
            session.hold(message.text, now, about_emergency=about_emergency)
        elif message.text == ANSWER_PAYLOAD and (put_off := session.take_pending()) is not None:
            session.hold(put_off, now, about_emergency=True)


def _said(message: InboundMessage, session: Session) -> bool | None:
    """Yes or no to the terms; None if the message says neither. Words count only after the question has been put."""
    if message.kind is MessageKind.BUTTON:
        return {ACCEPT_PAYLOAD: True, DECLINE_PAYLOAD: False}.get(message.text)
    if message.kind is not MessageKind.TEXT or not session.consent_asked or session.has_consented:
        return None
    words = _plain(message.text)
    return True if words in _ACCEPTS else False if words in _DECLINES else None


def _needs_none(message: InboundMessage) -> bool:
    if message.kind is MessageKind.COMMAND:
        return not commands.begins(message.text)
    if message.kind is MessageKind.BUTTON:
        return commands.is_choice(message.text)
    return message.kind is MessageKind.UNREADABLE


def _plain(text: str) -> str:
    decomposed = unicodedata.normalize("NFKD", text.casefold().replace("’", "'"))
    letters = "".join(mark for mark in decomposed if not unicodedata.combining(mark))
    return " ".join("".join(sign if sign.isalnum() or sign == "'" else " " for sign in letters).split())
