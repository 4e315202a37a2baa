"""The message line: receive, acknowledge, safety gate, session, answer, render, send. Read `_turn` from top to bottom."""

import asyncio
from collections.abc import Coroutine
from dataclasses import replace
from typing import Any

from bot.consent import Admitted, ConsentDesk
from bot.delivery import Delivery
from bot.emergency_desk import EmergencyDesk
from bot.gathering import Gathering
from bot.hints import known_language, language_of, take_country_hint
from bot.immediate import Immediate
from bot.intake_dialogue import Dialogue
from bot.metrics import DeliveryFailure
from bot.outcomes import Apology, Notice, Outcome, Proof, Topic, kind_of
from bot.parts import Parts
from bot.patient_limits import Verdict
from bot.replies import Replier, Turn
from bot.session import Session
from bot.sessions import key_of
from bot.streaming import Streams
from bot.telemetry import TurnLog
from bot.typing_sign import SHOWN_S
from channels.errors import DeliveryFailed, RecipientGone
from channels.messages import InboundMessage, MessageKind, Platform
from rag.errors import Cancelled
from rag.replies import Answer

_MAX_TASKS = 1_000
_MAX_WAITING = 5  # messages of one patient that may wait behind each other
_REFUSED = {Verdict.TOO_MANY: Topic.LIMITED, Verdict.BUSY: Topic.BUSY}


