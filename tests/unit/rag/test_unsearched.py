import pytest

from locales.language import Language
from rag.replies import Abstention, AbstentionKind, Clarification, ClarificationKind, Courtesy, NoticeKind, Reply
from rag.types import Intent, Interpretation
from rag.unsearched import reply_without_search

ES = Language.SPANISH


@pytest.mark.parametrize(
    ("intent", "reply"),
    [
        (Intent.GREETING, Courtesy(kind=NoticeKind.GREETING, language=ES)),
        (Intent.THANKS, Courtesy(kind=NoticeKind.THANKS, language=ES)),
        (Intent.ABOUT, Courtesy(kind=NoticeKind.ABOUT, language=ES)),
        (Intent.OFF_TOPIC, Abstention(kind=AbstentionKind.OFF_TOPIC, language=ES)),
        (Intent.QUESTION, None),
        (Intent.SYMPTOM, None),
        (Intent.OWN_DOSE, None),
        (Intent.READING, None),
    ],
)
def test_only_what_asks_about_health_is_searched(intent: Intent, reply: Reply | None) -> None:
    assert reply_without_search(Interpretation(language=ES, intent=intent, self_contained="x")) == reply


def test_what_cannot_be_understood_alone_is_asked_back_and_a_third_language_is_named() -> None:
    unclear = Interpretation(language=ES, intent=Intent.QUESTION, self_contained="x", needs_context=True)
    foreign = Interpretation(language=ES, intent=Intent.QUESTION, self_contained="x", other_language=True)

    assert reply_without_search(unclear) == Clarification(kind=ClarificationKind.WHAT_IS_MEANT, language=ES)
    assert reply_without_search(foreign) == Courtesy(kind=NoticeKind.OTHER_LANGUAGE, language=ES)
