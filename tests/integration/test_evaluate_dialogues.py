"""Simulated patients asked by the real intake over a small index."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bot.evaluation.dialogues import Rounds, Way, conditions, evaluate_dialogues
from bot.evaluation.run_records import RunRecords
from bot.evaluation.simulated_patient import Case, Fact
from bot.safety import SafetyGate
from ingest.disease_tree import disease_tree
from locales.language import Language
from rag.evaluation.dialogue_report import render_dialogue_report
from rag.expander import Expander, Lexicon
from rag.intake import MAX_QUESTIONS, Intake
from rag.retriever import Retriever
from rag.search import Search
from rag.store import IndexStore
from tests.fakes import HashEmbedder
from tests.integration.pages import ITALIAN, Page, publish

EMBEDDER = HashEmbedder()
HEADACHE = "La testa fa male."  # the only passage of each page, so that none is nearer to a complaint than another
PAGES = {
    "flu": ("Influenza", "- Ha febbre alta con brividi.\n- Sente una grande stanchezza."),
    "migraine": ("Emicrania", "- Il dolore pulsa.\n- La luce dà fastidio."),
    "sinusitis": ("Sinusite", "- Ha il naso chiuso.\n- Sente dolore al viso, sulla fronte."),
}
FACTS = (
    Fact(words=("febbre", "brividi"), has=False, reply="no, 36 e mezzo"),
    Fact(words=("luce", "rumori", "buio"), has=False, reply="no, la luce la sopporto"),
    Fact(words=("pulsa", "battito"), has=False, reply="no, è un peso fermo"),
    Fact(words=("naso", "chiuso", "tappato"), has=True, reply="sì, non passa un filo d'aria"),
    Fact(words=("viso", "fronte", "zigomi"), has=True, reply="sì, mi pesa la fronte"),
)
OPENING = "da due giorni la testa mi fa male e non lavoro"


def case(case_id: str = "one", **changes: Any) -> Case:
    values: dict[str, Any] = {"language": ITALIAN, "condition": "sinusitis", "opening": OPENING, "facts": FACTS}
    return Case(case_id=case_id, **({"story": f"{OPENING}, ho il naso chiuso e mi pesa la fronte"} | values | changes))


def page(topic: str, title: str, symptoms: str) -> Page:
    made = Page(topic, title, HEADACHE)
    made.document = replace(made.document, topic=topic, text=f"{HEADACHE}\n\n## Sintomi\n\n{symptoms}", content_hash=topic)
    made.chunk = replace(made.chunk, topic=topic, heading_path=("Sintomi",))
    made.surfaces = [replace(surface, text=HEADACHE) for surface in made.surfaces]
    return made


@pytest.fixture
def rounds(tmp_path: Path) -> Rounds:
    store = IndexStore(tmp_path / "index")
    publish(store, *(page(topic, *told) for topic, told in PAGES.items()), embedder=EMBEDDER)

    def open_reader(language: Language) -> Any:
        return store.open(language, EMBEDDER.fingerprint)

    expander = Expander({language: Lexicon.load(language) for language in Language})
    search = Search(Retriever(open_reader, EMBEDDER))
    return Rounds(Intake(open_reader, EMBEDDER, search, expander, tree_of=disease_tree), SafetyGate.load())


def never() -> Rounds:
    raise AssertionError("all has been played before")


def figures(cases: list[Case], open_rounds: Any, folder: Path) -> dict[str, Any]:
    records = RunRecords(folder, "dialogues", conditions(cases))
    return evaluate_dialogues(cases, open_rounds, records, {"half": "dev"}, lambda *_: None)


@pytest.mark.parametrize("way", Way)
def test_what_the_patient_replies_brings_the_right_page_to_the_top(rounds: Rounds, way: Way) -> None:
    row = rounds.play(case(), way)

    assert row["ranks"][0] > 1
    assert row["ranks"][-1] == 1
    assert len(row["ranks"]) == MAX_QUESTIONS + 1


@pytest.mark.parametrize("way", Way)
def test_no_question_is_asked_twice_and_none_beyond_the_third(rounds: Rounds, way: Way) -> None:
    questions = rounds.play(case(), way)["questions"]

    assert 1 <= len(questions) == len(set(questions)) <= MAX_QUESTIONS


def test_a_patient_who_knows_nothing_changes_nothing(rounds: Rounds) -> None:
    row = rounds.play(case(facts=()), Way.TAPS)

    assert set(row["answered"]) == {False}
    assert len(set(row["ranks"])) == 1
    assert row["escalated"] is None


def test_the_dialogue_holds_what_both_sides_said_and_the_quotes_at_its_end(rounds: Rounds) -> None:
    row = rounds.play(case(), Way.OWN_WORDS)

    assert row["text"].startswith(OPENING)
    assert any(fact.reply in row["text"] for fact in FACTS)
    assert row["single_round"].startswith(OPENING)
    assert row["reference"] == "sì, non passa un filo d'aria\nsì, mi pesa la fronte"


def test_a_condition_without_a_page_has_no_rank(rounds: Rounds) -> None:
    assert set(rounds.play(case(condition="gout"), Way.TAPS)["ranks"]) == {None}


def test_a_text_that_is_taken_for_an_emergency_is_listed_and_the_dialogue_goes_on(rounds: Rounds, tmp_path: Path) -> None:
    stricken = case(opening="ho un forte dolore al petto che va al braccio sinistro, e la testa mi fa male")
    told = figures([stricken], lambda: rounds, tmp_path / "eval")

    assert {(row["id"], row["at"], row["round"]) for row in told["escalations"]} == {("one", "opening", 0)}
    assert told["courses"][0]["escalated"] == 1
    assert told["courses"][0]["questions"] > 0


def test_a_story_told_at_once_is_searched_and_asked_nothing(rounds: Rounds) -> None:
    assert rounds.tell(case()) == {"lang": "it", "ranks": [1]}


def test_a_run_that_was_killed_goes_on_where_it_was(rounds: Rounds, tmp_path: Path) -> None:
    cases = [case("one"), case("two")]
    first = figures(cases, lambda: rounds, tmp_path / "eval")

    assert figures(cases, never, tmp_path / "eval") == first


def test_other_cases_are_not_taken_for_those_that_were_played(rounds: Rounds, tmp_path: Path) -> None:
    figures([case()], lambda: rounds, tmp_path / "eval")

    with pytest.raises(AssertionError, match="played before"):
        figures([case(opening="mi fa male la testa")], never, tmp_path / "eval")


def test_the_report_names_cases_and_quotes_none(rounds: Rounds, tmp_path: Path) -> None:
    stricken = case("stricken", opening="ho un forte dolore al petto che va al braccio sinistro")
    page = render_dialogue_report(figures([case(), stricken], lambda: rounds, tmp_path / "eval"))

    assert "stricken" in page
    assert "gate heeded" in page
    assert "filo" not in page
    assert "braccio" not in page
