"""What a patient can tell the bot to do, in both languages, with and without accents."""

import unicodedata
from collections.abc import Callable

from bot.outcomes import Notice, Topic
from bot.session import Session
from locales.catalog import Catalog
from locales.emergency import EmergencyDirectory
from locales.language import Language
from rag.types import Mode

LANGUAGE_PAYLOAD = "language:"
MODE_PAYLOAD = "mode:"
COUNTRY_PAYLOAD = "country:"
OTHER_COUNTRY = "other"
WIPE_PAYLOAD = "wipe:messages"
"""Comes back when a patient wants the messages about abuse deleted."""
OFFERED_COUNTRIES = ("IT", "ES", "MX", "AR", "CO", "US", OTHER_COUNTRY)

_LANGUAGES = {
    Language.ITALIAN: {"it", "ita", "italiano", "italiana"},
    Language.SPANISH: {"es", "esp", "spagnolo", "espanol", "castellano"},
}
_COUNTRIES = {
    "IT": {"it", "italia"},
    "ES": {"es", "spagna", "espana"},
    "MX": {"mx", "messico", "mexico", "mejico"},
    "AR": {"ar", "argentina"},
    "CO": {"co", "colombia"},
    "US": {"us", "usa", "eeuu", "ee uu", "stati uniti", "estados unidos"},
    "CH": {"ch", "svizzera", "suiza", "ticino"},
    OTHER_COUNTRY: {OTHER_COUNTRY, "altro", "un altro", "un altro paese", "otro", "otro pais"},
}
# A command that exists in one language only tells which language its writer reads.
_SPOKEN = {
    Language.ITALIAN: {"aiuto", "annulla", "fonti", "lingua", "paese", "nuovo", "nuova", "dimentica", "emergenza"},
    Language.SPANISH: {"ayuda", "cancelar", "cancela", "fuentes", "idioma", "pais", "nuevo", "nueva", "olvidar", "emergencia"}
    | {"privacidad"},
}

_MODES = {
    Mode.FAST: {"veloce", "rapido", "rapida", "fast"},
    Mode.PRECISE: {"preciso", "precisa", "precise"},
}

_STOPPING = frozenset({"annulla", "cancelar", "cancela"})
_ERASING = frozenset({"dimentica", "olvidar"})
_EMERGENCY = frozenset({"emergenza", "emergencia", "emergenze", "emergencias"})

_Reply = Callable[[str, Session, Language, EmergencyDirectory], Notice]


def respond(line: str, session: Session, language: Language, directory: EmergencyDirectory) -> Notice:
    """Do what a command line such as "/paese Messico" says, and tell the patient.

    Args:
        line: The command with its argument, as it was typed.
        session: Changed by the choice of a language or country, and by a new start.
        language: What the patient reads, unless the command itself shows it.
        directory: The countries whose numbers are known.
    """
    name, argument = split_command(line)
    spoken = spoken_language(line)
    if session.language is None and spoken is not None:
        language = session.language_prior = spoken
    reply = _COMMANDS.get(name)
    if reply is None:
        return Notice(topic=Topic.UNKNOWN_COMMAND, language=language)
    return reply(argument, session, language, directory)


def split_command(line: str) -> tuple[str, str]:
    """Name and argument of a command line, both in plain lower case."""
    name, *argument = line.strip().removeprefix("/").split(maxsplit=1) or [""]
    return _plain(name.partition("@")[0]), _plain(" ".join(argument))


def spoken_language(line: str) -> Language | None:
    """The language of a command that exists in one of them only."""
    name = split_command(line)[0]
    return next((spoken for spoken, names in _SPOKEN.items() if name in names), None)


def begins(line: str) -> bool:
    """Whether a command opens the conversation."""
    return split_command(line)[0] == "start"


def stops(line: str) -> bool:
    """Whether a command stops the answer that is being worked on."""
    return split_command(line)[0] in _STOPPING


def erases(line: str) -> bool:
    """Whether a command erases all that is known of the patient."""
    return split_command(line)[0] in _ERASING


def asks_for_numbers(line: str) -> bool:
    """Whether a command asks for the emergency numbers."""
    return split_command(line)[0] in _EMERGENCY


def is_choice(payload: str) -> bool:
    """Whether a tapped button chooses language, mode or country."""
    return payload.startswith((LANGUAGE_PAYLOAD, MODE_PAYLOAD, COUNTRY_PAYLOAD))


