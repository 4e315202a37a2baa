from dataclasses import dataclass, field

from bot.evaluation.coverage import evaluate_follow_ups, evaluate_topicality
from locales.language import Language
from rag.replies import Abstention, AbstentionKind, AnsweringRun, Courtesy, NoticeKind, Reply
from rag.types import Intent, Interpretation, Question
from tests import builders
from tests.unit.bot.evaluation.conftest import MakeAsker, WriteSet

ITALIAN = Language.ITALIAN
REFUSAL = Abstention(kind=AbstentionKind.OFF_TOPIC, language=ITALIAN)


@dataclass
class Understanding:
    """An answering line that understands every question as it was told to."""

    self_contained: str
    reply: Reply
    questions: list[Question] = field(default_factory=list)

    def answer(self, question: Question) -> AnsweringRun:
        self.questions.append(question)
        interpretation = Interpretation(language=ITALIAN, intent=Intent.QUESTION, self_contained=self.self_contained)
        return AnsweringRun(reply=self.reply, interpretation=interpretation)


def about(topic: str) -> Reply:
    proof = builders.evidence(topic=topic)
    return builders.answer(builders.sentence(evidence=(proof,)))


def follow_up(**changes: object) -> dict[str, object]:
    values = {
        "id": "1",
        "lang": "it",
        "first": "Quanto dura l'influenza?",
        "follow_up": "e per i bambini?",
        "expect_topic": "flu",
        "expect_words": ["influenz", "bambin"],
    }
    return values | changes


def right(line: Understanding, write_set: WriteSet, **changes: object) -> float:
    progress: list[tuple[str, int, int]] = []
    report = evaluate_follow_ups(write_set(follow_up(**changes)), line, lambda *told: progress.append(told))  # type: ignore[arg-type]
    assert progress == [("follow-ups", 1, 1)]
    figure: float = report["rows"][0]["right"]
    return figure


def test_answers_are_right_on_topic_and_refusals_off_it(write_set: WriteSet, make_asker: MakeAsker) -> None:
    told: list[tuple[str, int, int]] = []
    rows = [
        {"id": "1", "lang": "it", "label": "on_topic", "text": "febbre?"},
        {"id": "2", "lang": "it", "label": "on_topic", "text": "tosse?"},
        {"id": "3", "lang": "it", "label": "off_topic", "text": "calcio?"},
        {"id": "4", "lang": "it", "label": "off_topic", "text": "vela?"},
        {"id": "5", "lang": "it", "label": "off_topic", "text": "hello"},
    ]
    greeting = Courtesy(kind=NoticeKind.OTHER_LANGUAGE, language=ITALIAN)
    asker = make_asker(builders.answer(), REFUSAL, REFUSAL, builders.answer(), greeting)

    report = evaluate_topicality(write_set(*rows), asker, lambda *step: told.append(step))

    assert report["rows"] == [
        {"set": "off_topic_it", "right": 0.6667, "n": 3},
        {"set": "on_topic_it", "right": 0.5, "n": 2},
    ]
    assert [(row["id"], row["outcome"]) for row in report["wrong"]] == [("2", "abstention"), ("4", "answer")]
    assert told[-1] == ("topicality", 5, 5)


def test_the_second_message_is_asked_with_the_first_as_its_history(write_set: WriteSet) -> None:
    line = Understanding("influenza nei bambini", about("flu"))

    assert right(line, write_set) == 1.0
    assert line.questions == [
        Question(text="e per i bambini?", earlier=("Quanto dura l'influenza?",), language_prior=ITALIAN),
    ]


def test_a_follow_up_searched_without_its_context_is_wrong(write_set: WriteSet) -> None:
    assert right(Understanding("e per i bambini", about("flu")), write_set) == 0.0


def test_an_answer_from_another_page_is_wrong(write_set: WriteSet) -> None:
    assert right(Understanding("influenza nei bambini", about("cough")), write_set) == 0.0
    assert right(Understanding("influenza nei bambini", REFUSAL), write_set) == 0.0


def test_a_new_topic_that_is_searched_with_the_old_one_is_wrong(write_set: WriteSet) -> None:
    new = {"follow_up": "Cos'è il colesterolo?", "expect_topic": "cholesterol", "expect_words": [], "forbid_words": ["influenz"]}

    assert right(Understanding("colesterolo", about("cholesterol")), write_set, **new) == 1.0
    assert right(Understanding("colesterolo Influenza", about("cholesterol")), write_set, **new) == 0.0
