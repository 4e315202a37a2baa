from typing import Any

import pytest

from bot.evaluation.comparison_figures import comparison_figures
from rag.evaluation.comparison_report import render_comparison_report


def measured(
    text: str, tfidf: float, *, name: str = "q1", lang: str = "it", seconds: float = 1.0, found: float | None = 1.0
) -> Any:
    figures = {"rouge_l": 0.2, "rouge_l_precision": 0.5, "rouge_l_recall": 0.1, "embedding_f1": 0.9, "embedding_f1_rescaled": 0.4}
    told = {"id": name, "lang": lang, "text": text, "reference": "La febbre alta passa in tre giorni.", "tfidf": tfidf}
    return {**told, **figures, "words": len(text.split()), "seconds": seconds, "found": found}


def figures() -> dict[str, Any]:
    return comparison_figures(
        {
            "No-RAG": [
                measured("febbre bassa", 1.0, found=None),
                measured("fiebre alta", 2.0, name="q2", lang="es", seconds=3.0, found=None),
            ],
            "Fast": [measured("febbre alta", 3.0), measured("", 0.0, name="q2", lang="es", found=0.0)],
        }
    )


def row(found: dict[str, Any], name: str, system: str) -> dict[str, Any]:
    return next(one for one in found["rows"] if (one["set"], one["system"]) == (name, system))


def test_means_are_of_all_answers_and_a_refusal_counts_as_an_empty_text() -> None:
    found = figures()

    assert row(found, "all", "Fast")["tfidf"] == 1.5
    assert row(found, "all", "Fast")["answered"] == 0.5
    assert row(found, "all", "No-RAG")["seconds"] == 2.0
    assert row(found, "es", "Fast")["words"] == 0.0


def test_questions_that_any_system_refused_are_also_left_out() -> None:
    assert row(figures(), "answered by all", "Fast")["n"] == 1
    assert row(figures(), "answered by all", "Fast")["tfidf"] == 3.0


def test_retrieval_accuracy_is_of_systems_that_search() -> None:
    assert row(figures(), "all", "Fast")["retrieval_accuracy"] == 0.5
    assert row(figures(), "all", "No-RAG")["retrieval_accuracy"] is None


def test_the_matrix_is_the_mean_informative_difference_of_row_and_column() -> None:
    (both,) = [one for one in figures()["matrices"] if one["set"] == "all"]

    # One word of two alike: (1 − 1/2)·(1 − 3) = −1. Nothing alike with a refusal: (1 − 0)·(2 − 0) = 2.
    assert both["systems"] == ["No-RAG", "Fast"]
    assert both["cells"] == [[0.0, pytest.approx(0.5)], [pytest.approx(-0.5), 0.0]]


def test_values_keep_the_order_of_the_questions() -> None:
    found = figures()
    assert found["ids"] == ["q1", "q2"]
    assert found["values"]["No-RAG"]["seconds"] == [1.0, 3.0]


def test_the_report_names_the_models_and_no_question() -> None:
    page = render_comparison_report({**figures(), "about": {"generator": "qwen<1>", "embedder": "e5"}})
    assert "qwen&lt;1&gt;" in page
    assert page.count("<img ") == 5  # boxes, and a matrix a set
    assert "febbre" not in page
