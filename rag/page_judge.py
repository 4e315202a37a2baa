"""Chooses the page that an answer would be made from, and judges whether it answers the question at all."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from locales.language import Language
from rag.corpus import CorpusStatistics
from rag.coverage import THRESHOLD, WEIGHTS, CoverageSigns, content_words, coverage_signs, topic_stems
from rag.documents import Chunk
from rag.index_reader import IndexReader
from rag.models.protocols import Vectors
from rag.relevance import fit
from rag.sentences import SentenceWords
from rag.similarity import page_similarities
from rag.text import content_tokens
from rag.types import Hit, Intent, Interpretation, Population

_PASSAGES: Final = 5
# In deviations of the background, as the scores of hits. Of 664 lay questions over the starter corpus the right page is the only
# one chosen for 80 %, one of two for 3 % more (docs/adr/0011).
_NAMED: Final = 0.1  # what a word of the question in a page's name adds, by its rarity
_FITTING: Final = 0.5
_DOSE_SHARE: Final = 0.4  # of the threshold, where somebody asks for a dose
_TIE: Final = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedPage:
    """The page that an answer would be made from, all its passages, others that come as near, and how far it covers."""

    document_id: str
    page: Sequence[Hit]
    main_pages: frozenset[str]
    signs: CoverageSigns


class PageJudge:
    """Judges the pages found in one language."""

    def __init__(self, language: Language) -> None:
        self._language = language
        self._words = SentenceWords.load(language)

    def page(
        self,
        interpretation: Interpretation,
        hits: Sequence[Hit],
        reader: IndexReader,
        vector: Vectors,
        *,
        expansions: Sequence[str] = (),
        without: int | None = None,
    ) -> JudgedPage:
        """Choose the page that an answer would be made from, and measure how far it covers the question.

        Args:
            interpretation: The question understood.
            hits: The candidates, reranked; at least one.
            reader: The index that they come from.
            vector: The embedded question.
            expansions: Other words for the question, as they were searched.
            without: The place of the question in the index's bank, if it is one of it, so that it is not judged by itself.
        """
        text = interpretation.meaning
        known = reader.calibration.bank if reader.calibration else None
        worth = self._worth(hits[:_PASSAGES], self._naming_words(text, expansions, reader.statistics), interpretation.population)
        best = max(worth, key=lambda page: worth[page])
        passages = reader.page(best, vector)
        return JudgedPage(
            document_id=best,
            page=passages,
            main_pages=frozenset(other for other, found in worth.items() if found >= worth[best] - _TIE),
            signs=coverage_signs(
                text,
                self._language,
                best=best,
                hits=hits,
                page=passages,
                statistics=reader.statistics,
                expansions=expansions,
                leaning=known.lean(vector, without) if known else 0.0,
                names_other=known.names_uncovered(text, self._language) if known else False,
            ),
        )

    def covers(self, judged: JudgedPage, reader: IndexReader, intent: Intent) -> bool:
        """Whether a judged page answers the question, by what was fitted to the index when it was published.

        Who asks for a dose is refused it first in any case, and most of the words are about the dose: less is asked of the page.
        """
        fitted = reader.calibration
        weights, threshold = (fitted.weights, fitted.threshold) if fitted else (WEIGHTS, THRESHOLD)
        return weights.probability(judged.signs) >= threshold * (_DOSE_SHARE if intent is Intent.OWN_DOSE else 1.0)

    def similarities(self, judged: JudgedPage, hits: Sequence[Hit], reader: IndexReader) -> dict[str, float]:
        """How sure it is of each page among hits that it is on the question's topic, 0 to 1, by page id."""
        fitted = reader.calibration
        coverage = fitted.weights.probability(judged.signs) if fitted else 0.0
        return page_similarities(hits, reader.statistics, coverage, fitted.similarity if fitted else None)

    def word_weights(self, text: str, expansions: Sequence[str], statistics: CorpusStatistics) -> dict[str, float]:
        """How rare each content word of the question is, of those that the corpus has."""
        return {
            token: statistics.idf(token)
            for phrasing in (text, *expansions)
            for token in content_words(phrasing, self._language)
            if token in statistics.document_frequency
        }

    def _naming_words(self, text: str, expansions: Sequence[str], statistics: CorpusStatistics) -> dict[str, float]:
        """The words by which a question may name a page: those of health, or all where it has none."""
        weights = self.word_weights(text, expansions, statistics)
        return {token: weights.get(token, 0.0) for token in topic_stems([text, *expansions], self._language)} or weights

    def _worth(self, hits: Sequence[Hit], words: Mapping[str, float], population: Population | None) -> dict[str, float]:
        """How well each page was found, its name and readers counted in."""
        worth: dict[str, float] = {}
        for hit in hits:
            fits = _FITTING * fit(self._words.limits(hit.chunk.title), population)
            found = hit.score + _NAMED * self._named_by(hit.chunk, words) + fits
            worth[hit.chunk.document_id] = max(worth.get(hit.chunk.document_id, found), found)
        return worth

    def _named_by(self, chunk: Chunk, weights: Mapping[str, float]) -> float:
        """How far a page is named for words: by its title, or by one of its synonyms if the words hold all of it."""
        title = set(content_tokens(chunk.title, self._language))
        whole = {
            token
            for synonym in chunk.synonyms
            if (tokens := frozenset(content_tokens(synonym, self._language))) and all(token in weights for token in tokens)
            for token in tokens
        }
        return sum(weight for token, weight in weights.items() if token in title or token in whole)
