"""Simulated patients: what their messengers post to the bot, and what came back to each of them."""

import itertools
import json
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import urlencode

from twilio.request_validator import RequestValidator

from channels.messages import Platform
from locales.catalog import Catalog
from locales.language import Language
from tests.doubles import BotApiDouble, TwilioDouble
from tests.doubles.twilio_api import AUTH_TOKEN, whatsapp_form
from tests.load.bot_process import PUBLIC, SECRET

_numbers = itertools.count(1)
_ACCEPTANCE = {Language.ITALIAN: "Accetto", Language.SPANISH: "Acepto"}
_OF_THE_BOT = ("searching", "busy", "queue_position", "slow_down", "apology", "apology.interrupted")


@dataclass(frozen=True, slots=True)
class Delivery:
    """One HTTP request of a messenger, ready to be posted, as often as one likes."""

    path: str
    body: bytes
    headers: dict[str, str]


@dataclass(frozen=True, slots=True)
class Patient:
    """Somebody who writes: even numbers by Telegram, odd ones by WhatsApp, in one of the two languages."""

    number: int

    @property
    def platform(self) -> Platform:
        return Platform.WHATSAPP if self.number % 2 else Platform.TELEGRAM

    @property
    def language(self) -> Language:
        return Language.SPANISH if self.number // 2 % 2 else Language.ITALIAN

    @property
    def phone(self) -> str:
        return f"+{34 if self.language is Language.SPANISH else 39}3{self.number:09d}"

    @property
    def chat(self) -> int:
        return 1_000_000 + self.number

    def writes(self, text: str) -> Delivery:
        """A new message of this patient."""
        return self._form(text) if self.platform is Platform.WHATSAPP else self._update(text)

    def accepts(self) -> Delivery:
        """The word by which this patient agrees to be answered by a program."""
        return self.writes(_ACCEPTANCE[self.language])

    def _update(self, text: str) -> Delivery:
        person = {"id": self.chat, "is_bot": False, "first_name": "A", "language_code": self.language.value}
        message = {
            "message_id": next(_numbers),
            "date": 1_790_000_000,
            "chat": {"id": self.chat, "type": "private"},
            "from": person,
            "text": text,
        }
        body = json.dumps({"update_id": next(_numbers), "message": message}).encode()
        headers = {"Content-Type": "application/json", "X-Telegram-Bot-Api-Secret-Token": SECRET}
        return Delivery("/telegram/webhook", body, headers)

    def _form(self, text: str) -> Delivery:
        form, path = whatsapp_form(text, self.phone), "/whatsapp/webhook"
        signature = RequestValidator(AUTH_TOKEN).compute_signature(PUBLIC + path, form)
        headers = {"Content-Type": "application/x-www-form-urlencoded", "X-Twilio-Signature": signature}
        return Delivery(path, urlencode(form).encode(), headers)


class Inbox:
    """What the patients see on their screens: of a message that was changed, only how it reads now."""

    def __init__(self, telegram: BotApiDouble, twilio: TwilioDouble) -> None:
        self._telegram = telegram
        self._twilio = twilio

    def texts(self, patient: Patient) -> list[str]:
        """The messages of one patient, in order."""
        return self.by_address().get(address_of(patient), [])

    def by_address(self) -> dict[str, list[str]]:
        """The messages of everybody, in order."""
        found: defaultdict[str, list[str]] = defaultdict(list)
        for shown in self._telegram._shown.values():
            found[str(shown.chat)].append(shown.visible)
        for sent in self._twilio.sent:
            found[sent["To"]].append(sent["Body"])
        return found

    @property
    def activity(self) -> int:
        """Grows with everything that is sent or changed."""
        return len(self._telegram.sent) + len(self._telegram.edits) + len(self._twilio.sent)


def address_of(patient: Patient) -> str:
    """Where the bot writes to this patient."""
    return f"whatsapp:{patient.phone}" if patient.platform is Platform.WHATSAPP else str(patient.chat)


def asks_for_consent(texts: Iterable[str]) -> bool:
    """Whether the bot waits for "Accetto" or "Acepto"."""
    return any(word in text for text in texts for word in _ACCEPTANCE.values())


def kinds(texts: Sequence[str]) -> list[str]:
    """What each message is: "answer" (its part with the sources), one of the bot's own sentences by its key, or "other"."""
    return [kind_of(text) for text in texts]


@lru_cache(maxsize=10_000)
def kind_of(text: str) -> str:
    """One of `kinds`; an answer that was broken off counts as an apology."""
    for key, pattern in _patterns().items():
        if pattern.search(text):
            return key.partition(".")[0]
    return "other"


@lru_cache
def _patterns() -> dict[str, re.Pattern[str]]:
    catalog = Catalog.load()
    own = {key: _pattern([catalog.text(language, key, **_ANY) for language in Language]) for key in _OF_THE_BOT}
    headings = [catalog.text(language, "sources_heading", **_ANY) for language in Language]
    heading = re.compile("|".join(rf"^\W*{re.escape(heading)}\W*$" for heading in headings), re.MULTILINE)
    return own | {"answer": heading}


_ANY = {"n": "\0", "k": "\0"}


def _pattern(templates: Sequence[str]) -> re.Pattern[str]:
    """Matches a text of the bot by its words before the first value, such as a number."""
    return re.compile("|".join(re.escape(template.partition("\0")[0]) for template in templates))
