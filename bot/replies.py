"""What a message calls for: an answer, a question back, the proof of an answer, a command's notice."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from bot import commands
from bot.delivery import Delivery
from bot.errors import Busy
from bot.escalation import ANSWER_PAYLOAD
from bot.follow_ups import FollowUp, read_follow_up
from bot.hints import hinted_language
from bot.intake import Step, answered, leaving, next_step, unless_unseen
from bot.intake_dialogue import Dialogue
from bot.outcomes import Apology, Notice, Outcome, Topic, from_reply
from bot.parts import Parts
from bot.proof import asks_why, prove
from bot.session import MAX_TURN_CHARACTERS, KeptAnswer, Session
from bot.sessions import key_of
from bot.streaming import AnswerStream
from bot.typing_sign import typing_sign
from channels.messages import InboundMessage, MessageKind
from locales.language import Language
from rag.errors import Cancelled
from rag.replies import Answer, AnsweringRun, Clarification
from rag.types import Detail, Mode, Question

_NOTICE_FROM_POSITION = 2  # with one person ahead the answer itself arrives within seconds
_TOGETHER_S = 10.0
_LONG_QUEUE = 4  # with so many patients waiting, answers are quotes: some 0.2 s instead of 4

_VERDICTS = frozenset({FollowUp.USEFUL, FollowUp.USELESS})
_NO_MORE = frozenset({Topic.NO_PLAINER, Topic.NO_MORE})

_Work = Callable[..., tuple[AnsweringRun, Dialogue | None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One message on its way to its outcome.

    Args:
        message: As it came, or the question that it let through.
        session: Of its writer.
        earlier: What the patient had written before, oldest first.
        stream: Shows the sentences of an answer as they are verified.
        seen: The intake's question that was open when the message came: a "sì" replies to no other.
        language: To speak before the answering line has read the message.
        was_new: Nothing had been said to this patient before.
    """

    message: InboundMessage = field(repr=False)
    session: Session
    earlier: tuple[str, ...] = field(repr=False)
    stream: AnswerStream
    seen: Dialogue | None = field(repr=False)
    language: Language
    was_new: bool


