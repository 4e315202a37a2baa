"""Fits the coefficients of `rag.coverage` for indexes too small for their own to labelled questions. Needs scikit-learn."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import KFold

from bot.evaluation.shipped import read_lines
from bot.progress import Counted
from locales.language import Language
from rag.calibration import fitted_weights
from rag.coverage import SIGN_NAMES, THRESHOLD, CoverageSigns
from rag.expander import Expander, Lexicon
from rag.index_reader import IndexReader
from rag.interpreter import Interpreter
from rag.models.protocols import Embedder
from rag.page_judge import PageJudge
from rag.retriever import Retriever
from rag.search import Search
from rag.types import Question

_FOLDS = 5
_SEED = 7


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """A question's signs. `kind`: answered by the page chosen (right), by another one (astray), by none (its own label)."""

    kind: str
    signs: CoverageSigns


def fit_coverage(
    questions: Iterable[Path], open_reader: Callable[[Language], IndexReader], embedder: Embedder, progress: Counted
) -> dict[str, Any]:
    """Fit the coefficients, and tell what they let through of questions held out.

    Args:
        questions: Files of lines ``{id, lang, label?, topic?, text}``; without a label a question is covered, with a topic it
            counts as such only if that page was found best.
        open_reader: Gives the index of a language.
        embedder: The one of the index.
        progress: Told how far it is.

    Returns:
        Constant and weights for `rag/coverage.py`, and the share of each kind that is answered at its threshold, held out.
    """
    measured = _measure([row for path in questions for row in read_lines(path, "lang", "text")], open_reader, embedder, progress)
    signs = [one.signs for one in measured]
    is_right = np.array([one.kind == "right" for one in measured])
    held_out = np.zeros(len(signs))
    for train, rest in KFold(n_splits=_FOLDS, shuffle=True, random_state=_SEED).split(signs):
        weights = fitted_weights([signs[place] for place in train], is_right[train])
        held_out[rest] = [weights.probability(signs[place]) for place in rest]
    weights = fitted_weights(signs, is_right)
    kinds = np.array([one.kind for one in measured])
    return {
        "constant": round(weights.constant, 2),
        "weights": dict(zip(SIGN_NAMES, (round(weight, 2) for weight in weights.weights), strict=True)),
        "threshold": THRESHOLD,
        "answered": {
            kind: {"share": round(float((held_out[kinds == kind] >= THRESHOLD).mean()), 3), "n": int((kinds == kind).sum())}
            for kind in sorted(set(kinds))
        },
    }


def _measure(
    rows: Sequence[dict[str, Any]], open_reader: Callable[[Language], IndexReader], embedder: Embedder, progress: Counted
) -> list[Measured]:
    """Run each question through the answering line as far as coverage."""
    interpreter = Interpreter()
    expander = Expander({language: Lexicon.load(language) for language in Language})
    search = Search(Retriever(open_reader, embedder))
    judges = {language: PageJudge(language) for language in Language}
    measured = []
    for number, row in enumerate(rows, start=1):
        interpretation = interpreter.interpret(Question(text=row["text"], language=Language(row["lang"])))
        reader = open_reader(interpretation.language).calibrated(None)  # the bank holds some of these very questions
        query = expander.expand(interpretation)
        vectors = embedder.embed_queries([query.question, *query.expansions])
        hits = search.find(query, reader, list(vectors))
        if hits:
            judged = judges[interpretation.language].page(interpretation, hits, reader, vectors[0], expansions=query.expansions)
            measured.append(Measured(kind=_kind(row, judged.page[0].chunk.topic), signs=judged.signs))
        progress("questions", number, len(rows))
    return measured


def _kind(row: dict[str, Any], found: str | None) -> str:
    label: str = row.get("label", "on_topic")
    if label != "on_topic":
        return "near_miss" if "-near-" in row["id"] else label
    return "right" if row.get("topic", found) == found else "astray"
