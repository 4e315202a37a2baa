"""Nobody's question is worked on before its writer has been told what the bot is, and has agreed."""

import unicodedata
from collections.abc import Callable
from dataclasses import dataclass, replace

from bot import commands
from bot.escalation import ANSWER_PAYLOAD
from bot.outcomes import Notice, Topic
from bot.patient_registry import PatientRegistry
from bot.session import Session
from channels.messages import InboundMessage, MessageKind
from locales.language import Language

ACCEPT_PAYLOAD = "consent:yes"
DECLINE_PAYLOAD = "consent:no"

# A yes consists of such words, one of the first of them at least; a yes that names itself may say more.
_YES = frozenset(
    {"accetto", "acconsento", "si", "ok", "okay", "bene", "d'accordo", "certo", "1"}
    | {"acepto", "consiento", "vale", "acuerdo", "bien", "dale", "claro", "bueno"}
)
_BESIDE_YES = frozenset({"va", "sono", "grazie", "per", "favore", "de", "estoy", "esta", "gracias", "por", "favor", "pues"})
_PLAIN_YES = frozenset({"accetto", "acconsento", "acepto", "consiento"})
_NO = frozenset({"no", "non", "rifiuto", "rechazo", "2"})
_BESIDE_NO = _PLAIN_YES | {"grazie", "gracias", "sono", "d'accordo", "estoy", "de", "acuerdo"}
_MOST_WORDS = 6
_THUMB = "\N{THUMBS UP SIGN}"


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
        has_consented = await self._look_up(message)
        said, rest = _said(message, is_asked=session.consent_asked and not has_consented)
        if said is False:
            return await self._decline(message, session, language)
        if said is True:
            if rest:
                session.hold(rest, self._clock(), message.original_id, about_emergency=about_emergency)
            return await self._accept(message, session, language)
        if has_consented or _needs_none(message):
            return Admitted(message=message, about_emergency=about_emergency)
        self._hold(message, session, about_emergency=about_emergency)
        topic = Topic.CONSENT_AGAIN if session.consent_asked else Topic.CONSENT
        session.consent_asked = True
        return Notice(topic=topic, language=language)

    async def opt_out(self, message: InboundMessage) -> bool:
        """Write nothing more to this patient, until the patient writes again; false if that was so already."""
        was_so = (await self._registry.standing(message.sender)).has_opted_out
        await self._registry.note_opt_out(message.sender)
        return not was_so

    async def welcome_back(self, message: InboundMessage) -> None:
        """The patient wants to be written to again."""
        await self._registry.note_return(message.sender)

    async def forget(self, message: InboundMessage) -> None:
        """Erase the consent."""
        await self._registry.forget(message.sender)

    async def _look_up(self, message: InboundMessage) -> bool:
        standing = await self._registry.standing(message.sender)
        if standing.has_opted_out:
            await self._registry.note_return(message.sender)
        return standing.has_consented

    async def _accept(self, message: InboundMessage, session: Session, language: Language) -> Admitted | Notice:
        await self._registry.note_consent(message.sender)
        session.consent_asked = False
        held = session.take_held()
        if held is None:
            return Notice(topic=Topic.CONSENT_GIVEN, language=language)
        question = replace(message, text=held.text, kind=MessageKind.TEXT)
        return Admitted(message=question, about_emergency=held.about_emergency)

    async def _decline(self, message: InboundMessage, session: Session, language: Language) -> Notice:
        await self._registry.forget(message.sender)
        session.forget()
        session.consent_asked = True
        session.language_prior = language
        return Notice(topic=Topic.CONSENT_DECLINED, language=language)

    def _hold(self, message: InboundMessage, session: Session, *, about_emergency: bool) -> None:
        now = self._clock()
        if message.kind is MessageKind.TEXT and not _is_reply(message.text):
            session.hold(message.text, now, message.original_id, about_emergency=about_emergency)
        elif message.text == ANSWER_PAYLOAD and (put_off := session.take_pending()) is not None:
            session.hold(put_off, now, message.original_id, about_emergency=True)


def _said(message: InboundMessage, *, is_asked: bool) -> tuple[bool | None, str]:
    """Yes or no to the terms, None if the message says neither; and what it asks beside its yes.

    Words count only while the question is open.
    """
    if message.kind is MessageKind.BUTTON:
        return {ACCEPT_PAYLOAD: True, DECLINE_PAYLOAD: False}.get(message.text), ""
    if message.kind is not MessageKind.TEXT or not is_asked:
        return None, ""
    first, _, rest = message.text.partition("\n")  # a yes and a question, written in one burst
    if rest and _verdict(first) is True:
        return True, "" if _is_reply(rest) else rest
    return _verdict(message.text), ""


def _is_reply(text: str) -> bool:
    """Whether a message can only reply to a question, and is none."""
    return _verdict(text) is not None


def _verdict(text: str) -> bool | None:
    if text.strip(" \ufe0f").rstrip("".join(map(chr, range(0x1F3FB, 0x1F400)))) == _THUMB:
        return True
    words = set(_plain(text).split())
    if words & _NO:
        return False if words <= _NO | _BESIDE_NO else None
    if words & _YES and words <= _YES | _BESIDE_YES:
        return True
    return True if words & _PLAIN_YES and len(words) <= _MOST_WORDS else None


def _needs_none(message: InboundMessage) -> bool:
    if message.kind is MessageKind.COMMAND:
        return not commands.begins(message.text)
    if message.kind is MessageKind.BUTTON:
        return commands.is_choice(message.text) or message.text == commands.WIPE_PAYLOAD
    return message.kind is MessageKind.UNREADABLE


def _plain(text: str) -> str:
    decomposed = unicodedata.normalize("NFKD", text.casefold().replace("’", "'"))
    letters = "".join(mark for mark in decomposed if not unicodedata.combining(mark))
    return " ".join("".join(sign if sign.isalnum() or sign == "'" else " " for sign in letters).split())