def choose(payload: str, session: Session, language: Language, directory: EmergencyDirectory) -> Notice | None:
    """Do what a tapped choice says; None when the payload is no choice of language, mode or country."""
    if payload.startswith(LANGUAGE_PAYLOAD):
        return _language(_plain(payload.removeprefix(LANGUAGE_PAYLOAD)), session, language, directory)
    if payload.startswith(MODE_PAYLOAD):
        return _mode(_plain(payload.removeprefix(MODE_PAYLOAD)), session, language, directory)
    if payload.startswith(COUNTRY_PAYLOAD):
        return _country(_plain(payload.removeprefix(COUNTRY_PAYLOAD)), session, language, directory)
    return None


def command_menu(catalog: Catalog) -> dict[str, list[tuple[str, str]]]:
    """The commands that a messenger can offer, as (name, description) by language: the lines of the help text."""
    menu = {}
    for language in Language:
        lines = [line for line in catalog.text(language, "help", n="").split("\n") if line.startswith("/")]
        pairs = [line.removeprefix("/").partition(": ") for line in lines]
        menu[language.value] = [(name, description) for name, _, description in pairs]
    return menu


def _plain(text: str) -> str:
    """Lower case, without accents, full stops and doubled spaces."""
    decomposed = unicodedata.normalize("NFKD", text.casefold().replace(".", ""))
    return " ".join("".join(mark for mark in decomposed if not unicodedata.combining(mark)).split())


def _tell(topic: Topic) -> _Reply:
    def reply(_argument: str, _session: Session, language: Language, _directory: EmergencyDirectory) -> Notice:
        return Notice(topic=topic, language=language)

    return reply


def _forget(topic: Topic) -> _Reply:
    def reply(_argument: str, session: Session, language: Language, _directory: EmergencyDirectory) -> Notice:
        session.forget()
        session.language_prior = language
        return Notice(topic=topic, language=language)

    return reply


def _language(argument: str, session: Session, language: Language, _directory: EmergencyDirectory) -> Notice:
    chosen = next((code for code, names in _LANGUAGES.items() if argument in names), None)
    if chosen is None:
        return Notice(topic=Topic.LANGUAGE_ASK, language=language)
    session.language = session.language_prior = chosen
    return Notice(topic=Topic.LANGUAGE_SET, language=chosen)


def _country(argument: str, session: Session, language: Language, directory: EmergencyDirectory) -> Notice:
    code = next((code for code, names in _COUNTRIES.items() if argument in names), None)
    if code is None:
        return Notice(topic=Topic.COUNTRY_ASK, language=language)
    session.country = code
    if not directory.knows_emergency_number(code):
        return Notice(topic=Topic.COUNTRY_SET_OTHER, language=language)
    return Notice(topic=Topic.COUNTRY_SET, language=language, values={"country": code})


def _mode(argument: str, session: Session, language: Language, _directory: EmergencyDirectory) -> Notice:
    chosen = next((mode for mode, names in _MODES.items() if argument in names), None)
    if chosen is None:
        return Notice(topic=Topic.MODE_ASK, language=language)
    session.mode = chosen
    return Notice(topic=Topic.MODE_SET, language=language, values={"mode": chosen.value})


_HELP = _tell(Topic.HELP)
_NEW = _forget(Topic.NEW_SESSION)
_COMMANDS: dict[str, _Reply] = {
    "start": _tell(Topic.START),
    **dict.fromkeys(("help", "aiuto", "ayuda"), _HELP),
    **dict.fromkeys(("privacy", "privacidad"), _tell(Topic.PRIVACY)),
    **dict.fromkeys(("fonti", "fuentes"), _tell(Topic.PROOF)),  # said where no answer is kept whose proof could be shown
    **dict.fromkeys(_STOPPING, _tell(Topic.NOTHING_RUNS)),  # said where nothing is under way
    **dict.fromkeys(("lingua", "idioma", "language"), _language),
    **dict.fromkeys(("paese", "pais", "country"), _country),
    **dict.fromkeys(("modo", "mode"), _mode),
    **dict.fromkeys(("nuovo", "nuova", "nuevo", "nueva", "reset"), _NEW),
    **dict.fromkeys(_ERASING, _forget(Topic.ERASED)),
    **dict.fromkeys(_EMERGENCY, _tell(Topic.EMERGENCY_NUMBERS)),
}