class Conversation:
    """Takes every arriving message and sees to it that the patient hears back."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._tasks: set[asyncio.Task[None]] = set()
        self._starting = asyncio.Lock()
        self._delivery = Delivery(parts)
        self._emergencies = EmergencyDesk(parts, self._delivery, self._spawn)
        self._immediate = Immediate(parts, self._delivery, self._spawn)
        self._replier = Replier(parts, self._delivery, self._spawn)
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
        """Let go of the gate's threads; nothing is received any more."""
        self._emergencies.close()

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
        log, patient, platform = TurnLog(), self._parts.telemetry.patient(message), message.sender.platform
        async with self._starting:  # one after the other: where many write at once, each is acknowledged first
            await asyncio.sleep(0)
        try:
            outcome = await self._respond(message, log)
        except RecipientGone as error:
            self._parts.sessions.drop(key_of(message))
            self._parts.metrics.note_delivery_failure(platform, DeliveryFailure.of(error))
            self._parts.telemetry.event("recipient_gone", patient=patient, platform=platform.value)
        except Cancelled:  # the bot is stopping
            self._parts.telemetry.event("turn_cancelled", patient=patient)
            await self._apologise(message)
        except Exception as error:  # noqa: BLE001 - whatever happens, the patient hears back
            self._parts.telemetry.failure("turn_failed", error, stage=log.stage_name, patient=patient)
            if log.stage_name == "send" or isinstance(error, DeliveryFailed):
                self._parts.metrics.note_delivery_failure(platform, DeliveryFailure.of(error))
            if not isinstance(error, DeliveryFailed):
                await self._apologise(message)
        else:
            self._parts.metrics.note_turn(outcome, platform, log.duration_s, log.stages_s)
            self._parts.telemetry.event(
                "turn", outcome=outcome, patient=patient, platform=platform.value,
                duration_s=log.duration_s, stages_s=log.stages_s,
            )  # fmt: skip

    async def _respond(self, message: InboundMessage, log: TurnLog) -> str:
        """One turn; returns the kind of its outcome.

        Before the emergency is told, nothing is awaited but the gate's second reading.
        """
        parts = self._parts
        with log.stage("gate"):
            session = parts.sessions.touch(key_of(message))
            take_country_hint(session, message)
            now = parts.clock()
            reading, seen = self._emergencies.read(message, session, now), session.intake
        earlier, burst = session.earlier(), session.burst(now)
        session.arrived = arrival = session.arrived + 1
        if self._immediate.ends(message, session):
            parts.sessions.drop_all(message.sender.platform, message.sender.identity)
        reading, is_overtaken = await self._emergencies.read_again(message, session, arrival, burst, reading, log)
        if reading.red_flag is not None:
            with log.stage("escalate"):
                outcome = await self._emergencies.tell(reading.red_flag, message, session, now)
            await parts.registry.record(message.sender.platform, message.message_id, message.sender.identity)
            return outcome
        with log.stage("claim"):
            is_first = await parts.registry.record(message.sender.platform, message.message_id, message.sender.identity)
        if is_overtaken or not is_first:
            return "stopped" if is_first else "duplicate"
        if not self._immediate.passes_limits(message, session) and (done := await self._refused(message, session)):
            return done
        if done := await self._immediate.act(message, session):
            return done
        gathering = self._gathering(message, session, about_emergency=reading.about is not None)
        if gathering is None:
            return "joined"
        return await self._in_turn(message, session, gathering, earlier, arrival, log, seen)

    async def _in_turn(
        self,
        message: InboundMessage,
        session: Session,
        gathering: Gathering,
        earlier: tuple[str, ...],
        arrival: int,
        log: TurnLog,
        seen: Dialogue | None,
    ) -> str:
        """Reply behind the patient's other messages, and once those that belong to this one are there."""
        with session.turn_waits():
            async with session.lock:
                with log.stage("gather"):
                    await gathering.settle()
                if gathering.is_withdrawn or session.is_over or arrival <= session.stopped_through:
                    return "stopped"
                if message.kind is MessageKind.TEXT:
                    message = replace(message, text=gathering.text)
                if session.gathering is gathering:
                    session.gathering = None  # its words are not kept any longer than the turn's
                return await self._reply(message, session, earlier, log, seen, about_emergency=gathering.about_emergency)

    async def _refused(self, message: InboundMessage, session: Session) -> str | None:
        """Refuse what is too much, and say it once; None if the message may go on."""
        if session.waiting >= _MAX_WAITING:
            return await self._slow_down(message, session)
        limits = self._parts.limits
        verdict = limits.admit(self._parts.telemetry.patient(message)) if limits is not None else Verdict.ADMITTED
        if verdict is Verdict.ADMITTED:
            return None
        self._parts.metrics.note_limited(message.sender.platform)
        if verdict in _REFUSED:
            await self._notify(_REFUSED[verdict], message, session)
        return "refused"

    def _gathering(self, message: InboundMessage, session: Session, *, about_emergency: bool) -> Gathering | None:
        """What this message begins; None if it belongs to one that still waits for more."""
        before = session.gathering
        if message.kind is MessageKind.TEXT and before is not None and before.takes(message, about_emergency=about_emergency):
            return None
        if before is not None:
            before.close()
        waits = message.kind is MessageKind.TEXT and message.sender.platform is not Platform.CONSOLE
        quiet_s = self._parts.debounce_s if waits else 0.0
        session.gathering = Gathering(message, quiet_s, self._parts.clock, about_emergency=about_emergency)
        return session.gathering

    async def _reply(
        self,
        message: InboundMessage,
        session: Session,
        earlier: tuple[str, ...],
        log: TurnLog,
        seen: Dialogue | None,
        *,
        about_emergency: bool,
    ) -> str:
        admin = self._parts.admin
        if admin is not None and admin.takes(message):
            with log.stage("admin"):
                await self._delivery.within_limit(admin.respond(message, known_language(message, session)))
            return "admin"
        # Who is asked for consent is not greeted beside it: "/start" is then answered.
        was_new = not session.met and (self._consent_of(message) is None or message.kind is MessageKind.TEXT)
        with log.stage("greet"):
            admitted = await self._admitted(message, session, about_emergency=about_emergency)
        if admitted is None:
            return "notice"
        message, about_emergency = admitted.message, admitted.about_emergency
        reader = self._delivery.reader(message, session, is_new=was_new)
        channel = self._delivery.channel(message.sender.platform)
        async with self._streams.open(
            channel, message.sender, reader, about_emergency=about_emergency, unwanted=lambda: session.is_over
        ) as stream:
            with log.stage("answer"):
                turn = Turn(
                    message=message, session=session, earlier=earlier, stream=stream, seen=seen,
                    language=language_of(message, session), was_new=was_new,
                )  # fmt: skip
                outcome = await self._replier.outcome(turn)
            if outcome is None or session.is_over:
                return "notice"
            self._parts.metrics.note(outcome, message.sender.platform, self._replier.mode(session))
            with log.stage("render"):
                number = self._keep(outcome, session)
                if number is not None:
                    self._parts.sessions.note_kept(key_of(message))
                reader = replace(reader, country=session.country, answer_number=number)
                rendered = self._parts.renderer.render(outcome, reader, about_emergency=about_emergency)
            with log.stage("send"):
                await self._delivery.within_limit(stream.finish(rendered))
        return kind_of(outcome)

    async def _admitted(self, message: InboundMessage, session: Session, *, about_emergency: bool) -> Admitted | None:
        """What may be answered now; None where something else has been said: the terms, or what a yes or no leads to."""
        consent = self._consent_of(message)
        if consent is None:
            await self._introduce(message, session)
            return Admitted(message=message, about_emergency=about_emergency)
        language = language_of(message, session)
        if message.kind is MessageKind.TEXT:
            session.language_prior = session.language_prior or language  # a tap tells no language
        admitted = await consent.admit(message, session, language, about_emergency=about_emergency)
        if isinstance(admitted, Admitted):
            session.met = True
            return admitted
        self._parts.metrics.note(admitted, message.sender.platform)
        await self._delivery.send(admitted, message, session)
        return None

    def _consent_of(self, message: InboundMessage) -> ConsentDesk | None:
        """Who asks for consent; nobody in the operator's own terminal."""
        return None if message.sender.platform is Platform.CONSOLE else self._parts.consent

    def _keep(self, outcome: Outcome, session: Session) -> str | None:
        """Keep an answer for its proof and what may be asked of it; the number by which that is done."""
        session.just_answered = isinstance(outcome, Answer | Proof)
        asked, session.asked = session.asked, None
        if not isinstance(outcome, Answer):
            return None
        return session.keep_answer(outcome, self._parts.clock(), asked, worded_at=session.asked_since)

    async def _introduce(self, message: InboundMessage, session: Session) -> None:
        if session.met:
            return
        session.met = True
        await self._notify(Topic.FIRST_CONTACT, message, session)

    async def _slow_down(self, message: InboundMessage, session: Session) -> str:
        """Refuse a message of a patient who sends faster than can be answered; said once until the queue is empty."""
        if not session.told_to_slow_down:
            session.told_to_slow_down = True
            await self._notify(Topic.SLOW_DOWN, message, session)
        return "refused"

    async def _apologise(self, message: InboundMessage) -> None:
        session = self._parts.sessions.touch(key_of(message))
        apology = Apology(language=language_of(message, session))
        self._parts.metrics.note(apology, message.sender.platform)
        await self._delivery.try_to_send(apology, message, session)

    async def _notify(self, topic: Topic, message: InboundMessage, session: Session) -> None:
        await self._delivery.send(self._notice(topic, message, session), message, session)

    def _notice(self, topic: Topic, message: InboundMessage, session: Session) -> Notice:
        return Notice(topic=topic, language=language_of(message, session))
