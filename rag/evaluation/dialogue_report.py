"""A report on simulated dialogues as one HTML file: tables and charts. It names ids of cases, and quotes none."""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from rag.evaluation.dialogues import BLEU_ORDERS, MEASURES, TEXT_MEASURES
from rag.evaluation.report import about_table, document, image, interval, p_value, table, write_page

_SURE = 0.05  # a corrected p below it is coloured

_NOTE = (
    "A patient is played by rules from a case file. It opens with an everyday complaint, and replies to a question by the fact "
    "of its case that shares most words with it, with a tap on yes or no, or in its own words; to a question that shares none, "
    "that it does not know. The cases were written apart from the intake, by authors who saw only the titles of pages, and never "
    "name the condition. Counted is the place of the right page among the candidates, an order that no patient sees: after the "
    "opening alone (round 0), and after each reply. A dialogue of fewer questions keeps its order. No case is an emergency, so "
    "dialogues are played to their end even where the safety gate takes a text for one; <b>gate heeded</b> tells how they would "
    "have gone if they ended there, as they do for patients. <b>Whole story</b> is a long message in which the same patient says "
    "everything at once."
)
_COMPARED_NOTE = (
    "Mean after the last round less the mean of one message on the same cases, with the 95&nbsp;% interval of a paired "
    "bootstrap; cases that went up and down; p of McNemar&#39;s exact test for hits and of the Wilcoxon signed-rank test for "
    "MRR, and the same after Holm&#39;s correction over all tests of a set. Coloured where the corrected p is below .05."
)
_TEXT_NOTE = (
    "The text is all that the patient wrote, all questions, and the sentences quoted at the end; the reference is what the "
    "patient has, in the replies of the case. ROUGE (F1) and METEOR are means a dialogue, BLEU is counted over all of them. "
    "METEOR matches equal words and equal stems, not synonyms: its word net is of English words. With taps the patient writes "
    "little, so that these figures mostly tell how much was said, not how well was asked."
)


def write_dialogue_report(figures: Mapping[str, Any], path: Path) -> None:
    """Write the report of what `salus eval dialogues` measured, in one move.

    Raises:
        ReportUnwritable: If the file cannot be written.
    """
    write_page(render_dialogue_report(figures), path)


def render_dialogue_report(figures: Mapping[str, Any]) -> str:
    """The report as HTML that needs no other file and no script."""
    from rag.evaluation import dialogue_charts

    return document(
        "Dialogues",
        [
            "<h1>How well a dialogue finds a condition</h1>",
            about_table(figures["about"]),
            f"<p class=note>{_NOTE}</p>",
            "<h2>Round by round</h2>",
            "<p class=note>In brackets the 95&nbsp;% interval of a bootstrap over the cases.</p>",
            _rounds(figures["rows"]),
            image("Hits at 1, 3 and 5 after each round, by language", partial(dialogue_charts.hits_per_round, figures["rows"])),
            "<h2>One message against a dialogue</h2>",
            f"<p class=note>{_COMPARED_NOTE}</p>",
            _comparisons(figures["comparisons"]),
            "<h2>The course of dialogues</h2>",
            _courses(figures["courses"]),
            _escalations(figures["escalations"]),
            "<h2>Dialogue and case</h2>",
            f"<p class=note>{_TEXT_NOTE}</p>",
            _texts(figures["texts"]),
        ],
    )


def _rounds(rows: Sequence[Mapping[str, Any]]) -> str:
    return table(
        ("set", "way", "round"),
        (*MEASURES, "n"),
        [
            (
                row["set"],
                (row["set"], row["way"], str(row["round"])),
                (*(interval(row[key], row[f"{key}_low"], row[f"{key}_high"]) for key in MEASURES), str(row["n"])),
            )
            for row in rows
        ],
    )


def _comparisons(rows: Sequence[Mapping[str, Any]]) -> str:
    return table(
        ("set", "first", "second", "measure"),
        ("difference", "up", "down", "p", "p, Holm"),
        [
            (
                row["set"],
                (row["set"], row["first"], row["second"], row["measure"]),
                (_difference(row), f"+{row['gained']}", f"−{row['lost']}", p_value(row["p"]), p_value(row["p_holm"])),
            )
            for row in rows
        ],
    )


def _difference(row: Mapping[str, Any]) -> str:
    told = f"{row['difference']:+.3f} <span class=by>[{row['low']:+.3f}, {row['high']:+.3f}]</span>"
    if row["p_holm"] >= _SURE:
        return told
    return f"<span class={'up' if row['difference'] > 0 else 'down'}>{told}</span>"


def _courses(rows: Sequence[Mapping[str, Any]]) -> str:
    counts = ("most_questions", "without_a_question", "asked_twice", "escalated", "n")
    return table(
        ("set", "way"),
        ("questions", "of which the case knows", "most", "dialogues without", "asked twice", "escalated", "n"),
        [
            (
                row["set"],
                (row["set"], row["way"]),
                (f"{row['questions']:.2f}", f"{row['answered']:.3f}", *(str(row[count]) for count in counts)),
            )
            for row in rows
        ],
    )


def _escalations(rows: Sequence[Mapping[str, Any]]) -> str:
    if not rows:
        return "<p>No message and no reply was taken for an emergency; no case is one.</p>"
    told = table(
        ("case", "way", "after", "category"),
        ("round",),
        [("", (r["id"], r["way"], r["at"], r["category"]), (str(r["round"]),)) for r in rows],
    )
    return f"<p>Taken for an emergency, though no case is one:</p>{told}"


def _texts(rows: Sequence[Mapping[str, Any]]) -> str:
    scores = tuple(f"bleu-{order}" for order in BLEU_ORDERS)
    return table(
        ("set", "way"),
        (*TEXT_MEASURES, *scores, "n"),
        [
            (
                row["set"],
                (row["set"], row["way"]),
                (*(f"{row[key]:.3f}" for key in TEXT_MEASURES), *(f"{row[key]:.1f}" for key in scores), str(row["n"])),
            )
            for row in rows
        ],
    )
