"""The intake dialogue of a conversation: what a tap or a few words reply to, what the gate makes of it, and when to answer.

The state is one frozen `Dialogue` in the session, dropped with it. Everything that searches runs in the inference thread.
"""

import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from bot import commands
from bot.intake_dialogue import Dialogue
from bot.intake_messages import NONE_OF_THEM, PAYLOAD
from bot.intake_mode import IntakeMode
from bot.outcomes import Notice, Topic
from bot.safety import GateReading
from channels.messages import InboundMessage, MessageKind
from locales.language import Language
from rag.errors import IndexMissing, IndexOutdated
from rag.intake import Assessment, Intake, as_question
from rag.intake_features import ReplyKind
from rag.intake_replies import read_reply
from rag.intake_story import Story
from rag.replies import AnsweringRun, Clarification, IntakeQuestion
from rag.types import Intent, Interpretation, Question


class Answers(Protocol):
    """What an intake needs of the answering line."""

    @property
    def answer(self) -> Callable[..., AnsweringRun]:
        """Answers a question, in the inference thread."""


class Reads(Protocol):
    """What an intake needs of the gate."""

    def read(self, text: str, earlier: tuple[str, ...] = ()) -> GateReading:
        """Read a message."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What a message means for an intake: the beginning of one where there is no dialogue, else a reply, or further words.

    `kind` is None only where there is no dialogue; `chosen` are the places of what was chosen.
    """

    at: float
    dialogue: Dialogue | None = field(default=None, repr=False)
    kind: ReplyKind | None = None
    words: str = field(default="", repr=False)
    chosen: tuple[int, ...] = field(default=(), repr=False)


def next_step(
    message: InboundMessage, dialogue: Dialogue | None, language: Language, now: float
) -> Step | Clarification | Notice | None:
    """What a message means for the intake of its session.

    Returns:
        A step; the open question again, for a tap on an older one; a notice, for a tap or a wish to leave where there is no
        dialogue (any more); None if the message is none of the intake's business.
    """
    is_ours = message.kind is MessageKind.BUTTON and message.text.startswith(PAYLOAD)
    leaves = message.kind is MessageKind.COMMAND and commands.stops(message.text)
    if dialogue is None:
        if is_ours or leaves:
            return Notice(topic=Topic.PROOF_GONE if is_ours else Topic.NOTHING_RUNS, language=language)
        return Step(at=now) if message.kind is MessageKind.TEXT else None
    if leaves:
        return Step(at=now, dialogue=dialogue, kind=ReplyKind.STOP)
    if is_ours:
        return _tapped(message.text, dialogue, now) or dialogue.clarification
    return _typed(message.text, dialogue, now) if message.kind is MessageKind.TEXT else None


def unless_unseen(step: Step, message: InboundMessage, seen: Dialogue | None) -> Step:
    """The step, but as further words where a typed reply would answer a question that was not asked yet when it was written.

    A "sì" sent while the first message is still being worked on says yes to no red flag, and denies none.
    """
    if step.dialogue is None or step.dialogue is seen or message.kind is not MessageKind.TEXT:
        return step
    return replace(step, kind=ReplyKind.UNSURE, words=message.text, chosen=())


def leaving(dialogue: Dialogue, now: float) -> Step:
    """The step of a patient who has gone on to something else: what was told so far is answered."""
    return Step(at=now, dialogue=dialogue, kind=ReplyKind.STOP)


def read_with_story(gate: Reads, message: InboundMessage, dialogue: Dialogue, burst: tuple[str, ...], now: float) -> GateReading:
    """Read a message of an intake: its own words, then what a yes affirms, each together with all that has been told.

    A yes is read by the rules alone. What is learned from phrases takes one in five plain statements for an emergency when they
    follow a complaint; a red-flag question has a statement of which a test makes sure that the rules know it.
    """
    told = (dialogue.story.text,)
    reading = GateReading() if message.text.startswith(PAYLOAD) else gate.read(message.text, burst)
    if reading.red_flag is None and message.kind is MessageKind.TEXT:
        joined = gate.read(message.text, told)
        reading = joined if joined.red_flag is not None else reading
    affirmed = _affirmed(next_step(message, dialogue, dialogue.story.language, now))
    if reading.red_flag is not None or not affirmed:
        return reading
    alone = gate.read(affirmed)
    return alone if alone.red_flag is not None else _first(gate.read(affirmed, told), reading)


def put_off(message: InboundMessage, dialogue: Dialogue, now: float) -> str:
    """All that was told when an emergency ends an intake: it is answered if the patient says that it is none."""
    step = next_step(message, dialogue, dialogue.story.language, now)
    return _told(step).text if isinstance(step, Step) and step.dialogue is not None else dialogue.story.text


