"""Who administers the bot, and in which language each of them reads."""

import re
from collections.abc import Iterable

from channels.calling_codes import canonical, country_of
from channels.messages import InboundMessage, Patient, Platform
from locales.language import Language

_TELEGRAM_ID = re.compile(r"[1-9]\d{0,19}")
_WHATSAPP = "whatsapp:"
_NUMBER = re.compile(r"\+?\d{6,15}")
_ITALIAN = {"IT", "SM", "VA"}
_SPANISH = {
    "AR", "BO", "CL", "CO", "CR", "CU", "DO", "EC", "ES", "GT", "HN", "MX", "NI", "PA", "PE", "PR", "PY", "SV", "UY", "VE",
}  # fmt: skip

_Key = tuple[Platform, str]


class Admins:
    """The administrators named in the settings.

    Args:
        ids: Telegram's numeric ids, WhatsApp numbers ("+39…", "whatsapp:+39…"), or "console" for whoever sits at the terminal.
            What is none of these is left out and counted in `unreadable`.
    """

    def __init__(self, ids: Iterable[str]) -> None:
        found = [_administrator(text) for text in ids]
        self.unreadable = found.count(None)
        self._addresses: dict[_Key, Patient] = {(admin.platform, admin.identity): admin for admin in found if admin is not None}
        self._languages: dict[_Key, Language] = {}

    def includes(self, message: InboundMessage) -> bool:
        """True when an administrator wrote it in a chat of their own; in a group they are like everybody else."""
        is_private = message.sender.platform is not Platform.TELEGRAM or message.chat == message.sender.identity
        return is_private and self._key(message.sender) is not None

    def everyone(self) -> list[tuple[Patient, Language | None]]:
        """All administrators, each with the language they read if it is known."""
        return [(admin, self._language_of(key)) for key, admin in self._addresses.items()]

    def speak_with(self, admin: Patient, known: Language | None) -> Language:
        """The language to answer an administrator in, remembered for the next alert.

        Args:
            admin: Who wrote.
            known: What the session or the messenger tells of their language.
        """
        key = self._key(admin)
        if key is None:
            return known or Language.ITALIAN
        if known is not None:
            self._languages[key] = known
        self._addresses[key] = admin  # where the messenger itself says that they are reached
        return self._language_of(key) or Language.ITALIAN

    def _key(self, person: Patient) -> _Key | None:
        """Under which name a person is an administrator. WhatsApp may hide a number behind an id and still name it as address."""
        identities = [person.identity]
        if person.platform is Platform.WHATSAPP:
            identities.append(canonical(person.address.removeprefix(_WHATSAPP)))
        keys = ((person.platform, identity) for identity in identities)
        return next((key for key in keys if key in self._addresses), None)

    def _language_of(self, key: _Key) -> Language | None:
        if key in self._languages:
            return self._languages[key]
        country = country_of(key[1]) if key[0] is Platform.WHATSAPP else None
        if country in _ITALIAN:
            return Language.ITALIAN
        return Language.SPANISH if country in _SPANISH else None


def _administrator(text: str) -> Patient | None:
    name = text.strip()
    if name.casefold() == Platform.CONSOLE.value:
        return Patient(platform=Platform.CONSOLE, identity=name.casefold(), address=name.casefold())
    if _TELEGRAM_ID.fullmatch(name):
        return Patient(platform=Platform.TELEGRAM, identity=name, address=name)
    number = re.sub(r"[\s()-]", "", name.removeprefix(_WHATSAPP))
    if number.startswith("+") or name.startswith(_WHATSAPP):
        if _NUMBER.fullmatch(number):
            address = f"{_WHATSAPP}+{number.removeprefix('+')}"
            return Patient(platform=Platform.WHATSAPP, identity=canonical(number), address=address)
        if re.fullmatch(r"[A-Z]{2}\.\w+", number):  # Meta's id for people who hide their number
            return Patient(platform=Platform.WHATSAPP, identity=number, address=f"{_WHATSAPP}{number}")
    return None
