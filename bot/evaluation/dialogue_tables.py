"""How a terminal shows the evaluations with a simulated patient, also one of 80 columns."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console

from bot.evaluation.seed_tables import show_comparisons
from bot.tables import narrow_table, show_table
from rag.evaluation.dialogues import BLEU_ORDERS, MEASURES, TEXT_MEASURES

_Rows = Sequence[Mapping[str, Any]]


def print_dialogues(figures: Mapping[str, Any], out: Console) -> None:
    """Hits by round, one message against a dialogue, the course of dialogues, their likeness to the case."""
    table = narrow_table("set, way, round", *MEASURES, "n")
    for row in figures["rows"]:
        table.add_row(f"{row['set']}, {row['way']}, {row['round']}", *(f"{row[key]:.3f}" for key in MEASURES), str(row["n"]))
    show_table(out, "the right page among the candidates", table)
    _show_changes(figures["comparisons"], out)
    _show_courses(figures, out)
    scores = [f"bleu-{order}" for order in BLEU_ORDERS]
    texts = narrow_table("set, way", *TEXT_MEASURES, *scores)
    for row in figures["texts"]:
        likeness = [f"{row[key]:.3f}" for key in TEXT_MEASURES]
        texts.add_row(f"{row['set']}, {row['way']}", *likeness, *(f"{row[key]:.1f}" for key in scores))
    show_table(out, "dialogue against case", texts)


def print_interpretation(figures: Mapping[str, Any], out: Console) -> None:
    """Hits by phrasing, and each phrasing against the own words."""
    table = narrow_table("set, searched", *MEASURES, "n")
    for row in figures["rows"]:
        table.add_row(f"{row['set']}, {row['phrasing']}", *(f"{row[key]:.3f}" for key in MEASURES), str(row["n"]))
    show_table(out, "the right page", table)
    show_comparisons(figures["comparisons"], out)
    if said := figures.get("said"):
        told = f"{said['words']:.1f} words a query, {said['most_words']} at most; nothing usable: {said['nothing_usable']}"
        out.print(told, markup=False, highlight=False, soft_wrap=True)


def _show_changes(rows: _Rows, out: Console) -> None:
    table = narrow_table("second − first", "measure", "difference", "up", "down", "p", "p, Holm")
    last = rows[-1]["set"] if rows else ""
    for row in (row for row in rows if row["set"] == last):
        told = f"{row['difference']:+.3f} [{row['low']:+.3f}, {row['high']:+.3f}]"
        counts = (str(row["gained"]), str(row["lost"]), f"{row['p']:.3f}", f"{row['p_holm']:.3f}")
        table.add_row(f"{row['second']} − {row['first']}", row["measure"], told, *counts)
    show_table(out, f"{last}, on the same cases: difference with its 95 % interval", table)


def _show_courses(figures: Mapping[str, Any], out: Console) -> None:
    table = narrow_table("set, way", "questions", "most", "none", "case knows", "twice", "escalated", "n")
    for row in figures["courses"]:
        counts = (str(row["most_questions"]), str(row["without_a_question"]), f"{row['answered']:.3f}")
        told = (f"{row['questions']:.2f}", *counts, str(row["asked_twice"]), str(row["escalated"]), str(row["n"]))
        table.add_row(f"{row['set']}, {row['way']}", *told)
    show_table(out, "the course of dialogues", table)
    for row in figures["escalations"]:
        flagged = f"! {row['id']}, {row['way']}, round {row['round']}, {row['at']}: taken for an emergency ({row['category']})"
        out.print(flagged, markup=False, highlight=False, soft_wrap=True)
