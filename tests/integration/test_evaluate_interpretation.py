"""Long messages searched in a real index, as written and said anew."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bot.evaluation.interpretation import StorySearch, conditions, evaluate_interpretation
from bot.evaluation.run_records import RunRecords
from bot.evaluation.simulated_patient import Case
from rag.evaluation.interpretation_report import render_interpretation_report
from rag.store import IndexStore
from tests.fakes import HashEmbedder, ScriptedLanguageModel
from tests.integration.pages import ITALIAN, Page, publish

EMBEDDER = HashEmbedder()
WANDERING = "mio marito lavora lontano e io sono stanca, la tosse non passa, come la tosse di mia nonna"


def page(topic: str, title: str, text: str) -> Page:
    made = Page(topic, title, text)
    made.document, made.chunk = replace(made.document, topic=topic), replace(made.chunk, topic=topic)
    return made


def case(story: str, condition: str) -> Case:
    return Case(case_id=condition, language=ITALIAN, condition=condition, opening="…", facts=(), story=story)


CASES = [case(WANDERING, "flu"), case("il naso cola e starnutisco", "cold"), case("mi prude un dito", "scabies")]


@pytest.fixture
def search(tmp_path: Path) -> StorySearch:
    store = IndexStore(tmp_path / "index")
    publish(
        store,
        page("cough", "Tosse", "La tosse secca stanca e non passa per settimane."),
        page("flu", "Influenza", "La febbre alta viene con i brividi."),
        page("cold", "Raffreddore", "Il naso cola e si starnutisce."),
        embedder=EMBEDDER,
    )
    return StorySearch(lambda language: store.open(language, EMBEDDER.fingerprint), EMBEDDER)


def figures(search: StorySearch, folder: Path, generator: ScriptedLanguageModel | None) -> dict[str, Any]:
    records = RunRecords(folder, "interpretation", conditions(CASES))
    opened = None if generator is None else lambda: generator
    return evaluate_interpretation(CASES, search, opened, records, {"half": "dev"}, lambda *_: None)


def hits(figures: dict[str, Any]) -> dict[str, float]:
    return {row["phrasing"]: row["hit@1"] for row in figures["rows"]}


def test_a_query_that_says_the_message_better_finds_what_the_message_does_not(search: StorySearch, tmp_path: Path) -> None:
    told = hits(figures(search, tmp_path, ScriptedLanguageModel("febbre alta con brividi", "il naso che cola", "")))

    assert told["own words"] == pytest.approx(1 / 3, abs=1e-4)
    assert told["interpreted query alone"] == pytest.approx(2 / 3, abs=1e-4)


def test_a_message_of_which_the_generator_makes_nothing_stays_as_it_was(search: StorySearch, tmp_path: Path) -> None:
    measured = figures(search, tmp_path, ScriptedLanguageModel(""))

    assert hits(measured)["interpreted query alone"] == hits(measured)["own words"]
    assert measured["said"] == {"nothing_usable": 3, "words": 0.0, "most_words": 0}


def test_without_a_generator_only_phrasings_are_measured_that_need_none(search: StorySearch, tmp_path: Path) -> None:
    measured = figures(search, tmp_path, None)

    assert list(hits(measured)) == ["own words", "own words + lexicon"]
    assert "said" not in measured


def test_each_phrasing_is_held_against_the_message_as_written(search: StorySearch, tmp_path: Path) -> None:
    measured = figures(search, tmp_path, ScriptedLanguageModel("febbre alta con brividi", "il naso che cola", ""))

    rows = [row for row in measured["comparisons"] if row["measure"] == "hit@1"]
    assert {row["first"] for row in rows} == {"own words"}
    assert next(row for row in rows if row["second"].endswith("alone"))["difference"] == pytest.approx(1 / 3, abs=1e-4)


def test_a_message_that_was_said_anew_is_not_said_anew_again(search: StorySearch, tmp_path: Path) -> None:
    first = figures(search, tmp_path, ScriptedLanguageModel("febbre alta con brividi"))
    generator = ScriptedLanguageModel("altro")

    assert hits(figures(search, tmp_path, generator)) == hits(first)
    assert generator.prompts == []


def test_the_report_has_no_message_and_no_query(search: StorySearch, tmp_path: Path) -> None:
    page = render_interpretation_report(figures(search, tmp_path, ScriptedLanguageModel("febbre alta con brividi")))

    assert "interpreted query alone" in page
    assert "marito" not in page
    assert "brividi" not in page
