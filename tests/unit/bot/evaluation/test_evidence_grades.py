from pathlib import Path

from bot.evaluation.evidence_grades import evaluate_evidence_grades
from tests.fakes import ScriptedLanguageModel
from tests.unit.bot.evaluation.conftest import WriteSet

ROW = {
    "id": "a",
    "lang": "it",
    "question": "che fare?",
    "sentences": ["Beva.", "Riposi.", "La tosse è frequente.", "Non fumi."],
    "labels": [5, 3, 1, 4],
}


def test_what_the_grades_keep_is_compared_with_the_labels(write_set: WriteSet, tmp_path: Path) -> None:
    figures = evaluate_evidence_grades(write_set(ROW), ScriptedLanguageModel("5 4 1 2"), tmp_path, lambda *_: None)
    row = next(row for row in figures["rows"] if row["chosen_by"] == "few-shot grades")

    assert (row["strict_precision"], row["strict_recall"], row["strict_f1"]) == (0.5, 0.5, 0.5)
    assert (row["lenient_precision"], row["lenient_recall"]) == (1.0, 0.667)


def test_without_a_generator_only_orders_are_measured(write_set: WriteSet, tmp_path: Path) -> None:
    figures = evaluate_evidence_grades(write_set(ROW), None, tmp_path, lambda *_: None)

    assert [row["chosen_by"] for row in figures["rows"]] == ["all candidates", "any three"]
    assert figures["rows"][0]["strict_recall"] == 1.0


def test_a_generator_that_does_not_grade_leaves_the_first_three(write_set: WriteSet, tmp_path: Path) -> None:
    figures = evaluate_evidence_grades(write_set(ROW), ScriptedLanguageModel("no"), tmp_path, lambda *_: None)
    row = next(row for row in figures["rows"] if row["chosen_by"] == "few-shot grades")

    assert row["strict_recall"] == 0.5


def test_graded_questions_are_not_graded_again(write_set: WriteSet, tmp_path: Path) -> None:
    path, model = write_set(ROW), ScriptedLanguageModel("5 4 1 2")
    for _ in range(2):
        evaluate_evidence_grades(path, model, tmp_path, lambda *_: None)

    assert len(model.prompts) == 2  # with examples and without, once each
