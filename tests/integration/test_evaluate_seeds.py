"""The evaluations of published chatbots over a real index that ingestion built; only the models are stand-ins."""

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from bot.evaluation import seed_runs
from bot.evaluation.compare import NoGoldPage
from bot.evaluation.compared_systems import GoldQuestion
from bot.evaluation.diseases import NoGenerator
from bot.evaluation.rating import analyse
from bot.evaluation.rating_returns import Key, read_returned
from bot.evaluation.rating_sheets import draw_sheets, read_answers, write_sheets
from bot.evaluation.seed_runs import run_comparison, run_traceability
from bot.evaluation.traceability import TopicQuestion
from bot.settings import Settings
from locales.language import Language
from rag.evaluation.comparison_report import render_comparison_report
from rag.evaluation.traceability import MEASURES
from rag.evaluation.traceability_report import render_traceability_report
from tests.fakes import HashEmbedder, ScriptedLanguageModel
from tests.integration.test_answerer import build_home

ITALIAN, SPANISH = Language.ITALIAN, Language.SPANISH
TRACED = [
    TopicQuestion(question_id="q1", language=ITALIAN, text="Che cosa fare per l'influenza?", topic="flu", topic_name="influenza"),
    TopicQuestion(question_id="q2", language=SPANISH, text="¿Qué hacer con la gripe?", topic="flu", topic_name="gripe"),
    TopicQuestion(question_id="q3", language=ITALIAN, text="Che cos'è l'insonnia?", topic="insomnia", topic_name="insonnia"),
]
COMPARED = [GoldQuestion(question_id=q.question_id, language=q.language, text=q.text, topic=q.topic) for q in TRACED]


@dataclass
class Run:
    settings: Settings
    embedder: HashEmbedder
    told: list[str]

    def traced(self, model: ScriptedLanguageModel | None = None, limit: int | None = None) -> dict[str, Any]:
        settings = self.settings if model else self.settings.model_copy(update={"generator": "none"})
        return run_traceability(settings, self.progress, embedder=self.embedder, generator=model, limit=limit)

    def compared(self, model: ScriptedLanguageModel | None, *systems: str, limit: int | None = None) -> dict[str, Any]:
        return run_comparison(self.settings, self.progress, embedder=self.embedder, generator=model, systems=systems, limit=limit)

    def progress(self, what: str, done: int, total: int) -> None:
        self.told.append(f"{what} {done} of {total}")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("home")
    build_home(path, "it", "es")
    return path


