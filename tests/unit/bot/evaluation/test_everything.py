import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from bot.evaluation import everything
from bot.evaluation.everything import BelowFloor, FloorsNotPinned, evaluate_all
from bot.evaluation.floors import FloorLowered, Floors, FloorsUnreadable, set_hash
from bot.evaluation.shipped import Half, lay_other_questions, lay_questions, pinned_floors
from bot.settings import Settings
from rag.documents import Document
from rag.settings import RagSettings
from tests.builders import document
from tests.fakes import HashEmbedder, ScriptedAnswerer, ScriptedGate

Report = dict[str, Any]


def pages_row(lang: str) -> Report:
    shares = {"first": 0.9, "first_five": 1.0, "answered": 0.95, "from_the_page": 0.9, "escalated": 0.0}
    return {"set": f"pages_{lang}", **shares, "n": 100}


def good() -> dict[str, Report]:
    by_language = {"it": {"recall": 1.0, "false_alarm_rate": 0.0}, "es": {"recall": 1.0, "false_alarm_rate": 0.0}}
    return {
        "safety": {"by_language": by_language},
        "safety_all_categories": {"by_language": {lang: dict(rates) for lang, rates in by_language.items()}},
        "pages": {"rows": [pages_row(lang) for lang in ("it", "es")]},
        "lay": {"rows": [pages_row(lang) for lang in ("it", "es")]},
        "lay_other": {
            "rows": [
                {"set": f"{label}_{lang}", "right": 0.9, "n": 30} for label in ("near_miss", "off_topic") for lang in ("es", "it")
            ]
        },
        "alignment": {"rows": [{"set": f"alignment_{lang}", "precision": 1.0, "recall": 0.4} for lang in ("it", "es")]},
        "alignment_free": {"rows": [{"set": f"alignment_free_{lang}", "precision": 1.0, "recall": 0.1} for lang in ("it", "es")]},
        "alignment_edits": {
            "rows": [{"set": f"alignment_edits_{lang}", "precision": 1.0, "recall": 0.4} for lang in ("it", "es")]
        },
        "topicality": {
            "rows": [{"set": f"{topic}_topic_{lang}", "right": 1.0} for topic in ("on", "off") for lang in ("it", "es")]
        },
        "follow_ups": {"rows": [{"set": "follow_ups", "right": 1.0}]},
    }


@dataclass
class Corpus:
    """Stands for the index of every language."""

    content_hash: str = "first edition"

    def pages(self) -> list[Document]:
        return [document(content_hash=self.content_hash)]


@pytest.fixture
def floors(tmp_path: Path) -> Path:
    return tmp_path / "floors.json"


@pytest.fixture
def measure(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, floors: Path) -> Callable[..., None]:
    """Runs the evaluation over prepared figures; everything is built without a generator. Floors are pinned at first."""
    monkeypatch.setattr(everything, "pinned_floors", lambda: floors)

    def run(
        figures: dict[str, Report],
        *,
        half: Half = Half.DEV,
        pin: bool = False,
        may_lower: bool = False,
        corpus: Corpus | None = None,
        as_json: bool = False,
        built: list[RagSettings] | None = None,
        shared: list[HashEmbedder] | None = None,
    ) -> None:
        def build(settings: RagSettings) -> ScriptedAnswerer:
            (built if built is not None else []).append(settings)
            answerer = ScriptedAnswerer()
            monkeypatch.setattr(answerer, "reader", lambda _: corpus or Corpus(), raising=False)
            return answerer

        def load_gate(embedder: HashEmbedder) -> ScriptedGate:
            (shared if shared is not None else []).append(embedder)
            return ScriptedGate()

        monkeypatch.setattr(everything, "build_answerer", build)
        monkeypatch.setattr(everything, "load_gate", load_gate)
        safety = {"phrases": "safety", "phrases_all": "safety_all_categories"}
        monkeypatch.setattr(everything, "evaluate_safety", lambda path: figures[safety[path.stem.rpartition("_")[0]]])
        pages = {"starter": "pages", "lay": "lay"}
        monkeypatch.setattr(everything, "evaluate_pages", lambda path, *_: figures[pages[path.stem.split("_")[0]]])
        monkeypatch.setattr(everything, "evaluate_alignment", lambda _, name="alignment": figures[name])
        others = {"topicality": "topicality", "lay": "lay_other"}
        monkeypatch.setattr(everything, "evaluate_topicality", lambda path, *_: figures[others[path.stem.split("_")[0]]])
        monkeypatch.setattr(everything, "evaluate_follow_ups", lambda *_: figures["follow_ups"])
        evaluate_all(Settings(home=tmp_path), half, as_json=as_json, progress=lambda *_: None, pin=pin, may_lower=may_lower)

    run(good(), pin=True)
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
        (lambda figures: figures["alignment_edits"]["rows"][1].update(precision=0.94), "alignment_edits_es precision"),
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

    report = json.loads(capsys.readouterr().out)
    assert good().items() <= report.items()
    assert report["half"] == "dev"
    assert set(report["sets"]) == {"lay_dev.jsonl", "lay_other_dev.jsonl"}
    assert set(report["corpus"]) == {"it", "es"}
    assert {"name": "lay_it first", "value": 0.9, "promised": 0.0, "questions": 100} in report["figures"]


