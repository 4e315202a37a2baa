"""A report on a measurement of retrieval as one HTML file: tables and charts. It names ids, and never a question.

`rag.evaluation.abstention_report` makes its own of the same parts.
"""

import base64
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from html import escape
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rag.errors import RagError
from rag.evaluation.metrics import KS
from rag.evaluation.stage_clock import in_order

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_ABOUT = {
    "embedder": "embedder",
    "docs_sha256": "documents, SHA-256",
    "queries_sha256": "questions, SHA-256",
    "documents": "documents",
    "passages": "passages",
    "questions": "questions read",
    "measured": "questions measured",
}
_MOST_PROBLEMS = 500
_SURE = 0.05  # a corrected p below it is coloured

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; color: #222; background: #fff; }
body { max-width: 62rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2.2rem; }
table { border-collapse: collapse; font-size: .88rem; } .wide { overflow-x: auto; }
th, td { padding: .25rem .6rem; border-bottom: 1px solid #ddd; text-align: left; vertical-align: top; }
thead th { border-bottom: 2px solid #888; }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
td.id { overflow-wrap: anywhere; } .by { color: #555; font-size: .8rem; } tr.all td { background: #f4f6f8; }
.up { color: #00664a; } .down { color: #a03c00; } p.note { color: #555; font-size: .88rem; }
img { max-width: 100%; height: auto; }
"""


class ReportUnwritable(RagError):
    """The report could not be written, or what draws its charts is not installed."""


def check_report(path: Path) -> None:
    """See that a report can be written, before hours of measuring.

    Raises:
        ReportUnwritable: If it cannot.
    """
    if find_spec("matplotlib") is None:
        raise ReportUnwritable("The report needs Matplotlib for its charts: `pip install matplotlib`.")
    if not path.parent.is_dir():
        raise ReportUnwritable(f"There is no folder {path.parent} for the report.")


def write_report(figures: Mapping[str, Any], path: Path) -> None:
    """Write the report of what `salus eval retrieval` measured, in one move.

    Raises:
        ReportUnwritable: If the file cannot be written.
    """
    write_page(render_report(figures), path)


def write_page(page: str, path: Path) -> None:
    """Write a page of HTML, in one move.

    Raises:
        ReportUnwritable: If the file cannot be written.
    """
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        unfinished.write_text(page, encoding="utf-8")
        unfinished.replace(path)
    except OSError as error:
        unfinished.unlink(missing_ok=True)
        raise ReportUnwritable(f"The report cannot be written to {path} ({type(error).__name__}).") from error


def render_report(figures: Mapping[str, Any]) -> str:
    """The report as HTML that needs no other file and no script."""
    rows = figures["rows"]
    parts = [
        "<h1>How well questions find their pages</h1>",
        _about(figures["about"], figures["problems"]),
        "<h2>Found</h2>",
        "<p class=note>Share of questions with a right document among the first k; in brackets the 95&nbsp;% interval of a "
        "bootstrap over the questions.</p>",
        _quality(rows),
        *_charts(rows),
        "<h2>Milliseconds by stage</h2>",
        "<p class=note>Half of the questions / 95 of 100 took no longer. Each stage without those within it; medians "
        "need not add up to the median of the whole. An embedding counts as it was first made.</p>",
        _times(rows),
        *_compared(figures["comparisons"]),
        *_odd(figures["problems"]),
    ]
    return document("Retrieval", parts)


def document(title: str, parts: Sequence[str], language: str = "en") -> str:
    """A page of HTML that needs no other file and no script; the parts are HTML already."""
    body = "\n".join(parts)
    return (
        f'<!DOCTYPE html>\n<html lang="{language}">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n{body}\n</body>\n</html>\n"
    )


def _about(about: Mapping[str, Any], problems: Sequence[Mapping[str, Any]]) -> str:
    lines = [(label, about[key]) for key, label in _ABOUT.items() if key in about]
    lines.append(("problems named below", len(problems)))
    rows = "".join(f"<tr><th>{escape(label)}</th><td class=id>{escape(str(value))}</td></tr>" for label, value in lines)
    return f"<table>{rows}</table>"


def _quality(rows: Sequence[Mapping[str, Any]]) -> str:
    keys = (*(f"hit@{k}" for k in KS), "mrr@10", "ndcg@10")
    return table(
        ("set", "config"),
        (*keys, "n"),
        [(row["set"], (row["set"], row["config"]), (*(_figure(row, key) for key in keys), str(row["n"]))) for row in rows],
    )


def _times(rows: Sequence[Mapping[str, Any]]) -> str:
    stages = in_order(stage for row in rows for stage in row["stages"])
    return table(
        ("set", "config"),
        (*stages, "together"),
        [
            (
                row["set"],
                (row["set"], row["config"]),
                (*(_pair(row["stages"][stage]) if stage in row["stages"] else "—" for stage in stages), _pair(row)),
            )
            for row in rows
        ],
    )


def _compared(comparisons: Sequence[Mapping[str, Any]]) -> list[str]:
    if not comparisons:
        return []
    return [
        "<h2>Each against the one before</h2>",
        "<p class=note>On the same questions: the gain in MRR@10 with its 95&nbsp;% interval and p of a paired bootstrap; "
        "questions whose page came among the first five, or fell out, with p of the exact McNemar test. "
        "Coloured where the interval leaves out zero.</p>",
        table(
            ("set", "first", "second"),
            ("MRR@10", "p", "hit@5", "p"),
            [
                (
                    row["set"],
                    (row["set"], row["first"], row["second"]),
                    (
                        _gain(row),
                        p_value(row["mrr@10_p"]),
                        f"+{row['hit@5_gained']} −{row['hit@5_lost']}",
                        p_value(row["hit@5_p"]),
                    ),
                )
                for row in comparisons
            ],
        ),
    ]


def _odd(problems: Sequence[Mapping[str, Any]]) -> list[str]:
    if not problems:
        return []
    more = f"<p class=note>And {len(problems) - _MOST_PROBLEMS} more.</p>" if len(problems) > _MOST_PROBLEMS else ""
    cells = ("file", "line", "id", "detail")
    listed = "".join(
        "<tr>"
        + "".join(f"<td class=id>{escape(str(problem[key]))}</td>" for key in cells)
        + f"<td>{'left out' if problem['left_out'] else 'kept'}</td></tr>\n"
        for problem in problems[:_MOST_PROBLEMS]
    )
    head = "".join(f"<th>{name}</th>" for name in ("file", "line", "id", "what is odd", ""))
    return ["<h2>What is odd about the set</h2>", f"<table><thead><tr>{head}</tr></thead>\n{listed}</table>", more]


def _charts(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    from rag.evaluation import charts

    drawn = (
        ("Hit@k", "Curves of hit@k by configuration", charts.hit_curves),
        ("Mean reciprocal rank", "MRR@10 with 95 % intervals by configuration", charts.rank_intervals),
        ("Where the time goes", "Milliseconds by stage and configuration", charts.stage_times),
    )
    return [f"<h2>{title}</h2>\n{image(told, partial(draw, rows))}" for title, told, draw in drawn]


def image(told: str, draw: "Callable[[], Figure]") -> str:
    """A chart as part of the page; `told` says what it shows to who cannot see it."""
    import matplotlib

    from rag.evaluation import charts

    with matplotlib.rc_context(charts.STYLE):
        drawn = base64.b64encode(charts.svg(draw()).encode()).decode()
    return f'<img alt="{escape(told)}" src="data:image/svg+xml;base64,{drawn}">'


def table(names: Sequence[str], measures: Sequence[str], rows: Iterable[tuple[str, Sequence[str], Sequence[str]]]) -> str:
    """A table of rows (set, names, figures), in which figures are HTML already and all else is not."""
    head = "".join(f"<th>{escape(name)}</th>" for name in names) + "".join(
        f"<th class=n>{escape(name)}</th>" for name in measures
    )
    lines = [
        f"<tr{' class=all' if name == 'all' else ''}>"
        + "".join(f"<td class=id>{escape(cell)}</td>" for cell in named)
        + "".join(f"<td class=n>{figure}</td>" for figure in told)
        + "</tr>"
        for name, named, told in rows
    ]
    body = "\n".join(lines)
    return f"<div class=wide><table><thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody></table></div>"


def about_table(about: Mapping[str, Any]) -> str:
    """What is told of a run: models, settings, seeds."""
    rows = "".join(f"<tr><th>{escape(name)}</th><td class=id>{escape(str(value))}</td></tr>" for name, value in about.items())
    return f"<table>{rows}</table>"


def interval(mean: float | None, low: float, high: float, digits: int = 3) -> str:
    """A mean over the bounds of its interval; a dash for none."""
    if mean is None:
        return "—"
    return f"{mean:.{digits}f}<br><span class=by>[{low:.{digits}f}, {high:.{digits}f}]</span>"


def comparisons_table(rows: Sequence[Mapping[str, Any]], titles: Mapping[str, str]) -> str:
    """The rows of `rag.evaluation.comparisons`, each with its `set`, and how they are to be read."""
    note = (
        "<p class=note>Mean of the second less the first on the same questions, with the 95&nbsp;% interval of a paired "
        "bootstrap, p of the Wilcoxon signed-rank test (questions without a difference left out), and the same after "
        "Holm&#39;s correction over all tests of a set. Coloured where the corrected p is below .05.</p>"
    )
    told = [
        (
            row["set"],
            (row["set"], row["first"], row["second"], titles[row["measure"]]),
            (_difference(row), p_value(row["p"]), p_value(row["p_holm"]), str(row["n"])),
        )
        for row in rows
    ]
    return note + table(("set", "first", "second", "measure"), ("difference", "p", "p, Holm", "n"), told)


def _difference(row: Mapping[str, Any]) -> str:
    told = f"{row['difference']:+.3f} <span class=by>[{row['low']:+.3f}, {row['high']:+.3f}]</span>"
    if row["p_holm"] >= _SURE:
        return told
    return f"<span class={'up' if row['difference'] > 0 else 'down'}>{told}</span>"


def _figure(row: Mapping[str, Any], key: str) -> str:
    if f"{key}_low" not in row:
        return f"{row[key]:.3f}"
    return f"{row[key]:.3f}<br><span class=by>[{row[f'{key}_low']:.3f}, {row[f'{key}_high']:.3f}]</span>"


def _gain(row: Mapping[str, Any]) -> str:
    told = f"{row['mrr@10_gain']:+.3f} <span class=by>[{row['mrr@10_low']:+.3f}, {row['mrr@10_high']:+.3f}]</span>"
    if not row["mrr@10_is_clear"]:
        return told
    return f"<span class={'up' if row['mrr@10_gain'] > 0 else 'down'}>{told}</span>"


def _pair(times: Mapping[str, float]) -> str:
    return f"{times['p50_ms']:.1f} / {times['p95_ms']:.1f}"


def p_value(value: float | None) -> str:
    """A chance as reports tell it; what could not be computed as a dash."""
    return "—" if value is None else "&lt;0.001" if value < 0.001 else f"{value:.3f}"
