"""The message line: receive, acknowledge, safety gate, session, answer, render, send. Read `_turn` from top to bottom."""

import asyncio
from collections.abc import Awaitable, Coroutine
from dataclasses import replace
from functools import partial
from typing import Any

from bot import commands
from bot.errors import Busy
from bot.escalation import ANSWER_PAYLOAD
from bot.hints import hinted_language, known_language, language_of, take_country_hint
from bot.intake import Step, answered, leaving, next_step, put_off, read_with_story, unless_unseen
from bot.intake_dialogue import Dialogue
from bot.outcomes import Apology, Escalation, Notice, Outcome, Proof, Topic, from_reply, kind_of
from bot.parts import Parts
from bot.proof import asks_why, proof_number, prove
from bot.renderer import Reader
from bot.safety import GateReading, RedFlag, SafetyGate
from bot.second_reading import SecondReader
from bot.sessions import MAX_TURN_CHARACTERS, Session, key_of
from bot.streaming import AnswerStream, Streams
from bot.telemetry import TurnLog
from bot.typing_sign import SHOWN_S, typing_sign
from channels.base import Channel
from channels.errors import DeliveryFailed, RecipientGone
from channels.messages import InboundMessage, MessageKind
from locales.language import Language
from rag.errors import Cancelled
from rag.types import Answer, Clarification, Question

_MAX_TASKS = 1_000
_MAX_WAITING = 5  # messages of one patient that may wait behind each other
_NOTICE_FROM_POSITION = 2  # with one person ahead the answer itself arrives within seconds
_LONG_QUEUE = 4  # with so many patients waiting, answers are quotes: some 0.2 s instead of 4
_SEND_LIMIT_S = 120.0