class IntakeDesk:
    """Asks back before the answering line answers. Its methods run in the inference thread.

    Args:
        intake: Assesses what was told.
        answerer: The answering line.
        mode: Whether the pages found are listed at the end.
    """

    def __init__(self, intake: Intake, answerer: Answers, mode: IntakeMode) -> None:
        self._intake = intake
        self._answerer = answerer
        self._mode = mode

    def answer(self, question: Question, step: Step, **options: Any) -> tuple[AnsweringRun, Dialogue | None]:  # noqa: ANN401
        """Ask the next question, or answer.

        Args:
            question: The message as a question of its own, for whoever tells no complaint or has gone on to ask something.
            step: What the message means for the intake.
            **options: Of the answering line.

        Returns:
            What is replied, and the dialogue that goes on, None where none does.

        Raises:
            Cancelled: If the answer is no longer wanted.
            StoreError: If the index cannot be read.
        """
        understood = self._intake.understand(question) if step.dialogue is None else _understood(step.dialogue.story)
        begun = time.monotonic()
        try:
            story = self._story(question, step, understood)
            assessment = (
                None if story is None else self._intake.assess(story, step.dialogue.assessment if step.dialogue else None)
            )
        except (IndexMissing, IndexOutdated):
            story = assessment = None
        if story is None or assessment is None or (step.dialogue is None and assessment.question is None):
            return self._answerer.answer(question, **options), None
        if assessment.question is not None and step.kind is not ReplyKind.STOP:
            dialogue = _going_on(step, story, assessment, assessment.question)
            timings_s = {"intake": time.monotonic() - begun}
            return AnsweringRun(reply=dialogue.clarification, interpretation=understood, timings_s=timings_s), dialogue
        return self._conclude(story, assessment, understood, **options), None

    def _story(self, question: Question, step: Step, understood: Interpretation) -> Story | None:
        """What has been told by now; None if the message is a question of its own."""
        if step.dialogue is None:
            if not self._intake.calls_for(question, understood):
                return None
            return self._intake.begin(
                question.text, understood.language, population=understood.population, country=question.country
            )
        is_other = self._intake.is_new_question(step.words, step.dialogue.story.language)
        return None if is_other else _told(step)

    def _conclude(self, story: Story, assessment: Assessment, understood: Interpretation, **options: Any) -> AnsweringRun:  # noqa: ANN401
        if self._mode is IntakeMode.FULL:
            overview = self._intake.overview(story, assessment)
            if overview is not None:
                return AnsweringRun(reply=overview, interpretation=understood)
        return self._answerer.answer(as_question(story, assessment), **options)


def answered(
    answerer: Answers,
    desk: IntakeDesk | None,
    question: Question,
    step: Step | None,
    **options: Any,  # noqa: ANN401
) -> tuple[AnsweringRun, Dialogue | None]:
    """Answer a question through the intake, or past it where there is none or the message is none of its business."""
    if desk is None or step is None:
        return answerer.answer(question, **options), None
    return desk.answer(question, step, **options)


def _understood(story: Story) -> Interpretation:
    return Interpretation(language=story.language, intent=Intent.SYMPTOM, self_contained=story.text, population=story.population)


def _going_on(step: Step, story: Story, assessment: Assessment, question: IntakeQuestion) -> Dialogue:
    at = step.dialogue.at if step.dialogue else step.at
    return Dialogue(token=secrets.token_hex(4), story=story, assessment=assessment, question=question, at=at)


def _told(step: Step) -> Story:
    """The story after a step of its dialogue."""
    assert step.dialogue is not None  # noqa: S101 - a caller's mistake
    story, question = step.dialogue.story, step.dialogue.question
    if step.kind is ReplyKind.STOP or step.kind is None:
        return story
    return story.replying(question, step.kind, rest=step.words, choice=step.chosen)


def _tapped(text: str, dialogue: Dialogue, now: float) -> Step | None:
    token, _, reply = text.removeprefix(PAYLOAD).partition(":")
    if token != dialogue.token:
        return None
    if reply.isdigit() and int(reply) < len(dialogue.question.choices):
        return Step(at=now, dialogue=dialogue, kind=ReplyKind.YES, chosen=(int(reply),))
    kind = ReplyKind.UNSURE if reply == NONE_OF_THEM else ReplyKind(reply) if reply in set(ReplyKind) else None
    return None if kind is None else Step(at=now, dialogue=dialogue, kind=kind)


def _typed(text: str, dialogue: Dialogue, now: float) -> Step:
    """What words reply: further words count as a reply, so that no more than three questions are asked."""
    spoken = read_reply(dialogue.question, text, dialogue.story.language)
    return Step(at=now, dialogue=dialogue, kind=spoken.kind, words=spoken.rest, chosen=spoken.chosen)


def _affirmed(step: object) -> str:
    """What a step affirms in the patient's stead."""
    if not isinstance(step, Step) or step.dialogue is None or step.kind is not ReplyKind.YES:
        return ""
    return ". ".join(step.dialogue.question.affirmed(step.chosen))


def _first(joined: GateReading, reading: GateReading) -> GateReading:
    return joined if joined.red_flag is not None else reading
