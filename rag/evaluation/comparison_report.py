"""A report on ways to answer compared, as one HTML file: tables, boxes and matrices. It names ids, and never a question."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from html import escape
from pathlib import Path
from typing import Any

from rag.evaluation.report import about_table, comparisons_table, document, image, interval, table, write_page

_TITLES = {
    "tfidf": "TF-IDF informativeness",
    "rouge_l": "ROUGE-L, F1",
    "embedding_f1": "embedding F1",
    "seconds": "seconds an answer",
}
_NOTE = (
    "All but the product&#39;s modes (Fast, Precise) write what nothing has checked; they exist for this comparison alone. "
    "No-RAG is the generator asked plainly; R+Q+RR searches with expansions, reranks, and writes from the first five passages; "
    "R+Q+RR+S first sums up each page by a call of its own. The reference of ROUGE-L, BLEU and embedding F1 is the whole text "
    "of the page that answers the question, many times longer than an answer: recall and BLEU&#39;s brevity penalty show it, "
    "and precision is the fairer reading. TF-IDF informativeness is the sum of an answer&#39;s TF-IDF weights (of unit length "
    "together) over the answers compared here, by language; it grows with length, true or not. Embedding F1 matches each "
    "sentence to the nearest of the other text, greedily as BERTScore does with tokens, by the embedder named above; rescaled, "
    "the cosine of unrelated texts is 0. Retrieval accuracy is the share of questions with a passage of the right page among "
    "the first five. A refusal counts as an empty text."
)
_MATRIX_NOTE = (
    "Mean over questions of (1 − ROUGE-L of both texts) · (TF-IDF of the row − TF-IDF of the column): what the row tells beyond "
    "the column, in other words."
)


def write_comparison_report(figures: Mapping[str, Any], path: Path) -> None:
    """Write the report of what `salus eval compare` measured, in one move.

    Raises:
        ReportUnwritable: If the file cannot be written.
    """
    write_page(render_comparison_report(figures), path)


def render_comparison_report(figures: Mapping[str, Any]) -> str:
    """The report as HTML that needs no other file and no script."""
    from rag.evaluation import answer_charts

    return document(
        "Ways to answer",
        [
            "<h1>Ways to answer, compared</h1>",
            about_table(figures["about"]),
            f"<p class=note>{_NOTE}</p>",
            "<h2>Measures</h2>",
            "<p class=note>In brackets the 95&nbsp;% interval of a bootstrap over the questions.</p>",
            _measures(figures["rows"]),
            _further(figures["rows"]),
            image("Box plots of four measures by way to answer", partial(answer_charts.boxes, figures["values"], _TITLES)),
            "<h2>Informative difference</h2>",
            f"<p class=note>{_MATRIX_NOTE}</p>",
            *_matrices(figures["matrices"]),
            "<h2>Ways against each other</h2>",
            comparisons_table(figures["comparisons"], _TITLES),
        ],
    )


def _measures(rows: Sequence[Mapping[str, Any]]) -> str:
    return table(
        ("set", "system"),
        (*_TITLES.values(), "retrieval accuracy", "answered", "n"),
        [
            (
                row["set"],
                (row["set"], row["system"]),
                (
                    *(interval(row[measure], row[f"{measure}_low"], row[f"{measure}_high"]) for measure in _TITLES),
                    "—" if row["retrieval_accuracy"] is None else f"{row['retrieval_accuracy']:.3f}",
                    f"{row['answered']:.3f}",
                    str(row["n"]),
                ),
            )
            for row in rows
        ],
    )


def _further(rows: Sequence[Mapping[str, Any]]) -> str:
    shown = {
        "rouge_l_precision": "ROUGE-L, precision",
        "rouge_l_recall": "ROUGE-L, recall",
        "bleu": "BLEU",
        "bleu_brevity_penalty": "brevity penalty",
        "embedding_f1_rescaled": "embedding F1, rescaled",
        "words": "words",
        "seconds_p50": "seconds, p50",
        "seconds_p95": "p95",
    }
    return table(
        ("set", "system"),
        tuple(shown.values()),
        [(row["set"], (row["set"], row["system"]), tuple(f"{row[key]:.3f}" for key in shown)) for row in rows],
    )


def _matrices(matrices: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    from rag.evaluation import answer_charts

    for one in matrices:
        told = f"Informative difference of each way against each, {one['set']}"
        yield f"<h3>{escape(one['set'])}</h3>"
        yield image(told, partial(answer_charts.matrix, one["systems"], one["cells"]))
