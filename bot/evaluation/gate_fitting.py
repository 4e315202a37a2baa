"""Fits the red-flag classifier to the phrases and stories that ship with the project (`make gate`).

Needs scikit-learn, the bot does not.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold, StratifiedGroupKFold
from sklearn.neural_network import MLPClassifier

from bot.evaluation.gate_phrases import NO_CATEGORY, URGENT_PART, Phrase, read_everyday, read_phrases, read_stories
from bot.progress import Counted
from bot.red_flag_classifier import (
    CLASSIFIER_FILE,
    FittedWeights,
    Floats,
    message_odds,
    normalised,
    overlapping,
    sentences,
    story_view,
    windows,
)
from bot.red_flag_features import COLUMNS, spelling
from rag.models.protocols import Embedder

_FALSE_ALARMS = 0.03  # of the harmless phrases, most of which were written to be mistaken
_FOLDS = 5
_NEIGHBOURS = 10  # held out together
_HIDDEN = 128
_NETWORKS = 3  # trained apart and joined: their mistakes differ
_BATCH = 64
_SEED = 0
_STORY_FOLDS = 6
_STORY_SHRINKING = 1e-3  # few stories for as many numbers as an embedding has
_MARK = "\0"  # before each word of an urgent part
_MOSTLY = 0.6  # of the piece is urgent, or of the urgent words stand in it


def fit_gate(embedder: Embedder, progress: Counted, path: Path = CLASSIFIER_FILE) -> dict[str, Any]:
    """Fit the classifier and write it.

    The threshold lets through three in a hundred harmless phrases, told by models that had not seen them. For a long message even
    odds are enough.

    Returns:
        Figures on held-out phrases and stories: recall and false alarms, the threshold, and how many phrases there are.
    """
    written = read_phrases()
    phrases = [*written, *read_everyday()]
    urgent = np.array([phrase.urgent for phrase in phrases])
    vectors = _embedded(phrases, embedder, progress)
    mean = vectors.mean(axis=0)
    scale = float((vectors - mean).std())
    meaning = (vectors - mean) / scale
    counted = [spelling(phrase.text) for phrase in phrases]
    idf = _idf([columns for columns, _ in counted])
    matrix = _matrix(counted, idf)

    groups = _groups(phrases)
    held_out = np.zeros((len(phrases), 2))
    folds = StratifiedGroupKFold(n_splits=_FOLDS, shuffle=True, random_state=_SEED).split(matrix, urgent, groups)
    for number, (train, rest) in enumerate(folds, start=1):
        held_out[rest, 0] = _by_spelling(matrix[train], urgent[train]).decision_function(matrix[rest])
        held_out[rest, 1] = _log_odds(_by_meaning(meaning[train], urgent[train]), meaning[rest])
        progress("folds", number, _FOLDS)
    mixture = LogisticRegression(C=1.0).fit(held_out, urgent)
    probability = mixture.predict_proba(held_out)[:, 1]
    told = np.arange(len(phrases)) < len(written)
    threshold = float(np.quantile(probability[~urgent & told], 1 - _FALSE_ALARMS))

    speller = _by_spelling(matrix, urgent)
    networks = _by_meaning(meaning, urgent)
    named = urgent & np.array([phrase.category != NO_CATEGORY for phrase in phrases])
    categories = LogisticRegression(C=1.0, max_iter=500).fit(
        meaning[named], np.array([phrase.category for phrase in phrases])[named]
    )
    values: dict[str, Any] = dict(
        idf=idf.astype(np.float16),
        spelling=speller.coef_[0].astype(np.float16),
        spelling_bias=np.float32(speller.intercept_[0]),
        mean=mean.astype(np.float32),
        scale=np.float32(scale),
        hidden=np.concatenate([network.coefs_[0] for network in networks], axis=1).astype(np.float16),
        hidden_bias=np.concatenate([network.intercepts_[0] for network in networks]).astype(np.float32),
        output=(np.concatenate([network.coefs_[1][:, 0] for network in networks]) / _NETWORKS).astype(np.float32),
        output_bias=np.float32(np.mean([network.intercepts_[1][0] for network in networks])),
        mixture=np.array([*mixture.coef_[0], mixture.intercept_[0]], dtype=np.float32),
        category=categories.coef_.T.astype(np.float16),
        category_bias=categories.intercept_.astype(np.float32),
        categories=np.array(categories.classes_),
        threshold=np.float32(threshold),
        embedder=np.array(embedder.fingerprint),
    )
    story, of_stories = fit_stories(values, embedder, progress)
    np.savez_compressed(path, **values, **story)
    return {
        "phrases": len(phrases),
        "urgent": int(urgent.sum()),
        "held_out_recall": round(float((probability[urgent] >= threshold).mean()), 4),
        "held_out_false_alarms": round(float((probability[~urgent] >= threshold).mean()), 4),
        "threshold": round(threshold, 4),
        **of_stories,
    }


def fit_stories(values: dict[str, Any], embedder: Embedder, progress: Counted) -> tuple[dict[str, Any], dict[str, Any]]:
    """Learn from whole stories what a piece of a long message means, given what was fitted to phrases.

    Returns:
        What joins `values` in the file, and figures on held-out stories.
    """
    stories = read_stories()
    nothing = {"story": np.zeros(len(values["mean"]) + 2, np.float32), "story_bias": np.float32(0)}
    weights = FittedWeights.of({**values, **nothing})
    told = []
    for number, story in enumerate(stories, start=1):
        told.append(_Told.of(story, weights, embedder))
        progress("stories embedded", number, len(stories))
    odds = np.zeros(len(told))
    groups = [number // _NEIGHBOURS for number in _places(stories)]
    for train, rest in GroupKFold(_STORY_FOLDS).split(told, groups=groups):
        fitted = _by_story([told[one] for one in train])
        for one in rest:
            odds[one] = told[one].odds(fitted)
    fitted = _by_story(told)
    urgent = np.array([story.urgent for story in stories])
    return (
        {"story": fitted.coef_[0].astype(np.float32), "story_bias": np.float32(fitted.intercept_[0])},
        {
            "stories": len(stories),
            "held_out_story_recall": round(float((odds[urgent] >= 0).mean()), 4),
            "held_out_story_false_alarms": round(float((odds[~urgent] >= 0).mean()), 4),
        },
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Told:
    """A story in pieces: what is weighed of each, and how much of it is urgent (one too mixed teaches nothing)."""

    read: Floats  # of the pieces that the bot reads
    stretches: int  # of thirty words, the first of these
    learned: Floats  # of those to learn from: more stretches, overlapping
    share: Floats

    @classmethod
    def of(cls, story: Phrase, weights: FittedWeights, embedder: Embedder) -> "_Told":
        marked = URGENT_PART.sub(lambda part: " ".join(_MARK + word for word in part[1].split()), story.text)
        stretches = len(windows(marked))
        read = [*windows(marked), *sentences(marked)]
        learned = [*overlapping(marked.lower().split()), *sentences(marked)]
        in_all = max(marked.count(_MARK), 1)

        def view(parts: Sequence[str]) -> Floats:
            pieces = [part.replace(_MARK, "") for part in parts]
            return story_view(pieces, embedder.embed_queries(pieces), weights)

        share = np.array([part.count(_MARK) / min(len(part.split()), in_all) for part in learned], dtype=np.float32)
        return cls(read=view(read), stretches=stretches, learned=view(learned), share=share)

    def odds(self, fitted: Any) -> float:  # noqa: ANN401
        return message_odds(fitted.decision_function(self.read), self.stretches)


def _by_story(told: Sequence[_Told]) -> Any:  # noqa: ANN401 - scikit-learn is untyped
    share = np.concatenate([one.share for one in told])
    clear = (share == 0) | (share >= _MOSTLY)
    view = np.concatenate([one.learned for one in told])[clear]
    return LogisticRegression(C=_STORY_SHRINKING, class_weight="balanced", max_iter=500).fit(view, share[clear] > 0)


def _places(phrases: Sequence[Phrase]) -> list[int]:
    """The place of each in its own language: the same authors thought of the same scenes in both."""
    place: Counter[str] = Counter()
    places = []
    for phrase in phrases:
        places.append(place[phrase.language])
        place[phrase.language] += 1
    return places


def _groups(phrases: Sequence[Phrase]) -> npt.NDArray[np.str_]:
    """Neighbours in the file, and their counterparts in the other language: the same authors thought of the same scenes."""
    place: Counter[tuple[str, str, bool]] = Counter()
    groups = []
    for phrase in phrases:
        key = (phrase.language, phrase.category, phrase.urgent)
        groups.append(f"{phrase.category} {phrase.urgent} {place[key] // _NEIGHBOURS}")
        place[key] += 1
    return np.array(groups)


def _embedded(phrases: Sequence[Phrase], embedder: Embedder, progress: Counted) -> Floats:
    parts = []
    for start in range(0, len(phrases), _BATCH):
        parts.append(embedder.embed_queries([phrase.text.lower() for phrase in phrases[start : start + _BATCH]]))
        progress("phrases embedded", min(start + _BATCH, len(phrases)), len(phrases))
    return np.concatenate(parts)


def _idf(columns: Sequence[Any]) -> Floats:
    frequency = np.zeros(COLUMNS)
    for one in columns:
        frequency[one] += 1
    return (np.log((1 + len(columns)) / (1 + frequency)) + 1).astype(np.float32)


def _matrix(counted: Sequence[tuple[Any, Any]], idf: Floats) -> Any:  # noqa: ANN401 - scipy is untyped
    values = [normalised(columns, weights * idf[columns]) for columns, weights in counted]
    ends = np.cumsum([0, *(len(columns) for columns, _ in counted)])
    return csr_matrix(
        (np.concatenate(values), np.concatenate([columns for columns, _ in counted]), ends), shape=(len(counted), COLUMNS)
    )


def _by_spelling(matrix: Any, urgent: Any) -> Any:  # noqa: ANN401 - scikit-learn is untyped
    return LogisticRegression(C=30.0, max_iter=2000, class_weight="balanced").fit(matrix, urgent)


def _by_meaning(meaning: Any, urgent: Any) -> list[Any]:  # noqa: ANN401
    return [
        MLPClassifier(
            (_HIDDEN,), alpha=1e-2, early_stopping=True, n_iter_no_change=8, max_iter=60, random_state=_SEED + number
        ).fit(meaning, urgent)
        for number in range(_NETWORKS)
    ]


def _log_odds(networks: Sequence[Any], meaning: Any) -> Any:  # noqa: ANN401
    """Mean of the networks' log odds: what `meaning_score` computes from the joined weights."""
    scores = []
    for network in networks:
        hidden = np.maximum(meaning @ network.coefs_[0] + network.intercepts_[0], 0.0)
        scores.append(hidden @ network.coefs_[1][:, 0] + network.intercepts_[1][0])
    return np.mean(scores, axis=0)
