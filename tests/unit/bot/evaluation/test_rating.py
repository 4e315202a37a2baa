from typing import Any

import pytest

from bot.evaluation.rating import analyse
from bot.evaluation.rating_returns import Key, Returned, SheetProblem
from bot.evaluation.rating_words import ASPECTS
from rag.evaluation.rating_report import render_rating_report

QUESTIONS = [f"q{number}" for number in range(6)]
KEY = Key(
    raters=("it-1", "it-2"),
    answers={
        f"{system[0]}{question}": {"system": system, "id": question, "lang": "it"}
        for system in ("Fast", "No-RAG")
        for question in QUESTIONS
    },
    pairs={f"C{question}": {"a": "No-RAG", "b": "Fast", "id": question, "lang": "it"} for question in QUESTIONS},
)


def scored(**by_code: tuple[int, ...]) -> Returned:
    """All aspects alike: by code, a score of each rater."""
    returned = Returned()
    for code, scores in by_code.items():
        for rater, score in enumerate(scores, start=1):
            returned.scores |= {(f"it-{rater}", code, aspect): score for aspect in ASPECTS}
    return returned


def of(rows: list[dict[str, Any]], **wanted: str) -> dict[str, Any]:
    (row,) = [row for row in rows if all(row[key] == value for key, value in wanted.items())]
    return row


def test_an_answer_counts_by_the_mean_of_its_raters() -> None:
    found = analyse(scored(Fq0=(5, 4), Fq1=(3,), Nq0=(1, 1)), KEY)

    fast = of(found["rows"], set="it", system="Fast")
    assert fast["accuracy"] == fast["overall"] == 3.75  # of 4.5 and 3
    assert (fast["n"], fast["ratings"]) == (2, 15)
    assert fast["accuracy_low"] == 3.0
    assert of(found["rows"], set="it", system="No-RAG")["accuracy"] == 1.0


def test_systems_are_compared_on_the_questions_that_both_have_scores_for() -> None:
    scores = {f"F{question}": (5,) for question in QUESTIONS} | {f"N{question}": (2,) for question in QUESTIONS[:-1]}

    row = of(analyse(scored(**scores), KEY)["comparisons"], measure="accuracy")

    assert (row["first"], row["second"], row["n"], row["difference"]) == ("Fast", "No-RAG", 5, -3.0)
    assert row["p"] == pytest.approx(2 / 32)


def test_an_answer_without_all_aspects_has_no_overall_score() -> None:
    returned = scored(Fq0=(5,))
    del returned.scores["it-1", "Fq0", "clarity"]

    fast = of(analyse(returned, KEY)["rows"], system="Fast")

    assert (fast["accuracy"], fast["clarity"], fast["overall"]) == (5.0, None, None)


def test_votes_are_counted_and_questions_decided_by_most_raters() -> None:
    returned = Returned()
    for place, question in enumerate(QUESTIONS):
        returned.preferences["it-1", f"C{question}"] = "b"  # Fast
        returned.preferences["it-2", f"C{question}"] = "a" if place == 0 else "="

    (row,) = analyse(returned, KEY)["preferences"]

    assert (row["first"], row["votes_first"], row["votes_second"], row["votes_equal"]) == ("Fast", 6, 1, 5)
    assert (row["questions_first"], row["questions_second"], row["questions_equal"]) == (5, 0, 1)
    assert row["p"] == row["p_holm"] == pytest.approx(2 / 32)


def test_agreement_is_told_of_each_aspect_and_of_preferences() -> None:
    returned = scored(Fq0=(5, 5), Fq1=(1, 1), Nq0=(3, 3))
    returned.preferences |= {(f"it-{rater}", f"Cq{number}"): "ab"[number] for rater in (1, 2) for number in (0, 1)}

    rows = analyse(returned, KEY)["agreement"]

    assert [row["measure"] for row in rows] == [*ASPECTS, "preference"]
    assert {(row["alpha"], row["kappa"], row["raters"]) for row in rows} == {(1.0, 1.0, 2)}


def test_the_report_names_what_could_not_be_counted_and_no_system_is_left_out_of_it() -> None:
    returned = scored(Fq0=(5, 4), Nq0=(1, 1))
    returned.preferences["it-1", "Cq0"] = "b"
    returned.problems.append(SheetProblem(file="x<y>.csv", line=3, code="Fq1", detail="accuracy is missing"))

    page = render_rating_report(analyse(returned, KEY))

    assert "x&lt;y&gt;.csv" in page
    assert "accuracy is missing" in page
    assert page.count("<img ") == 1
    assert "No-RAG" in page


def test_preferences_alone_make_a_report() -> None:
    returned = Returned(preferences={("it-1", "Cq0"): "="})
    found = analyse(returned, KEY)
    assert found["rows"] == []
    assert "Preferences" in render_rating_report(found)
