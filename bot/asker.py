"""One question without a messenger: gate, answering line and renderer in a row, for the command line and for evaluation."""

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from bot.opening import opening_of
from bot.outcomes import Escalation, Outcome, from_reply, kind_of
from bot.renderer import Reader, Renderer
from bot.safety import RedFlag, SafetyGate
from bot.source_address import SourceAddresses
from channels.messages import OutboundMessage, Platform
from locales.language import Language
from rag.languages import identify
from rag.replies import Abstention, Answer, AnsweringRun, Overview
from rag.types import Mode, Question, Source, SupportedSentence


class AnswersInMode(Protocol):
    """What an asker needs of the answering line."""

    def answer(
        self, question: Question, *, mode: Mode, deadline: float, on_sentence: Callable[[SupportedSentence], None]
    ) -> AnsweringRun:
        """Answer a question."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a question ended in, the message that a patient would see, and the seconds of each stage."""

    outcome: Outcome
    message: OutboundMessage
    mode: Mode
    timings_s: Mapping[str, float]


class Asker:
    """Asks one question at a time.

    Args:
        gate: Reads each question first.
        renderer: Words the reply.
        open_answerer: Gives the answering line; not called in an emergency, which needs no model.
        country: ISO 3166 code whose numbers are shown.
    """

    def __init__(
        self, gate: SafetyGate, renderer: Renderer, open_answerer: Callable[[], AnswersInMode], *, country: str | None = None
    ) -> None:
        self._gate = gate
        self._renderer = renderer
        self._open_answerer = open_answerer
        self._country = country

    def ask(
        self,
        text: str,
        *,
        language: Language | None = None,
        mode: Mode = Mode.FAST,
        deadline_s: float = math.inf,
        on_sentence: Callable[[SupportedSentence], None] = lambda _: None,
        on_growth: Callable[[OutboundMessage], None] | None = None,
    ) -> Asked:
        """Ask one question.

        Args:
            text: What a patient would write.
            language: In which to answer; recognised when left out.
            mode: Fast, or precise.
            deadline_s: Seconds after which the answer is completed with quotes.
            on_sentence: Receives each sentence the moment it is verified.
            on_growth: Receives after each sentence the message as far as it goes.

        Raises:
            RagError: If models or index fail.
        """
        begun = time.monotonic()
        reading = self._gate.reread(text, first=self._gate.read(text))
        timings_s = {"gate": time.monotonic() - begun}
        if reading.red_flag is not None:
            outcome: Outcome = escalation_for(reading.red_flag, text, language)
            timings_s["total"] = timings_s["gate"]
        else:
            answerer = self._open_answerer()
            question = Question(text=text, language=language, country=self._country)
            if on_growth is not None:
                on_sentence = self._growing(question, on_growth, on_sentence, about_emergency=reading.about is not None)
            run = answerer.answer(question, mode=mode, deadline=time.monotonic() + deadline_s, on_sentence=on_sentence)
            outcome = from_reply(run.reply)
            timings_s |= run.timings_s
        message = self._renderer.render(outcome, self._reader, about_emergency=reading.about is not None)
        return Asked(outcome=outcome, message=message, mode=mode, timings_s=timings_s)

    @property
    def _reader(self) -> Reader:
        return Reader(platform=Platform.CONSOLE, country=self._country)

    def _growing(
        self,
        question: Question,
        on_growth: Callable[[OutboundMessage], None],
        on_sentence: Callable[[SupportedSentence], None],
        *,
        about_emergency: bool,
    ) -> Callable[[SupportedSentence], None]:
        opening = opening_of(question, extractive=False, about_emergency=about_emergency)  # that it quotes is told in a chat
        sentences: list[SupportedSentence] = []

        def take(sentence: SupportedSentence) -> None:
            on_sentence(sentence)
            sentences.append(sentence)
            on_growth(self._renderer.begin(opening, self._reader, sentences))

        return take

    def record(self, asked: Asked) -> dict[str, Any]:
        """The reply as `salus ask --json` prints it."""
        timings_s = {stage: round(seconds, 4) for stage, seconds in asked.timings_s.items()}
        return {
            "language": asked.outcome.language.value,
            "mode": asked.mode.value,
            "outcome": kind_of(asked.outcome),
            "text": text_of(asked.message),
            "sentences": self._sentences(asked.outcome),
            "sources": [source_record(source, self._renderer.addresses) for source in sources_of(asked.outcome)],
            "disclaimer": disclaimer_of(asked.message),
            "timings_s": {"first_sentence": None, **timings_s},
        }

    def _sentences(self, outcome: Outcome) -> list[dict[str, Any]]:
        if not isinstance(outcome, Answer):
            return []
        return [
            {
                "text": self._fill(sentence.text, outcome.language),
                "kind": sentence.kind.value,
                "evidence": [
                    {
                        "chunk_id": item.chunk.chunk_id,
                        "url": self._renderer.addresses.url(item.chunk),
                        "quote": self._fill(item.sentence.text, outcome.language),
                        "alignment": round(sentence.alignment, 4),
                    }
                    for item in sentence.evidence
                ],
            }
            for sentence in outcome.sentences
        ]

    def _fill(self, text: str, language: Language) -> str:
        return self._renderer.with_number(text, language, self._country)


def escalation_for(red_flag: RedFlag, text: str, language: Language | None) -> Escalation:
    """The outcome of an emergency outside a session: in the language that was asked for, or else in that of the words."""
    return Escalation(red_flag=red_flag, language=language or identify(text).language)


def text_of(message: OutboundMessage) -> str:
    """What a message says, as one text: what stands below it in a messenger is told apart."""
    return "\n\n".join(message.paragraphs)


def disclaimer_of(message: OutboundMessage) -> str:
    """What closes an answer, and a page that is pointed to and not reviewed; empty below anything else."""
    return " ".join(message.closing)


def sources_of(outcome: Outcome) -> tuple[Source, ...]:
    """The pages that an answer rests on, or that a refusal points to in another language; else none."""
    return outcome.sources if isinstance(outcome, Answer | Abstention | Overview) else ()


def source_record(source: Source, addresses: SourceAddresses) -> dict[str, Any]:
    """A source as a program reads it."""
    return {
        "title": source.title,
        "publisher": source.publisher,
        "url": addresses.url(source),
        "similarity": round(source.similarity, 4),
        "language": source.language.value,
    }
