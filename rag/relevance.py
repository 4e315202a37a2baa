"""How well one sentence of a source answers a question, from 0 to 1."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import exp
from typing import Final

import numpy as np

from locales.language import Language
from rag.corpus import CorpusStatistics
from rag.coverage import Stems, nearness
from rag.documents import Chunk, Sentence
from rag.intents import folded
from rag.models.protocols import Vectors
from rag.sentences import Section, SentenceWords
from rag.text import content_tokens
from rag.types import Population

# Set by hand on the dev questions over the starter corpus: what raises a sentence from "on the page" to "answers this".
_SENTENCE_NEARNESS: Final = 2.0
_SHARED_WORDS: Final = 1.2
_PASSAGE_RANK: Final = 0.8
_RIGHT_SECTION: Final = 1.6
_RIGHT_POPULATION: Final = 1.0
_RIGHT_AGE: Final = 1.5
_AIM: Final = 1.4
_UNASKED: Final = -1.0  # prevention, where somebody asks what to do now
_OTHER_TOPIC: Final = -0.6  # a stroke, on the page that tells of heart attacks too
_OPENING: Final = 0.8  # pages begin a section with what matters most
_FRAIL_ADVICE: Final = 1.0
_ANYWHERE: Final = frozenset({"onset", "value", "prevention", "contagion"})
_CONSTANT: Final = -1.9

YOUNG: Final = frozenset({Population.CHILD, Population.INFANT})
FRAIL: Final = frozenset({Population.INFANT, Population.PREGNANCY})


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """A question as sentences are measured against it.

    `phrasings` are the weights of its words, in the patient's own and in other words. `named_topics` are what it is about,
    `other_topics` what its pages are named for beside.
    """

    phrasings: Sequence[Mapping[str, float]]
    vector: Vectors
    asked: frozenset[Section]
    aims: frozenset[str]
    population: Population | None
    months: int | None
    main_pages: frozenset[str]
    named_topics: Stems
    other_topics: Stems


@dataclass(frozen=True, slots=True)
class Passage:
    """A passage with the rank of its search, from 0 to 1, and the vectors of its sentences."""

    chunk: Chunk
    rank_score: float
    section: Section | None
    vectors: Vectors | None


class Relevance:
    """Measures sentences in one language."""

    def __init__(self, language: Language) -> None:
        self._language = language
        self._words = SentenceWords.load(language)

    def strength(self, wanted: Wanted, passage: Passage, place: int, sentence: Sentence, statistics: CorpusStatistics) -> float:
        """How sure it is that a sentence, the `place`th of its passage, answers a question; 0 if it may not at all."""
        limits = self._words.limits(sentence.text) or self._words.limits(passage.chunk.title)
        tokens = frozenset(content_tokens(sentence.text, self._language))
        fits_age = self._words.fits_age(sentence.text, wanted.months)
        if fits_age is False or _excluded(limits, wanted.population):
            return 0.0
        near = 0.5 if passage.vectors is None else nearness(float(np.dot(passage.vectors[place], wanted.vector)), statistics)
        signs = _CONSTANT + _SENTENCE_NEARNESS * near + _PASSAGE_RANK * passage.rank_score
        signs += _SHARED_WORDS * max(_shared(phrasing, tokens) for phrasing in wanted.phrasings)
        told = self._told(wanted.aims, folded(sentence.text))
        # What is asked in particular is an answer in whatever section it stands.
        signs += _RIGHT_SECTION * (1.0 if told & _ANYWHERE & wanted.aims else _section_fit(wanted.asked, passage.section))
        signs += _RIGHT_AGE * bool(fits_age)
        signs += _RIGHT_POPULATION * fit(limits, wanted.population)
        signs += _OPENING / (1 + place) if wanted.asked else 0.0
        signs += _AIM * len(told & wanted.aims) + _UNASKED * len(told - wanted.aims)
        if limits and passage.section is Section.DOCTOR and wanted.population in FRAIL and wanted.population in limits:
            signs += _FRAIL_ADVICE
        if any(token in wanted.other_topics for token in tokens) and not any(token in wanted.named_topics for token in tokens):
            signs += _OTHER_TOPIC
        return 1.0 / (1.0 + exp(-signs))

    def _told(self, asked: frozenset[str], text: str) -> frozenset[str]:
        """The aims that a sentence tells, among those that are asked or matter only if they are."""
        return frozenset(
            name
            for name, aim in self._words.aims.items()
            if (name in asked or aim.only_if_asked) and aim.tells.search(text) is not None
        )


def fit(limits: frozenset[Population], population: Population | None) -> float:
    """How well a sentence that is limited to some suits whom the question is about, -1 to 1."""
    if not limits or (population is None and limits == {Population.ADULT}):
        return 0.0
    if population in limits:
        return 1.0
    if population is Population.INFANT and Population.CHILD in limits:
        return 0.5
    return -0.8 if population is Population.CHILD and Population.INFANT in limits else -1.0


def _shared(phrasing: Mapping[str, float], tokens: frozenset[str]) -> float:
    total = sum(phrasing.values())
    return sum(weight for token, weight in phrasing.items() if token in tokens) / total if total else 0.0


def _section_fit(asked: frozenset[Section], section: Section | None) -> float:
    if not asked:
        return -0.5 if section in (Section.DOCTOR, Section.EMERGENCY) else 0.0  # warnings that nobody asked for alarm
    if section is None:
        return 0.0
    if section in asked:
        return 1.0
    if section is Section.EMERGENCY:
        return 0.0 if Section.DOCTOR in asked else -0.5
    # What to do comes with when to see a doctor.
    return 0.2 if section is Section.DOCTOR and Section.REMEDIES in asked else -0.5


def _excluded(limits: frozenset[Population], population: Population | None) -> bool:
    """Whether a sentence is limited to others than whom the question is about."""
    if not limits:
        return False
    if population is None:
        return limits == {Population.PREGNANCY}
    if population in YOUNG:
        return not limits & YOUNG
    grown = {population, Population.ADULT} if population is not Population.ADULT else {population, Population.ELDERLY}
    return not limits & grown
