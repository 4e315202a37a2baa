"""Every evaluation that needs no generator, on the sets that ship with the project, against its floors."""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, replace
from typing import Any

from rich.console import Console
from rich.table import Table

from bot.asker import Asker
from bot.errors import BotError
from bot.evaluation.alignment import evaluate_alignment
from bot.evaluation.coverage import evaluate_follow_ups, evaluate_topicality
from bot.evaluation.floors import Figure, Floors, set_hash
from bot.evaluation.pages import evaluate_pages
from bot.evaluation.safety import evaluate_safety
from bot.evaluation.shipped import (
    Half,
    alignment_edits,
    alignment_free,
    alignment_pairs,
    category_phrases,
    follow_ups,
    lay_other_questions,
    lay_questions,
    page_questions,
    pinned_floors,
    safety_phrases,
    topicality_questions,
)
from bot.loading import load_gate, load_renderer, rag_settings
from bot.progress import Counted
from bot.settings import Settings
from locales.language import Language
from rag.build import build_answerer
from rag.documents import pages_hash
from rag.models.load import NO_MODEL

# What the product promises of each figure; a change that falls below it does not land.
_PROMISED = {
    "safety recall": 0.97,
    "safety silence": 0.95,  # 1 − false alarms
    "pages": 0.95,  # found among the first five
    "on_topic": 0.90,
    "off_topic": 0.90,
    "alignment precision": 0.95,
    "follow_ups": 0.90,
}
_BENCHMARK: tuple[Callable[[Half], Any], ...] = (lay_questions, lay_other_questions)


class BelowFloor(BotError):
    """A figure fell below what the product promises or reached before, or was measured with other texts than its floor."""


class FloorsNotPinned(BotError):
    """What was asked for cannot be pinned."""


def evaluate_all(
    settings: Settings,
    half: Half,
    *,
    as_json: bool,
    progress: Counted,
    pin: bool = False,
    may_lower: bool = False,
) -> None:
    """Measure the gate, the aligner, retrieval, coverage and follow-ups, and print a table.

    Args:
        settings: Where the index is, and how answers are made.
        half: Of each set; floors are pinned for the half that is tuned on, the other one has only what is promised.
        as_json: Print JSON.
        progress: Told how far it is.
        pin: Pin the floors to what is measured.
        may_lower: Also where that is lower than what was pinned before.

    Raises:
        BelowFloor: If a figure is below its floor; everything is measured and printed first.
        FloorLowered: If a floor would be pinned lower, and may not.
        FloorsNotPinned: If floors would be pinned for the other half, or lowered without being pinned.
        FloorsUnreadable: If the file of floors is damaged.
        RagError: If the embedder or the index fails.
    """
    if (pin and half is Half.TEST) or (may_lower and not pin):
        raise FloorsNotPinned("Floors are pinned with `--half dev --pin`, and lowered with `--lower-floors` beside it.")
    path, floors = pinned_floors(), Floors(corpus={}, sets={}, figures={})
    if half is Half.DEV and (path.exists() or not pin):
        floors = Floors.read(path)
    answerer = build_answerer(replace(rag_settings(settings), generator=NO_MODEL))
    asker = Asker(load_gate(answerer.embedder), load_renderer(settings), lambda: answerer)
    sets = {(file := of(half)).name: set_hash(file) for of in _BENCHMARK}
    corpus = {language.value: pages_hash(answerer.reader(language).pages()) for language in Language}
    report = {
        "half": half.value,
        "corpus": corpus,
        "sets": sets,
        "safety": evaluate_safety(safety_phrases(half)),
        "safety_all_categories": evaluate_safety(category_phrases(half)),
        "alignment": evaluate_alignment(alignment_pairs(half)),
        "alignment_edits": evaluate_alignment(alignment_edits(half), "alignment_edits"),
        "alignment_free": evaluate_alignment(alignment_free(half), "alignment_free"),
        "pages": evaluate_pages(page_questions(half), answerer, asker, progress),
        "lay": evaluate_pages(lay_questions(half), answerer, asker, progress),
        "lay_other": evaluate_topicality(lay_other_questions(half), asker, progress),
        "topicality": evaluate_topicality(topicality_questions(half), asker, progress),
        "follow_ups": evaluate_follow_ups(follow_ups(), answerer, progress),
    }
    figures = _figures(report)
    if as_json:
        print(json.dumps(report | {"figures": [asdict(figure) for figure in figures]}, ensure_ascii=False, indent=2))  # noqa: T201
    else:
        _print(figures, floors, half)
    if half is Half.DEV and pin:
        floors = floors.replaced_by(Floors.of(figures, corpus, sets), may_lower=may_lower)
        floors.write(path)
    if half is Half.TEST:
        corpus, sets = {}, {}  # nothing was pinned for it
    if complaints := floors.complaints(figures, corpus, sets):
        raise BelowFloor(" ".join(complaints))


def _figures(report: dict[str, Any]) -> list[Figure]:
    """In the order of the report."""
    return [*_safety_figures(report), *_page_figures(report), *_benchmark_figures(report)]


def _figure(name: str, value: float, promised: str = "") -> Figure:
    return Figure(name=name, value=round(value, 4), promised=_PROMISED.get(promised, 0.0))


def _safety_figures(report: dict[str, Any]) -> Iterator[Figure]:
    for part, said in (("safety", ""), ("safety_all_categories", ", all categories")):
        for lang, rates in report[part]["by_language"].items():
            yield _figure(f"safety recall{said}, {lang}", rates["recall"], "safety recall")
            yield _figure(f"safety silence{said}, {lang}", 1 - rates["false_alarm_rate"], "safety silence")


def _page_figures(report: dict[str, Any]) -> Iterator[Figure]:
    for row in (row for name in ("alignment", "alignment_edits", "alignment_free") for row in report[name]["rows"]):
        yield _figure(f"{row['set']} precision", row["precision"], "alignment precision")
        yield _figure(f"{row['set']} recall", row["recall"])
    for row in report["pages"]["rows"]:
        yield _figure(f"{row['set']} among the first five", row["first_five"], "pages")
        yield _figure(f"{row['set']} answered from", row["from_the_page"])
        yield _figure(f"{row['set']} not taken for an emergency", 1 - row["escalated"])
    for row in report["topicality"]["rows"] + report["follow_ups"]["rows"]:
        yield _figure(row["set"], row["right"], row["set"].removesuffix("_it").removesuffix("_es"))


def _benchmark_figures(report: dict[str, Any]) -> Iterator[Figure]:
    for row in report["lay"]["rows"]:
        shares = {
            "first": row["first"],
            "among the first five": row["first_five"],
            "answered": row["answered"],
            "answered from": row["from_the_page"],
            "not taken for an emergency": 1 - row["escalated"],
        }
        for said, share in shares.items():
            name = f"{row['set'].replace('pages', 'lay')} {said}"
            yield Figure(name=name, value=round(share, 4), questions=row["n"])
    for row in report["lay_other"]["rows"]:
        yield Figure(name=f"lay_{row['set']} refused", value=row["right"], questions=row["n"])


def _print(figures: Sequence[Figure], floors: Floors, half: Half) -> None:
    table = Table("figure", half.value, "floor")
    for figure in figures:
        floor = floors.floor_of(figure)
        said = (f"{floor:.3f}" if figure.questions else f"{floor:.2f}") if floor else "—"
        table.add_row(figure.name, f"{figure.value:.3f}", said, style=None if figure.value >= floor else "red")
    Console().print(table)
