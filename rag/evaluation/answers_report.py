"""A report on what answers are made of and how long they take, as one HTML file."""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from rag.evaluation.report import about_table, document, image, table, write_page

_TITLES = {"total": "seconds of the whole answer", "first": "seconds to the first sentence"}
_SHARES = {
    "answers_with_a_written_sentence": "answers with a written sentence",
    "words_within_limit": "at most 75 words",
    "right_language": "right language",
    "with_span": "sentences with their span",
    "with_link": "with a link",
    "with_disclaimer": "with a disclaimer",
}
_NOTE = (
    "Answers of the whole product, warm. A sentence is <b>written</b> by the generator and proven by the aligner, <b>quoted</b> "
    "as a source has it, or <b>dropped</b> because no evidence says it. Seconds are p50 / p95."
)


def write_answers_report(figures: Mapping[str, Any], path: Path) -> None:
    """Write the report of what `salus eval answers` measured, in one move.

    Raises:
        ReportUnwritable: If the file cannot be written.
    """
    write_page(render_answers_report(figures), path)


def render_answers_report(figures: Mapping[str, Any]) -> str:
    """The report as HTML that needs no other file and no script."""
    from rag.evaluation import answer_charts

    modes: Mapping[str, Mapping[str, Any]] = figures["modes"]
    about = {"generator": figures["generator"] or "none", "questions": f"{figures['n']} of {figures['questions']}"}
    parts = [
        "<h1>Answers: what they are made of, and their seconds</h1>",
        about_table(about),
        f"<p class=note>{_NOTE}</p>",
        "<h2>Shares</h2>",
        _rows(modes, [("answers", _plain("answers")), *((told, _plain(key)) for key, told in _SHARES.items())]),
        _rows(modes, [(kind, partial(_nested, "sentences", kind)) for kind in ("written", "quoted", "dropped")]),
        "<h2>Seconds</h2>",
        _rows(
            modes,
            [
                ("first sentence", partial(_pair, "first_sentence_s")),
                ("first written", partial(_pair, "first_written_s")),
                ("whole", partial(_pair, "total_s")),
                ("whole, with written", partial(_pair, "total_s_with_written")),
                ("whole, quotes only", partial(_pair, "total_s_quotes_only")),
                ("total ÷ model", partial(_pair, "total_by_model_time")),
            ],
        ),
        image(
            "Box plots of the seconds of whole answers by mode",
            partial(
                answer_charts.boxes,
                {mode: {"total": found} for mode, found in figures["seconds"].items()},
                {"total": _TITLES["total"]},
            ),
        ),
        "<h2>Mean seconds of each stage</h2>",
        _stages(modes),
    ]
    if published := figures.get("published"):
        parts += ["<h2>Against the shape of published pipelines</h2>", _published(published)]
    return document("Answers", parts)


def _rows(modes: Mapping[str, Mapping[str, Any]], columns: Sequence[tuple[str, Any]]) -> str:
    return table(
        ["mode"],
        [told for told, _ in columns],
        ((mode, [mode], [read(found) for _, read in columns]) for mode, found in modes.items()),
    )


def _plain(key: str) -> Any:  # noqa: ANN401 - a reader of one figure
    return lambda found: _told(found.get(key))


def _nested(key: str, kind: str, found: Mapping[str, Any]) -> str:
    return _told(found[key][kind])


def _pair(key: str, found: Mapping[str, Any]) -> str:
    times = found.get(key)
    return f"{times['p50']:.2f} / {times['p95']:.2f}" if times else "–"


def _stages(modes: Mapping[str, Mapping[str, Any]]) -> str:
    names = sorted({name for found in modes.values() for name in found["stages_s"]})
    return table(
        ["mode"], names, ((mode, [mode], [_told(f["stages_s"].get(name, 0.0)) for name in names]) for mode, f in modes.items())
    )


def _published(published: Mapping[str, Any]) -> str:
    rows = [
        (mode, [mode], [_told(times), _told(published["times_faster_least"][mode])])
        for mode, times in published["times_faster_p50"].items()
    ]
    told = (
        f"<p class=note>{published['questions']} questions, the same generator, no prefix kept, a summary call a page: "
        f"{published['seconds_p50']} s (p50).</p>"
    )
    return told + table(["mode"], ["times faster, p50", "least"], rows)


def _told(value: object) -> str:
    return f"{value:.3f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value if value is not None else "–")
