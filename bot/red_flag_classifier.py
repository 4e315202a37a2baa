"""A second reading of what no rule recognised: learned from phrases that patients may write.

The phrases are data that a clinician can read and extend (`locales/{it,es}/red_flag_phrases.tsv`); `make gate` fits
`locales/red_flag_classifier.npz` to them. Two views of a message are weighed: its spelling (hashed word and letter groups,
which know slang and typing errors) and its meaning (the packaged embedder, which knows paraphrases). Figures: docs/adr/0010.

A long message is divided twice, by its sentences and by thirty words: every word is read in two contexts, and the mean of what
alarms most in either decides. What a piece means inside a story was learned from whole stories
(`locales/{it,es}/red_flag_stories.tsv`; docs/adr/0018).
"""

import re
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
import numpy.typing as npt

import locales
from bot.red_flag_features import COLUMNS, spelling
from rag.look_alikes import in_latin
from rag.models.protocols import Embedder

CLASSIFIER_FILE = Path(locales.__file__).parent / "red_flag_classifier.npz"
_FEWEST_WORDS = 3  # "no", "mi scusi", "en casa" say nothing by themselves: the rules read them, and the joined message
_WINDOW_WORDS = 30  # a long story is read in pieces: the sign stands in one sentence of it
_STEP_WORDS = 15
_MOST_PIECES = 32  # of each division: four to nine hundred words
_SENTENCE_WORDS = 25  # short sentences are joined up to so many: "Sangra mucho." needs the one before it
_FEWEST_ALONE = 8  # words: what is left at the end is joined to the piece before it
_EVEN_ODDS = 0.5  # from which on a long message is urgent
_SPELLING_SCALE = 2.0  # log odds by spelling are the smaller ones
_SENTENCE_END = re.compile(r"(?<=[.!?;…])\s+|\n+")
_HARMLESS = 0.05  # no true emergency of the development phrases that a rule finds in five words or more sounds less urgent
_FEWEST_TO_OVERRULE = 5  # words: "mezzo corpo addormentato" is too little to be sure that it is harmless

Floats = npt.NDArray[np.float32]


