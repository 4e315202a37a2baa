"""The questions of the evaluations of published chatbots: chosen by a rule, the same whoever runs them."""

from collections import Counter

import pytest

from bot.evaluation import seed_runs, traceability
from bot.evaluation.compare import read_gold_questions
from bot.evaluation.compared_systems import COMPARED, System
from bot.evaluation.shipped import SetUnreadable
from bot.evaluation.traceability import read_topic_questions


def test_seventy_two_questions_are_traced_six_a_topic() -> None:
    questions = read_topic_questions()

    assert len({question.question_id for question in questions}) == 72
    assert set(Counter(question.topic for question in questions).values()) == {6}
    assert Counter(question.language.value for question in questions) == {"it": 36, "es": 36}


def test_the_first_ones_are_of_many_topics_and_both_languages() -> None:
    few = read_topic_questions(limit=4)
    assert [(one.topic, one.language.value) for one in few] == [
        ("anaemia", "it"),
        ("anaemia", "es"),
        ("asthma", "it"),
        ("asthma", "es"),
    ]
    assert [one.topic_name for one in few] == ["anemia", "anemia", "asma", "asma"]


def test_a_topic_without_enough_questions_is_named(tmp_path: object, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "topics.toml"  # type: ignore[operator]
    path.write_text('[rabies]\nit = "rabbia"\nes = "rabia"\n', encoding="utf-8")
    monkeypatch.setattr(traceability, "traceability_topics", lambda: path)
    with pytest.raises(SetUnreadable, match="only 0 questions on rabies in it"):
        read_topic_questions()


def test_fifty_questions_are_compared_from_the_half_that_nothing_is_tuned_on() -> None:
    questions = read_gold_questions()
    assert len({question.question_id for question in questions}) == 50
    assert Counter(question.language.value for question in questions) == {"it": 25, "es": 25}
    assert [question.language.value for question in read_gold_questions(limit=4)] == ["it", "es", "it", "es"]
    assert read_gold_questions(limit=4) == questions[:4]


def test_ways_to_answer_are_known_by_name() -> None:
    assert seed_runs.systems_of([]) == list(COMPARED)
    assert seed_runs.systems_of(["fast", "r+q+rr+s"]) == [System.FAST, System.SUMMARIES]
    with pytest.raises(seed_runs.UnknownSystem, match="'slow'; there are No-RAG"):
        seed_runs.systems_of(["slow"])
