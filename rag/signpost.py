"""Points to a page in another language when none in the patient's own answers: only to the page, never with a word of it.

Between languages words tell nothing, so the vectors alone decide. They are shared, but a question lies farther from a page in
another language than from one in its own, and some pages lie near to every question. So a page must stand out to be pointed to.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from locales.language import Language
from rag.corpus import CorpusStatistics
from rag.documents import Chunk
from rag.errors import StoreError
from rag.fusion import deviations
from rag.index_reader import IndexReader
from rag.intents import IntentWords, folded
from rag.models.protocols import Vectors
from rag.relevance import FRAIL, YOUNG, fit
from rag.sentences import SentenceWords
from rag.types import Hit, Interpretation, Population, Source

_DEPTH: Final = 50
_CANDIDATES: Final = 10  # pages that are looked at as a whole: 3 ms each
_TOLERANCE: Final = -0.9  # of `fit`: a page for babies may serve a child, but no adult
# One passage that happens to lie near says less than three: .51 instead of .48 of 498 questions find their page.
_NEAREST: Final = 3
_FIRST: Final = 5

# A logistic regression over the questions of `coverage_topics`, `coverage_dev` and `topicality_dev` that were asked of the other
# language's starter pages; right is the question's page alone. `salus eval cross-language` measures on other questions.
_NEARNESS: Final = 1.35
_LEAD: Final = 1.11
_AGREEMENT: Final = 1.58
_CONSTANT: Final = -2.23
_THRESHOLD: Final = 0.75
# In an index of a few pages any page is well ahead. Of 652 questions asked of three to twenty pages without theirs, 5 % would be
# pointed to another; with this, 3 to 5 %.
_FLOOR: Final = 1.0
_SUREST: Final = 0.999  # that is told: no page is quite certain


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedPage:
    """A page with its passages, nearest first, and how near the nearest three lie, in deviations of the background."""

    passages: Sequence[Hit]
    nearness: float

    @property
    def document_id(self) -> str:
        """Which page it is."""
        return self.passages[0].chunk.document_id

    @property
    def topic(self) -> str | None:
        """What it is about, where its source says so."""
        return self.passages[0].chunk.topic


class Signpost:
    """Finds the page of another language to which a patient may be pointed."""

    def find(
        self,
        interpretation: Interpretation,
        vectors: Sequence[Vectors],
        open_reader: Callable[[Language], IndexReader],
        *,
        held_topics: frozenset[str] = frozenset(),
    ) -> Source | None:
        """Find the page that is surely about a question, or none.

        Args:
            interpretation: A question that its own language does not answer.
            vectors: The embedded question and its expansions.
            open_reader: Gives the index of a language. One that is missing or cannot be read is passed over: the refusal stands.
            held_topics: Topics of which the patient's own language has a page. It was refused already, and so is its twin.
        """
        if not _is_about_health(interpretation):
            return None
        found: list[tuple[float, Source]] = []
        for language in Language:
            if language is interpretation.language:
                continue
            try:
                reader = open_reader(language)
                pages = self.rank(vectors, reader, language, interpretation.population)
            except StoreError:
                continue
            certainty = certainty_of(pages)
            if certainty >= _THRESHOLD and pages[0].topic not in held_topics:
                found.append((certainty, Source.of(pages[0].passages[0].chunk, similarity=min(certainty, _SUREST))))
        return max(found, key=lambda pair: pair[0])[1] if found else None

    def rank(
        self, vectors: Sequence[Vectors], reader: IndexReader, language: Language, population: Population | None = None
    ) -> list[RankedPage]:
        """Order the pages of an index by how near they lie to a question in another language, best first.

        Args:
            vectors: The embedded question and its expansions.
            reader: The index.
            language: Its language.
            population: Whom the question is about, if it says so: pages for others are left out.
        """
        vector = np.mean(np.asarray(vectors, dtype=np.float32), axis=0)  # other words count as much as the patient's own here
        words = SentenceWords.load(language)
        chunks: dict[str, Chunk] = {}
        for hit in reader.dense(vector, _DEPTH):
            chunks.setdefault(hit.chunk.document_id, hit.chunk)
        suited = [
            document_id
            for document_id, chunk in chunks.items()
            if population is None or fit(words.limits(chunk.title), population) >= _TOLERANCE
        ]
        found = [reader.page(document_id, vector) for document_id in suited[:_CANDIDATES]]
        pages = [_page(hits, reader.statistics) for hits in found if hits]
        return sorted(pages, key=lambda page: -page.nearness)


def certainty_of(pages: Sequence[RankedPage]) -> float:
    """How sure it is that the first of ranked pages is about the question, 0 to 1."""
    if not pages or pages[0].nearness < _FLOOR:
        return 0.0
    best = pages[0]
    lead = best.nearness - pages[1].nearness if len(pages) > 1 else 0.0
    first = sorted((hit for page in pages for hit in page.passages), key=lambda hit: -hit.dense)[:_FIRST]
    agreement = sum(hit.chunk.document_id == best.document_id for hit in first) / _FIRST
    total = _CONSTANT + _NEARNESS * best.nearness + _LEAD * lead + _AGREEMENT * agreement
    return 1.0 / (1.0 + math.exp(-total))


def _page(hits: Sequence[Hit], statistics: CorpusStatistics) -> RankedPage:
    passages = sorted(hits, key=lambda hit: -hit.dense)
    nearest = [hit.dense for hit in passages[:_NEAREST]]
    return RankedPage(passages=passages, nearness=deviations(sum(nearest) / len(nearest), statistics))


def _is_about_health(interpretation: Interpretation) -> bool:
    words, lower = IntentWords.load(interpretation.language), folded(interpretation.meaning)
    if words.is_elsewhere(lower):
        return False
    return words.has_health_word(lower) or interpretation.population in YOUNG | FRAIL