class ClassifierDataError(Exception):
    """The fitted file is missing, malformed, or made for another embedder."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspicion:
    """How urgent a message sounds, 0 to 1, and the category that it sounds most like.

    Between urgent and harmless lies what the rules decide alone.
    """

    probability: float
    category: str
    is_urgent: bool
    is_harmless: bool
    category_share: float = 1.0  # how sure the category is, 0 to 1


@dataclass(frozen=True, slots=True, kw_only=True)
class FittedWeights:
    """Everything that was fitted. Shapes: n columns of spelling, d dimensions of meaning, h hidden units, c categories."""

    idf: Floats  # (n,)
    spelling: Floats  # (n,)
    spelling_bias: float
    mean: Floats  # (d,)
    scale: float
    hidden: Floats  # (d, h)
    hidden_bias: Floats  # (h,)
    output: Floats  # (h,)
    output_bias: float
    mixture: Floats  # (3,): of spelling, of meaning, constant
    category: Floats  # (d, c)
    category_bias: Floats  # (c,)
    story: Floats  # (d + 2,): of a piece of a long message: of its log odds by spelling and by meaning, and of its meaning itself
    story_bias: float
    categories: tuple[str, ...]
    threshold: float
    embedder: str

    @classmethod
    def load(cls, path: Path = CLASSIFIER_FILE) -> "FittedWeights":
        """Read the file that `make gate` wrote.

        Raises:
            ClassifierDataError: If it is missing or malformed.
        """
        try:
            with path.open("rb") as file, np.load(file, allow_pickle=False) as data:
                values = {name: data[name] for name in data.files}
            weights = cls.of(values)
        except (OSError, EOFError, BadZipFile, zlib.error, ValueError, KeyError, TypeError) as error:
            raise ClassifierDataError(f"{path.name} cannot be used ({type(error).__name__}): run `make gate`.") from error
        if not weights.fits_together:
            raise ClassifierDataError(f"{path.name} was made by another release: run `make gate`.")
        return weights

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> "FittedWeights":
        """The weights that stand in a file as `values`."""
        arrays = {name: value.astype(np.float32) for name, value in values.items() if value.ndim and value.dtype.kind == "f"}
        numbers = {name: float(value) for name, value in values.items() if not value.ndim and value.dtype.kind == "f"}
        return cls(
            **arrays,
            **numbers,  # type: ignore[arg-type]
            categories=tuple(str(name) for name in values["categories"]),
            embedder=str(values["embedder"]),
        )

    @property
    def fits_together(self) -> bool:
        """Whether every array has the shape that this release reads, and every figure is one."""
        d, h, c = len(self.mean), len(self.output), len(self.categories)
        shapes = {
            "idf": (COLUMNS,), "spelling": (COLUMNS,), "mean": (d,), "hidden": (d, h), "hidden_bias": (h,),
            "output": (h,), "mixture": (3,), "category": (d, c), "category_bias": (c,),
            "story": (d + 2,),
        }  # fmt: skip
        return c > 0 and all(
            (array := getattr(self, name)).shape == shape and bool(np.isfinite(array).all()) for name, shape in shapes.items()
        )


class RedFlagClassifier:
    """Reads a message twice, by spelling and by meaning. Not for the event loop: a reading takes some tens of milliseconds."""

    def __init__(self, weights: FittedWeights, embedder: Embedder) -> None:
        """Put weights and embedder together.

        Raises:
            ClassifierDataError: If the weights were fitted with another embedder.
        """
        if embedder.fingerprint != weights.embedder:
            raise ClassifierDataError(f"The red-flag classifier was fitted with {weights.embedder}: run `make gate`.")
        self._weights = weights
        self._embedder = embedder

    def read(self, text: str) -> Suspicion:
        """What a message sounds like. One of fewer than three words is neither urgent nor harmless."""
        text = in_latin(text)
        stretches = windows(text)
        if not stretches:
            return Suspicion(probability=0.5, category="", category_share=0.0, is_urgent=False, is_harmless=False)
        told = sentences(text) if len(stretches) > 1 else []
        pieces = [*stretches, *told]
        vectors = self._embedder.embed_queries(pieces)
        scores = [self.probability(piece, vector) for piece, vector in zip(pieces, vectors, strict=True)]
        worst = int(np.argmax(scores))
        probability, threshold = scores[worst], self._weights.threshold
        if told:
            odds = story_odds(pieces, vectors, self._weights)
            worst = len(stretches) + int(np.argmax(odds[len(stretches) :]))
            probability, threshold = _probable(message_odds(odds, len(stretches))), _EVEN_ODDS
        centred = (vectors[worst] - self._weights.mean) / self._weights.scale
        likeness = centred @ self._weights.category + self._weights.category_bias
        shares = np.exp(likeness - likeness.max())
        return Suspicion(
            probability=probability,
            category=self._weights.categories[int(np.argmax(likeness))],
            category_share=float(shares.max() / shares.sum()),
            is_urgent=probability >= threshold,
            is_harmless=max(scores) < _HARMLESS and len(text.split()) >= _FEWEST_TO_OVERRULE,
        )

    def probability(self, text: str, vector: Floats) -> float:
        """How urgent a piece of text sounds, 0 to 1; `vector` is its embedding as a query."""
        weights = self._weights
        sign = float(weights.mixture[0] * spelling_score(text, weights) + weights.mixture[1] * meaning_score(vector, weights))
        return _probable(sign + float(weights.mixture[2]))


def story_odds(pieces: Sequence[str], vectors: Floats, weights: FittedWeights) -> Floats:
    """Log odds that a piece of a long message is its urgent part; `vectors` are the embeddings of the pieces as queries."""
    odds: Floats = story_view(pieces, vectors, weights) @ weights.story + weights.story_bias
    return odds


def story_view(pieces: Sequence[str], vectors: Floats, weights: FittedWeights) -> Floats:
    """What is weighed of a piece of a long message, a row each: log odds by spelling and by meaning, and the meaning itself."""
    by_spelling = [_SPELLING_SCALE * spelling_score(piece, weights) for piece in pieces]
    by_meaning = [meaning_score(vector, weights) for vector in vectors]
    meaning = (vectors - weights.mean) / weights.scale
    return np.column_stack([by_spelling, by_meaning, meaning]).astype(np.float32)


def message_odds(odds: Floats, stretches: int) -> float:
    """Log odds of a long message from those of its pieces, stretches of thirty words first: the mean of both divisions' worst."""
    return float(odds[:stretches].max() + odds[stretches:].max()) / 2