class Replier:
    """Finds what each message calls for.

    Args:
        parts: What a conversation is made of.
        delivery: Sends what is said beside the outcome.
        spawn: Runs something beside the turn.
    """

    def __init__(self, parts: Parts, delivery: Delivery, spawn: Callable[[Any], None]) -> None:
        self._parts = parts
        self._delivery = delivery
        self._spawn = spawn

    async def outcome(self, turn: Turn) -> Outcome | None:
        """What the message calls for; None when it has been said already, or nothing is to be said.

        Raises:
            RagError: If models or index fail before anything was shown.
        """
        message, session = turn.message, turn.session
        if message.kind is MessageKind.TEXT and session.just_answered and asks_why(message.text):
            return await prove(session, turn.language, self._parts.find_document)
        step = next_step(message, session.intake, turn.language, self._parts.clock())
        if message.kind is MessageKind.BUTTON and isinstance(step, Notice) and self._was_just_answered(session):
            return None  # the second tap on what has just ended the questions (H10)
        if isinstance(step, Step):
            text = message.text if message.kind is MessageKind.TEXT else ""
            return await self._ask(text, turn, unless_unseen(step, message, turn.seen))
        if step is not None:
            return step
        match message.kind:
            case MessageKind.COMMAND:
                outcome = await self._obey(turn)
                return None if turn.was_new and isinstance(outcome, Notice) and outcome.topic is Topic.START else outcome
            case MessageKind.BUTTON:
                return await self._choose(turn)
            case _:  # text has been taken above
                return self._cannot_read(turn)

    def _was_just_answered(self, session: Session) -> bool:
        return bool(session.kept) and self._parts.clock() - session.kept[-1].at < _TOGETHER_S

    def _cannot_read(self, turn: Turn) -> Notice | None:
        """Only text is read; said once to several pictures that come together (H15)."""
        now, session = self._parts.clock(), turn.session
        is_said = session.only_text_at is not None and now - session.only_text_at < _TOGETHER_S
        session.only_text_at = now
        return None if is_said else Notice(topic=Topic.ONLY_TEXT, language=turn.language)

    async def _obey(self, turn: Turn) -> Outcome | None:
        session = turn.session
        notice = commands.respond(turn.message.text, session, turn.language, self._parts.directory)
        if notice.topic is Topic.PROOF:
            return await prove(session, notice.language, self._parts.find_document)
        if session.intake is None:
            return notice
        await self._delivery.send(notice, turn.message, session)  # who goes on to something else is answered at once
        return await self._ask("", turn, leaving(session.intake, self._parts.clock()), notice.language)

    async def _choose(self, turn: Turn) -> Outcome | None:
        message, session = turn.message, turn.session
        follow_up = read_follow_up(message.text)
        if follow_up is not None:
            return await self._follow_up(*follow_up, turn)
        if message.text == commands.WIPE_PAYLOAD:
            return await self._wipe(turn)
        if message.text != ANSWER_PAYLOAD:
            notice = commands.choose(message.text, session, turn.language, self._parts.directory)
            return notice or Notice(topic=Topic.START, language=turn.language)
        question = session.take_pending()
        return Notice(topic=Topic.START, language=turn.language) if question is None else await self._ask(question, turn)

    async def _follow_up(self, kind: FollowUp, number: str, turn: Turn) -> Outcome | None:
        kept = turn.session.kept_of(number)
        if kind is FollowUp.PROOF:
            return await prove(turn.session, turn.language, self._parts.find_document, number)
        if kept is None:
            return Notice(topic=Topic.PROOF_GONE, language=turn.language)
        if kind in kept.done:
            return None  # a second tap is met with silence (H10)
        if kind in _VERDICTS:
            return self._rate(kept, is_useful=kind is FollowUp.USEFUL)
        outcome = await self._again(kept, Detail.PLAINER if kind is FollowUp.PLAINER else Detail.MORE, turn)
        if isinstance(outcome, Answer) or (isinstance(outcome, Notice) and outcome.topic in _NO_MORE):
            kept.done |= {kind}
        return outcome

    def _rate(self, kept: KeptAnswer, *, is_useful: bool) -> Outcome:
        """Count a verdict, once an answer."""
        kept.done |= _VERDICTS
        sources = {item.chunk.source_id for sentence in kept.answer.sentences for item in sentence.evidence}
        self._parts.metrics.note_feedback(kept.answer.language, is_useful, sources)
        return Notice(topic=Topic.FEEDBACK, language=kept.answer.language)

    async def _again(self, kept: KeptAnswer, detail: Detail, turn: Turn) -> Outcome | None:
        """The answer in plainer sentences, or what the same pages say beyond all that has been told."""
        if self._parts.answerer is None:
            return Apology(language=turn.language)
        if kept.question is None:
            return Notice(topic=Topic.PROOF_GONE, language=turn.language)
        answerer, question, told = self._parts.answerer, kept.question, turn.session.kept[-1].told

        def work(**options: Any) -> tuple[AnsweringRun, Dialogue | None]:  # noqa: ANN401 - options of the answering line
            return answerer.answer(question, detail=detail, said=told, **options), turn.session.intake

        outcome = await self._worked(work, question, turn, kept.answer.language, kept.worded_at)
        if isinstance(outcome, Answer) and not any(_is_like(outcome, one.answer) for one in (kept, *turn.session.kept)):
            return outcome
        if outcome is None or isinstance(outcome, Notice | Apology):
            return outcome
        topic = Topic.NO_PLAINER if detail is Detail.PLAINER else Topic.NO_MORE
        return Notice(topic=topic, language=kept.answer.language)

    async def _wipe(self, turn: Turn) -> Outcome:
        """Delete the messages of a reply that nobody else should read, and forget them."""
        message, session = turn.message, turn.session
        handles, language = session.deletable, turn.language
        session.forget()
        is_gone = bool(handles) and await self._delivery.channel(message.sender.platform).delete(message.sender, handles)
        return Notice(topic=Topic.MESSAGES_DELETED if is_gone else Topic.MESSAGES_KEPT, language=language)

    async def _ask(self, text: str, turn: Turn, step: Step | None = None, language: Language | None = None) -> Outcome | None:
        message, session, language = turn.message, turn.session, language or turn.language
        if self._parts.answerer is None:
            return Apology(language=language)
        if len(text) > MAX_TURN_CHARACTERS:
            return Notice(topic=Topic.TOO_LONG, language=language)
        # A put-off question is itself among the earlier turns; it must not be its own history.
        earlier = turn.earlier[: turn.earlier.index(text)] if text in turn.earlier else turn.earlier
        remembered = set(session.earlier())  # while the question waited, something may have become too old
        earlier = tuple(words for words in earlier if words in remembered)
        question = Question(
            text=text,
            earlier=earlier,
            language=session.language,
            language_prior=session.language_prior or hinted_language(message),
            population=session.population,
            country=session.country,
        )
        work = partial(answered, self._parts.answerer, self._parts.intake, question, step)
        return await self._worked(work, question, turn, language, session.words_since(self._parts.clock()))

    async def _worked(self, work: _Work, question: Question, turn: Turn, language: Language, worded_at: float) -> Outcome | None:
        """Have something done in the inference thread, in this patient's turn, and see what came of it."""
        session, escalations = turn.session, turn.session.escalations
        try:
            run, session.intake = await self._in_turn(work, question, turn, language)
        except Busy:
            return Notice(topic=Topic.BUSY, language=language)
        except Exception as error:  # noqa: BLE001 - raised again unless something has been shown
            return await self._broken_off(error, turn, language)
        except asyncio.CancelledError:
            if _is_cancelled():
                raise
            return await self._stopped(turn, language, is_wished=session.escalations == escalations)
        finally:
            session.answering = None
        self._parts.metrics.note_answering(run.timings_s)
        if session.escalations != escalations:  # meanwhile: nobody is asked back after "call now"
            session.intake = None
            if isinstance(run.reply, Clarification):
                return None
        session.learn(run.interpretation)
        outcome = from_reply(run.reply)
        session.asked, session.asked_since = question if isinstance(outcome, Answer) else None, worded_at
        return outcome

    async def _in_turn(
        self, work: _Work, question: Question, turn: Turn, language: Language
    ) -> tuple[AnsweringRun, Dialogue | None]:
        message, session, worker = turn.message, turn.session, self._parts.worker
        on_sentence, mode = turn.stream.listen(question), self.mode(session)
        channel = self._delivery.channel(message.sender.platform)
        say = partial(self._delivery.try_to_send, Notice(topic=Topic.SEARCHING, language=language), message, session)
        async with typing_sign(channel, message.sender, say):
            session.answering = asyncio.ensure_future(
                worker.run(
                    key_of(message),
                    lambda deadline, cancelled: work(
                        deadline=deadline,
                        cancelled=cancelled,
                        on_sentence=on_sentence,
                        mode=mode,
                        quote_only=worker.depth >= _LONG_QUEUE,
                    ),
                    on_position=lambda position: self._tell_position(position, turn, language),
                )
            )
            try:
                result: tuple[AnsweringRun, Dialogue | None] = await session.answering
                return result
            except asyncio.CancelledError:
                session.answering.cancel()
                raise

    def mode(self, session: Session) -> Mode:
        """How the patient's questions are answered."""
        return session.mode or self._parts.mode

    async def _stopped(self, turn: Turn, language: Language, *, is_wished: bool) -> Outcome | None:
        """The patient wants the answer no longer, or an emergency ended it: what has been shown stays, with its sources."""
        shown = await turn.stream.settle()
        if turn.session.is_over:
            return None
        if shown:
            return Apology(language=language, shown=shown, is_wished=is_wished)
        return Notice(topic=Topic.STOPPED, language=language) if is_wished else None

    async def _broken_off(self, error: Exception, turn: Turn, language: Language) -> Apology:
        """An answer that broke after its first sentences were shown: they stay, and what happened is said below them."""
        shown = await turn.stream.settle()
        if not shown:
            raise error
        patient = self._parts.telemetry.patient(turn.message)
        if isinstance(error, Cancelled):  # the bot is stopping
            self._parts.telemetry.event("turn_cancelled", patient=patient)
        else:
            self._parts.telemetry.failure("turn_failed", error, stage="answer", patient=patient)
        return Apology(language=language, shown=shown)

    def _tell_position(self, position: int, turn: Turn, language: Language) -> None:
        if position < _NOTICE_FROM_POSITION:
            return
        notice = Notice(topic=Topic.QUEUE_POSITION, language=language, values={"k": str(position)})
        self._spawn(self._delivery.try_to_send(notice, turn.message, turn.session))


def _is_cancelled() -> bool:
    """Whether the turn itself is being cancelled, not only the work on its answer."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _is_like(one: Answer, other: Answer) -> bool:
    return [sentence.text for sentence in one.sentences] == [sentence.text for sentence in other.sentences]
