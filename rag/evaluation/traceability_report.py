"""A report on how far answers can be traced, as one HTML file: tables and box plots. It names ids, and never a question."""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from rag.evaluation.report import about_table, comparisons_table, document, image, interval, table, write_page
from rag.evaluation.traceability import MEASURES

TITLES = {
    "retrieved": "evidence retrieved",
    "verified": "evidence verified",
    "topic_matched": "evidence on the topic",
    "sentences": "sentences of the answer",
    "aligned": "sentences aligned",
}
"""What the measures are called where people read them."""

_NOTE = (
    "Evidence items are the first five passages of the ranking that an answer is made from. One is verified if its page is in "
    "the published index and holds the passage, with each of its quotes at its place; it is on the topic if its page is the one "
    "that the question is meant to be about. A sentence is aligned if all evidence that it names is in the index with the quote "
    "in place, and the aligner, asked again, finds the sentence in it. A refused question counts with no sentence. Policies: "
    "<b>none</b> is the product&#39;s own search, <b>soft</b> moves passages up that name the topic, <b>hard</b> keeps only "
    "those whose title or text holds the topic&#39;s name."
)


def write_traceability_report(figures: Mapping[str, Any], path: Path) -> None:
    """Write the report of what `salus eval traceability` measured, in one move.

    Raises:
        ReportUnwritable: If the file cannot be written.
    """
    write_page(render_traceability_report(figures), path)


def render_traceability_report(figures: Mapping[str, Any]) -> str:
    """The report as HTML that needs no other file and no script."""
    from rag.evaluation import answer_charts

    return document(
        "Traceability",
        [
            "<h1>How far answers can be traced to evidence</h1>",
            about_table(figures["about"]),
            f"<p class=note>{_NOTE}</p>",
            "<h2>Means</h2>",
            "<p class=note>In brackets the 95&nbsp;% interval of a bootstrap over the questions.</p>",
            _means(figures["rows"]),
            image("Box plots of the five measures by retrieval policy", partial(answer_charts.boxes, figures["values"], TITLES)),
            "<h2>Policies against each other</h2>",
            comparisons_table(figures["comparisons"], TITLES),
        ],
    )


def _means(rows: Sequence[Mapping[str, Any]]) -> str:
    return table(
        ("set", "policy"),
        (*TITLES.values(), "answered", "sentences written", "n"),
        [
            (
                row["set"],
                (row["set"], row["policy"]),
                (
                    *(interval(row[measure], row[f"{measure}_low"], row[f"{measure}_high"]) for measure in MEASURES),
                    f"{row['answered']:.3f}",
                    f"{row['written']:.3f}",
                    str(row["n"]),
                ),
            )
            for row in rows
        ],
    )