def _probable(log_odds: float) -> float:
    return float(1.0 / (1.0 + np.exp(-log_odds)))


def spelling_score(text: str, weights: FittedWeights) -> float:
    """Log odds by spelling: hashed words and letter groups, weighted by rarity, each half of length one."""
    columns, counts = spelling(text)
    values = normalised(columns, counts * weights.idf[columns])
    return float(values @ weights.spelling[columns]) + weights.spelling_bias


def normalised(columns: npt.NDArray[np.int64], values: Floats) -> Floats:
    """Scale letter groups and word groups to length one each, so that a long message does not outweigh a short one."""
    scaled = values.copy()
    is_word = columns >= COLUMNS // 2
    for part in (is_word, ~is_word):
        length = float(np.linalg.norm(values[part]))
        if length:
            scaled[part] /= length
    return scaled


def meaning_score(vector: Floats, weights: FittedWeights) -> float:
    """Log odds by meaning: one hidden layer over the embedding."""
    hidden = np.maximum((vector - weights.mean) / weights.scale @ weights.hidden + weights.hidden_bias, 0.0)
    return float(hidden @ weights.output) + weights.output_bias


def windows(text: str) -> list[str]:
    """A message in lower case, in pieces of thirty words if it is longer; empty if it has too few words to judge."""
    words = text.lower().split()
    if sum(any(letter.isalnum() for letter in word) for word in words) < _FEWEST_WORDS:
        return []
    if len(words) <= _WINDOW_WORDS + _STEP_WORDS:
        return [" ".join(words)]
    return _joined(overlapping(words, _WINDOW_WORDS))


def sentences(text: str) -> list[str]:
    """A long message in lower case, by its sentences: short ones joined, endless ones in overlapping pieces of thirty words."""
    pieces: list[str] = []
    joined: list[str] = []
    for sentence in _SENTENCE_END.split(text.lower()):
        words = sentence.split()
        runs_on = len(words) > _WINDOW_WORDS + _STEP_WORDS
        if joined and (runs_on or len(joined) + len(words) > _SENTENCE_WORDS):
            pieces.append(" ".join(joined))
            joined = []
        if runs_on:
            pieces += overlapping(words)
        else:
            joined += words
    if pieces and len(joined) < _FEWEST_ALONE:
        pieces[-1] = " ".join([pieces[-1], *joined])
    else:
        pieces.append(" ".join(joined))
    return _joined(pieces)


def overlapping(words: Sequence[str], step: int = _STEP_WORDS) -> list[str]:
    """Pieces of thirty words, one every `step` words; the last has more than fifteen."""
    starts = list(range(0, len(words) - _STEP_WORDS, step))
    if starts[-1] + _WINDOW_WORDS < len(words):
        starts.append(starts[-1] + _STEP_WORDS)
    return [" ".join(words[start : start + _WINDOW_WORDS]) for start in starts]


def _joined(pieces: list[str]) -> list[str]:
    """The pieces, neighbours joined until no more are left than are read: nothing goes unread."""
    while len(pieces) > _MOST_PIECES:
        pieces = [" ".join(pieces[place : place + 2]) for place in range(0, len(pieces), 2)]
    return pieces
