from typing import Any

import pytest

from rag.evaluation.dialogues import dialogue_figures, measures_of


def record(ranks: list[int | None], **changes: Any) -> dict[str, Any]:
    values: dict[str, Any] = {
        "lang": "it",
        "ranks": ranks,
        "questions": ["fever", "cough"],
        "answered": [True, False],
        "escalated": None,
        "single_round": "mal di testa",
        "text": "mal di testa forte da un lato",
        "reference": "mal di testa forte",
    }
    return values | changes


def story(rank: int | None, lang: str = "it") -> dict[str, Any]:
    return {"lang": lang, "ranks": [rank]}


def row(rows: list[dict[str, Any]], **wanted: Any) -> dict[str, Any]:
    (found,) = [one for one in rows if all(one[key] == value for key, value in wanted.items())]
    return found


@pytest.mark.parametrize(
    ("rank", "hits", "reciprocal"),
    [
        (1, [1.0, 1.0, 1.0], 1.0),
        (3, [0.0, 1.0, 1.0], 1 / 3),
        (5, [0.0, 0.0, 1.0], 0.2),
        (10, [0.0, 0.0, 0.0], 0.1),
        (11, [0.0, 0.0, 0.0], 0.0),
        (None, [0.0, 0.0, 0.0], 0.0),
    ],
)
def test_a_rank_is_counted_as_hits_and_as_its_reciprocal(rank: int | None, hits: list[float], reciprocal: float) -> None:
    assert list(measures_of(rank).values()) == [*hits, pytest.approx(reciprocal)]


def test_each_round_has_the_means_of_its_ranks() -> None:
    figures = dialogue_figures({"taps": [record([4, 1]), record([None, 2])]}, [story(1), story(None)])

    before, after = (row(figures["rows"], way="taps", round=at) for at in (0, 1))
    assert (before["hit@1"], before["hit@5"], before["mrr@10"]) == (0.0, 0.5, 0.125)  # (1/4 + 0) / 2
    assert (after["hit@1"], after["hit@3"], after["mrr@10"]) == (0.5, 1.0, 0.75)  # (1 + 1/2) / 2
    assert row(figures["rows"], way="whole story")["hit@1"] == 0.5


def test_languages_are_told_apart_and_together() -> None:
    figures = dialogue_figures({"taps": [record([1, 1]), record([2, 1], lang="es")]}, [story(1), story(1, "es")])

    first = {one["set"]: one["hit@1"] for one in figures["rows"] if one["round"] == 0 and one["way"] == "taps"}
    assert first == {"it": 1.0, "es": 0.0, "all": 0.5}


def test_a_set_of_one_language_is_not_told_twice() -> None:
    figures = dialogue_figures({"taps": [record([1, 1])]}, [story(1)])

    assert {one["set"] for one in figures["rows"]} == {"it"}


def test_the_last_round_is_held_against_the_opening_alone() -> None:
    ranks: list[list[int | None]] = [[3, 2, 1], [2, 2, 1], [1, 1, 2], [1, 1, 1]]
    figures = dialogue_figures({"taps": [record(one) for one in ranks]}, [story(1)] * 4)

    hit = row(figures["comparisons"], first="single round", second="taps", measure="hit@1")
    assert (hit["difference"], hit["gained"], hit["lost"]) == (0.25, 2, 1)
    assert hit["p"] == 1.0  # two of three fair coins, or more extreme: 2 · (3/8 + 1/8)


def test_one_message_with_everything_is_held_against_the_last_round_too() -> None:
    figures = dialogue_figures({"taps": [record([2, 1]), record([2, 1])]}, [story(1), story(4)])

    rank = row(figures["comparisons"], first="whole story", measure="mrr@10")
    assert (rank["difference"], rank["gained"], rank["lost"]) == (0.375, 1, 0)  # ((1 − 1) + (1 − 1/4)) / 2


def test_the_tests_of_a_set_are_corrected_together() -> None:
    figures = dialogue_figures({"taps": [record([3, 1]) for _ in range(8)]}, [story(1)] * 8)

    hit = row(figures["comparisons"], first="single round", second="taps", measure="hit@1")
    assert hit["p"] == pytest.approx(2 / 2**8)
    assert hit["p_holm"] == pytest.approx(12 * 2 / 2**8)  # the least of twelve


def test_a_dialogue_whose_emergency_is_heeded_keeps_the_order_that_it_had_before() -> None:
    flagged = {"category": "heart", "at": "cough", "round": 2}
    figures = dialogue_figures({"taps": [record([4, 3, 2, 1], escalated=flagged)]}, [story(1)])

    rows = figures["rows"]
    assert [row(rows, way="taps", round=at)["mrr@10"] for at in range(4)] == [0.25, 0.3333, 0.5, 1.0]
    assert [row(rows, way="taps, gate heeded", round=at)["mrr@10"] for at in range(4)] == [0.25, 0.3333, 0.3333, 0.3333]


def test_a_dialogue_whose_opening_is_taken_for_an_emergency_never_gets_beyond_it() -> None:
    flagged = {"category": "heart", "at": "opening", "round": 0}
    figures = dialogue_figures({"taps": [record([4, 3, 2, 1], escalated=flagged)]}, [story(1)])

    assert row(figures["rows"], way="taps, gate heeded", round=3)["mrr@10"] == 0.25


def test_the_course_counts_questions_and_what_came_of_them() -> None:
    records = [
        record([1], questions=["fever", "fever", "cough"], answered=[True, True, False]),
        record([1], questions=[], answered=[], escalated={"category": "heart", "round": 1, "at": "opening"}),
    ]
    course = dialogue_figures({"taps": records}, [story(1)] * 2)["courses"][0]

    assert course["questions"] == 1.5
    assert course["answered"] == pytest.approx(2 / 3, abs=1e-4)
    assert (course["most_questions"], course["without_a_question"], course["asked_twice"], course["escalated"]) == (3, 1, 1, 1)


def test_texts_are_held_against_what_the_patient_has() -> None:
    figures = dialogue_figures({"taps": [record([1, 1])]}, [story(1)])

    single, dialogue = (row(figures["texts"], way=way) for way in ("single round", "taps"))
    assert single["rouge-1"] == pytest.approx(6 / 7, abs=1e-4)  # precision 3/3, recall 3/4
    assert dialogue["rouge-1"] == pytest.approx(8 / 11, abs=1e-4)  # precision 4/7, recall 4/4
    assert dialogue["rouge-2"] == pytest.approx(2 / 3, abs=1e-4)  # precision 3/6, recall 3/3
    assert dialogue["bleu-1"] == pytest.approx(100 * 4 / 7, abs=0.01)
    assert dialogue["bleu-2"] == pytest.approx(100 * (4 / 7 * 3 / 6) ** 0.5, abs=0.01)
