"""Chooses the sentences that may support an answer, and decides whether there are any at all."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import exp
from typing import Final

import numpy as np

from locales.language import Language
from rag.corpus import CorpusStatistics
from rag.coverage import THRESHOLD, WEIGHTS, Stems, coverage_signs, name_tokens, nearness, topic_stems
from rag.index_reader import IndexReader
from rag.intents import IntentWords, folded
from rag.models.protocols import Embedder, Vectors
from rag.sentences import Section, SentenceWords, may_be_shown
from rag.text import content_tokens
from rag.types import AbstentionKind, Chunk, Evidence, Hit, Interpretation, Population, Sentence

_NEAREST: Final = 10
_MOST: Final = 6
_WEAKEST: Final = 0.25  # a weaker sentence says nothing to the question
_BESIDE: Final = 0.4  # rank of a passage that was not among the best
_NAMED: Final = 0.75  # share of the best named page from which another counts as named too
_SAME: Final = 0.8  # share of common words from which two sentences say the same

# Set by hand on the dev questions over the starter corpus: what raises a sentence from "on the page" to "answers this".
_SENTENCE_NEARNESS: Final = 2.0
_SHARED_WORDS: Final = 1.2
_PASSAGE_RANK: Final = 1.2
_RIGHT_SECTION: Final = 1.6
_RIGHT_POPULATION: Final = 1.0
_WRONG_PAGE: Final = -1.5
_DURATION: Final = 1.2
_FRAIL_ADVICE: Final = 1.0
_CONSTANT: Final = -1.9

_YOUNG: Final = frozenset({Population.CHILD, Population.INFANT})
_FRAIL: Final = frozenset({Population.INFANT, Population.PREGNANCY})
_UNKNOWN_BACKGROUND: Final = CorpusStatistics(background_mean=0.81, background_std=0.026)


@dataclass(frozen=True, slots=True)
class _Question:
    """A question as sentences are measured against it.

    `topics` is not None when no page is named for what the question is about: then only sentences that name it are evidence.
    """

    tokens: dict[str, float]
    vector: Vectors
    asked: frozenset[Section]
    asks_duration: bool
    population: Population | None
    main_pages: frozenset[str]
    topics: Stems | None


@dataclass(frozen=True, slots=True)
class _Passage:
    chunk: Chunk
    rank_score: float
    section: Section | None
    vectors: Vectors | None


class EvidenceSelector:
    """Selects evidence in one language; first it refuses as a whole what the index does not cover."""

    def __init__(self, language: Language, embedder: Embedder) -> None:
        self._language = language
        self._embedder = embedder
        self._words = SentenceWords.load(language)
        self._intents = IntentWords.load(language)

    def select(
        self,
        interpretation: Interpretation,
        hits: Sequence[Hit],
        reader: IndexReader,
        *,
        expansions: Sequence[str] = (),
        query_vector: Vectors | None = None,
    ) -> list[Evidence]:
        """Choose at most six sentences, strongest first.

        Args:
            interpretation: The question understood.
            hits: The best passages, reranked.
            reader: The index that they come from.
            expansions: Other words for the question, as they were searched.
            query_vector: The embedded question; embedded here if not given.

        Returns:
            Sentences with their strength; empty when the index does not cover the question.
        """
        if not hits:
            return []
        text = interpretation.self_contained
        vector = self._embedder.embed_queries([text])[0] if query_vector is None else query_vector
        nearest = reader.dense(vector, _NEAREST)
        if self.coverage(text, hits, nearest, reader.statistics, expansions) < THRESHOLD:
            return []
        passages = self._passages([*hits, *self._beside(hits, nearest, self._asked(text, interpretation.population))], reader)
        question = self._question(interpretation, hits, passages, expansions, vector, reader.statistics)
        found = [
            Evidence(chunk=passage.chunk, sentence=sentence, strength=strength)
            for passage in passages
            for place, sentence in enumerate(passage.chunk.sentences)
            if may_be_shown(sentence)
            and self._words.suits(sentence.text, interpretation.population)
            and (strength := self._strength(question, passage, place, sentence, reader.statistics)) >= _WEAKEST
        ]
        return self._best(found, question)

    def coverage(
        self, text: str, hits: Sequence[Hit], nearest: Sequence[Hit], statistics: CorpusStatistics, expansions: Sequence[str] = ()
    ) -> float:
        """How sure it is that the index covers a question, 0 to 1."""
        signs = coverage_signs(text, self._language, hits=hits, nearest=nearest, statistics=statistics, expansions=expansions)
        return WEIGHTS.probability(signs)

    def similarity(self, hit: Hit, statistics: CorpusStatistics | None = None) -> float:
        """How near a passage is to the question, 0 to 1; the same for any embedder if the corpus's figures are given."""
        return nearness(hit.dense, statistics or _UNKNOWN_BACKGROUND)

    def abstention_kind(self, interpretation: Interpretation, reader: IndexReader) -> AbstentionKind:
        """Why a question without evidence is refused: it is not about health, or no page answers it."""
        lower = folded(interpretation.self_contained)
        if self._intents.elsewhere.pattern.search(lower):
            return AbstentionKind.OFF_TOPIC  # beside a word of another field, one of health is a manner of speaking
        if self._intents.has_health_word(lower) or interpretation.population in _YOUNG | {Population.PREGNANCY}:
            return AbstentionKind.NO_EVIDENCE
        tokens = content_tokens(lower, self._language)
        is_known = bool(tokens) and all(token in reader.statistics.document_frequency for token in tokens)
        return AbstentionKind.NO_EVIDENCE if is_known else AbstentionKind.OFF_TOPIC

    def _question(
        self,
        interpretation: Interpretation,
        hits: Sequence[Hit],
        passages: Sequence[_Passage],
        expansions: Sequence[str],
        vector: Vectors,
        statistics: CorpusStatistics,
    ) -> _Question:
        text, population = interpretation.self_contained, interpretation.population
        tokens = [token for words in (text, *expansions) for token in content_tokens(words, self._language)]
        weights = {token: statistics.idf(token) for token in tokens if token in statistics.document_frequency}
        topics = Stems.of(topic_stems([text, *expansions], self._language))
        is_named = any(token in topics for hit in hits for token in name_tokens(hit, self._language))
        return _Question(
            tokens=weights,
            vector=vector,
            # A section that no passage has cannot be preferred, and all others would only seem weak.
            asked=self._asked(text, population) & {passage.section for passage in passages if passage.section},
            asks_duration=self._words.asks_duration.search(folded(text)) is not None,
            population=population,
            main_pages=self._main_pages(hits, {token: weights.get(token, 0.0) for token in topics.whole} or weights, population),
            topics=None if is_named or not topics.whole else topics,
        )

    def _asked(self, text: str, population: Population | None) -> frozenset[Section]:
        """The sections that answer a question; for a baby or a pregnancy, what to do begins with the doctor."""
        asked = self._words.asked(text)
        if self._words.asks_duration.search(folded(text)):
            asked -= {Section.REMEDIES}  # "quanto ci vuole per guarire" asks for no cure
        return asked | {Section.DOCTOR} if Section.REMEDIES in asked and population in _FRAIL else asked

    def _passages(self, hits: Sequence[Hit], reader: IndexReader) -> list[_Passage]:
        vectors = reader.sentence_vectors([hit.chunk.chunk_id for hit in hits])
        top = max(hit.score for hit in hits) or 1.0
        return [
            _Passage(hit.chunk, hit.score / top, self._words.section(hit.chunk), vectors.get(hit.chunk.chunk_id)) for hit in hits
        ]

    def _beside(self, hits: Sequence[Hit], nearest: Sequence[Hit], asked: frozenset[Section]) -> list[Hit]:
        """Passages of the best page that hold what is asked, near enough though not among the best.

        Advice must not lack when to see a doctor, so that section comes with the remedies.
        """
        seen = {hit.chunk.chunk_id for hit in hits}
        page = hits[0].chunk.document_id
        wanted = asked | {Section.DOCTOR} if Section.REMEDIES in asked else asked
        return [
            Hit(chunk=hit.chunk, score=_BESIDE * hits[0].score, dense=hit.dense)
            for hit in nearest
            if hit.chunk.chunk_id not in seen and hit.chunk.document_id == page and self._words.section(hit.chunk) in wanted
        ]

    def _main_pages(self, hits: Sequence[Hit], weights: Mapping[str, float], population: Population | None) -> frozenset[str]:
        """Pages that the question's topics name; when they name none, the page of the best passage."""
        shares: dict[str, float] = {}
        for hit in hits:
            names = set(name_tokens(hit, self._language))
            named = sum(weight for token, weight in weights.items() if token in names)
            fits = 0.5 * _fit(self._words.limits(hit.chunk.title), population)
            shares[hit.chunk.document_id] = max(shares.get(hit.chunk.document_id, 0.0), named + fits)
        best = hits[0].chunk.document_id
        most = max(shares.values())
        if most <= 0:
            return frozenset({best})
        return frozenset(
            {page for page, share in shares.items() if share >= _NAMED * most} | ({best} if shares[best] > 0 else set())
        )

    def _strength(
        self, question: _Question, passage: _Passage, place: int, sentence: Sentence, statistics: CorpusStatistics
    ) -> float:
        limits = self._words.limits(sentence.text) or self._words.limits(passage.chunk.title)
        tokens = set(content_tokens(sentence.text, self._language))
        if _excluded(limits, question.population) or (question.topics and not any(token in question.topics for token in tokens)):
            return 0.0
        total = sum(question.tokens.values()) or 1.0
        shared = sum(weight for token, weight in question.tokens.items() if token in tokens) / total
        near = 0.5 if passage.vectors is None else nearness(float(np.dot(passage.vectors[place], question.vector)), statistics)
        signs = _CONSTANT + _SENTENCE_NEARNESS * near + _SHARED_WORDS * shared + _PASSAGE_RANK * passage.rank_score
        signs += _RIGHT_SECTION * _section_fit(question.asked, passage.section)
        signs += _RIGHT_POPULATION * _fit(limits, question.population)
        if limits and passage.section is Section.DOCTOR and question.population in _FRAIL and question.population in limits:
            signs += _FRAIL_ADVICE
        if question.asks_duration and self._words.tells_duration.search(folded(sentence.text)):
            signs += _DURATION
        if passage.chunk.document_id not in question.main_pages:
            signs += _WRONG_PAGE
        return 1.0 / (1.0 + exp(-signs))

    def _best(self, found: Sequence[Evidence], question: _Question) -> list[Evidence]:
        ordered = sorted(found, key=lambda item: (-item.strength, item.chunk.chunk_id, item.sentence.start))
        chosen: list[Evidence] = []
        kept: list[frozenset[str]] = []
        for item in ordered:
            tokens = frozenset(content_tokens(item.sentence.text, self._language))
            if any(_alike(tokens, other) for other in kept):
                continue
            if len(chosen) < _MOST:
                chosen.append(item)
                kept.append(tokens)
            elif self._lacks_advice(chosen, question) and self._is_advice(item):
                chosen[-1] = item
                break
        return chosen

    def _lacks_advice(self, chosen: Sequence[Evidence], question: _Question) -> bool:
        return Section.REMEDIES in question.asked and not any(self._is_advice(item) for item in chosen)

    def _is_advice(self, item: Evidence) -> bool:
        return self._words.section(item.chunk) is Section.DOCTOR


def _section_fit(asked: frozenset[Section], section: Section | None) -> float:
    if not asked:
        return -0.5 if section is Section.DOCTOR else 0.0  # warnings that nobody asked for alarm
    if section is None:
        return 0.0
    return 1.0 if section in asked else -0.5


def _fit(limits: frozenset[Population], population: Population | None) -> float:
    """How well a sentence that is limited to some suits whom the question is about, -1 to 1."""
    if not limits:
        return 0.0
    if population in limits:
        return 1.0
    if population is Population.INFANT and Population.CHILD in limits:
        return 0.5
    return -0.3 if population is Population.CHILD and Population.INFANT in limits else -1.0


def _excluded(limits: frozenset[Population], population: Population | None) -> bool:
    """Whether a sentence is limited to others than whom the question is about."""
    if not limits:
        return False
    if population is None:
        return limits == {Population.PREGNANCY}
    if population in _YOUNG:
        return not limits & _YOUNG
    grown = {population, Population.ADULT} if population is not Population.ADULT else {population, Population.ELDERLY}
    return not limits & grown


def _alike(one: frozenset[str], other: frozenset[str]) -> bool:
    return bool(one and other) and len(one & other) >= _SAME * min(len(one), len(other))
