"""A second reading of what no rule recognised: learned from phrases that patients may write.

The phrases are data that a clinician can read and extend (`locales/{it,es}/red_flag_phrases.tsv`); `make gate` fits
`locales/red_flag_classifier.npz` to them. Two views of a message are weighed: its spelling (hashed word and letter groups,
which know slang and typing errors) and its meaning (the packaged embedder, which knows paraphrases). Figures: docs/adr/0010.
"""

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from zipfile import BadZipFile

import numpy as np
import numpy.typing as npt

import locales
from bot.red_flag_features import COLUMNS, spelling
from rag.models.protocols import Embedder

CLASSIFIER_FILE = Path(locales.__file__).parent / "red_flag_classifier.npz"
_FEWEST_WORDS = 3  # "no", "mi scusi", "en casa" say nothing by themselves: the rules read them, and the joined message
_WINDOW_WORDS = 30  # a long story is read in overlapping pieces: the sign stands in one sentence of it
_STEP_WORDS = 15
_MOST_WINDOWS = 24
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
            arrays = {name: value.astype(np.float32) for name, value in values.items() if value.ndim and value.dtype.kind == "f"}
            numbers = {name: float(value) for name, value in values.items() if not value.ndim and value.dtype.kind == "f"}
            weights = cls(
                **arrays,
                **numbers,  # type: ignore[arg-type]
                categories=tuple(str(name) for name in values["categories"]),
                embedder=str(values["embedder"]),
            )
        except (OSError, EOFError, BadZipFile, zlib.error, ValueError, KeyError, TypeError) as error:
            raise ClassifierDataError(f"{path.name} cannot be used ({type(error).__name__}): run `make gate`.") from error
        if not weights.fits_together:
            raise ClassifierDataError(f"{path.name} was made by another release: run `make gate`.")
        return weights

    @property
    def fits_together(self) -> bool:
        """Whether every array has the shape that this release reads, and every figure is one."""
        d, h, c = len(self.mean), len(self.output), len(self.categories)
        shapes = {
            "idf": (COLUMNS,), "spelling": (COLUMNS,), "mean": (d,), "hidden": (d, h), "hidden_bias": (h,),
            "output": (h,), "mixture": (3,), "category": (d, c), "category_bias": (c,),
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
        pieces = windows(text)
        if not pieces:
            return Suspicion(probability=0.5, category="", category_share=0.0, is_urgent=False, is_harmless=False)
        vectors = self._embedder.embed_queries(pieces)
        scores = [self.probability(piece, vector) for piece, vector in zip(pieces, vectors, strict=True)]
        worst = int(np.argmax(scores))
        centred = (vectors[worst] - self._weights.mean) / self._weights.scale
        likeness = centred @ self._weights.category + self._weights.category_bias
        shares = np.exp(likeness - likeness.max())
        return Suspicion(
            probability=scores[worst],
            category=self._weights.categories[int(np.argmax(likeness))],
            category_share=float(shares.max() / shares.sum()),
            is_urgent=scores[worst] >= self._weights.threshold,
            is_harmless=scores[worst] < _HARMLESS and len(text.split()) >= _FEWEST_TO_OVERRULE,
        )

    def probability(self, text: str, vector: Floats) -> float:
        """How urgent a piece of text sounds, 0 to 1; `vector` is its embedding as a query."""
        weights = self._weights
        sign = float(weights.mixture[0] * spelling_score(text, weights) + weights.mixture[1] * meaning_score(vector, weights))
        return float(1.0 / (1.0 + np.exp(-(sign + weights.mixture[2]))))


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
    """A message in lower case, in overlapping pieces of thirty words if it is longer; empty if it has too few words to judge."""
    words = text.lower().split()
    if sum(any(letter.isalnum() for letter in word) for word in words) < _FEWEST_WORDS:
        return []
    if len(words) <= _WINDOW_WORDS + _STEP_WORDS:
        return [" ".join(words)]
    starts: Sequence[int] = range(0, len(words) - _STEP_WORDS, _STEP_WORDS)
    if len(starts) > _MOST_WINDOWS:
        starts = np.linspace(0, len(words) - _WINDOW_WORDS, _MOST_WINDOWS).astype(int).tolist()
    return [" ".join(words[start : start + _WINDOW_WORDS]) for start in starts]
