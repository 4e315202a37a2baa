from typing import Any

from rag.evaluation.answers_report import render_answers_report

PAIR = {"p50": 1.0, "p95": 2.0}


def summary() -> dict[str, Any]:
    return {
        "answers": 2,
        "answers_with_a_written_sentence": 0.5,
        "sentences": {"written": 0.25, "quoted": 0.7, "dropped": 0.05},
        "words_within_limit": 1.0,
        "right_language": 1.0,
        "with_span": 1.0,
        "with_link": 1.0,
        "with_disclaimer": 1.0,
        "first_sentence_s": PAIR,
        "first_written_s": None,
        "total_s": PAIR,
        "total_s_with_written": PAIR,
        "total_s_quotes_only": None,
        "total_by_model_time": PAIR,
        "stages_s": {"write": 0.5},
    }


def figures() -> dict[str, Any]:
    return {
        "generator": "scripted <b>",
        "questions": "questions.jsonl",
        "n": 2,
        "modes": {"fast": summary(), "precise": summary() | {"stages_s": {"score": 1.5, "write": 0.5}}},
        "seconds": {"fast": [1.0, 2.0], "precise": [3.0, 4.0]},
        "published": {
            "questions": 1,
            "seconds_p50": 40.0,
            "times_faster_p50": {"fast": 20.0, "precise": 8.0},
            "times_faster_least": {"fast": 15.0, "precise": 6.0},
        },
    }


def test_each_mode_is_a_row_of_each_table() -> None:
    page = render_answers_report(figures())

    assert page.count("<td class=id>fast</td>") == page.count("<td class=id>precise</td>") == 5
    assert "1.00 / 2.00" in page
    assert "data:image/svg+xml" in page


def test_names_are_escaped_and_a_run_without_comparison_has_none() -> None:
    alone = figures()
    del alone["published"]
    page = render_answers_report(alone)

    assert "scripted <b>" not in page
    assert "published pipelines" not in page
