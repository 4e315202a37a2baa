"""A report on what clinicians' ratings say, as one HTML file: tables and charts. It names codes, and never a question."""

from collections.abc import Mapping, Sequence
from functools import partial
from html import escape
from pathlib import Path
from typing import Any

from rag.evaluation.report import about_table, comparisons_table, document, image, interval, p_value, table, write_page

_TITLES = {name: name for name in ("accuracy", "relevance", "completeness", "clarity", "consistency", "overall")}


def write_rating_report(figures: Mapping[str, Any], path: Path) -> None:
    """Write the report of what `salus eval rate --analyse` found, in one move.

    Raises:
        ReportUnwritable: If the file cannot be written.
    """
    write_page(render_rating_report(figures), path)


def render_rating_report(figures: Mapping[str, Any]) -> str:
    """The report as HTML that needs no other file and no script."""
    from rag.evaluation import answer_charts

    rows = figures["rows"]
    last = [row for row in rows if row["set"] == rows[-1]["set"]]
    chart = partial(answer_charts.means, last, "system", _TITLES, (-0.1, 5.1))
    return document(
        "Ratings",
        [
            "<h1>How clinicians rate the answers</h1>",
            about_table(figures["about"]),
            "<p class=note>Raters did not know which system an answer is of. An answer counts by the mean of its raters, 0 to 5; "
            "in brackets the 95&nbsp;% interval of a bootstrap over answers.</p>",
            "<h2>Scores</h2>",
            _scores(rows),
            *([image("Means of each aspect by system", chart)] if rows else ()),
            "<h2>Systems against each other</h2>",
            comparisons_table(figures["comparisons"], _TITLES),
            "<h2>Preferences</h2>",
            "<p class=note>Votes for the first, for the second, and for neither; questions that more raters decided for the one "
            "than for the other, with p of the sign test over them.</p>",
            _preferences(figures["preferences"]),
            "<h2>Agreement of the raters</h2>",
            "<p class=note>Krippendorff&#39;s alpha (squared distances; names for preferences) and the mean of Cohen&#39;s kappa "
            "over pairs of raters (quadratic weights; none for preferences). A dash where there is nothing to compare.</p>",
            _agreement(figures["agreement"]),
            *_problems(figures["problems"]),
        ],
    )


def _scores(rows: Sequence[Mapping[str, Any]]) -> str:
    return table(
        ("set", "system"),
        (*_TITLES, "answers", "scores"),
        [
            (
                row["set"],
                (row["set"], row["system"]),
                (
                    *(interval(row[name], row[f"{name}_low"], row[f"{name}_high"], 2) for name in _TITLES),
                    str(row["n"]),
                    str(row["ratings"]),
                ),
            )
            for row in rows
        ],
    )


def _preferences(rows: Sequence[Mapping[str, Any]]) -> str:
    counts = ("votes_first", "votes_second", "votes_equal", "questions_first", "questions_second", "questions_equal")
    told = [
        (
            row["set"],
            (row["set"], row["first"], row["second"]),
            (*(str(row[name]) for name in counts), p_value(row["p"]), p_value(row["p_holm"])),
        )
        for row in rows
    ]
    return table(("set", "first", "second"), (*(name.replace("_", ", ") for name in counts), "p", "p, Holm"), told)


def _agreement(rows: Sequence[Mapping[str, Any]]) -> str:
    return table(
        ("set", "measure"),
        ("alpha", "kappa", "raters"),
        [
            (row["set"], (row["set"], row["measure"]), (_told(row["alpha"]), _told(row["kappa"]), str(row["raters"])))
            for row in rows
        ],
    )


def _problems(problems: Sequence[Mapping[str, Any]]) -> list[str]:
    if not problems:
        return []
    lines = "".join(
        "<tr>" + "".join(f"<td class=id>{escape(str(cell))}</td>" for cell in problem.values()) + "</tr>\n"
        for problem in problems
    )
    head = "".join(f"<th>{name}</th>" for name in ("file", "line", "code", "what is wrong"))
    return ["<h2>What could not be counted</h2>", f"<table><thead><tr>{head}</tr></thead>\n{lines}</table>"]


def _told(figure: float | None) -> str:
    return "—" if figure is None else f"{figure:.3f}"
