"""What is remembered of one patient: the words of the last half hour, the last answer, and what is under way."""

import asyncio
import contextlib
import math
import secrets
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from bot.follow_ups import FollowUp
from bot.gathering import Gathering
from bot.intake_dialogue import Dialogue
from bot.safety import RedFlag
from locales.language import Language
from rag.replies import Answer
from rag.types import Interpretation, Mode, Population, Question

MAX_TURNS = 15
MAX_TURN_CHARACTERS = 4_000
_NONE_YET: Mapping[str, float] = MappingProxyType({})
_MOST_CHARACTERS = 12_000  # of all turns together
_MOST_HELD = 5
_MOST_ALIKE = 3  # answers to one question that are kept: the first, in plainer words, more of it
_BURST_S = 60.0  # messages this close together are read by the gate as one
_ESCALATION_REPEAT_S = 600.0


@dataclass(frozen=True, slots=True)
class _Turn:
    at: float
    text: str = field(repr=False)
    message_id: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldQuestion:
    """A question that waits for its writer's consent."""

    at: float
    parts: Mapping[str, str] = field(repr=False)  # by the message's id: an edit replaces what it edits
    about_emergency: bool = False

    @property
    def text(self) -> str:
        """All of it, a message a line."""
        return "\n".join(self.parts.values())[:MAX_TURN_CHARACTERS]


@dataclass(slots=True, eq=False)
class KeptAnswer:
    """An answer that was given, with its question, for whoever wants to see its proof, or more of it.

    The question goes when its oldest words are due, be the answer as young as it may.
    """

    at: float
    number: str
    answer: Answer = field(repr=False)
    question: Question | None = field(repr=False)
    worded_at: float = 0.0  # when the oldest words of the question were written
    told: frozenset[tuple[str, int]] = frozenset()  # places of evidence, also of the answers that this one adds to
    done: frozenset[FollowUp] = frozenset()  # what was asked of it, and has been given


