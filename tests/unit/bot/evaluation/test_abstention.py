from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from bot.evaluation import abstention
from bot.evaluation.abstention import ASTRAY, RIGHT, Judged, evaluate_abstention
from bot.evaluation.abstention_tables import print_abstention
from bot.evaluation.shipped import SetUnreadable
from locales.language import Language
from tests.fakes import HashEmbedder
from tests.unit.bot.evaluation.conftest import WriteSet

PROBABILITIES = {"r1": 0.9, "r2": 0.8, "r3": 0.3, "a1": 0.7, "n1": 0.4, "n2": 0.1, "o1": 0.05}
KINDS = {"r": RIGHT, "a": ASTRAY, "n": "near_miss", "o": "off_topic"}


class ReaderWithoutFigures:
    """An index that was never calibrated."""

    calibration = None


@dataclass
class ScriptedJudging:
    """Judges questions by their ids."""

    open_reader: object
    embedder: object

    def judge(self, row: Mapping[str, Any], language: Language) -> Judged:
        kind, probability = KINDS[row["id"][0]], PROBABILITIES[row["id"]]
        is_right = kind == RIGHT
        return Judged(
            question_id=row["id"],
            kind=kind,
            probability=probability,
            is_covered=probability >= 0.33,
            similarities=[(probability, is_right), (0.1, False)],
        )


def rows(ids: Sequence[str], **more: str) -> list[dict[str, str]]:
    return [{"id": name, "lang": "it", "text": "una domanda segreta", **more} for name in ids]


@pytest.fixture
def figures(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, write_set: WriteSet) -> dict[str, Any]:
    monkeypatch.setattr(abstention, "Judging", ScriptedJudging)
    covered = write_set(*rows(["r1", "r2", "r3", "a1"], topic="flu")).rename(tmp_path / "covered.jsonl")
    near = write_set(*rows(["n1", "n2"], label="near_miss")).rename(tmp_path / "near.jsonl")
    off = write_set(*rows(["o1"], label="off_topic"))
    reader = ReaderWithoutFigures()
    return evaluate_abstention([covered], [near, off], lambda _: reader, HashEmbedder(), lambda *_: None)  # type: ignore[arg-type, return-value]


def test_questions_are_told_apart_by_the_page_that_was_found_best(figures: dict[str, Any]) -> None:
    (row,) = figures["languages"]

    assert row["questions"] == {RIGHT: 3, ASTRAY: 1, "near_miss": 2, "off_topic": 1}
    assert row["auc"]["near_miss"]["area"] == round(5 / 6, 4)
    assert row["auc"]["off_topic"] == {"area": 1.0, "low": 1.0, "high": 1.0}


def test_the_threshold_of_the_index_is_among_those_compared(figures: dict[str, Any]) -> None:
    (row,) = figures["languages"]
    (chosen,) = [at for at in row["at_thresholds"] if at["threshold"] == row["threshold"]]

    assert row["threshold"] == 0.33
    assert (chosen[RIGHT], chosen[ASTRAY], chosen["near_miss"], chosen["off_topic"]) == (0.6667, 1.0, 0.5, 0.0)
    assert row["decided"] == {RIGHT: 0.6667, ASTRAY: 1.0, "near_miss": 0.5, "off_topic": 0.0}
    assert row["chosen"] == {"near_miss": [0.5, 0.6667], "off_topic": [0.0, 0.6667]}


def test_a_probability_comes_true_where_the_own_page_is_best(figures: dict[str, Any]) -> None:
    told = figures["languages"][0]["reliability"]

    assert told["coverage"]["n"] == 7
    assert {"n": 1, "predicted": 0.7, "observed": 0.0} in told["coverage"]["bins"]
    assert told["similarity"]["n"] == 14


def test_wrong_decisions_are_named_by_id_and_no_text_is_told(figures: dict[str, Any]) -> None:
    assert figures["languages"][0]["wrong"] == {"refused": ["r3"], "answered": ["a1", "n1"]}
    assert "segreta" not in str(figures)


def test_a_terminal_shows_the_figures(figures: dict[str, Any]) -> None:
    out = Console(width=80, record=True)

    print_abstention(figures, out)

    shown = out.export_text()
    for told in ("0.833", "0.330 *", "decided", "similarity", "near miss"):
        assert told in shown


def test_a_set_without_topics_is_no_set_of_covered_questions(write_set: WriteSet) -> None:
    with pytest.raises(SetUnreadable):
        evaluate_abstention([write_set(*rows(["r1"]))], [], lambda _: None, HashEmbedder(), lambda *_: None)  # type: ignore[arg-type, return-value]


@pytest.mark.parametrize(
    ("row", "found", "kind"),
    [
        ({"topic": "flu"}, "flu", RIGHT),
        ({"topic": "flu"}, "cold", ASTRAY),
        ({"topic": "flu"}, None, ASTRAY),
        ({"label": "near_miss"}, "flu", "near_miss"),
        ({"label": "off_topic"}, None, "off_topic"),
    ],
)
def test_a_question_is_right_only_with_its_own_page_best(row: dict[str, str], found: str | None, kind: str) -> None:
    assert abstention._kind(row, found) == kind
