"""What a session remembers of an intake."""

from dataclasses import dataclass, field

from rag.intake import Assessment
from rag.intake_story import Story
from rag.replies import Clarification, ClarificationKind, IntakeQuestion


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialogue:
    """An intake under way: what has been told, and the question that waits for a reply.

    `token` names this question of this dialogue, so that a tap on an older one, or on somebody else's, replies to nothing. `at`
    is when the complaint was told first: nothing of it is kept longer than any other word.
    """

    token: str
    story: Story = field(repr=False)
    assessment: Assessment = field(repr=False)
    question: IntakeQuestion = field(repr=False)
    at: float = field(repr=False)

    @property
    def clarification(self) -> Clarification:
        """The question as an outcome."""
        return Clarification(
            kind=ClarificationKind.INTAKE,
            language=self.story.language,
            question=self.question,
            token=self.token,
            is_first=not self.story.replies,
        )
