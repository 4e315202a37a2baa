"""Messages as the conversation sees them, whatever messenger carried them."""

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum


class Platform(StrEnum):
    """A messenger."""

    TELEGRAM = "telegram"
    WHATSAPP = "whatsapp"
    CONSOLE = "console"


@dataclass(frozen=True, slots=True, kw_only=True)
class Patient:
    """A person on a messenger: `identity` keys the session, `address` is where replies go. Neither is ever logged or shown."""

    platform: Platform
    identity: str = field(repr=False)
    address: str = field(repr=False)


class MessageKind(StrEnum):
    """What a message carries: text (also a photo's caption), a command, a tapped button, or something that is not read."""

    TEXT = "text"
    COMMAND = "command"
    BUTTON = "button"
    UNREADABLE = "unreadable"  # voice note, sticker, picture, location: no text in it


@dataclass(frozen=True, slots=True, kw_only=True)
class InboundMessage:
    """One message from a patient.

    `message_id` is unique on its platform and is what makes a redelivery recognisable. `text` holds a button's payload for
    BUTTON and the whole command line ("/lingua es") for COMMAND. `locale_hint` is the messenger's own idea of the language
    ("it", "es-MX") and `country_hint` an ISO 3166 code derived from a phone prefix; both may be None. `original_id` is the
    `message_id` that the message had before its sender edited it; of a message that is no edit (`is_edit`) the two are the same.
    """

    message_id: str = field(repr=False)  # holds the chat's number on Telegram
    sender: Patient
    chat: str = field(repr=False)
    text: str = field(repr=False)
    kind: MessageKind
    received_at: datetime
    locale_hint: str | None = None
    country_hint: str | None = None
    original_id: str = field(default="", repr=False)
    is_edit: bool = False
    is_group: bool = False

    def __post_init__(self) -> None:
        if not self.original_id:
            object.__setattr__(self, "original_id", self.message_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class OutboundLink:
    """A link below the text: `label` says where it leads. Without a `url` the label stands alone."""

    label: str
    url: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Button:
    """A tap-able reply; `payload` comes back as the text of a BUTTON message (at most 64 bytes)."""

    label: str
    payload: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OutboundMessage:
    """A reply as plain text; each channel applies its own markup and escaping.

    Shown in this order: `paragraphs`, `links` under `links_heading`, `further_links` under `further_heading`, `closing`.
    `emphasis` marks the first paragraph as the one that must be seen first (an emergency line). `buttons_hint` says how to choose
    where nothing can be tapped ("Risponda con il numero."); messengers with buttons do not show it.
    """

    paragraphs: tuple[str, ...] = field(repr=False)
    links_heading: str = ""
    links: tuple[OutboundLink, ...] = ()
    further_heading: str = ""
    further_links: tuple[OutboundLink, ...] = ()
    closing: tuple[str, ...] = ()
    buttons: tuple[Button, ...] = ()
    emphasis: bool = False
    buttons_hint: str = ""
