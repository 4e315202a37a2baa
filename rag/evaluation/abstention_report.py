"""A report on a measurement of abstention as one HTML file: tables and charts. It names ids, and never a question."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from html import escape
from pathlib import Path
from typing import Any

from rag.evaluation.report import about_table, document, image, table, write_page

_KINDS = {
    "right": "answered by its page",
    "astray": "another page found best",
    "near_miss": "near miss",
    "off_topic": "off topic",
}


def write_abstention_report(figures: Mapping[str, Any], path: Path) -> None:
    """Write the report of what `salus eval abstention` measured, in one move.

    Raises:
        ReportUnwritable: If the file cannot be written.
    """
    write_page(render_abstention_report(figures), path)


def render_abstention_report(figures: Mapping[str, Any]) -> str:
    """The report as HTML that needs no other file and no script."""
    from rag.evaluation import charts

    languages, about = figures["languages"], figures["about"]
    parts = [
        "<h1>Which questions are answered, and which refused</h1>",
        about_table(about),
        "<h2>Area under the ROC curve</h2>",
        "<p class=note>How often a question whose own page was found best is thought surer to be covered than one that no page "
        "answers; in brackets the 95&nbsp;% interval of a bootstrap over both. Covered questions for which another page was "
        "found best are in no curve.</p>",
        _areas(languages),
        image("ROC curves by language and kind of question, with the chosen threshold", partial(charts.roc_curves, languages)),
        "<h2>What thresholds would answer</h2>",
        "<p class=note>Shares answered by kind of question; the threshold that is stored with the index is shaded. The decision "
        "itself asks less of who asks for a dose.</p>",
        _thresholds(languages),
        "<h2>Whether the figures mean what they say</h2>",
        "<p class=note>Coverage: the page found best answers the question. Similarity: a page among the first five is on its "
        "topic. The Brier score is 0 at best; ECE is the mean distance of probabilities from what came true.</p>",
        _scores(languages),
        image("Probabilities against what came true, by language", partial(charts.reliability_curves, languages)),
        *_reliability(languages),
        *_wrong(languages),
    ]
    return document("Abstention", parts)


def _areas(languages: Sequence[Mapping[str, Any]]) -> str:
    kinds = list(languages[0]["auc"])
    return table(
        ("language",),
        (*(_KINDS[kind] for kind in kinds), *(f"{name}, n" for name in _KINDS.values())),
        [
            (
                row["language"],
                (row["language"],),
                (*(_area(row["auc"][kind]) for kind in kinds), *(str(row["questions"][kind]) for kind in _KINDS)),
            )
            for row in languages
        ],
    )


def _area(told: Mapping[str, float]) -> str:
    return f"{told['area']:.3f}<br><span class=by>[{told['low']:.3f}, {told['high']:.3f}]</span>"


def _thresholds(languages: Sequence[Mapping[str, Any]]) -> str:
    lines = []
    for row in languages:
        decided = tuple(f"{row['decided'][kind]:.3f}" for kind in _KINDS)
        lines.append(("all", (row["language"], "the decision"), decided))
        for at in row["at_thresholds"]:
            chosen = "all" if at["threshold"] == row["threshold"] else ""
            lines.append((chosen, (row["language"], f"{at['threshold']:.3f}"), tuple(f"{at[kind]:.3f}" for kind in _KINDS)))
    return table(("language", "threshold"), tuple(_KINDS.values()), lines)


def _scores(languages: Sequence[Mapping[str, Any]]) -> str:
    return table(
        ("language", "figure"),
        ("Brier", "ECE", "n"),
        [
            ("", (row["language"], name), (f"{told['brier']:.3f}", f"{told['ece']:.3f}", str(told["n"])))
            for row in languages
            for name, told in row["reliability"].items()
        ],
    )


def _reliability(languages: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for name in languages[0]["reliability"]:
        yield f"<h2>{escape(name.capitalize())}, tenth by tenth</h2>"
        yield table(
            ("language",),
            ("told", "came true", "n"),
            [
                ("", (row["language"],), (f"{one['predicted']:.3f}", f"{one['observed']:.3f}", str(one["n"])))
                for row in languages
                for one in row["reliability"][name]["bins"]
            ],
        )


def _wrong(languages: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for which, title in (
        ("refused", "Refused although their page was found best"),
        ("answered", "Answered by another page"),
    ):
        yield f"<h2>{title}</h2>"
        for row in languages:
            named = escape(", ".join(row["wrong"][which])) or "none"
            yield f"<p class=note>{escape(row['language'])}: {named}</p>"
