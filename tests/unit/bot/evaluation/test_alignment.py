import pytest

from bot.evaluation.alignment import evaluate_alignment
from bot.evaluation.shipped import Half, alignment_edits, alignment_free, alignment_pairs
from tests.unit.bot.evaluation.conftest import WriteSet

EVIDENCE = ["Gli antibiotici non curano l'influenza, perché è causata da un virus."]


def pair(number: int, sentence: str, label: str, **changes: object) -> dict[str, object]:
    return {"id": str(number), "lang": "it", "evidence": EVIDENCE, "sentence": sentence, "label": label} | changes


def test_precision_is_of_what_was_accepted_and_recall_of_what_is_supported(write_set: WriteSet) -> None:
    report = evaluate_alignment(
        write_set(
            pair(1, "Gli antibiotici non curano l'influenza.", "supported"),
            pair(2, "Contro un virus gli antibiotici non servono a nulla.", "supported"),
            pair(3, "Gli antibiotici curano l'influenza.", "unsupported", edit="negation"),
            pair(4, "No, gli antibiotici non curano l'influenza.", "unsupported", edit="label_is_wrong"),
        )
    )

    italian, spanish = report["rows"]
    assert italian == {"set": "alignment_it", "precision": 0.5, "recall": 0.5, "accepted": 2, "n": 4}
    assert spanish == {"set": "alignment_es", "precision": 1.0, "recall": 0.0, "accepted": 0, "n": 0}
    assert report["let_through"] == [{"id": "4", "edit": "label_is_wrong"}]
    assert report["kinds"]["it negation"] == {"accepted": 0, "n": 1}


def test_the_sentences_of_a_pair_are_one_page_and_may_be_joined(write_set: WriteSet) -> None:
    both = ["La dengue è causata da un virus.", "Gli antibiotici non curano la dengue."]
    text = "La dengue è causata da un virus, e gli antibiotici non curano la dengue."

    report = evaluate_alignment(write_set(pair(1, text, "supported", evidence=both)))

    assert report["rows"][0]["recall"] == 1.0


@pytest.mark.parametrize(("language", "recall"), [("it", 0.70), ("es", 0.70)])
def test_nothing_is_let_through_of_the_half_for_tuning(language: str, recall: float) -> None:
    report = evaluate_alignment(alignment_pairs(Half.DEV))

    row = next(row for row in report["rows"] if row["set"] == f"alignment_{language}")
    assert row["precision"] == 1.0
    assert row["recall"] >= recall
    assert report["let_through"] == []


@pytest.mark.parametrize(("language", "recall"), [("it", 0.55), ("es", 0.55)])
def test_of_edited_sentences_hardly_any_is_let_through(language: str, recall: float) -> None:
    report = evaluate_alignment(alignment_edits(Half.DEV), "edits")

    row = next(row for row in report["rows"] if row["set"] == f"edits_{language}")
    assert row["precision"] >= 0.95
    assert row["recall"] >= recall


def test_of_sentences_in_quite_other_words_no_changed_one_is_let_through() -> None:
    report = evaluate_alignment(alignment_free(Half.DEV), "free")

    assert {row["n"] for row in report["rows"]} == {60}
    assert report["let_through"] == []