@pytest.fixture
def run(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    for file in folder.glob("eval/*.jsonl"):
        file.unlink()
    monkeypatch.setattr(seed_runs, "read_topic_questions", lambda: TRACED)
    monkeypatch.setattr(seed_runs, "read_gold_questions", lambda: COMPARED)
    return Run(Settings(home=folder), HashEmbedder(dimension=4096), [])


def row(figures: dict[str, Any], name: str, way: str) -> dict[str, Any]:
    found: dict[str, Any]
    (found,) = [one for one in figures["rows"] if one["set"] == name and way in (one.get("policy"), one.get("system"))]
    return found


def test_all_that_is_found_is_verified_and_all_that_is_shown_is_aligned(run: Run) -> None:
    figures = run.traced()

    for policy in ("none", "soft", "hard"):
        told = row(figures, "all", policy)
        assert told["n"] == 3
        assert told["verified"] == told["retrieved"] > 0
        assert told["aligned"] == told["sentences"] > 0
    assert figures["about"]["generator"] == "none"
    assert "policy hard 3 of 3" in run.told


def test_a_filter_leaves_fewer_passages_and_only_those_that_name_the_topic(run: Run) -> None:
    figures = run.traced()
    assert row(figures, "all", "none")["topic_matched"] < row(figures, "all", "none")["retrieved"]
    assert row(figures, "all", "hard")["retrieved"] == row(figures, "all", "hard")["topic_matched"]


def test_every_pair_of_policies_is_compared_in_every_measure(run: Run) -> None:
    figures = run.traced()
    assert len(figures["comparisons"]) == 3 * 3 * len(MEASURES)  # sets, pairs
    assert all(one["p_holm"] >= one["p"] for one in figures["comparisons"])
    page = render_traceability_report(figures)
    assert "signed-rank" in page
    assert page.count("<img ") == 1
    assert "influenza?" not in page


def test_answers_with_a_generator_are_traced_too(run: Run) -> None:
    model = ScriptedLanguageModel("L'influenza può dare febbre alta o mal di gola.", "Gli antibiotici curano l'influenza.")
    figures = run.traced(model)
    assert model.prompts
    assert row(figures, "all", "none")["aligned"] == row(figures, "all", "none")["sentences"]
    assert figures["about"]["generator"] == "scripted"


def test_a_traced_run_goes_on_where_it_was(run: Run) -> None:
    first = ScriptedLanguageModel("L'influenza può dare febbre alta.")
    part = run.traced(first, limit=2)
    again = ScriptedLanguageModel("L'influenza può dare febbre alta.")

    whole = run.traced(again)

    assert part["about"]["fingerprint"] == whole["about"]["fingerprint"]
    assert all("insonnia" in prompt.body.lower() for prompt in again.prompts)
    assert run.traced(ScriptedLanguageModel("Altro."))["values"] == whole["values"]


def test_four_ways_to_answer_are_compared(run: Run) -> None:
    model = ScriptedLanguageModel("L'influenza passa con il riposo e molta acqua.")

    figures = run.compared(model)

    assert [one["system"] for one in figures["rows"][:4]] == ["No-RAG", "R+Q+RR", "R+Q+RR+S", "Fast"]
    assert row(figures, "all", "No-RAG")["retrieval_accuracy"] is None
    assert row(figures, "all", "R+Q+RR")["retrieval_accuracy"] == 1.0
    assert 0 < row(figures, "all", "Fast")["rouge_l"] < 1
    assert row(figures, "all", "Fast")["answered"] == 1.0
    (matrix,) = [one["cells"] for one in figures["matrices"] if one["set"] == "all"]
    assert all(matrix[at][other] == pytest.approx(-matrix[other][at]) for at in range(4) for other in range(4))
    assert "scripted" in render_comparison_report(figures)


def test_only_the_generator_alone_is_asked_without_any_passage(run: Run) -> None:
    model = ScriptedLanguageModel("Riposi.")
    run.compared(model, "No-RAG", "R+Q+RR", limit=1)
    plain, *others = [prompt.body for prompt in model.prompts]
    assert plain == TRACED[0].text
    assert "Con l'influenza resti a casa" in others[-1]


def test_summaries_are_one_call_a_page_and_are_written_from(run: Run) -> None:
    model = ScriptedLanguageModel("resto della frase")
    run.compared(model, "R+Q+RR+S", limit=1)
    bodies = [prompt.body for prompt in model.prompts]
    summed_up = [body for body in bodies if "Testo:" in body]
    assert 1 <= len(summed_up) <= 3
    assert bodies[-1].count("resto della frase") == len(summed_up)


def test_unverified_text_reaches_the_records_and_no_report(run: Run) -> None:
    figures = run.compared(ScriptedLanguageModel("Prenda due compresse."), "No-RAG", limit=1)
    (path,) = (run.settings.home / "eval").glob("compare-*.jsonl")
    record = json.loads(path.read_text(encoding="utf-8").splitlines()[-1])
    assert (record["system"], record["text"]) == ("No-RAG", "Prenda due compresse.")
    assert "compresse" not in render_comparison_report(figures)


def test_a_comparison_goes_on_where_it_was(run: Run) -> None:
    run.compared(ScriptedLanguageModel("Riposi."), "No-RAG", limit=2)
    again = ScriptedLanguageModel("Beva acqua.")
    run.compared(again, "No-RAG")
    assert [prompt.body for prompt in again.prompts] == [TRACED[2].text]


def test_a_question_without_its_page_is_named(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seed_runs, "read_gold_questions", lambda: [replace(COMPARED[0], topic="gout")])
    with pytest.raises(NoGoldPage, match="no page on gout in it"):
        run.compared(ScriptedLanguageModel("x"))


def test_a_comparison_without_a_generator_is_refused(run: Run) -> None:
    with pytest.raises(NoGenerator):
        run_comparison(run.settings.model_copy(update={"generator": "none"}), run.progress, embedder=run.embedder)


def test_recorded_answers_become_sheets_and_filled_sheets_figures(run: Run, tmp_path: Path) -> None:
    run.compared(ScriptedLanguageModel("L'influenza passa."), "No-RAG", "Fast")
    (path,) = (run.settings.home / "eval").glob("compare-*.jsonl")
    written = write_sheets(draw_sheets(read_answers([path]), raters=2), tmp_path / "sheets", tmp_path / "key.json")
    key = Key.read(tmp_path / "key.json")
    for sheet in written:
        _fill(sheet, key)

    figures = analyse(read_returned([tmp_path / "sheets"], key), key)

    assert figures["problems"] == []
    assert row(figures, "all", "Fast")["overall"] == 5.0
    assert row(figures, "all", "No-RAG")["overall"] == 2.0
    (votes,) = [one for one in figures["preferences"] if one["set"] == "all"]
    assert (votes["first"], votes["votes_first"], votes["votes_second"]) == ("Fast", 6, 0)


def _fill(sheet: Path, key: Key) -> None:
    """Rate as somebody would who likes one system better, without knowing it."""
    if sheet.suffix != ".csv":
        return
    header, *lines = sheet.read_text(encoding="utf-8-sig").splitlines()
    filled = []
    for line in lines:
        code = line.split(";")[1]
        if code in key.answers:
            score = "5" if key.answers[code]["system"] == "Fast" else "2"
            filled.append(line.removesuffix(";" * 6) + f";{score}" * 5 + ";")
        else:
            filled.append(line.removesuffix(";;") + (";A;" if key.pairs[code]["a"] == "Fast" else ";B;"))
    sheet.write_text("\n".join([header, *filled]) + "\n", encoding="utf-8")
