import pytest

from bot.outcomes import Apology, Escalation, Notice, Outcome, Proof, Topic, from_reply, kind_of
from locales.language import Language
from rag.replies import Abstention, AbstentionKind, Clarification, ClarificationKind, Courtesy, NoticeKind
from tests.builders import answer, red_flag, source

IT = Language.ITALIAN


@pytest.mark.parametrize("kind", list(NoticeKind))
def test_every_courtesy_becomes_a_notice(kind: NoticeKind) -> None:
    outcome = from_reply(Courtesy(kind=kind, language=IT))
    assert isinstance(outcome, Notice)
    assert outcome.topic.value.endswith(kind.value)


def test_other_replies_are_outcomes_as_they_are() -> None:
    reply = answer()
    assert from_reply(reply) is reply


@pytest.mark.parametrize(
    ("outcome", "word"),
    [
        (answer(), "answer"),
        (Clarification(kind=ClarificationKind.WHAT_IS_MEANT, language=IT), "clarification"),
        (Abstention(kind=AbstentionKind.OFF_TOPIC, language=IT), "abstention"),
        (Abstention(kind=AbstentionKind.IN_OTHER_LANGUAGE, language=IT, sources=(source(),)), "abstention"),
        (Escalation(red_flag=red_flag(), language=IT), "escalation"),
        (Notice(topic=Topic.HELP, language=IT), "notice"),
        (Apology(language=IT), "apology"),
        (Proof(answer=answer()), "proof"),
    ],
)
def test_every_outcome_has_the_word_of_the_interface(outcome: Outcome, word: str) -> None:
    assert kind_of(outcome) == word
