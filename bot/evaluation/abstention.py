"""Measures how well the coverage decision parts questions that an index answers from others, and whether its figures hold.

A covered question counts as such only if its own page is found best: what another page says would be no answer to it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bot.evaluation.shipped import read_lines
from bot.progress import Counted
from locales.language import Language
from rag.answerer import OpenReader
from rag.coverage import THRESHOLD, WEIGHTS
from rag.evaluation.probabilities import area_under_roc, brier_score, calibration_error, reliability, roc_curve, share_reaching
from rag.expander import Expander, Lexicon
from rag.index_reader import IndexReader
from rag.interpreter import Interpreter
from rag.models.protocols import Embedder
from rag.page_judge import PageJudge
from rag.retriever import Retriever
from rag.search import Search
from rag.types import Question

RIGHT, ASTRAY = "right", "astray"
"""A covered question whose page was found best, and one that another page would answer."""

OTHERS = ("near_miss", "off_topic")
"""Questions that no page answers, as their sets label them."""

_FIRST_PAGES = 5  # whose similarity is looked at
_THRESHOLDS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7)


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A question's kind and probability of coverage, whether it is answered, and for its first pages (similarity, is right)."""

    question_id: str
    kind: str
    probability: float
    is_covered: bool
    similarities: Sequence[tuple[float, bool]]


def evaluate_abstention(
    covered: Sequence[Path], others: Sequence[Path], open_reader: OpenReader, embedder: Embedder, progress: Counted
) -> dict[str, Any]:
    """Judge each question as the answering line does, each language by its own published index and calibration.

    Args:
        covered: Files of lines ``{id, lang, topic, text}``; `topic` names the page.
        others: Files of lines ``{id, lang, label, text}`` that no page answers, `near_miss` or `off_topic`.
        open_reader: Gives the index of a language.
        embedder: The one of the index.
        progress: Told how far it is.

    Returns:
        `languages`, a row each: numbers of questions by kind; the area under the ROC of those answered by their own page against
        each kind of others, with 95 % intervals, and the curves; what is answered at the index's threshold and at others, by
        kind; reliability, Brier score and expected calibration error of coverage and similarity; and the ids of questions
        refused or answered wrongly.

    Raises:
        SetUnreadable: If a file is not of that form.
        StoreError: If a language has not been published.
        ValueError: If a language has no question of a kind.
    """
    rows = [row for path in covered for row in read_lines(path, "id", "lang", "topic", "text")]
    rows += [row for path in others for row in read_lines(path, "id", "lang", "label", "text")]
    judging = Judging(open_reader, embedder)
    judged: dict[Language, list[Judged]] = {}
    for number, row in enumerate(rows, start=1):
        language = Language(row["lang"])
        judged.setdefault(language, []).append(judging.judge(row, language))
        progress("abstention", number, len(rows))
    return {
        "about": {"embedder": embedder.fingerprint, "questions": len(rows)},
        "languages": [_figures(one, judged[one], open_reader(one)) for one in Language if one in judged],
    }


class Judging:
    """Runs questions through the answering line as far as the decision whether the index covers them."""

    def __init__(self, open_reader: OpenReader, embedder: Embedder) -> None:
        self._open_reader = open_reader
        self._embedder = embedder
        self._interpreter = Interpreter()
        self._expander = Expander({language: Lexicon.load(language) for language in Language})
        self._search = Search(Retriever(open_reader, embedder))
        self._judges = {language: PageJudge(language) for language in Language}

    def judge(self, row: Mapping[str, Any], language: Language) -> Judged:
        """Judge one question of a set; one for which nothing is found is not covered."""
        reader, judge = self._open_reader(language), self._judges[language]
        interpretation = self._interpreter.interpret(Question(text=row["text"], language=language))
        query = self._expander.expand(interpretation)
        vectors = list(self._embedder.embed_queries([query.question, *query.expansions]))
        hits = self._search.find(query, reader, vectors)
        if not hits:
            return Judged(question_id=row["id"], kind=_kind(row, None), probability=0.0, is_covered=False, similarities=())
        judged = judge.page(interpretation, hits, reader, vectors[0], expansions=query.expansions)
        weights = reader.calibration.weights if reader.calibration else WEIGHTS
        topics = {hit.chunk.document_id: hit.chunk.topic for hit in hits}
        similarities = list(judge.similarities(judged, hits, reader).items())[:_FIRST_PAGES]
        return Judged(
            question_id=row["id"],
            kind=_kind(row, judged.page[0].chunk.topic),
            probability=weights.probability(judged.signs),
            is_covered=judge.covers(judged, reader, interpretation.intent),
            similarities=[(told, row.get("topic") in {topics[page]} - {None}) for page, told in similarities],
        )