def test_floors_are_pinned_two_questions_below_what_was_measured(measure: Callable[..., None], floors: Path) -> None:
    pinned = Floors.read(floors).figures

    assert pinned["lay_it first"] == 0.88
    assert pinned["lay_es among the first five"] == 0.98
    assert pinned["lay_near_miss_es refused"] == 0.833
    assert not any(name.startswith("safety") for name in pinned)


@pytest.mark.parametrize(
    ("spoil", "name"),
    [
        (lambda figures: figures["lay"]["rows"][0].update(first=0.87), "lay_it first"),
        (lambda figures: figures["lay"]["rows"][1].update(escalated=0.03), "lay_es not taken for an emergency"),
        (lambda figures: figures["lay_other"]["rows"][0].update(right=0.8), "lay_near_miss_es refused"),
    ],
)
def test_a_figure_below_what_was_pinned_fails(
    measure: Callable[..., None], spoil: Callable[[dict[str, Report]], None], name: str
) -> None:
    figures = good()
    spoil(figures)

    with pytest.raises(BelowFloor, match=name):
        measure(figures)


def test_two_questions_more_or_less_pass(measure: Callable[..., None]) -> None:
    figures = good()
    figures["lay"]["rows"][0].update(first=0.88)

    measure(figures)


def test_the_other_half_is_held_to_what_is_promised_alone(measure: Callable[..., None]) -> None:
    figures = good()
    figures["lay"]["rows"][0].update(first=0.1)
    figures["safety"]["by_language"]["it"].update(recall=0.9)

    with pytest.raises(BelowFloor, match=r"^Below the floor: safety recall, it\.$"):
        measure(figures, half=Half.TEST)


def test_another_corpus_must_be_looked_at(measure: Callable[..., None]) -> None:
    with pytest.raises(BelowFloor, match=r"other texts \(it, es\)"):
        measure(good(), corpus=Corpus("second edition"))

    measure(good(), corpus=Corpus("second edition"), pin=True)
    measure(good(), corpus=Corpus("second edition"))


def test_a_floor_is_lowered_only_by_who_says_so(measure: Callable[..., None], floors: Path) -> None:
    before = floors.read_text(encoding="utf-8")
    worse = good()
    worse["lay"]["rows"][0].update(first=0.8)

    with pytest.raises(FloorLowered, match="lay_it first"):
        measure(worse, pin=True)
    assert floors.read_text(encoding="utf-8") == before

    measure(worse, pin=True, may_lower=True)
    assert Floors.read(floors).figures["lay_it first"] == 0.78


def test_a_floor_rises_without_asking(measure: Callable[..., None], floors: Path) -> None:
    better = good()
    better["lay"]["rows"][0].update(first=0.97)
    measure(better, pin=True)

    assert Floors.read(floors).figures["lay_it first"] == 0.95
    with pytest.raises(BelowFloor, match="lay_it first"):
        measure(good())


def test_a_set_that_is_gone_lowers_its_floors(measure: Callable[..., None]) -> None:
    without = good()
    without["lay_other"]["rows"].pop()

    with pytest.raises(FloorLowered, match="off_topic_it"):
        measure(without, pin=True)


@pytest.mark.parametrize(("half", "pin"), [(Half.TEST, True), (Half.DEV, False)])
def test_floors_are_pinned_for_the_half_that_is_tuned_on(measure: Callable[..., None], half: Half, *, pin: bool) -> None:
    with pytest.raises(FloorsNotPinned):
        measure(good(), half=half, pin=pin, may_lower=True)


def test_a_figure_that_is_no_number_is_below_every_floor(measure: Callable[..., None]) -> None:
    figures = good()
    figures["topicality"]["rows"][0].update(right=float("nan"))

    with pytest.raises(BelowFloor, match="on_topic_it"):
        measure(figures)


def test_floors_and_figures_that_have_no_counterpart_are_named(measure: Callable[..., None], floors: Path) -> None:
    written = json.loads(floors.read_text(encoding="utf-8"))
    del written["figures"]["lay_it first"]
    written["figures"]["lay_de first"] = 0.1
    floors.write_text(json.dumps(written), encoding="utf-8")

    with pytest.raises(BelowFloor, match=r"lay_de first, lay_it first"):
        measure(good())


@pytest.mark.parametrize(
    "written",
    ["", "[]", "{}", '{"corpus": {}, "sets": {}, "figures": {"a": "b"}}', '{"corpus": {}, "sets": {}, "figures": {"a": NaN}}'],
)
def test_a_damaged_file_of_floors_is_named(measure: Callable[..., None], floors: Path, written: str) -> None:
    floors.write_text(written, encoding="utf-8")

    with pytest.raises(FloorsUnreadable, match=r"floors\.json"):
        measure(good())


def test_the_shipped_floors_belong_to_the_shipped_sets() -> None:
    floors = Floors.read(pinned_floors())

    assert floors.sets == {of(Half.DEV).name: set_hash(of(Half.DEV)) for of in (lay_questions, lay_other_questions)}
