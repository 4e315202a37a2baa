"""What a patient has told of a complaint, over several rounds."""

from dataclasses import dataclass, field, replace

from locales.language import Language
from rag.intake_features import FeatureLexicon, ReplyKind
from rag.types import IntakeQuestion, Population


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """What a patient has said of a complaint: their own words, and what they replied to questions. Never the bot's words.

    `replies` holds the question's name with the reply, `statements` what was affirmed in the patient's stead, `chosen` the page
    whose sentence was chosen. `searched` are the utterances and statements that add something to search for.
    """

    language: Language
    utterances: tuple[str, ...] = field(repr=False)
    searched: tuple[str, ...] = field(default=(), repr=False)
    replies: tuple[tuple[str, ReplyKind], ...] = field(default=(), repr=False)
    statements: tuple[str, ...] = field(default=(), repr=False)
    chosen: str | None = field(default=None, repr=False)
    population: Population | None = field(default=None, repr=False)
    country: str | None = field(default=None, repr=False)

    @property
    def text(self) -> str:
        """Everything that was said or affirmed, as one text."""
        return ". ".join(part.strip().rstrip(".") for part in (*self.utterances, *self.statements))

    @property
    def query(self) -> str:
        """What candidates are searched by."""
        return ". ".join(part.strip().rstrip(".") for part in (self.searched or self.utterances))

    @property
    def questions_asked(self) -> int:
        """How many questions were replied to, by whatever reply."""
        return len(self.replies)

    def saying(self, text: str) -> "Story":
        """The story with one more utterance. What says nothing new is kept, and not searched."""
        if not text.strip():
            return self
        adds = FeatureLexicon.load(self.language).adds(text, (*self.utterances, *self.statements))
        searched = (*(self.searched or self.utterances), text) if adds else self.searched
        return replace(self, utterances=(*self.utterances, text), searched=searched)

    def replying(self, question: IntakeQuestion, kind: ReplyKind, *, rest: str = "", choice: int | None = None) -> "Story":
        """The story with the reply to a question.

        Args:
            question: What was asked.
            kind: Yes, no or unsure.
            rest: What the patient wrote beside it, in their own words.
            choice: The place of the chosen sentence, for a question with choices.
        """
        affirmed, chosen = "", self.chosen
        if choice is not None:
            affirmed, chosen = question.choices[choice].text, question.choices[choice].document_id
        elif kind is ReplyKind.YES:
            affirmed = question.statement
        told = replace(self, replies=(*self.replies, (question.name, kind)), chosen=chosen)
        if affirmed:
            searched = (*(self.searched or self.utterances), affirmed)
            told = replace(told, statements=(*self.statements, affirmed), searched=searched)
        return told.saying(rest)
