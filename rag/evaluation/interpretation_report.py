"""A report on long messages searched as written and said anew, as one HTML file. It names ids, and never a message."""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from rag.evaluation.dialogues import MEASURES
from rag.evaluation.report import about_table, comparisons_table, document, image, interval, table, write_page

_NOTE = (
    "A message is the whole story of a simulated patient: 60 to 100 words, worried and wandering, without the name of the "
    "condition. Counted is the place of the page on the patient&#39;s condition in the product&#39;s own search. <b>Interpreted "
    "query</b> is the message said anew by the generator as a search of at most fifteen words; where it gave nothing usable, "
    "the message stays as it was."
)


def write_interpretation_report(figures: Mapping[str, Any], path: Path) -> None:
    """Write the report of what `salus eval interpretation` measured, in one move.

    Raises:
        ReportUnwritable: If the file cannot be written.
    """
    write_page(render_interpretation_report(figures), path)


def render_interpretation_report(figures: Mapping[str, Any]) -> str:
    """The report as HTML that needs no other file and no script."""
    from rag.evaluation import answer_charts

    titles = {measure: measure for measure in MEASURES}
    last = [row for row in figures["rows"] if row["set"] == figures["rows"][-1]["set"]]
    return document(
        "Interpreted queries",
        [
            "<h1>A long message as written, and said anew</h1>",
            about_table(figures["about"]),
            f"<p class=note>{_NOTE}</p>",
            "<h2>Found</h2>",
            "<p class=note>In brackets the 95&nbsp;% interval of a bootstrap over the messages.</p>",
            _found(figures["rows"]),
            image(
                "Hits and MRR by what is searched, with 95 % intervals",
                partial(answer_charts.means, last, "phrasing", titles, (0.0, 1.0)),
            ),
            _said(figures.get("said")),
            "<h2>Against the message as written</h2>",
            comparisons_table(figures["comparisons"], titles),
        ],
    )


def _found(rows: Sequence[Mapping[str, Any]]) -> str:
    return table(
        ("set", "searched"),
        (*MEASURES, "n"),
        [
            (
                row["set"],
                (row["set"], row["phrasing"]),
                (*(interval(row[key], row[f"{key}_low"], row[f"{key}_high"]) for key in MEASURES), str(row["n"])),
            )
            for row in rows
        ],
    )


def _said(said: Mapping[str, Any] | None) -> str:
    if said is None:
        return "<p>Measured without a generator: no message was said anew.</p>"
    return (
        f"<p>An interpreted query has {said['words']:.1f} words, and {said['most_words']} at most; "
        f"for {said['nothing_usable']} messages the generator gave nothing usable.</p>"
    )
