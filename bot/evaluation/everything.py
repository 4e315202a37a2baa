"""Every evaluation that needs no generator, on the sets that ship with the project, against its floors."""

import json
from dataclasses import replace
from typing import Any

from rich.console import Console
from rich.table import Table

from bot.asker import Asker
from bot.errors import BotError
from bot.evaluation.alignment import evaluate_alignment
from bot.evaluation.coverage import evaluate_follow_ups, evaluate_topicality
from bot.evaluation.pages import evaluate_pages
from bot.evaluation.safety import evaluate_safety
from bot.evaluation.shipped import (
    Half,
    alignment_pairs,
    category_phrases,
    follow_ups,
    page_questions,
    safety_phrases,
    topicality_questions,
)
from bot.loading import load_gate, load_renderer, rag_settings
from bot.progress import Counted
from bot.settings import Settings
from rag.build import build_answerer
from rag.models.load import NO_MODEL

# What the product promises of each figure; a change that falls below it does not land.
_FLOORS = {
    "safety recall": 0.97,
    "safety silence": 0.95,  # 1 − false alarms
    "pages": 0.95,  # found among the first five
    "on_topic": 0.90,
    "off_topic": 0.90,
    "alignment precision": 0.95,
    "follow_ups": 0.90,
}


class BelowFloor(BotError):
    """A figure fell below what the product promises."""


def evaluate_all(settings: Settings, half: Half, *, as_json: bool, progress: Counted) -> None:
    """Measure the gate, the aligner, retrieval, coverage and follow-ups, and print a table.

    Raises:
        BelowFloor: If a figure is below its floor; everything is measured and printed first.
        RagError: If the embedder or the index fails.
    """
    answerer = build_answerer(replace(rag_settings(settings), generator=NO_MODEL))
    asker = Asker(load_gate(answerer.embedder), load_renderer(settings), lambda: answerer)
    report = {
        "half": half.value,
        "safety": evaluate_safety(safety_phrases(half)),
        "safety_all_categories": evaluate_safety(category_phrases(half)),
        "alignment": evaluate_alignment(alignment_pairs(half)),
        "pages": evaluate_pages(page_questions(half), answerer, asker, progress),
        "topicality": evaluate_topicality(topicality_questions(half), asker, progress),
        "follow_ups": evaluate_follow_ups(follow_ups(), answerer, progress),
    }
    rows = _rows(report)
    if as_json:
        print(json.dumps(report, ensure_ascii=False, indent=2))  # noqa: T201
    else:
        _print(rows, half)
    below = [name for name, figure, floor in rows if figure < floor]
    if below:
        raise BelowFloor(f"Below the floor: {', '.join(below)}.")


def _rows(report: dict[str, Any]) -> list[tuple[str, float, float]]:
    """(name, figure, floor), in the order of the report."""
    rows = []
    for part, said in (("safety", ""), ("safety_all_categories", ", all categories")):
        for lang, rates in report[part]["by_language"].items():
            rows.append((f"safety recall{said}, {lang}", rates["recall"], _FLOORS["safety recall"]))
            rows.append((f"safety silence{said}, {lang}", round(1 - rates["false_alarm_rate"], 4), _FLOORS["safety silence"]))
    for row in report["alignment"]["rows"]:
        rows.append((f"{row['set']} precision", row["precision"], _FLOORS["alignment precision"]))
        rows.append((f"{row['set']} recall", row["recall"], 0.0))
    for row in report["pages"]["rows"]:
        rows.append((f"{row['set']} among the first five", row["first_five"], _FLOORS["pages"]))
        rows.append((f"{row['set']} answered from", row["from_the_page"], 0.0))
        rows.append((f"{row['set']} taken for an emergency", row["escalated"], 0.0))
    for row in report["topicality"]["rows"] + report["follow_ups"]["rows"]:
        rows.append((row["set"], row["right"], _FLOORS[row["set"].removesuffix("_it").removesuffix("_es")]))
    return rows


def _print(rows: list[tuple[str, float, float]], half: Half) -> None:
    table = Table("figure", half.value, "floor")
    for name, figure, floor in rows:
        table.add_row(name, f"{figure:.3f}", f"{floor:.2f}" if floor else "—", style=None if figure >= floor else "red")
    Console().print(table)
