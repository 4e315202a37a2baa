"""Reading Twilio's form for a WhatsApp message: who writes, and what is in it that can be read."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime

from channels.calling_codes import canonical, country_of
from channels.command_line import command_line
from channels.messages import InboundMessage, MessageKind, Patient, Platform

PREFIX = "whatsapp:"
_NUMBER = re.compile(r"\+?\d{6,15}")
_SCOPED_ID = re.compile(r"(?P<country>[A-Z]{2})\.\w+")  # Meta's id for people who hide their number starts with their country


def read_form(form: Mapping[str, str]) -> InboundMessage | None:
    """The patient's message, or None if the form names no message or nobody to answer.

    Only the text is read: media are never fetched, and a position is not even looked at (H15).
    """
    message_id = form.get("MessageSid") or form.get("SmsMessageSid") or form.get("SmsSid")
    sender = _patient(form)
    if not message_id or sender is None:
        return None
    kind, text = _content(form)
    return InboundMessage(
        message_id=message_id,
        sender=sender,
        chat=sender.address,
        text=text,
        kind=kind,
        received_at=datetime.now(UTC),
        country_hint=_country(form),
    )


def _patient(form: Mapping[str, str]) -> Patient | None:
    scoped = form.get("ExternalUserId", "").strip().removeprefix(PREFIX)
    sent_from = form.get("From", "").strip()
    number = form.get("WaId", "").strip() or sent_from.removeprefix(PREFIX)
    if not (scoped or number):
        return None
    address = sent_from or f"{PREFIX}{scoped or '+' + number.lstrip('+')}"
    return Patient(platform=Platform.WHATSAPP, identity=scoped or _identity(number), address=address)


def _identity(number: str) -> str:
    return canonical(number) if _NUMBER.fullmatch(number) else number


def _content(form: Mapping[str, str]) -> tuple[MessageKind, str]:
    chosen = form.get("ButtonPayload") or form.get("ListId")
    if chosen:
        return MessageKind.BUTTON, chosen
    text = form.get("Body", "").strip()
    if not text:
        return MessageKind.UNREADABLE, ""
    command = command_line(text)
    return (MessageKind.COMMAND, command) if command else (MessageKind.TEXT, text)


def _country(form: Mapping[str, str]) -> str | None:
    number = form.get("WaId") or form.get("From", "").removeprefix(PREFIX)
    if _NUMBER.fullmatch(number):
        return country_of(number)
    scoped = _SCOPED_ID.match(form.get("ExternalUserId", "").removeprefix(PREFIX))
    return scoped["country"] if scoped else None