@dataclass(slots=True, kw_only=True, eq=False)
class Session:
    """One patient's memory. `turns` holds the patient's own words, never the bot's; nothing of it is shown by `repr`.

    `just_answered` is true until something else has been said. `answering` is the work on an answer while it goes on. `is_over`
    turns true when the patient wants everything forgotten: what still waits for its turn is then left. `deletable` are the
    messages that the patient may want to have deleted.
    """

    last_seen: float = field(repr=False)
    turns: tuple[_Turn, ...] = field(default=(), repr=False)
    language: Language | None = field(default=None, repr=False)
    language_prior: Language | None = field(default=None, repr=False)
    country: str | None = field(default=None, repr=False)
    mode: Mode | None = field(default=None, repr=False)  # as the patient chose it
    population: Population | None = field(default=None, repr=False)  # whom the last question was about
    pending: _Turn | None = field(default=None, repr=False)
    held: HeldQuestion | None = field(default=None, repr=False)
    kept: tuple[KeptAnswer, ...] = field(default=(), repr=False)  # the last answer, behind those to the same question
    intake: Dialogue | None = field(default=None, repr=False)
    rereading: asyncio.Future[Any] | None = field(default=None, repr=False)
    gathering: Gathering | None = field(default=None, repr=False)
    answering: asyncio.Future[Any] | None = field(default=None, repr=False)
    asked: Question | None = field(default=None, repr=False)  # what the answer that is about to be sent answers
    asked_since: float = 0.0  # when its oldest words were written
    deletable: tuple[str, ...] = field(default=(), repr=False)
    arrived: int = 0  # messages so far
    unread: frozenset[int] = frozenset()  # those that the second reading has not read yet
    dropped: frozenset[int] = frozenset()  # those of them that an emergency has overtaken
    stopped_through: int = 0  # what arrived up to here is wanted no longer
    consent_asked: bool = False
    is_over: bool = False
    just_answered: bool = False
    met: bool = False
    waiting: int = 0
    told_to_slow_down: bool = False
    only_text_at: float | None = None  # when it was last said that only text is read
    _lock: asyncio.Lock | None = field(default=None, repr=False)
    escalations: int = 0
    escalated: Mapping[str, float] = field(default_factory=lambda: _NONE_YET, repr=False)

    @property
    def lock(self) -> asyncio.Lock:
        """Keeps the patient's turns in order."""
        if self._lock is None:
            self._lock = asyncio.Lock()
        return self._lock

    def remember(self, text: str, now: float, message_id: str = "") -> None:
        """Add a turn; the oldest goes when there are too many."""
        turns = (*self.turns, _Turn(now, text[:MAX_TURN_CHARACTERS], message_id))[-MAX_TURNS:]
        while sum(len(turn.text) for turn in turns) > _MOST_CHARACTERS:
            turns = turns[1:]
        self.turns = turns

    def learn(self, interpretation: Interpretation) -> None:
        """Note in which language, and whom, the patient's last question was about."""
        if not interpretation.other_language:
            self.language_prior = interpretation.language
            self.population = interpretation.population

    def message_ids(self) -> tuple[str, ...]:
        """The messages whose words are remembered."""
        return tuple(turn.message_id for turn in self.turns if turn.message_id)

    def hold(self, text: str, now: float, message_id: str, *, about_emergency: bool) -> None:
        """Keep a question until its writer consents, behind what is held already."""
        before = self.held or HeldQuestion(at=now, parts={})
        parts = {**before.parts, message_id: text[:MAX_TURN_CHARACTERS]}
        parts = dict(list(parts.items())[-_MOST_HELD:])
        self.held = HeldQuestion(at=before.at, parts=parts, about_emergency=about_emergency or before.about_emergency)

    def take_held(self) -> HeldQuestion | None:
        """The question that has waited for consent, once."""
        held, self.held = self.held, None
        return held

    def stop_answering(self) -> bool:
        """Stop the work on an answer, and what would be answered next; whether there was any."""
        waits = self.waiting > 0 or bool(self.unread) or self.held is not None
        self.held = None
        self.dropped |= self.unread
        if waits:
            self.stopped_through = self.arrived
        if self.gathering is not None:
            self.gathering.withdraw()
        if self.answering is None or self.answering.done():
            return waits
        self.answering.cancel()
        return True

    def earlier(self) -> tuple[str, ...]:
        """The patient's turns, oldest first."""
        return tuple(turn.text for turn in self.turns)

    def words_since(self, now: float) -> float:
        """When the oldest words that are remembered were written: a question may hold them, as what completes it."""
        return self.turns[0].at if self.turns else now

    def burst(self, now: float) -> tuple[str, ...]:
        """The turns of the last minute, oldest first: people split one cry for help over several messages."""
        return tuple(turn.text for turn in self.turns if now - turn.at <= _BURST_S)

    @contextlib.contextmanager
    def turn_waits(self) -> Iterator[None]:
        """Count a turn that waits for its place, or runs; with the last one ends the time in which messages are refused."""
        self.waiting += 1
        try:
            yield
        finally:
            self.waiting -= 1
            if self.waiting == 0:
                self.told_to_slow_down = False

    def keep_pending(self, text: str, now: float) -> None:
        """Keep a question that an escalation has put off, in case the patient says that it is no emergency."""
        self.pending = _Turn(now, text[:MAX_TURN_CHARACTERS])

    def take_pending(self) -> str | None:
        """The question that was put off, once."""
        pending, self.pending = self.pending, None
        return pending.text if pending else None

    def keep_answer(self, answer: Answer, now: float, question: Question | None = None, *, worded_at: float = math.inf) -> str:
        """Keep an answer, and give the number by which its proof is asked for.

        One to the same question adds to what has been told already; those to another are kept no longer. `worded_at` is when the
        oldest words of the question were written.

        The number is like no other, also after this session: an old button must never show the proof of a newer answer.
        """
        before = self.kept if self.kept and question is self.kept[-1].question is not None else ()
        told = frozenset(item.place for sentence in answer.sentences for item in sentence.evidence)
        told = told.union(*(kept.told for kept in before))
        kept = KeptAnswer(now, str(secrets.randbelow(10**15)), answer, question, min(now, worded_at), told)
        self.kept = (*before, kept)[-_MOST_ALIKE:]
        return kept.number

    def kept_of(self, number: str) -> KeptAnswer | None:
        """The answer of this number, if it is still kept."""
        return next((kept for kept in self.kept if kept.number == number), None)

    def kept_answer(self, number: str | None = None) -> Answer | None:
        """The last answer, or that of a number; None if it is not kept (any more)."""
        kept = self.kept_of(number) if number is not None else next(reversed(self.kept), None)
        return kept.answer if kept is not None else None

    def note_escalation(self, red_flag: RedFlag, now: float) -> bool:
        """Note an escalation; true when the same category was escalated in the last ten minutes."""
        self.just_answered = False
        self.escalations += 1
        last = self.escalated.get(red_flag.category)
        if last is not None and now - last < _ESCALATION_REPEAT_S:
            return True
        self.escalated = {**self.escalated, red_flag.category: now}
        return False

    def forget(self) -> None:
        """Drop the conversation; the language, country and mode that the patient chose stay."""
        self.turns = ()
        self.pending = self.held = self.language_prior = self.population = self.intake = None
        self.kept = ()
        self.gathering = self.asked = self.rereading = None
        self.deletable = ()
        self.just_answered = False

    def forget_before(self, then: float) -> None:
        """Drop every word written, and an answer given, before `then`."""
        self.turns = tuple(turn for turn in self.turns if turn.at > then)
        if self.pending is not None and self.pending.at <= then:
            self.pending = None
        if self.held is not None and self.held.at <= then:
            self.held = None
        self.kept = tuple(kept for kept in self.kept if kept.at > then)
        for kept in self.kept:
            if kept.worded_at <= then:
                kept.question = None
        self.just_answered = self.just_answered and bool(self.kept)
        if self.intake is not None and self.intake.at <= then:
            self.intake = None

    def oldest(self) -> float:
        """When the oldest thing in it was written or said."""
        moments = [self.last_seen]
        moments += [self.turns[0].at] if self.turns else []
        moments += [self.pending.at] if self.pending else []
        moments += [self.held.at] if self.held else []
        moments += [kept.at if kept.question is None else kept.worded_at for kept in self.kept]
        moments += [self.intake.at] if self.intake else []
        return min(moments)
