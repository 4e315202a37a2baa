"""What a patient sees of an answer while it is being written, and what is kept of it for "perché?"."""

import asyncio
import itertools
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

import pytest

from bot.escalation import ANSWER_PAYLOAD
from bot.safety import GateReading
from bot.streaming import Pace
from channels.errors import MessageGone
from channels.messages import InboundMessage, MessageKind, Platform
from locales.language import Language
from rag.documents import Document
from rag.errors import Cancelled, DeadlineExceeded
from rag.replies import Abstention, AbstentionKind, Answer, AnsweringRun, Preface
from rag.types import Intent, Interpretation, Question
from tests.builders import answer, document, inbound, red_flag, sentence
from tests.unit.bot.test_conversation import Bench, events

__all__ = ["events"]  # a fixture

IT, ES = Language
SENTENCES = (sentence("Riposo."), sentence("Bere molto."), sentence("Misurare la febbre."))
ANSWER = answer(*SENTENCES)
QUESTION = "Che cosa fare per la febbre?"


class StepwiseAnswerer:
    """Verifies one sentence whenever it is let go on, and ends as told."""

    is_extractive = False

    def __init__(self, end: Answer | Exception, sentences: int) -> None:
        self.end = end
        self.sentences = sentences
        self.steps = threading.Semaphore(0)
        self.questions: list[Question] = []

    def answer(
        self, question: Question, *, cancelled: Callable[[], bool], on_sentence: Callable[[Any], None], **_: object
    ) -> AnsweringRun:
        self.questions.append(question)
        for one in SENTENCES[: self.sentences]:
            on_sentence(one)
            while not self.steps.acquire(timeout=0.02):
                if cancelled():
                    raise Cancelled("cancelled")
        if isinstance(self.end, Exception):
            raise self.end
        interpretation = Interpretation(language=self.end.language, intent=Intent.QUESTION, self_contained=question.text)
        return AnsweringRun(reply=self.end, interpretation=interpretation)


class Watched(Bench):
    """A conversation whose answers grow on screen at once."""

    def __init__(self, end: Answer | Exception = ANSWER, sentences: int = 3, **changes: Any) -> None:
        self.stepwise = StepwiseAnswerer(end, sentences)
        paces = {Platform.TELEGRAM: Pace(first_s=0.0, next_s=0.0)}
        parts: dict[str, Any] = {"answerer": self.stepwise, "paces": paces}
        super().__init__(**(parts | changes))

    def shown(self) -> list[str]:
        """What each message says by now."""
        messages = {str(number): message for number, (_, message) in enumerate(self.channel.sent, start=1)}
        messages |= {handle: message for _, handle, message in self.channel.edits}
        return ["\n".join(message.paragraphs) for message in messages.values()]

    async def until(self, *expected: str) -> None:
        async with asyncio.timeout(5):
            while self.shown() != list(expected):
                await asyncio.sleep(0.005)

    async def let_finish(self) -> None:
        self.stepwise.steps.release(10)
        await asyncio.wait_for(self.conversation.idle(), 5)


@pytest.fixture
async def watch() -> AsyncIterator[Callable[..., Watched]]:
    made: list[Watched] = []

    def build(*args: Any, **changes: Any) -> Watched:
        made.append(Watched(*args, **changes))
        return made[-1]

    yield build
    for bench in made:
        await bench.worker.stop()
        bench.conversation.close()


Watch = Callable[..., Watched]


def tap(payload: str, **changes: Any) -> InboundMessage:
    return inbound(payload, kind=MessageKind.BUTTON, **changes)


def command(line: str) -> InboundMessage:
    return inbound(line, kind=MessageKind.COMMAND)


async def answered(watch: Watch, **changes: Any) -> tuple[Watched, str]:
    """A patient who has just got an answer, and the payload of its button."""
    bench = watch(**changes)
    bench.stepwise.steps.release(100)
    await bench.hear(command("/start"), QUESTION)
    button, *_ = [button for _, _, message in bench.channel.edits for button in message.buttons] or [
        button for _, message in bench.channel.sent for button in message.buttons
    ]
    return bench, button.payload


async def test_each_sentence_is_shown_as_soon_as_it_is_verified(watch: Watch) -> None:
    bench = watch()
    await bench.meet()
    await bench.conversation.receive(inbound(QUESTION))
    await bench.until("Riposo.")
    bench.stepwise.steps.release()
    await bench.until("Riposo. Bere molto.")
    await bench.let_finish()
    assert bench.shown() == ["Riposo. Bere molto. Misurare la febbre."]
    assert bench.channel.edits[-1][2].links
    assert bench.channel.edits[-1][2].closing


