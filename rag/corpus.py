"""What an index knows about its corpus as a whole: how rare a token is, how long passages are, how alike unrelated texts look."""

import math
from dataclasses import dataclass, field

from rag import text
from rag.documents import Chunk

# A title in the lexical column twice: passages seldom repeat what their page is about (the figures of ADR 0003 were taken so).
_TITLE_WEIGHT = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class CorpusStatistics:
    """Figures counted when an index is published, so that a score over ten candidates still knows the whole corpus.

    `n` counts passages, `avgdl` is their mean length in lexical tokens. `background_mean` and `background_std` describe the
    cosine between a question-like text and passages of pages that it is not about: the noise that a true hit must stand out from.
    """

    n: int = 0
    avgdl: float = 0.0
    document_frequency: dict[str, int] = field(default_factory=dict)
    background_mean: float = 0.0
    background_std: float = 1.0

    def idf(self, token: str) -> float:
        """Inverse document frequency as Lucene has it, ``ln(1 + (n - df + 0.5) / (df + 0.5))``: positive even for n = 1."""
        frequency = self.document_frequency.get(token, 0)
        return math.log(1.0 + (max(self.n, frequency) - frequency + 0.5) / (frequency + 0.5))


def lexical_column(chunk: Chunk) -> str:
    """Tokens under which a chunk is found by its words: title, headings, synonyms and text."""
    parts = [chunk.title] * _TITLE_WEIGHT + [*chunk.heading_path, *chunk.synonyms, chunk.text]
    return text.lexical_text("\n".join(parts), chunk.language)
