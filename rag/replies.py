"""What a patient is replied: an answer, a chosen refusal, a question back, a courtesy, or pages to read; all frozen."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from locales.language import Language
from rag.documents import Link
from rag.types import Evidence, Intent, Interpretation, Mode, Source, SupportedSentence


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
