"""Multi-round intake: which pages fit a patient's complaint so far, and the next short question that narrows them most.

After MRD-RAG, without its generator: candidates from all the patient's utterances together, an analysis of what their pages share
and what tells them apart, and one question at a time, at most three. It works from the disease information trees alone.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice
from typing import Final

from locales.language import Language
from rag.expander import Expander
from rag.index_reader import IndexReader
from rag.intake_choice import Found, information, weigh
from rag.intake_features import FeatureLexicon, ReplyKind
from rag.intake_pages import PageProfile, TreeOf, read_profile
from rag.intake_questions import next_question
from rag.intake_sentences import ALIKE, alike_question, excerpt
from rag.intake_story import Story
from rag.intents import IntentWords, folded
from rag.interpreter import Interpreter
from rag.models.protocols import Embedder
from rag.replies import IntakeQuestion, Overview, PageExcerpt
from rag.search import Search
from rag.text import fold
from rag.types import Intent, Interpretation, Population, Query, Question, Source

MAX_QUESTIONS: Final = 3
FOREMOST: Final = 5
"""Candidates that are compared, and pages that are shown, at most."""

PASSAGES: Final = 60
"""Passages that are searched for candidates: some forty pages."""

_ASKED_ABOUT = 15  # candidates that a choice of features is made up for
_IN_VAIN = 2  # questions that teach nothing, one after the other, and no more are asked
_CLEAR = 0.8  # a first candidate with this share of what the foremost weigh needs no question
_SHARED = 0.5  # candidates that name a feature, of the foremost, for it to be shared
_PROFILES = 20_000
_FEW_WORDS = 6  # "tosse secca bambini" looks something up

OpenReader = Callable[[Language], IndexReader]


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidatePage:
    """A page that a complaint may belong to; `weight` orders candidates and is no probability of an illness. Never shown."""

    document_id: str
    topic: str
    weight: float
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Assessment:
    """What an intake thinks of a story.

    `candidates` are all pages found, best first. `shared` are features that most of the foremost pages name, `apart` those that
    tell them apart, the most telling first. `question` is None when nothing is worth asking. `found` serves the next assessment.
    """

    query: str = field(repr=False)
    candidates: tuple[CandidatePage, ...] = field(repr=False)
    shared: tuple[str, ...] = ()
    apart: tuple[str, ...] = ()
    question: IntakeQuestion | None = None
    found: tuple[Found, ...] = field(default=(), repr=False)


class Intake:
    """Assesses stories over the published index.

    Args:
        open_reader: Opens the live index of a language.
        embedder: Embeds what is searched; used by one thread, as all models.
        tree_of: Builds the disease information tree of a page.
        may_offer: Whether a sentence may be offered as a choice; one that tells of an emergency may not.
    """

    def __init__(
        self,
        open_reader: OpenReader,
        embedder: Embedder,
        search: Search,
        expander: Expander,
        *,
        tree_of: TreeOf,
        may_offer: Callable[[str], bool] = lambda _: True,
    ) -> None:
        self._open_reader = open_reader
        self._embedder = embedder
        self._search = search
        self._expander = expander
        self._tree_of = tree_of
        self._may_offer = may_offer
        self._interpreter = Interpreter()
        self._lexicons = {language: FeatureLexicon.load(language) for language in Language}
        self._profile = lru_cache(maxsize=_PROFILES)(self._read_profile)

    def begin(self, text: str, language: Language, *, population: Population | None = None, country: str | None = None) -> Story:
        """A story that begins with a patient's first message."""
        return Story(language=language, utterances=(text,), population=population, country=country)

    def understand(self, question: Question) -> Interpretation:
        """Understand a message as the answering line does."""
        return self._interpreter.interpret(question)

    def calls_for(self, question: Question, understood: Interpretation) -> bool:
        """Whether a message tells a complaint and asks nothing: then a question back may help.

        A complaint has words of a symptom, or some words more of which one is a feature. Follow-ups, messages of another field
        and all that is answered without a search are no complaints.
        """
        lexicon = self._lexicons[understood.language]
        if understood.intent not in (Intent.SYMPTOM, Intent.QUESTION) or understood.other_language or understood.needs_context:
            return False
        if understood.is_follow_up or lexicon.asks(question.text):
            return False
        lower = folded(question.text)
        if IntentWords.load(understood.language).is_elsewhere(lower) or not self.told(self._beginning(question, understood)):
            return False
        tells = lexicon.tells(question.text) and len(question.text.split()) >= _FEW_WORDS
        return understood.intent is Intent.SYMPTOM or tells

    def _beginning(self, question: Question, understood: Interpretation) -> Story:
        return self.begin(question.text, understood.language, population=understood.population, country=question.country)

    def is_new_question(self, text: str, language: Language) -> bool:
        """Whether a message that replies to nothing asks something of its own."""
        return self._lexicons[language].asks(text)

    def assess(self, story: Story, before: Assessment | None = None) -> Assessment:
        """Find the candidates of a story and the next question.

        Args:
            story: What has been said so far.
            before: The last assessment of the same story: nothing is searched anew if nothing worth searching was added.

        Raises:
            StoreError: If nothing has been published in the story's language, or the index cannot be read.
            ModelError: If the embedder fails.
        """
        found = before.found if before is not None and before.query == story.query else self._find(story)
        if not found:
            return Assessment(query=story.query, candidates=())
        told = self.told(story)
        weights = weigh(found, told, story.chosen)
        ranked = sorted(zip(found, weights, strict=True), key=lambda pair: -pair[1])
        profiles, shares = [pair[0].profile for pair in ranked], [pair[1] for pair in ranked]
        shared, apart = self._analyse(profiles[:FOREMOST], shares[:FOREMOST], told, story)
        return Assessment(
            query=story.query,
            candidates=tuple(
                CandidatePage(document_id=one.profile.document_id, topic=one.profile.topic, weight=weight, score=one.score)
                for one, weight in ranked
            ),
            shared=shared,
            apart=apart,
            question=self._next(story, profiles[:_ASKED_ABOUT], shares[:_ASKED_ABOUT], told),
            found=tuple(found),
        )

    def overview(self, story: Story, assessment: Assessment) -> Overview | None:
        """What the foremost pages say themselves, in alphabetical order; None if none can be quoted.

        Raises:
            StoreError: If the index cannot be read.
            ModelError: If the embedder fails.
        """
        reader = self._open_reader(story.language)
        vector = self._embedder.embed_queries([story.query])[0]
        pages = [excerpt(reader, page, story.language, vector) for page in foremost_pages(assessment)]
        excerpts = sorted((page for page in pages if page is not None), key=_title)
        if not excerpts:
            return None
        sources = tuple(Source.of(page.symptom.chunk, similarity=0.0) for page in excerpts)
        return Overview(excerpts=tuple(excerpts), sources=sources, language=story.language)

    def told(self, story: Story) -> dict[str, bool]:
        """The features that a patient has or has not: by their replies, else by their own words."""
        lexicon = self._lexicons[story.language]
        expanded = self._expand(story).expansions
        own = lexicon.told("\n".join((*story.utterances, *expanded)))
        replied = {name: kind is ReplyKind.YES for name, kind in story.asked if kind in (ReplyKind.YES, ReplyKind.NO)}
        return own | {name: has for name, has in replied.items() if name in lexicon.features}

    def _expand(self, story: Story) -> Query:
        question = Question(text=story.query, language=story.language, population=story.population, country=story.country)
        return self._expander.expand(self._interpreter.interpret(question), story.country)

    def _find(self, story: Story) -> tuple[Found, ...]:
        """The pages of the passages found by all utterances together, each with the score of its best passage."""
        query = self._expand(story)
        reader = self._open_reader(story.language)
        vectors = list(self._embedder.embed_queries([query.question, *query.expansions]))
        best: dict[str, float] = {}
        for hit in self._search.find(query, reader, vectors):
            best.setdefault(hit.chunk.document_id, hit.score)
        profiles = {page: self._profile(story.language, reader.version, page) for page in best}
        return tuple(Found(profile=profile, score=best[page]) for page, profile in profiles.items() if profile is not None)

    def _read_profile(self, language: Language, _version: int, document_id: str) -> PageProfile | None:
        document = self._open_reader(language).get_document(document_id)
        return None if document is None else read_profile(document, self._tree_of, self._lexicons[language])

    def _analyse(
        self, foremost: Sequence[PageProfile], weights: Sequence[float], told: dict[str, bool], story: Story
    ) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """What the foremost candidates share, and what tells them apart and has not been told or asked yet."""
        names = self._lexicons[story.language].features
        most = len(foremost) * _SHARED
        shared = tuple(name for name in names if sum(page.names(name) for page in foremost) > most)
        open_ones = [name for name in self._askable(story, told) if any(page.names(name) for page in foremost)]
        return shared, tuple(sorted(open_ones, key=lambda name: -information(name, foremost, weights)))

    def _next(
        self, story: Story, profiles: Sequence[PageProfile], weights: Sequence[float], told: dict[str, bool]
    ) -> IntakeQuestion | None:
        if story.questions_asked >= MAX_QUESTIONS or story.in_vain >= _IN_VAIN:
            return None
        if len(profiles) < 2 or weights[0] >= _CLEAR * sum(weights[:FOREMOST]):
            return None
        has = [name for name, affirmed in told.items() if affirmed]
        question = next_question(self._lexicons[story.language], self._askable(story, told), profiles, weights, told=has)
        if question is not None or ALIKE in {name for name, _ in story.replies}:
            return question
        return alike_question(self._open_reader(story.language), profiles[:FOREMOST], story.language, self._may_offer)

    def _askable(self, story: Story, told: dict[str, bool]) -> list[str]:
        asked = {name for name, _ in story.asked}
        lexicon, text = self._lexicons[story.language], "\n".join(story.utterances)
        return [
            name
            for name, feature in lexicon.features.items()
            if name not in asked and name not in told and feature.follows(told) and lexicon.suits(feature, text, story.population)
        ]


def _title(excerpt: PageExcerpt) -> str:
    return fold(excerpt.symptom.chunk.title)


def foremost_pages(assessment: Assessment) -> tuple[str, ...]:
    """The ids of the foremost candidates, best first."""
    return tuple(candidate.document_id for candidate in islice(assessment.candidates, FOREMOST))


def as_question(story: Story, assessment: Assessment) -> Question:
    """The question that the answering line answers when an intake ends: all that was said, and the page that fits best."""
    return Question(
        text=story.text,
        language=story.language,
        population=story.population,
        country=story.country,
        pages=foremost_pages(assessment),
    )