async def test_no_text_that_is_shown_takes_back_an_earlier_one(watch: Watch) -> None:
    bench = watch()
    await bench.meet()
    await bench.conversation.receive(inbound(QUESTION))
    await bench.until("Riposo.")
    await bench.let_finish()
    texts = [*bench.channel.texts(), *("\n".join(message.paragraphs) for _, _, message in bench.channel.edits)]
    assert all(later.startswith(earlier) for earlier, later in itertools.pairwise(texts))


@pytest.mark.parametrize(
    ("question", "preface"),
    [("Che dose di paracetamolo devo prendere?", Preface.OWN_DOSE), (QUESTION, None)],
    ids=["dose", "none"],
)
async def test_preface_and_emergency_line_stand_before_the_first_sentence(
    watch: Watch, question: str, preface: Preface | None
) -> None:
    bench = watch(answer(*SENTENCES, preface=preface))
    bench.gate.about = ["paracetamolo", "febbre"]
    await bench.meet()
    await bench.conversation.receive(inbound(question))
    await bench.channel.wait_sent(1)
    first = bench.channel.sent[0][1]
    assert "112" in first.paragraphs[0]
    assert first.emphasis
    assert [paragraph.startswith("Non posso") for paragraph in first.paragraphs[1:-1]] == [True] * (preface is not None)
    assert first.paragraphs[-1] == "Riposo."
    await bench.let_finish()
    assert bench.channel.edits[-1][2].paragraphs[:-1] == first.paragraphs[:-1]
    assert len(bench.channel.sent) == 1


async def test_that_answers_are_quotes_is_said_before_the_first_sentence(watch: Watch) -> None:
    bench = watch(answer(*SENTENCES, extractive=True))
    bench.stepwise.is_extractive = True
    bench.conversation = type(bench.conversation)(bench.parts)
    await bench.conversation.receive(inbound(QUESTION))
    await bench.channel.wait_sent(2)
    assert bench.channel.sent[1][1].paragraphs[0].startswith("Le riporto")
    await bench.let_finish()
    assert len(bench.channel.edits[-1][2].paragraphs) == 2


@pytest.mark.parametrize(
    ("error", "told"),
    [(DeadlineExceeded("late"), "turn_failed"), (RuntimeError("tosse"), "turn_failed"), (Cancelled("stop"), "turn_cancelled")],
)
async def test_what_breaks_in_the_middle_is_said_below_what_was_shown(
    watch: Watch, events: list[dict[str, Any]], error: Exception, told: str
) -> None:
    bench = watch(error, sentences=2)
    await bench.meet()
    await bench.conversation.receive(inbound(QUESTION))
    await bench.until("Riposo.")
    await bench.let_finish()
    (text,) = bench.shown()
    assert text.startswith("Riposo. Bere molto.\nMi scusi")
    assert "112" in text
    assert bench.channel.edits[-1][2].links[0].label.startswith("Febbre")
    assert len(bench.channel.sent) == 1
    assert [event["event"] for event in events if event["event"].startswith("turn_")] == [told]
    assert "tosse" not in str(events)


async def test_what_breaks_before_the_first_sentence_gets_the_usual_apology(watch: Watch, events: list[dict[str, Any]]) -> None:
    bench = watch(RuntimeError("tosse"), sentences=0)
    await bench.meet()
    (text,) = await bench.hear(QUESTION)
    assert "non ho potuto rispondere" in text
    assert [event["event"] for event in events if "outcome" in event] == ["turn"]  # that of /start


async def test_a_stop_in_the_middle_is_said_below_what_was_shown(watch: Watch) -> None:
    bench = watch()
    await bench.meet()
    await bench.conversation.receive(inbound(QUESTION))
    await bench.until("Riposo.")
    await bench.conversation.finish(grace_s=0.05)
    (text,) = bench.shown()
    assert text.startswith("Riposo.\nMi scusi")
    assert bench.conversation.running == 0


async def test_what_is_no_answer_was_never_begun(watch: Watch) -> None:
    bench = watch(Abstention(kind=AbstentionKind.NO_EVIDENCE, language=IT), sentences=0)
    await bench.meet()
    (text,) = await bench.hear(QUESTION)
    assert "non ho trovato" in text
    assert bench.channel.edits == []


async def test_after_a_deleted_message_only_the_rest_is_sent(watch: Watch) -> None:
    bench = watch()
    await bench.meet()
    await bench.conversation.receive(inbound(QUESTION))
    await bench.until("Riposo.")
    bench.channel.edit_failures.append(MessageGone("deleted"))
    await bench.let_finish()
    assert bench.channel.texts() == ["Riposo.", "Bere molto. Misurare la febbre."]


async def test_an_emergency_goes_out_while_an_answer_grows(watch: Watch) -> None:
    bench = watch()
    await bench.meet()
    await bench.conversation.receive(inbound(QUESTION))
    await bench.until("Riposo.")
    await bench.conversation.receive(inbound("dolore al petto"))
    await bench.channel.wait_sent(2)
    assert "112" in bench.channel.texts()[1]
    await bench.let_finish()


