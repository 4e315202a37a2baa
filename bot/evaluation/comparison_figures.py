"""Tables of a comparison of ways to answer, made from the measures of each answer."""

from collections.abc import Mapping, Sequence
from typing import Any

from locales.language import Language
from rag.evaluation.comparisons import compared, mean, with_interval
from rag.evaluation.metrics import percentile
from rag.evaluation.text_metrics import bleu, informative_difference

MEASURES = ("tfidf", "rouge_l", "embedding_f1", "seconds")
"""What is told with an interval and drawn."""

_PLAIN = ("rouge_l_precision", "rouge_l_recall", "embedding_f1_rescaled", "words")
_ALL, _ANSWERED = "all", "answered by all"

_Measured = Mapping[str, Sequence[Mapping[str, Any]]]


def comparison_figures(measured: _Measured) -> dict[str, Any]:
    """Summarise the measures of each answer, by system and in the order of the questions.

    Returns:
        `rows` by set and system: means of the measures, those of `MEASURES` with bounds of 95 % intervals, BLEU of all texts
        together, median and 95th percentile of seconds, share of questions with a right passage among the first
        (`retrieval_accuracy`), and share `answered`. A refusal counts as an empty text; the set `answered by all` leaves out
        questions that any system refused.
        `matrices` by set: the informative difference of each system against each, mean over questions.
        `comparisons` by set: see `rag.evaluation.comparisons`.
        `values` by system: the figures of `MEASURES`, in the order of `ids`.
    """
    sets = _sets(measured)
    first = next(iter(measured.values()))
    return {
        "rows": [_row(name, system, rows) for name, own in sets.items() for system, rows in own.items()],
        "matrices": [{"set": name, "systems": list(own), "cells": _matrix(own)} for name, own in sets.items()],
        "comparisons": [{"set": name, **row} for name, own in sets.items() for row in compared(_values(own))],
        "ids": [row["id"] for row in first],
        "values": _values(measured),
    }


def _sets(measured: _Measured) -> dict[str, _Measured]:
    first = list(next(iter(measured.values())))
    answered = [all(rows[place]["text"] for rows in measured.values()) for place in range(len(first))]
    chosen = {
        language.value: [row["lang"] == language.value for row in first]
        for language in Language
        if any(row["lang"] != language.value for row in first)
    }
    chosen |= {_ALL: [True] * len(first)} | ({} if all(answered) else {_ANSWERED: answered})
    return {
        name: {system: [row for row, is_in in zip(rows, places, strict=True) if is_in] for system, rows in measured.items()}
        for name, places in chosen.items()
        if any(places)
    }


def _row(name: str, system: str, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    row: dict[str, Any] = {"set": name, "system": system, "n": len(rows)}
    for key in MEASURES:
        row |= with_interval(key, [float(one[key]) for one in rows])
    row |= {key: mean([float(one[key]) for one in rows]) for key in _PLAIN}
    together = bleu([one["text"] for one in rows], [one["reference"] for one in rows])
    seconds = [one["seconds"] for one in rows]
    found = [one["found"] for one in rows if one["found"] is not None]
    return row | {
        "bleu": round(together.score, 3),
        "bleu_brevity_penalty": round(together.brevity_penalty, 4),
        "seconds_p50": round(percentile(seconds, 0.5), 3),
        "seconds_p95": round(percentile(seconds, 0.95), 3),
        "retrieval_accuracy": mean(found) if found else None,
        "answered": mean([float(bool(one["text"])) for one in rows]),
    }


def _matrix(own: _Measured) -> list[list[float]]:
    return [[mean(_differences(first, second)) for second in own.values()] for first in own.values()]


def _differences(first: Sequence[Mapping[str, Any]], second: Sequence[Mapping[str, Any]]) -> list[float]:
    return [
        informative_difference(one["text"], other["text"], one["tfidf"], other["tfidf"], Language(one["lang"]))
        for one, other in zip(first, second, strict=True)
    ]


def _values(own: _Measured) -> dict[str, dict[str, list[float]]]:
    return {system: {key: [float(row[key]) for row in rows] for key in MEASURES} for system, rows in own.items()}
