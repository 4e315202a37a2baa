"""What the red-flag classifier sees of a message's spelling: its words and the letter groups in them, hashed to columns."""

import re
import zlib
from collections import Counter
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from rag.text import fold

COLUMNS = 1 << 17
_NOT_LETTERS = re.compile(r"[^a-z0-9ñ ]+")
_REPEATED = re.compile(r"(.)\1{2,}")
_LETTER_GROUPS = range(2, 6)
_WORD_GROUPS = range(1, 4)


def spelling(text: str) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]:
    """Count the word and letter groups of a text.

    Returns:
        Their columns, each once and below `COLUMNS`, and their weights ``1 + ln(count)``.
    """
    words = plain_words(text)
    counts = Counter(_columns(words))
    columns = np.fromiter(counts, dtype=np.int64, count=len(counts))
    weights = 1.0 + np.log(np.fromiter(counts.values(), dtype=np.float32, count=len(counts)))
    return columns, weights.astype(np.float32)


def plain_words(text: str) -> list[str]:
    """Words in lower case without accents and signs, letters repeated for emphasis once or twice only."""
    return _REPEATED.sub(r"\1\1", _NOT_LETTERS.sub(" ", fold(text))).split()


def _columns(words: list[str]) -> Iterator[int]:
    """Word groups fall into the upper half of the columns, letter groups into the lower."""
    half = COLUMNS // 2
    for size in _WORD_GROUPS:
        for start in range(len(words) - size + 1):
            yield half + zlib.crc32(" ".join(words[start : start + size]).encode()) % half
    for word in words:
        padded = f" {word} "
        for size in _LETTER_GROUPS:
            for start in range(len(padded) - size + 1):
                yield zlib.crc32(padded[start : start + size].encode()) % half
