"""The nouns of the answering line: what a patient asks, what is found, and what may be shown.

Everything here is frozen. A `Draft` is untrusted and no renderer takes it; only `SupportedSentence` reaches a patient.
"""

from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum
from typing import TYPE_CHECKING

from locales.language import Language
from rag.documents import Authority, Chunk, DocumentKind, Sentence

if TYPE_CHECKING:
    from rag.models.protocols import Vectors  # numpy takes half a second, and the command line needs these types at once


class Population(StrEnum):
    """Whom a question or a sentence is about."""

    ADULT = "adult"
    CHILD = "child"
    INFANT = "infant"
    PREGNANCY = "pregnancy"
    ELDERLY = "elderly"


class Intent(StrEnum):
    """What a patient wants with a message."""

    GREETING = "greeting"
    THANKS = "thanks"
    ABOUT = "about"
    SYMPTOM = "symptom"
    QUESTION = "question"
    OWN_DOSE = "own_dose"
    READING = "reading"  # a prescription or a lab result of one's own
    OFF_TOPIC = "off_topic"


class Mode(StrEnum):
    """Fast joins the strongest sentences; precise also searches in clinical words, grades sentences and sums pages up."""

    FAST = "fast"
    PRECISE = "precise"


class Detail(StrEnum):
    """How much of the evidence is told: as usual; a few of its shorter sentences; or what an earlier answer left unsaid."""

    USUAL = "usual"
    PLAINER = "plainer"
    MORE = "more"


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What a patient asks, with the earlier words of the same patient that may complete it.

    `earlier` holds the patient's own messages of this session, oldest first, never the bot's. `language` is set when the patient
    chose one; `language_prior` is the language of the session so far. `country` is an ISO 3166 code, for words that differ by
    country. `pages` are the ids of pages that an intake found, best first: the answer is made from the first that can give it.
    """

    text: str = field(repr=False)
    earlier: tuple[str, ...] = field(default=(), repr=False)
    language: Language | None = None
    language_prior: Language | None = None
    population: Population | None = None
    country: str | None = None
    pages: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Interpretation:
    """A question understood: language, intent, whom it concerns, and a form that stands without its history.

    `other_language` is true when the message is in neither Italian nor Spanish; `language` is then the session's, or Italian.
    `needs_context` is true when the message is a follow-up and there is nothing that it could follow. `implied` is what the
    message is about without naming it ("ha 38 e mezzo" tells a fever), in the words of sources.
    """

    language: Language
    intent: Intent
    self_contained: str = field(repr=False)
    population: Population | None = None
    is_follow_up: bool = False
    needs_context: bool = False
    other_language: bool = False
    implied: str = field(default="", repr=False)

    @property
    def meaning(self) -> str:
        """The question with what it implies."""
        return f"{self.self_contained} ({self.implied})" if self.implied else self.self_contained


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """What is searched: the patient's own words always, and each expansion as one more query."""

    question: str = field(repr=False)
    language: Language
    intent: Intent = Intent.QUESTION
    expansions: tuple[str, ...] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A hit whose chunk has not been read yet: most candidates fall away before anybody needs its text."""

    chunk_id: str
    score: float
    dense: float = 0.0
    lexical: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A chunk with its score in a ranking.

    `score` orders the ranking it comes from; `dense` is the cosine of the best surface (−1 to 1, 0 when not found by the dense
    side), `lexical` the BM25 score (0 when not found by the lexical side). `tokens` (`rag.corpus.lexical_column`) and
    `sentence_vectors`, rows in the order of `Chunk.sentences`, are as the index holds them; None if it does not.
    """

    chunk: Chunk
    score: float
    dense: float = 0.0
    lexical: float = 0.0
    tokens: tuple[str, ...] | None = field(default=None, compare=False, repr=False)
    sentence_vectors: "Vectors | None" = field(default=None, compare=False, repr=False)

    @property
    def chunk_id(self) -> str:
        """The id of its chunk."""
        return self.chunk.chunk_id


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """A sentence of a chunk judged fit to support an answer, with its strength from 0 to 1.

    `is_advice` marks a sentence on when to see a doctor; `similarity` is that of its page, as in `Source`.
    """

    chunk: Chunk
    sentence: Sentence
    strength: float
    is_advice: bool = False
    similarity: float = 0.0

    @property
    def place(self) -> tuple[str, int]:
        """Where the sentence stands: the id of its chunk and its offset in it."""
        return self.chunk.chunk_id, self.sentence.start


@dataclass(frozen=True, slots=True, kw_only=True)
class GradedEvidence:
    """Sentences with the grade that a generator gave each, 1 to 5, and those that are kept, all in the order of `sentences`.

    `labels` name them in the prompt ("A1"); `turn` is the message with the reply that graded them: a patient's question is in it.
    """

    sentences: tuple[Evidence, ...]
    labels: tuple[str, ...]
    grades: tuple[int, ...]
    kept: tuple[Evidence, ...]
    turn: tuple[str, str] = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """One sentence from the generator. Untrusted: it cannot be rendered, only aligned."""

    text: str


class SentenceKind(StrEnum):
    """Whether a shown sentence was written by the generator or stands in the source as it is."""

    WRITTEN = "written"
    QUOTED = "quoted"


@dataclass(frozen=True, slots=True, kw_only=True)
class SupportedSentence:
    """A sentence that evidence supports: the only kind that a patient sees. `alignment` is 0 to 1; a quote has 1."""

    text: str
    kind: SentenceKind
    evidence: tuple[Evidence, ...]
    alignment: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A page behind an answer, or one that is pointed to; `similarity` tells how sure it is that it is on the topic, 0 to 1."""

    document_id: str
    title: str
    publisher: str
    url: str | None
    similarity: float
    authority: Authority
    language: Language
    kind: DocumentKind = DocumentKind.ARTICLE
    reviewed_on: date | None = None

    @classmethod
    def of(cls, chunk: Chunk, *, similarity: float) -> "Source":
        """The page that a chunk is from."""
        return cls(
            document_id=chunk.document_id,
            title=chunk.title,
            publisher=chunk.publisher,
            url=chunk.url,
            similarity=similarity,
            authority=chunk.authority,
            language=chunk.language,
            kind=chunk.kind,
            reviewed_on=chunk.reviewed_on,
        )
