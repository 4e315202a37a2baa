"""Fits the decision whether an index covers a question to that very index, when it is published.

The signs of `rag.coverage` mean something else in another corpus and with another embedder: how far a right page leads, how near
the nearest passage is. So questions of which it is known whether the index covers them (`rag.question_bank`) are put to it, and
a logistic regression weighs the signs. Another one tells, from the same questions, how sure it is that a page found is on their
topic. What they find is stored with the version and used for nothing else.
"""

import base64
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from rag.coverage import SIGN_NAMES, CoverageSigns, CoverageWeights
from rag.models.protocols import Vectors
from rag.question_bank import AnsweredBank
from rag.similarity import SimilaritySigns, SimilarityWeights

_RIDGE = 1.0  # as scikit-learn's C = 1
_ROUNDS = 30
_CLOSE = 1e-8

# Of questions that the index covers, one in twenty may be refused; a wrong answer to another one is worse than that.
_REFUSED_SHARE = 0.05
_LOWEST, _HIGHEST = 0.15, 0.5

Labels = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """What was fitted to one version of an index: how its signs are weighed, from which probability on it answers, its bank.

    `digest` names the questions of the bank, which come first in it, so that their vectors serve the next version too. `pages`
    names the pages that it was fitted to: a version holds on to the last one's until it has its own.
    `similarity` is None where an earlier release fitted it.
    """

    weights: CoverageWeights
    threshold: float
    bank: AnsweredBank
    digest: str
    pages: str = ""
    similarity: SimilarityWeights | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstPages:
    """What was found first for a question: what tells of each page, and whether it is on the topic."""

    signs: Sequence[SimilaritySigns]
    is_right: Sequence[bool]
    is_covered: bool  # whether the index has any page on the question's topic


def fitted_weights(signs: Sequence[CoverageSigns], is_right: Labels) -> CoverageWeights:
    """Fit a logistic regression in which right questions and all others weigh the same in sum (Newton's method, ridge).

    Each question is also fitted as if the word lists knew none of its words: they were written with some corpus in sight, and
    what patients write escapes them more often.

    Raises:
        ValueError: If all questions are right, or none is.
    """
    if is_right.all() or not is_right.any():
        raise ValueError("questions of both kinds are needed")
    escaped = [replace(sign, elsewhere=0.0) for sign in signs]
    unknown = [replace(sign, translated=0.0, unnamed=0.0) for sign in signs]
    figures = np.array([sign.figures for sign in (*signs, *escaped, *unknown)], dtype=np.float64)
    target = np.concatenate([is_right] * 3).astype(np.float64)
    found = _logistic(figures, target, _evened(target == 1.0))
    return CoverageWeights(weights=tuple(float(weight) for weight in found[:-1]), constant=float(found[-1]))


def fitted_similarity(asked: Sequence[FirstPages]) -> SimilarityWeights | None:
    """Fit how sure it is that a page found is on a question's topic (Platt 1999), as if half of all questions were covered.

    Returns:
        None where no page found is on the topic, or every one is.
    """
    share = _evened(np.array([one.is_covered for one in asked], dtype=np.bool_))
    shares = np.repeat(share, [len(one.signs) for one in asked])
    target = np.array([right for one in asked for right in one.is_right], dtype=np.float64)
    if target.all() or not target.any():
        return None
    figures = np.array([(signs.coverage, signs.behind) for one in asked for signs in one.signs], dtype=np.float64)
    coverage, behind, constant = _logistic(figures, target, shares)
    return SimilarityWeights(coverage=float(coverage), behind=float(behind), constant=float(constant))


def chosen_threshold(weights: CoverageWeights, signs: Sequence[CoverageSigns], is_right: Labels) -> float:
    """The probability that all but one in twenty of the right questions reach, within bounds that hold for any index."""
    reached = np.sort([weights.probability(sign) for sign, right in zip(signs, is_right, strict=True) if right])
    at = reached[int(_REFUSED_SHARE * len(reached))]
    return float(min(max(at, _LOWEST), _HIGHEST))


def _evened(is_first: Labels) -> npt.NDArray[np.float64]:
    """Weights with which questions of two kinds weigh the same in sum."""
    count = int(is_first.sum())
    return len(is_first) / (2.0 * np.where(is_first, count, len(is_first) - count))


def _logistic(
    figures: npt.NDArray[np.float64], target: npt.NDArray[np.float64], share: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """Coefficients of a logistic regression and its constant, which comes last (Newton's method, ridge)."""
    columns = np.hstack([figures, np.ones((len(figures), 1))])
    ridge = np.diag([_RIDGE] * figures.shape[1] + [0.0])
    found = np.zeros(columns.shape[1])
    for _ in range(_ROUNDS):
        probability = 1.0 / (1.0 + np.exp(-columns @ found))
        gradient = columns.T @ (share * (probability - target)) + ridge @ found
        curvature = (columns * (share * probability * (1.0 - probability))[:, None]).T @ columns + ridge
        step = np.linalg.solve(curvature, gradient)
        found -= step
        if float(np.abs(step).max()) < _CLOSE:
            break
    return found


def encode(calibration: Calibration | None) -> dict[str, Any] | None:
    """Write a calibration as plain values."""
    if calibration is None:
        return None
    vectors = calibration.bank.vectors.astype(np.float16)
    return {
        "weights": dict(zip(SIGN_NAMES, calibration.weights.weights, strict=True)),
        "constant": calibration.weights.constant,
        "threshold": calibration.threshold,
        "similarity": None if calibration.similarity is None else asdict(calibration.similarity),
        "digest": calibration.digest,
        "pages": calibration.pages,
        "labels": [int(label) for label in calibration.bank.labels],
        "uncovered": sorted(sorted(name) for name in calibration.bank.uncovered),
        "vectors": base64.b64encode(vectors.tobytes()).decode("ascii"),
    }


def decode(written: dict[str, Any] | None) -> Calibration | None:
    """Read what `encode` wrote; None for a damaged one or one of another release, with other signs: it is then fitted anew."""
    try:
        found = None if written is None or tuple(written["weights"]) != SIGN_NAMES else _decoded(written)
    except (KeyError, TypeError, ValueError):
        return None
    return found


def _decoded(written: dict[str, Any]) -> Calibration:
    labels = np.array(written["labels"], dtype=np.int8)
    vectors: Vectors = np.frombuffer(base64.b64decode(written["vectors"]), np.float16).astype(np.float32)
    similarity = written.get("similarity")
    return Calibration(
        weights=CoverageWeights(
            weights=tuple(float(weight) for weight in written["weights"].values()), constant=float(written["constant"])
        ),
        threshold=float(written["threshold"]),
        digest=written["digest"],
        pages=written.get("pages", ""),
        similarity=None if similarity is None else SimilarityWeights(**similarity),
        bank=AnsweredBank(
            vectors=vectors.reshape(len(labels), -1),
            labels=labels,
            uncovered=frozenset(frozenset(name) for name in written["uncovered"]),
        ),
    )
