"""What a patient has told of a complaint, over several rounds."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from locales.language import Language
from rag.intake_features import FeatureLexicon, ReplyKind
from rag.replies import IntakeQuestion
from rag.types import Population


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """What a patient has said of a complaint: their own words, and what they replied to questions. Never the bot's words.

    `replies` holds each question's name with the reply, `asked` the features that the questions asked for, `statements` what was
    affirmed in the patient's stead, `chosen` the page whose sentence was chosen. `searched` are the utterances that add something
    to search for. `in_vain` counts the latest questions, one after the other, from which nothing was learned.
    """

    language: Language
    utterances: tuple[str, ...] = field(repr=False)
    searched: tuple[str, ...] = field(default=(), repr=False)
    replies: tuple[tuple[str, ReplyKind], ...] = field(default=(), repr=False)
    asked: tuple[tuple[str, ReplyKind], ...] = field(default=(), repr=False)
    statements: tuple[str, ...] = field(default=(), repr=False)
    chosen: str | None = field(default=None, repr=False)
    in_vain: int = 0
    population: Population | None = field(default=None, repr=False)
    country: str | None = field(default=None, repr=False)

    @property
    def text(self) -> str:
        """Everything that was said or affirmed, as one text."""
        return ". ".join(part.strip().rstrip(".") for part in (*self.utterances, *self.statements))

    @property
    def query(self) -> str:
        """What candidates are searched by: the patient's own words, since a search by the bot's finds its guess again."""
        return ". ".join(part.strip().rstrip(".") for part in (self.searched or self.utterances))

    @property
    def questions_asked(self) -> int:
        """How many questions were replied to, by whatever reply."""
        return len(self.replies)

    def saying(self, text: str) -> "Story":
        """The story with one more utterance. What says nothing new is kept, and not searched."""
        if not text.strip():
            return self
        adds = FeatureLexicon.load(self.language).adds(text, self.utterances)
        searched = (*(self.searched or self.utterances), text) if adds else self.searched
        return replace(self, utterances=(*self.utterances, text), searched=searched)

    def replying(
        self, question: IntakeQuestion, kind: ReplyKind, *, rest: str = "", choice: int | Sequence[int] | None = None
    ) -> "Story":
        """The story with the reply to a question.

        Args:
            question: What was asked.
            kind: Yes, no or unsure.
            rest: What the patient wrote beside it, in their own words.
            choice: The place of what was chosen, or several places, for a question with choices.
        """
        places = (choice,) if isinstance(choice, int) else tuple(choice or ())
        chosen = [question.choices[place].document_id for place in places if question.choices[place].document_id]
        affirmed = question.affirmed(places) if places or kind is ReplyKind.YES else ()
        told = replace(
            self,
            replies=(*self.replies, (question.name, kind)),
            asked=(*self.asked, *_asked(question, kind, places)),
            statements=(*self.statements, *affirmed),
            chosen=chosen[0] if chosen else self.chosen,
        ).saying(rest)
        is_denied = kind is ReplyKind.NO and not question.choices
        learned = bool(affirmed) or is_denied or told.searched != self.searched
        return replace(told, in_vain=0 if learned else self.in_vain + 1)


def _asked(question: IntakeQuestion, kind: ReplyKind, places: Sequence[int]) -> tuple[tuple[str, ReplyKind], ...]:
    """The features that a question asked for. Of those not chosen nothing is known: patients choose what troubles them most."""
    if not question.choices:
        return ((question.name, kind),)
    return tuple(
        (choice.feature, ReplyKind.YES if place in places else ReplyKind.UNSURE)
        for place, choice in enumerate(question.choices)
        if choice.feature
    )