class Conversation:
    """Takes every arriving message and sees to it that the patient hears back."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._tasks: set[asyncio.Task[None]] = set()
        self._second_reader = SecondReader(parts.gate, parts.telemetry)
        extractive = parts.answerer is not None and parts.answerer.is_extractive
        self._streams = Streams(renderer=parts.renderer, telemetry=parts.telemetry, extractive=extractive, paces=parts.paces)

    async def receive(self, message: InboundMessage) -> None:
        """Take a message and return at once; the turn runs in the background."""
        if not self._parts.registry.claim(message.sender.platform, message.message_id):
            self._parts.telemetry.event("duplicate", platform=message.sender.platform.value)
            return
        if len(self._tasks) >= _MAX_TASKS and self._parts.gate.read(message.text).red_flag is None:
            self._parts.telemetry.warning("message_dropped", count=len(self._tasks))
            return
        self._spawn(self._turn(message))

    async def finish(self, grace_s: float) -> None:
        """Let running turns end; after `grace_s` seconds what still waits for an answer gets an apology."""
        _, late = await asyncio.wait(self._tasks, timeout=grace_s) if self._tasks else ((), ())
        if not late:
            return
        await self._parts.worker.stop()
        _, lost = await asyncio.wait(late, timeout=SHOWN_S)
        for task in lost:
            task.cancel()
        await asyncio.gather(*lost, return_exceptions=True)

    def close(self) -> None:
        """Let go of the gate's thread; nothing is received any more."""
        self._second_reader.close()

    async def idle(self) -> None:
        """Wait until no turn is running."""
        while self._tasks:
            await asyncio.wait(self._tasks)

    @property
    def running(self) -> int:
        """Turns that have not ended."""
        return len(self._tasks)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)  # the loop itself keeps only a weak reference
        task.add_done_callback(self._tasks.discard)

    async def _turn(self, message: InboundMessage) -> None:
        log, patient = TurnLog(), self._parts.telemetry.patient(message)
        try:
            outcome = await self._respond(message, log)
        except RecipientGone:
            self._parts.sessions.drop(key_of(message))
            self._parts.telemetry.event("recipient_gone", patient=patient, platform=message.sender.platform.value)
        except Cancelled:  # the bot is stopping
            self._parts.telemetry.event("turn_cancelled", patient=patient)
            await self._apologise(message)
        except Exception as error:  # noqa: BLE001 - whatever happens, the patient hears back
            self._parts.telemetry.failure("turn_failed", error, stage=log.stage_name, patient=patient)
            if not isinstance(error, DeliveryFailed):
                await self._apologise(message)
        else:
            self._parts.telemetry.event(
                "turn", outcome=outcome, patient=patient, platform=message.sender.platform.value,
                duration_s=log.duration_s, stages_s=log.stages_s,
            )  # fmt: skip

    async def _respond(self, message: InboundMessage, log: TurnLog) -> str:
        """One turn; returns the kind of its outcome.

        Before the emergency or the session's lock is reached, nothing is awaited but the gate's second reading, whose one thread
        keeps the order of messages.
        """
        parts = self._parts
        with log.stage("gate"):
            session = parts.sessions.touch(key_of(message))
            take_country_hint(session, message)
            now = parts.clock()
            reading, seen = _read(parts.gate, message, session, now), session.intake
        earlier, burst = session.earlier(), session.burst(now)
        if message.kind is MessageKind.TEXT:
            session.remember(message.text, now)
            with log.stage("reread"):
                reading = await self._second_reader.read(message.text, burst, reading)
        if reading.red_flag is not None:
            with log.stage("escalate"):
                outcome = await self._escalate(reading.red_flag, message, session, now)
            await parts.registry.record(message.sender.platform, message.message_id)
            return outcome
        if session.waiting >= _MAX_WAITING:
            return await self._slow_down(message, session)
        with session.turn_waits():
            async with session.lock:
                with log.stage("claim"):
                    is_first = await parts.registry.record(message.sender.platform, message.message_id)
                return await self._reply(message, session, earlier, reading, log, seen) if is_first else "duplicate"

    async def _reply(
        self,
        message: InboundMessage,
        session: Session,
        earlier: tuple[str, ...],
        reading: GateReading,
        log: TurnLog,
        seen: Dialogue | None,
    ) -> str:
        admin = self._parts.admin
        if admin is not None and admin.takes(message):
            with log.stage("admin"):
                await self._deliver(admin.respond(message, known_language(message, session)))
            return "admin"
        was_new = not session.met
        with log.stage("greet"):
            await self._introduce(message, session)
        about_emergency = reading.about is not None
        reader = Reader(platform=message.sender.platform, country=session.country, is_new=was_new)
        async with self._streams.open(self._channel(message), message.sender, reader, about_emergency=about_emergency) as stream:
            with log.stage("answer"):
                outcome = await self._outcome(message, session, earlier, stream, seen, was_new=was_new)
            if outcome is None:
                return "notice"
            self._parts.tally.note(outcome, message.sender.platform)
            with log.stage("render"):
                number = session.keep_answer(outcome, self._parts.clock()) if isinstance(outcome, Answer) else None
                session.just_answered = isinstance(outcome, Answer | Proof)
                reader = replace(reader, country=session.country, answer_number=number)
                rendered = self._parts.renderer.render(outcome, reader, about_emergency=about_emergency)
            with log.stage("send"):
                await self._deliver(stream.finish(rendered))
        return kind_of(outcome)

    async def _outcome(
        self,
        message: InboundMessage,
        session: Session,
        earlier: tuple[str, ...],
        stream: AnswerStream,
        seen: Dialogue | None,
        *,
        was_new: bool,
    ) -> Outcome | None:
        """What the message calls for; None when it has been said already.

        `seen` is the intake's question that was open when the message came: a "sì" replies to no other.
        """
        language = language_of(message, session)
        if self._asks_why(message, session):
            return await prove(session, language, self._parts.find_document)
        step = next_step(message, session.intake, language, self._parts.clock())
        if isinstance(step, Step):
            step = unless_unseen(step, message, seen)
            text = message.text if message.kind is MessageKind.TEXT else ""
            return await self._ask(text, message, session, earlier, language, stream, step)
        if step is not None:
            return None if was_new and isinstance(step, Notice) else step
        match message.kind:
            case MessageKind.COMMAND:
                outcome = await self._obey(message, session, earlier, language, stream)
                return None if was_new and isinstance(outcome, Notice) and outcome.topic is Topic.START else outcome
            case MessageKind.BUTTON:
                return await self._choose(message, session, earlier, language, stream)
            case _:  # text has been taken above
                return Notice(topic=Topic.ONLY_TEXT, language=language)

    async def _obey(
        self, message: InboundMessage, session: Session, earlier: tuple[str, ...], language: Language, stream: AnswerStream
    ) -> Outcome | None:
        notice = commands.respond(message.text, session, language, self._parts.directory)
        if notice.topic is Topic.PROOF:
            return await prove(session, notice.language, self._parts.find_document)
        if session.intake is None:
            return notice
        await self._send(notice, message, session)  # who goes on to something else is answered at once
        step = leaving(session.intake, self._parts.clock())
        return await self._ask("", message, session, earlier, notice.language, stream, step)

    def _asks_why(self, message: InboundMessage, session: Session) -> bool:
        return message.kind is MessageKind.TEXT and session.just_answered and asks_why(message.text)

    async def _choose(
        self, message: InboundMessage, session: Session, earlier: tuple[str, ...], language: Language, stream: AnswerStream
    ) -> Outcome | None:
        number = proof_number(message.text)
        if number is not None:
            return await prove(session, language, self._parts.find_document, number)
        if message.text != ANSWER_PAYLOAD:
            notice = commands.choose(message.text, session, language, self._parts.directory)
            return notice or Notice(topic=Topic.START, language=language)
        question = session.take_pending()
        if question is None:
            return Notice(topic=Topic.START, language=language)
        # The put-off question is itself among the earlier turns; it must not be its own history.
        before = earlier[: earlier.index(question)] if question in earlier else earlier
        return await self._ask(question, message, session, before, language, stream)

    async def _ask(
        self,
        text: str,
        message: InboundMessage,
        session: Session,
        earlier: tuple[str, ...],
        language: Language,
        stream: AnswerStream,
        step: Step | None = None,
    ) -> Outcome | None:
        if self._parts.answerer is None:
            return Apology(language=language)
        if len(text) > MAX_TURN_CHARACTERS:
            return Notice(topic=Topic.TOO_LONG, language=language)
        prior = session.language_prior or hinted_language(message)
        question = Question(
            text=text,
            earlier=earlier,
            language=session.language,
            language_prior=prior,
            population=session.population,
            country=session.country,
        )
        line = partial(answered, self._parts.answerer, self._parts.intake, question, step)
        worker, on_sentence, escalations = self._parts.worker, stream.listen(question), session.escalations
        mode = session.mode or self._parts.mode
        async with typing_sign(self._channel(message), message.sender):
            try:
                run, session.intake = await worker.run(
                    key_of(message),
                    lambda deadline, cancelled: line(
                        deadline=deadline,
                        cancelled=cancelled,
                        on_sentence=on_sentence,
                        mode=mode,
                        quote_only=worker.depth >= _LONG_QUEUE,
                    ),
                    on_position=lambda position: self._tell_position(position, message, session, language),
                )
            except Busy:
                return Notice(topic=Topic.BUSY, language=language)
            except Exception as error:  # noqa: BLE001 - raised again unless something has been shown
                return await self._broken_off(error, message, language, stream)
        if session.escalations != escalations:  # meanwhile: nobody is asked back after "call now"
            session.intake = None
            if isinstance(run.reply, Clarification):
                return None
        if not run.interpretation.other_language:
            session.language_prior = run.interpretation.language
            session.population = run.interpretation.population
        return from_reply(run.reply)

    async def _broken_off(self, error: Exception, message: InboundMessage, language: Language, stream: AnswerStream) -> Apology:
        """An answer that broke after its first sentences were shown: they stay, and what happened is said below them."""
        shown = await stream.settle()
        if not shown:
            raise error
        patient = self._parts.telemetry.patient(message)
        if isinstance(error, Cancelled):  # the bot is stopping
            self._parts.telemetry.event("turn_cancelled", patient=patient)
        else:
            self._parts.telemetry.failure("turn_failed", error, stage="answer", patient=patient)
        return Apology(language=language, shown=shown)

    async def _escalate(self, red_flag: RedFlag, message: InboundMessage, session: Session, now: float) -> str:
        """Say whom to call: before any lock or queue, and without models or index."""
        if session.intake is not None:
            session.keep_pending(put_off(message, session.intake, now), session.intake.at)
            session.intake = None
        elif message.kind is MessageKind.TEXT:
            session.keep_pending(message.text, now)
        repeated = session.note_escalation(red_flag, now)
        language = language_of(message, session)
        session.language_prior = language  # the next word may be too short to tell
        outcome = Escalation(red_flag=red_flag, language=language, repeated=repeated)
        self._parts.tally.note(outcome, message.sender.platform)
        await self._send(outcome, message, session)
        return kind_of(outcome)

    async def _introduce(self, message: InboundMessage, session: Session) -> None:
        if session.met:
            return
        session.met = True
        await self._send(Notice(topic=Topic.FIRST_CONTACT, language=language_of(message, session)), message, session)

    async def _slow_down(self, message: InboundMessage, session: Session) -> str:
        """Refuse a message of a patient who sends faster than can be answered; said once until the queue is empty."""
        if not session.told_to_slow_down:
            session.told_to_slow_down = True
            await self._send(Notice(topic=Topic.SLOW_DOWN, language=language_of(message, session)), message, session)
        return "refused"

    def _tell_position(self, position: int, message: InboundMessage, session: Session, language: Language) -> None:
        if position < _NOTICE_FROM_POSITION:
            return
        notice = Notice(topic=Topic.QUEUE_POSITION, language=language, values={"k": str(position)})
        self._spawn(self._try_to_send(notice, message, session))

    async def _apologise(self, message: InboundMessage) -> None:
        session = self._parts.sessions.touch(key_of(message))
        apology = Apology(language=language_of(message, session))
        self._parts.tally.note(apology, message.sender.platform)
        await self._try_to_send(apology, message, session)

    async def _try_to_send(self, outcome: Outcome, message: InboundMessage, session: Session) -> None:
        try:
            await self._send(outcome, message, session)
        except Exception as error:  # noqa: BLE001 - nothing more can be said to this patient
            self._parts.telemetry.failure("send_failed", error, patient=self._parts.telemetry.patient(message))

    async def _send(self, outcome: Outcome, message: InboundMessage, session: Session) -> None:
        reader = Reader(platform=message.sender.platform, country=session.country)
        await self._deliver(self._channel(message).send(message.sender, self._parts.renderer.render(outcome, reader)))

    async def _deliver(self, sending: Awaitable[None]) -> None:
        await asyncio.wait_for(sending, _SEND_LIMIT_S)

    def _channel(self, message: InboundMessage) -> Channel:
        return self._parts.channels[message.sender.platform]


def _read(gate: SafetyGate, message: InboundMessage, session: Session, now: float) -> GateReading:
    if message.kind is MessageKind.BUTTON and message.text == ANSWER_PAYLOAD:
        return GateReading(about=ANSWER_PAYLOAD)  # no emergency, the patient says: answered, with the emergency line first
    if message.kind is MessageKind.BUTTON and proof_number(message.text) is not None:
        return GateReading()  # holds no word; what was written before it has been read already
    if session.intake is not None:
        return read_with_story(gate, message, session.intake, session.burst(now), now)
    return gate.read(message.text, session.burst(now))