@pytest.mark.parametrize("how", [lambda payload: tap(payload), lambda _: inbound("perché?"), lambda _: inbound("¿Por qué?")])
async def test_the_proof_of_the_last_answer_is_shown_on_a_tap_and_on_a_word(
    watch: Watch, how: Callable[[str], InboundMessage]
) -> None:
    bench, payload = await answered(watch)
    (text,) = await bench.hear(how(payload))
    assert "Ecco da dove viene ogni frase" in text
    assert all(f"«{one.text}»" in text for one in SENTENCES)
    assert len(bench.stepwise.questions) == 1


@pytest.mark.parametrize(("line", "language"), [("/fonti", IT), ("/fuentes", IT), ("/FONTI", IT)])
async def test_the_command_shows_the_same_as_the_button(watch: Watch, line: str, language: Language) -> None:
    bench, payload = await answered(watch)
    assert await bench.hear(command(line)) == await bench.hear(tap(payload))


async def test_the_proof_can_be_seen_again_and_after_other_words(watch: Watch) -> None:
    bench, payload = await answered(watch)
    await bench.hear("perché?")
    await bench.hear(command("/lingua"))
    (text,) = await bench.hear(tap(payload))
    assert "Ecco da dove viene" in text


async def test_why_is_a_question_when_no_answer_came_just_before(watch: Watch) -> None:
    bench, _ = await answered(watch)
    await bench.hear(command("/lingua"))
    await bench.hear("perché?")
    assert [question.text for question in bench.stepwise.questions] == [QUESTION, "perché?"]


@pytest.mark.parametrize(
    ("line", "gone", "ask", "none"),
    [
        ("/nuovo", "Non ho più quella risposta", "/fonti", "Non c'è una risposta recente"),
        ("/dimentica", "Non ho più quella risposta", "/fonti", "Non c'è una risposta recente"),
        ("/nuevo", "Ya no tengo esa respuesta", "/fuentes", "No hay una respuesta reciente"),
        ("/olvidar", "Ya no tengo esa respuesta", "/fuentes", "No hay una respuesta reciente"),
    ],
)
async def test_a_new_start_forgets_the_answer_too(watch: Watch, line: str, gone: str, ask: str, none: str) -> None:
    bench, payload = await answered(watch)
    await bench.hear(command(line))
    tapped = await bench.hear(tap(payload))
    (asked,) = await bench.hear(command(ask))
    assert gone in tapped[-1]
    assert none in asked


async def test_after_the_session_an_old_button_is_answered_politely(watch: Watch) -> None:
    bench, payload = await answered(watch)
    bench.sessions.drop((Platform.TELEGRAM, "42", "42"))
    await bench.hear(QUESTION)
    sent = await bench.hear(tap(payload))
    assert "Non ho più quella risposta in memoria" in sent[-1]


async def test_a_button_of_the_answer_before_the_last_is_answered_politely(watch: Watch) -> None:
    bench, payload = await answered(watch)
    await bench.hear("E per la tosse?")
    (text,) = await bench.hear(tap(payload))
    assert "Non ho più quella risposta in memoria" in text


async def test_nobody_sees_the_proof_of_another_patients_answer(watch: Watch) -> None:
    bench, payload = await answered(watch)
    sent = await bench.hear(tap(payload, identity="somebody else"))
    assert "Non ho più quella risposta in memoria" in sent[-1]


@pytest.mark.parametrize("payload", ["proof:1", "proof:9'; DROP", "proof:", "perché?", "proof:1 che cosa fare per la tosse?"])
async def test_a_forged_payload_never_reaches_the_model(watch: Watch, payload: str) -> None:
    bench, _ = await answered(watch)
    (text,) = await bench.hear(tap(payload))
    assert "«" not in text or "Che cosa posso fare per la febbre" in text
    assert len(bench.stepwise.questions) == 1


async def test_a_tap_after_an_emergency_that_was_none_shows_the_proof(watch: Watch) -> None:
    bench = watch()
    bench.stepwise.steps.release(100)

    def read(text: str, earlier: Sequence[str] = ()) -> GateReading:
        return GateReading(red_flag=red_flag() if "petto" in " ".join((text, *earlier)) else None)

    bench.gate.read = read  # type: ignore[method-assign]
    await bench.hear(command("/start"), "ho male al petto quando tossisco", tap(ANSWER_PAYLOAD))
    (kept,) = bench.sessions.touch((Platform.TELEGRAM, "42", "42")).kept
    (text,) = await bench.hear(tap(f"proof:{kept.number}"))
    assert "Ecco da dove viene" in text


async def test_a_proof_names_when_an_undated_page_was_read(watch: Watch) -> None:
    def find(_: str) -> Document:
        return document()

    bench, payload = await answered(watch, find_document=find)
    (text,) = await bench.hear(tap(payload))
    assert "pagina letta il 02/01/2026" in text
