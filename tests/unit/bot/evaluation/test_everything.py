import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bot.evaluation import everything
from bot.evaluation.everything import BelowFloor, evaluate_all
from bot.evaluation.shipped import Half
from bot.settings import Settings
from rag.settings import RagSettings
from tests.fakes import HashEmbedder, ScriptedAnswerer, ScriptedGate

Report = dict[str, Any]


def good() -> dict[str, Report]:
    by_language = {"it": {"recall": 1.0, "false_alarm_rate": 0.0}, "es": {"recall": 1.0, "false_alarm_rate": 0.0}}
    return {
        "safety": {"by_language": by_language},
        "safety_all_categories": {"by_language": {lang: dict(rates) for lang, rates in by_language.items()}},
        "pages": {
            "rows": [{"set": f"pages_{lang}", "first_five": 1.0, "from_the_page": 0.9, "escalated": 0.0} for lang in ("it", "es")]
        },
        "alignment": {"rows": [{"set": f"alignment_{lang}", "precision": 1.0, "recall": 0.4} for lang in ("it", "es")]},
        "topicality": {
            "rows": [{"set": f"{topic}_topic_{lang}", "right": 1.0} for topic in ("on", "off") for lang in ("it", "es")]
        },
        "follow_ups": {"rows": [{"set": "follow_ups", "right": 1.0}]},
    }


@pytest.fixture
def measure(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., None]:
    """Runs the evaluation over prepared figures; everything is built without a generator."""

    def run(
        figures: dict[str, Report],
        *,
        as_json: bool = False,
        built: list[RagSettings] | None = None,
        shared: list[HashEmbedder] | None = None,
    ) -> None:
        def build(settings: RagSettings) -> ScriptedAnswerer:
            (built if built is not None else []).append(settings)
            return ScriptedAnswerer()

        def load_gate(embedder: HashEmbedder) -> ScriptedGate:
            (shared if shared is not None else []).append(embedder)
            return ScriptedGate()

        monkeypatch.setattr(everything, "build_answerer", build)
        monkeypatch.setattr(everything, "load_gate", load_gate)
        safety = {"phrases_dev.jsonl": "safety", "phrases_all_dev.jsonl": "safety_all_categories"}
        monkeypatch.setattr(everything, "evaluate_safety", lambda path: figures[safety[path.name]])
        monkeypatch.setattr(everything, "evaluate_pages", lambda *_: figures["pages"])
        monkeypatch.setattr(everything, "evaluate_alignment", lambda _: figures["alignment"])
        monkeypatch.setattr(everything, "evaluate_topicality", lambda *_: figures["topicality"])
        monkeypatch.setattr(everything, "evaluate_follow_ups", lambda *_: figures["follow_ups"])
        evaluate_all(Settings(home=tmp_path), Half.DEV, as_json=as_json, progress=lambda *_: None)

    return run


def test_figures_at_their_floors_pass_and_are_printed(measure: Callable[..., None], capsys: pytest.CaptureFixture[str]) -> None:
    measure(good())

    printed = capsys.readouterr().out
    for name in ("safety recall, it", "safety silence, es", "alignment_it precision", "off_topic_es", "follow_ups"):
        assert name in printed


def test_no_generator_is_loaded(measure: Callable[..., None]) -> None:
    built: list[RagSettings] = []
    measure(good(), built=built)

    assert [settings.generator for settings in built] == ["none"]


def test_the_gate_reads_with_the_embedder_that_is_loaded_already(measure: Callable[..., None]) -> None:
    shared: list[HashEmbedder] = []
    measure(good(), shared=shared)

    assert [type(embedder) for embedder in shared] == [HashEmbedder]


@pytest.mark.parametrize(
    ("spoil", "name"),
    [
        (lambda figures: figures["safety"]["by_language"]["es"].update(recall=0.96), "safety recall, es"),
        (lambda figures: figures["safety"]["by_language"]["it"].update(false_alarm_rate=0.06), "safety silence, it"),
        (
            lambda figures: figures["safety_all_categories"]["by_language"]["it"].update(recall=0.96),
            "safety recall, all categories, it",
        ),
        (lambda figures: figures["pages"]["rows"][1].update(first_five=0.94), "pages_es among the first five"),
        (lambda figures: figures["alignment"]["rows"][0].update(precision=0.94), "alignment_it precision"),
        (lambda figures: figures["topicality"]["rows"][0].update(right=0.89), "on_topic_it"),
        (lambda figures: figures["topicality"]["rows"][3].update(right=0.89), "off_topic_es"),
        (lambda figures: figures["follow_ups"]["rows"][0].update(right=0.89), "follow_ups"),
    ],
)
def test_a_figure_below_its_floor_fails_after_everything_is_printed(
    measure: Callable[..., None], capsys: pytest.CaptureFixture[str], spoil: Callable[[dict[str, Report]], None], name: str
) -> None:
    figures = good()
    spoil(figures)

    with pytest.raises(BelowFloor, match=name):
        measure(figures)
    assert "follow_ups" in capsys.readouterr().out


def test_the_report_can_be_had_as_json(measure: Callable[..., None], capsys: pytest.CaptureFixture[str]) -> None:
    measure(good(), as_json=True)

    assert json.loads(capsys.readouterr().out) == {"half": "dev", **good()}
