"""The replies to messages that ask nothing of the sources: courtesies, what cannot be understood alone, and other matters."""

from rag.replies import Abstention, AbstentionKind, Clarification, ClarificationKind, Courtesy, NoticeKind
from rag.types import Intent, Interpretation

_COURTESIES = {Intent.GREETING: NoticeKind.GREETING, Intent.THANKS: NoticeKind.THANKS, Intent.ABOUT: NoticeKind.ABOUT}


def reply_without_search(interpretation: Interpretation) -> Abstention | Clarification | Courtesy | None:
    """The reply to a message for which no source need be searched; None when they must be."""
    language = interpretation.language
    if interpretation.other_language:
        return Courtesy(kind=NoticeKind.OTHER_LANGUAGE, language=language)
    if interpretation.intent in _COURTESIES:
        return Courtesy(kind=_COURTESIES[interpretation.intent], language=language)
    if interpretation.needs_context:
        return Clarification(kind=ClarificationKind.WHAT_IS_MEANT, language=language)
    if interpretation.intent is Intent.OFF_TOPIC:
        return Abstention(kind=AbstentionKind.OFF_TOPIC, language=language)
    return None
