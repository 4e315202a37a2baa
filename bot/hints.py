"""What is known of a patient before the message itself has been understood: language and country."""

from bot.session import Session
from channels.messages import InboundMessage, MessageKind
from locales.language import Language
from rag.languages import identify

_ITALIAN_SPEAKING = frozenset({"IT", "SM", "VA"})
_SPANISH_SPEAKING = frozenset(
    {"ES", "MX", "AR", "CO", "PE", "CL", "VE", "EC", "GT", "CU", "BO", "DO", "HN", "PY", "SV", "NI", "CR", "PA", "UY", "PR", "GQ"}
)


def language_of(message: InboundMessage, session: Session) -> Language:
    """The language to speak before the answering line has read the message: chosen, else that of the words, else a hint."""
    if session.language is not None:
        return session.language
    prior = known_language(message, session)
    if message.kind is MessageKind.TEXT and message.text:
        return identify(message.text, prior).language
    return prior or Language.ITALIAN


def known_language(message: InboundMessage, session: Session) -> Language | None:
    """The language that was chosen, else that of earlier words, else a hint; None when nothing tells."""
    return session.language or session.language_prior or hinted_language(message)


def hinted_language(message: InboundMessage) -> Language | None:
    """The language that the messenger is set to, or that the phone's country speaks, if it is one of ours."""
    locale = (message.locale_hint or "").lower().partition("-")[0]
    if locale in set(Language):
        return Language(locale)
    if message.country_hint in _ITALIAN_SPEAKING:
        return Language.ITALIAN
    return Language.SPANISH if message.country_hint in _SPANISH_SPEAKING else None


def take_country_hint(session: Session, message: InboundMessage) -> None:
    """A phone prefix, or the region of the messenger's language, tells the country until the patient names one."""
    if session.country is None:
        region = (message.locale_hint or "").replace("_", "-").partition("-")[2].upper()
        session.country = message.country_hint or (region if len(region) == 2 else None)