def _kind(row: Mapping[str, Any], found: str | None) -> str:
    label = row.get("label")
    if label in OTHERS:
        return str(label)
    return RIGHT if found is not None and row.get("topic") == found else ASTRAY


def _figures(language: Language, judged: Sequence[Judged], reader: IndexReader) -> dict[str, Any]:
    probabilities = {kind: [one.probability for one in judged if one.kind == kind] for kind in (RIGHT, ASTRAY, *OTHERS)}
    areas = {kind: area_under_roc(probabilities[RIGHT], probabilities[kind]) for kind in OTHERS}
    threshold = reader.calibration.threshold if reader.calibration else THRESHOLD
    at_thresholds = [_answered(probabilities, at) for at in sorted({*_THRESHOLDS, threshold})]
    similarities = [pair for one in judged for pair in one.similarities]
    return {
        "language": language.value,
        "is_calibrated": reader.calibration is not None,
        "questions": {kind: len(found) for kind, found in probabilities.items()},
        "auc": {
            kind: {"area": round(one.area, 4), "low": round(one.low, 4), "high": round(one.high, 4)}
            for kind, one in areas.items()
        },
        "threshold": round(threshold, 4),
        "decided": _decided(judged),
        "at_thresholds": at_thresholds,
        "chosen": {
            kind: [round(share_reaching(probabilities[which], threshold), 4) for which in (kind, RIGHT)] for kind in OTHERS
        },
        "roc": {
            kind: [[round(x, 4), round(y, 4)] for x, y in roc_curve(probabilities[RIGHT], probabilities[kind])] for kind in OTHERS
        },
        "reliability": {
            "coverage": _reliability([(one.probability, one.kind == RIGHT) for one in judged]),
            "similarity": _reliability(similarities),
        },
        "wrong": {
            "refused": sorted(one.question_id for one in judged if one.kind == RIGHT and not one.is_covered),
            "answered": sorted(one.question_id for one in judged if one.kind != RIGHT and one.is_covered),
        },
    }


def _answered(probabilities: Mapping[str, Sequence[float]], threshold: float) -> dict[str, float]:
    shares = {kind: round(share_reaching(found, threshold), 4) for kind, found in probabilities.items()}
    return {"threshold": round(threshold, 4), **shares}


def _decided(judged: Sequence[Judged]) -> dict[str, float]:
    """Shares answered by the decision itself, which asks less of who asks for a dose."""
    shares = {}
    for kind in (RIGHT, ASTRAY, *OTHERS):
        answered = [one.is_covered for one in judged if one.kind == kind]
        shares[kind] = round(sum(answered) / len(answered), 4) if answered else 0.0
    return shares


def _reliability(pairs: Sequence[tuple[float, bool]]) -> dict[str, Any]:
    probabilities, outcomes = [told for told, _ in pairs], [came_true for _, came_true in pairs]
    bins = reliability(probabilities, outcomes)
    return {
        "n": len(pairs),
        "brier": round(brier_score(probabilities, outcomes), 4),
        "ece": round(calibration_error(bins), 4),
        "bins": [{"n": one.n, "predicted": round(one.predicted, 4), "observed": round(one.observed, 4)} for one in bins],
    }
