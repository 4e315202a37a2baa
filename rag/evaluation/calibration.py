"""Fits the coefficients of `rag.coverage` on labelled questions, and tells how well they refuse and answer questions held out."""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import astuple, dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from locales.language import Language
from rag.coverage import CoverageSigns, CoverageWeights, coverage_signs
from rag.expander import Expander, Lexicon
from rag.index_reader import IndexReader
from rag.interpreter import Interpreter
from rag.models.protocols import Embedder
from rag.reranker import Reranker
from rag.retriever import Retriever
from rag.types import Question

_Matrix = npt.NDArray[np.float64]

_RIDGE = 1.0  # 520 questions, ten signs: without it single questions decide coefficients
_STEPS = 50
_FOLDS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledQuestion:
    """A question and whether the starter corpus covers it."""

    text: str
    language: Language
    is_covered: bool
    label: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """Fitted coefficients; the shares are of questions that the fit had not seen."""

    weights: CoverageWeights
    refused: float
    answered: float
    missed: tuple[str, ...]


def read_questions(paths: Iterable[Path]) -> list[LabelledQuestion]:
    """Read JSON lines of `{lang, label, text}`; only the label `on_topic` is covered."""
    rows = [json.loads(line) for path in paths for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    return [
        LabelledQuestion(
            text=row["text"], language=Language(row["lang"]), is_covered=row["label"] == "on_topic", label=row["label"]
        )
        for row in rows
    ]


def measure(
    questions: Sequence[LabelledQuestion], open_reader: Callable[[Language], IndexReader], embedder: Embedder
) -> list[CoverageSigns]:
    """Run each question through the answering line as far as coverage."""
    interpreter, reranker = Interpreter(), Reranker()
    expander = Expander({language: Lexicon.load(language) for language in Language})
    retriever = Retriever(open_reader, embedder)
    signs = []
    for question in questions:
        reader = open_reader(question.language)
        interpretation = interpreter.interpret(Question(text=question.text, language=question.language))
        query = expander.expand(interpretation)
        hits = reranker.rerank(query, retriever.retrieve(query), reader.statistics)
        nearest = reader.dense(embedder.embed_queries([interpretation.meaning])[0], 10)
        signs.append(
            coverage_signs(
                interpretation.meaning,
                question.language,
                hits=hits,
                nearest=nearest,
                statistics=reader.statistics,
                expansions=query.expansions,
            )
        )
    return signs


def fit(signs: Sequence[CoverageSigns], covered: Sequence[bool]) -> CoverageWeights:
    """Fit a logistic regression with a ridge penalty by Newton's method; covered and uncovered questions weigh the same in sum.

    Questions that are refused whatever the coefficients are left out.

    Each question is also fitted as if it had no word of another field, and as if the lists knew none of its words of health: they
    were written with these questions in sight, and new ones will more often escape them.
    """
    pairs = [(sign, is_covered) for sign, is_covered in zip(signs, covered, strict=True) if sign.may_be_covered]
    signs, covered = [sign for sign, _ in pairs], [is_covered for _, is_covered in pairs]
    escaped = [replace(sign, elsewhere=0.0) for sign in signs]
    unknown = [replace(sign, topic_named=0.0, translated=0.0, is_about_health=0.0) for sign in signs]
    matrix = np.array([[1.0, *astuple(sign)] for sign in (*signs, *escaped, *unknown)])
    target = np.array([*covered, *covered, *covered], dtype=np.float64)
    balance = np.where(target > 0, 0.5 / target.mean(), 0.5 / (1 - target.mean()))
    penalty = np.full(matrix.shape[1], _RIDGE)
    penalty[0] = 0.0
    solution = np.zeros(matrix.shape[1])
    for _ in range(_STEPS):
        probability = _sigmoid(matrix @ solution)
        gradient = matrix.T @ (balance * (target - probability)) - penalty * solution
        curvature = (matrix.T * (balance * probability * (1 - probability))) @ matrix + np.diag(penalty)
        solution = solution + np.linalg.solve(curvature, gradient)
    return CoverageWeights(weights=tuple(float(value) for value in solution[1:]), constant=float(solution[0]))


def calibrate(
    questions: Sequence[LabelledQuestion], signs: Sequence[CoverageSigns], threshold: float = 0.5, seed: int = 7
) -> Calibration:
    """Fit on all questions; judge each by coefficients fitted without its fold."""
    covered = [question.is_covered for question in questions]
    fold = np.random.default_rng(seed).permutation(len(questions)) % _FOLDS
    right: list[tuple[LabelledQuestion, bool]] = []
    for held_out in range(_FOLDS):
        seen = [place for place in range(len(questions)) if fold[place] != held_out]
        weights = fit([signs[place] for place in seen], [covered[place] for place in seen])
        for place in range(len(questions)):
            if fold[place] == held_out:
                answers = weights.probability(signs[place]) >= threshold
                right.append((questions[place], answers == covered[place]))
    return Calibration(
        weights=fit(signs, covered),
        refused=_share(good for question, good in right if not question.is_covered),
        answered=_share(good for question, good in right if question.is_covered),
        missed=tuple(f"{question.label}: {question.text}" for question, good in right if not good),
    )


def _share(values: Iterable[bool]) -> float:
    listed = list(values)
    return sum(listed) / len(listed) if listed else 0.0


def _sigmoid(values: _Matrix) -> _Matrix:
    return np.asarray(1.0 / (1.0 + np.exp(-values)), dtype=np.float64)
