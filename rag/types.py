"""The nouns of the answering line: what a patient asks, what is found, and what may be shown.

Everything here is frozen. A `Draft` is untrusted and no renderer takes it; only `SupportedSentence` reaches a patient.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum
from typing import TYPE_CHECKING

from locales.language import Language
from rag.documents import Authority, Chunk, DocumentKind, Link, Sentence

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


class Preface(StrEnum):
    """What must be said before an answer."""

    OWN_DOSE = "own_dose"
    READING = "reading"

    @classmethod
    def of(cls, intent: Intent) -> "Preface | None":
        """What an answer to such a question begins with, if anything."""
        return {Intent.OWN_DOSE: cls.OWN_DOSE, Intent.READING: cls.READING}.get(intent)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """Sentences with their proof, the pages they come from, and where to read more."""

    sentences: tuple[SupportedSentence, ...]
    sources: tuple[Source, ...]
    language: Language
    mode: Mode
    further_reading: tuple[Link, ...] = ()
    preface: Preface | None = None
    extractive: bool = False
    hurried: bool = False  # quoted for want of time, though there is a generator
    dropped: int = 0  # drafted sentences that no evidence supported


class AbstentionKind(StrEnum):
    """Why the bot chooses not to answer."""

    OFF_TOPIC = "off_topic"
    NO_EVIDENCE = "no_evidence"
    OWN_DOSE = "own_dose"
    READING = "reading"
    NO_CONTENT = "no_content"  # nothing has been published in this language
    IN_OTHER_LANGUAGE = "in_other_language"  # none of its texts answers, and a page in another language may
    ONLY_LINK = "only_link"  # a page answers, in a sentence too long to be shown whole, or one that may not be shown


@dataclass(frozen=True, slots=True, kw_only=True)
class Abstention:
    """A chosen refusal.

    `sources` are pages that are pointed to, in another language or because nothing of them can be shown. Empty for other kinds.
    """

    kind: AbstentionKind
    language: Language
    sources: tuple[Source, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class IntakeChoice:
    """What a patient may say is theirs: a feature, or a sentence of a page's symptoms, word for word.

    `text` stands on the button. Of a feature there are its name and its `statement` in the first person, of a sentence its page.
    """

    text: str
    document_id: str = ""
    feature: str = ""
    statement: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class IntakeQuestion:
    """A short question back about a complaint.

    `name` is that of the feature it asks for, and `statement` says the feature in the first person, for who replies yes. With
    `choices` it asks instead which of them the patient has. A yes to one that `is_red_flag` is an emergency.
    """

    name: str
    text: str
    statement: str = ""
    is_red_flag: bool = False
    choices: tuple[IntakeChoice, ...] = ()

    def affirmed(self, places: Sequence[int] = ()) -> tuple[str, ...]:
        """What is affirmed in the stead of a patient who replies yes, or chooses what stands at some places."""
        if self.choices:
            return tuple(self.choices[place].statement or self.choices[place].text for place in places)
        return (self.statement,) if self.statement else ()


class ClarificationKind(StrEnum):
    """What the bot must ask before it can answer."""

    WHAT_IS_MEANT = "what_is_meant"
    INTAKE = "intake"


@dataclass(frozen=True, slots=True, kw_only=True)
class Clarification:
    """A question back to the patient.

    `question` is what an intake asks, `token` names it in replies, and `is_first` is true of its first; other kinds have none.
    """

    kind: ClarificationKind
    language: Language
    question: IntakeQuestion | None = None
    token: str = ""
    is_first: bool = False


class NoticeKind(StrEnum):
    """Sentences that need no evidence because they say nothing about health."""

    GREETING = "greeting"
    THANKS = "thanks"
    ABOUT = "about"
    OTHER_LANGUAGE = "other_language"


@dataclass(frozen=True, slots=True, kw_only=True)
class Courtesy:
    """A reply to a greeting, thanks, a question about the bot, or a message in a third language."""

    kind: NoticeKind
    language: Language


@dataclass(frozen=True, slots=True, kw_only=True)
class PageExcerpt:
    """What one page says itself: a sentence of its symptoms, and when to see a doctor."""

    symptom: Evidence
    advice: tuple[Evidence, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    """Pages that a complaint may belong to, in alphabetical order: no ranking, likelihood or urgency but the pages' own words."""

    excerpts: tuple[PageExcerpt, ...]
    sources: tuple[Source, ...]
    language: Language


Reply = Answer | Abstention | Clarification | Courtesy | Overview


@dataclass(frozen=True, slots=True, kw_only=True)
class AnsweringRun:
    """What one run of the answering line gave, how the question was understood, and the seconds of each stage.

    `timings_s` holds one entry a stage (interpret, expand, retrieve, rerank, evidence, write, align), and `first_sentence`,
    `prefill`, `decode`, `total`.
    """

    reply: Reply
    interpretation: Interpretation
    timings_s: dict[str, float] = field(default_factory=dict)
