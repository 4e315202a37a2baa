from typing import Any

import pytest

from bot.evaluation.pages import evaluate_pages
from bot.safety import RedFlag
from locales.language import Language
from rag.replies import Abstention, AbstentionKind, Reply
from rag.types import Hit
from tests import builders
from tests.fakes import ScriptedAnswerer
from tests.unit.bot.evaluation.conftest import MakeAsker, WriteSet

REFUSAL = Abstention(kind=AbstentionKind.NO_EVIDENCE, language=Language.ITALIAN)
QUESTION = {"id": "1", "lang": "it", "topic": "flu", "text": "ho la grippe?"}


def answered_from(*topics: str) -> Reply:
    return builders.answer(*(builders.sentence(evidence=(builders.evidence(topic=topic),)) for topic in topics))


@pytest.fixture
def measure(write_set: WriteSet, make_asker: MakeAsker) -> Any:
    """Evaluates a line that ranks and replies as told."""

    def run(
        reply: Reply,
        *ranking: str,
        rows: tuple[dict[str, str], ...] = (QUESTION,),
        told: list[Any] | None = None,
        flags: dict[str, RedFlag] | None = None,
    ) -> Any:
        line = ScriptedAnswerer(reply)
        line.hits = [Hit(chunk=builders.chunk(topic=topic), score=1.0, dense=0.8) for topic in ranking]
        steps = told if told is not None else []
        return evaluate_pages(write_set(*rows), line, make_asker(reply, flags=flags), lambda *step: steps.append(step))  # type: ignore[arg-type]

    return run


def test_pages_are_ranked_each_once_whatever_passages_they_have(measure: Any) -> None:
    told: list[tuple[str, int, int]] = []
    report = measure(answered_from("cold", "flu"), "cold", "cold", "cough", "cold", "fever", "fever", "flu", told=told)

    figures = {"first": 0.0, "first_five": 1.0, "mrr": 0.25, "answered": 1.0, "from_the_page": 1.0, "escalated": 0.0}
    assert report == {"rows": [{"set": "pages_it", **figures, "n": 1}], "wrong": []}
    assert told == [("pages", 1, 1)]


def test_a_page_beyond_the_fifth_is_not_found(measure: Any) -> None:
    report = measure(answered_from("flu"), "a", "b", "c", "d", "e", "flu")

    assert report["rows"][0]["first_five"] == 0.0
    assert report["wrong"][0]["ranking"] == ["a", "b", "c", "d", "e"]


@pytest.mark.parametrize(
    ("reply", "answered", "outcome", "topics"),
    [(REFUSAL, 0.0, "abstention", []), (answered_from("cold"), 1.0, "answer", ["cold"])],
)
def test_a_refusal_and_an_answer_from_another_page_are_told_apart(
    measure: Any, reply: Reply, answered: float, outcome: str, topics: list[str]
) -> None:
    report = measure(reply, "flu")

    assert (report["rows"][0]["answered"], report["rows"][0]["from_the_page"]) == (answered, 0.0)
    assert (report["wrong"][0]["outcome"], report["wrong"][0]["answered_from"]) == (outcome, topics)


def test_a_question_taken_for_an_emergency_is_counted(measure: Any) -> None:
    report = measure(answered_from("flu"), "flu", flags={"grippe": builders.red_flag()})

    assert (report["rows"][0]["escalated"], report["rows"][0]["answered"]) == (1.0, 0.0)
    assert report["wrong"][0]["outcome"] == "escalation"


def test_figures_are_by_language(measure: Any) -> None:
    report = measure(answered_from("flu"), "flu", rows=(QUESTION, {**QUESTION, "id": "2", "lang": "es"}))

    assert [(row["set"], row["n"]) for row in report["rows"]] == [("pages_es", 1), ("pages_it", 1)]
