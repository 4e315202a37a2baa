import asyncio
import json
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest
import structlog

from bot.conversation import Conversation
from bot.escalation import ANSWER_PAYLOAD
from bot.inference_worker import InferenceWorker
from bot.parts import Parts
from bot.registry import ClaimRegistry
from bot.renderer import Renderer
from bot.safety import GateReading, Level
from bot.sessions import Sessions
from bot.source_address import SourceAddresses
from bot.telemetry import Telemetry
from channels.errors import DeliveryFailed, RecipientGone
from channels.messages import InboundMessage, MessageKind, Platform
from locales.catalog import Catalog
from locales.emergency import EmergencyDirectory
from locales.language import Language
from rag.errors import DeadlineExceeded, ModelError
from rag.replies import Abstention, AbstentionKind, AnsweringRun, Reply
from rag.types import Mode, Question
from tests.builders import answer, inbound, red_flag, sentence
from tests.fakes import RecordingChannel, ScriptedAnswerer, ScriptedGate

IT, ES = Language
CATALOG, DIRECTORY = Catalog.load(), EmergencyDirectory.load()
FLAGS = {"petto": red_flag(), "farla finita": red_flag(category="suicide", level=Level.CRISIS)}


class Bench:
    """A conversation among fakes."""

    def __init__(
        self,
        *replies: Reply | Exception,
        delay_s: float = 0.0,
        queue_limit: int = 32,
        without_answerer: bool = False,
        **parts: Any,
    ) -> None:
        self.channel = RecordingChannel()
        self.gate = ScriptedGate(FLAGS, about=["infarto"])
        self.answerer = ScriptedAnswerer(*(replies or (answer(),)), delay_s=delay_s)
        self.worker = InferenceWorker(limit=queue_limit)
        self.sessions = Sessions()
        values: dict[str, Any] = {
            "channels": {Platform.TELEGRAM: self.channel},
            "gate": self.gate,
            "answerer": None if without_answerer else self.answerer,
            "worker": self.worker,
            "sessions": self.sessions,
            "registry": ClaimRegistry(None, None),
            "renderer": Renderer(CATALOG, DIRECTORY, SourceAddresses(None)),
            "directory": DIRECTORY,
            "telemetry": Telemetry(),
            "clock": time.monotonic,
        }
        self.parts = Parts(**(values | parts))
        self.conversation = Conversation(self.parts)
        self.worker.start()

    async def hear(self, *messages: InboundMessage | str) -> list[str]:
        """Deliver messages, wait until every turn has ended, and give what was sent since."""
        before = len(self.channel.sent)
        for message in messages:
            await self.conversation.receive(inbound(message) if isinstance(message, str) else message)
        await asyncio.wait_for(self.conversation.idle(), 5)
        return self.channel.texts()[before:]

    async def meet(self, *identities: str) -> None:
        """Get the first contact out of the way."""
        for identity in identities or ("42",):
            await self.hear(inbound("/start", kind=MessageKind.COMMAND, identity=identity))
        self.channel.sent.clear()


@pytest.fixture
async def make() -> AsyncIterator[Callable[..., Bench]]:
    made: list[Bench] = []

    def build(*replies: Reply | Exception, delay_s: float = 0.0, queue_limit: int = 32, without_answerer: bool = False) -> Bench:
        made.append(Bench(*replies, delay_s=delay_s, queue_limit=queue_limit, without_answerer=without_answerer))
        return made[-1]

    yield build
    for bench in made:
        await bench.worker.stop()
        bench.conversation.close()


@pytest.fixture
def events() -> Iterator[list[dict[str, Any]]]:
    seen: list[dict[str, Any]] = []

    def keep(_: object, level: str, event: dict[str, Any]) -> str:
        seen.append(dict(event))
        return ""

    structlog.configure(processors=[keep], logger_factory=lambda *_: _Silent())
    yield seen
    structlog.reset_defaults()


class _Silent:
    def __getattr__(self, _: str) -> Callable[..., None]:
        return lambda *_args, **_kwargs: None


Make = Callable[..., Bench]


async def test_a_question_is_answered(make: Make) -> None:
    bench = make(answer(sentence("Riposo.")))
    await bench.meet()
    assert await bench.hear("Che cosa fare per la febbre?") == ["Riposo."]
    assert bench.channel.typing >= 1


async def test_receive_returns_before_the_answer_is_there(make: Make) -> None:
    bench = make(delay_s=0.3)
    begun = time.monotonic()
    await bench.conversation.receive(inbound())
    assert time.monotonic() - begun < 0.1
    await bench.conversation.idle()


async def test_the_first_reply_begins_with_who_is_speaking(make: Make) -> None:
    bench = make(answer(sentence("Riposo.")))
    sent = await bench.hear("Che cosa fare per la febbre?")
    assert "sistema automatico" in sent[0]
    assert "30 minuti" in sent[0]
    assert sent[1] == "Riposo."
    assert await bench.hear("E per la tosse?") == ["Riposo."]


async def test_start_says_it_once(make: Make) -> None:
    bench = make()
    first = await bench.hear(inbound("/start", kind=MessageKind.COMMAND))
    second = await bench.hear(inbound("/start", kind=MessageKind.COMMAND))
    assert len(first) == len(second) == 1
    assert "sistema automatico" in first[0]
    assert "sistema automatico" not in second[0]


async def test_a_redelivered_message_is_answered_once_h07(make: Make) -> None:
    bench = make(delay_s=0.05)
    await bench.meet()
    message = inbound()
    assert len(await bench.hear(message, message)) == 1
    assert await bench.hear(message) == []
    assert len(bench.answerer.questions) == 1


async def test_a_follow_up_carries_the_patients_own_words_h38(make: Make) -> None:
    bench = make()
    await bench.hear("Quanto dura l'influenza?", "e per i bambini?")
    await bench.hear("Cos'è il colesterolo?")
    assert [question.earlier for question in bench.answerer.questions] == [
        (),
        ("Quanto dura l'influenza?",),
        ("Quanto dura l'influenza?", "e per i bambini?"),
    ]


async def test_a_patients_messages_are_answered_in_their_order(make: Make) -> None:
    bench = make(delay_s=0.02)
    texts = [f"domanda numero {number}" for number in range(4)]
    await bench.hear(*texts)
    assert [question.text for question in bench.answerer.questions] == texts


async def test_patients_do_not_hear_each_others_answers_h22(make: Make) -> None:
    bench = make(delay_s=0.01)
    replies = {f"domanda {n}": answer(sentence(f"risposta {n}.")) for n in range(8)}
    original = bench.answerer.answer

    def answer_it(question: Question, **more: object) -> AnsweringRun:
        bench.answerer.replies = [replies[question.text]]
        return original(question, **more)  # type: ignore[arg-type]

    bench.answerer.answer = answer_it  # type: ignore[method-assign]
    await bench.meet(*map(str, range(8)))
    await bench.hear(*(inbound(f"domanda {n}", identity=str(n)) for n in range(8)))
    for number in range(8):
        assert bench.channel.texts(str(number))[-1] == f"risposta {number}."
    assert bench.answerer.most_at_once == 1


async def test_who_waits_behind_others_is_told_the_position(make: Make) -> None:
    """H22"""
    bench = make(delay_s=0.1)
    await bench.meet("a", "b", "c")
    await bench.hear(*(inbound(identity=name) for name in "abc"))
    assert len(bench.channel.texts("a")) == 1
    assert len(bench.channel.texts("b")) == 1
    assert "posizione 2" in bench.channel.texts("c")[0]
    assert "112" in bench.channel.texts("c")[0]


async def test_a_full_queue_is_said_politely(make: Make) -> None:
    """H22"""
    bench = make(delay_s=0.2, queue_limit=1)
    await bench.meet("a", "b", "c")
    await bench.hear(*(inbound(identity=name) for name in "abc"))
    assert sum("troppe domande" in text for text in bench.channel.texts()) == 1


async def test_an_emergency_does_not_wait_for_the_answer_before_it(make: Make) -> None:
    """H40"""
    bench = make(delay_s=1.0)
    await bench.meet()
    await bench.conversation.receive(inbound("Che cosa fare per la tosse?"))
    await asyncio.sleep(0.05)
    begun = time.monotonic()
    await bench.conversation.receive(inbound("ho un dolore al petto"))
    await bench.channel.wait_sent(1)
    assert time.monotonic() - begun < 0.3
    assert "112" in bench.channel.texts()[0]
    await bench.conversation.idle()


@pytest.mark.parametrize("kind", [MessageKind.TEXT, MessageKind.COMMAND, MessageKind.BUTTON, MessageKind.UNREADABLE])
async def test_the_gate_reads_every_kind_of_message(make: Make, kind: MessageKind) -> None:
    """H40"""
    bench = make()
    sent = await bench.hear(inbound("dolore al petto", kind=kind))
    assert len(sent) == 1
    assert "112" in sent[0]
    assert bench.answerer.questions == []


async def test_an_emergency_is_answered_with_models_and_index_down_h40(make: Make) -> None:
    bench = make(without_answerer=True)
    assert "112" in (await bench.hear("dolore al petto"))[0]
    assert "112" in (await bench.hear("Che cosa fare per la tosse?"))[-1]


async def test_the_first_contact_waits_until_the_emergency_is_over(make: Make) -> None:
    bench = make()
    assert len(await bench.hear("dolore al petto")) == 1
    assert "sistema automatico" in (await bench.hear("Che cosa fare per la tosse?"))[0]


async def test_the_same_emergency_again_gets_a_shorter_reply(make: Make) -> None:
    bench = make()
    first = await bench.hear("dolore al petto")
    second = await bench.hear("dolore al petto!!")
    assert len(second[0]) < len(first[0])
    assert "112" in second[0]


async def test_not_an_emergency_answers_the_question_that_was_put_off(make: Make) -> None:
    bench = make(answer(sentence("Riposo.")))
    await bench.meet()
    await bench.hear("Che cosa fare per la tosse?", "ho male al petto quando tossisco")
    sent = await bench.hear(inbound(ANSWER_PAYLOAD, kind=MessageKind.BUTTON))
    assert len(sent) == 1
    assert sent[0].index("112") < sent[0].index("Riposo.")
    assert bench.answerer.questions[-1].text == "ho male al petto quando tossisco"
    assert bench.answerer.questions[-1].earlier == ("Che cosa fare per la tosse?",)
    again = await bench.hear(inbound(ANSWER_PAYLOAD, kind=MessageKind.BUTTON))
    assert len(bench.answerer.questions) == 2
    assert again[0].startswith("Sono qui")


async def test_after_an_emergency_the_language_is_known(make: Make) -> None:
    bench = make(answer(sentence("Riposo.")))
    await bench.hear("ho male al petto quando tossisco")
    await bench.hear("no")
    assert bench.answerer.questions[-1].language_prior is Language.ITALIAN


async def test_a_question_about_an_emergency_condition_is_answered_with_the_number_first(make: Make) -> None:
    bench = make(answer(sentence("È una malattia del cuore.")))
    await bench.meet()
    (text,) = await bench.hear("cos'è l'infarto?")
    assert text.index("112") < text.index("malattia")


@pytest.mark.parametrize("error", [RuntimeError("dolore al petto"), DeadlineExceeded("late"), KeyError("tosse")])
async def test_whatever_breaks_the_patient_hears_an_apology_with_the_number(make: Make, error: Exception) -> None:
    """H23"""
    bench = make(error)
    await bench.meet()
    (text,) = await bench.hear("Che cosa fare per la tosse?")
    assert "Mi scusi" in text
    assert "112" in text


async def test_a_failure_is_logged_by_class_and_stage_only(make: Make, events: list[dict[str, Any]]) -> None:
    bench = make(RuntimeError("tosse da tre giorni"))
    await bench.meet()
    await bench.hear("ho la tosse da tre giorni")
    (failure,) = [event for event in events if event["event"] == "turn_failed"]
    assert (failure["error"], failure["stage"]) == ("RuntimeError", "answer")
    assert "tosse" not in json.dumps(events, default=str)


async def test_a_gate_that_breaks_still_gets_an_apology(make: Make) -> None:
    bench = make()

    def fail(*_: object) -> GateReading:
        raise RuntimeError("gate")

    bench.gate.read = fail  # type: ignore[method-assign]
    assert "112" in (await bench.hear("Che cosa fare per la tosse?"))[0]


async def test_who_blocked_the_bot_is_forgotten_h06(make: Make, events: list[dict[str, Any]]) -> None:
    bench = make()
    await bench.meet()
    bench.channel.failure = RecipientGone("gone")
    await bench.hear("Che cosa fare per la tosse?")
    assert len(bench.sessions) == 0
    assert not [event for event in events if event["event"] == "turn_failed"]


async def test_a_refused_message_ends_the_turn_quietly(make: Make, events: list[dict[str, Any]]) -> None:
    bench = make()
    await bench.meet()
    bench.channel.failure = DeliveryFailed("refused")
    await bench.hear("Che cosa fare per la tosse?")
    assert [event["event"] for event in events if "error" in event] == ["turn_failed"]


async def test_what_cannot_be_read_gets_only_text_h04(make: Make) -> None:
    bench = make()
    await bench.meet()
    (text,) = await bench.hear(inbound("", kind=MessageKind.UNREADABLE, locale_hint="es-MX"))
    assert "Por ahora solo leo texto" in text
    assert "911" in text


async def test_language_and_country_chosen_by_button_hold(make: Make) -> None:
    bench = make()
    await bench.meet()
    await bench.hear(inbound("language:es", kind=MessageKind.BUTTON), inbound("country:CO", kind=MessageKind.BUTTON))
    (text,) = await bench.hear(inbound("", kind=MessageKind.UNREADABLE))
    assert "123" in text
    await bench.hear("Che cosa fare per la tosse?")
    assert bench.answerer.questions[-1].language is ES


async def test_a_phone_prefix_tells_the_country(make: Make) -> None:
    bench = make()
    (text,) = await bench.hear(inbound("dolore al petto", country_hint="MX"))
    assert "911" in text


async def test_a_message_beyond_all_measure_is_refused_politely(make: Make) -> None:
    bench = make()
    await bench.meet()
    (text,) = await bench.hear("tosse " * 800)
    assert "troppo lungo" in text


async def test_a_flood_of_one_patient_is_slowed_down_once(make: Make) -> None:
    bench = make(delay_s=0.02)
    await bench.meet()
    sent = await bench.hear(*(f"domanda {number}" for number in range(12)))
    assert sum("molti messaggi" in text for text in sent) == 1
    assert len(bench.answerer.questions) == 5


async def test_a_new_start_forgets_what_was_said(make: Make) -> None:
    bench = make()
    await bench.hear("Quanto dura l'influenza?")
    await bench.hear(inbound("/nuovo", kind=MessageKind.COMMAND))
    await bench.hear("e per i bambini?")
    assert bench.answerer.questions[-1].earlier == ()


async def test_an_abstention_is_rendered(make: Make) -> None:
    bench = make(Abstention(kind=AbstentionKind.OFF_TOPIC, language=IT))
    await bench.meet()
    assert "solo a domande sulla salute" in (await bench.hear("Chi ha vinto il Giro 1998?"))[0]


async def test_finishing_lets_an_answer_go_out(make: Make) -> None:
    bench = make(answer(sentence("Riposo.")), delay_s=0.1)
    await bench.meet()
    await bench.conversation.receive(inbound())
    await bench.conversation.finish(grace_s=2)
    assert bench.channel.texts() == ["Riposo."]


async def test_finishing_apologises_for_what_takes_too_long(make: Make) -> None:
    bench = make(delay_s=30)
    await bench.meet()
    await bench.conversation.receive(inbound())
    await asyncio.sleep(0.05)
    await bench.conversation.finish(grace_s=0.05)
    assert "Mi scusi" in bench.channel.texts()[0]
    assert bench.conversation.running == 0


async def test_with_too_many_turns_running_only_emergencies_are_taken(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bot.conversation._MAX_TASKS", 1)
    bench = make(delay_s=0.1)
    await bench.meet("a", "b")
    await bench.conversation.receive(inbound(identity="a"))
    await bench.conversation.receive(inbound(identity="b"))
    await bench.conversation.receive(inbound("dolore al petto", identity="b"))
    await bench.conversation.idle()
    assert len(bench.channel.texts("b")) == 1
    assert "112" in bench.channel.texts("b")[0]


class Rereading:
    """A second reading that finds `words` urgent, after as many seconds as are given for a text."""

    def __init__(self, *words: str, overruled: str = "", delays_s: dict[str, float] | None = None) -> None:
        self.words = words
        self.overruled = overruled
        self.delays_s = delays_s or {}
        self.asked: list[tuple[str, tuple[str, ...]]] = []

    def __call__(self, text: str, earlier: tuple[str, ...] = (), first: GateReading | None = None) -> GateReading:
        time.sleep(self.delays_s.get(text, 0.0))
        self.asked.append((text, tuple(earlier)))
        if self.overruled and self.overruled in text:
            return GateReading(about="heart")
        found = any(word in text for word in self.words)
        return GateReading(red_flag=red_flag(category="stroke")) if found else first or GateReading()


def reread_with(bench: Bench, reread: Callable[..., GateReading]) -> None:
    bench.gate.reread = reread  # type: ignore[method-assign]


async def test_the_second_reading_escalates_what_no_rule_found(make: Make) -> None:
    bench = make()
    reread_with(bench, Rereading("non stringe"))
    (text,) = await bench.hear("il nonno non stringe più la mano")
    assert "112" in text
    assert bench.answerer.questions == []


async def test_the_second_reading_does_not_wait_for_the_answer_before_it(make: Make) -> None:
    bench = make(delay_s=1.0)
    await bench.meet()
    reread_with(bench, Rereading("non stringe"))
    await bench.conversation.receive(inbound("Che cosa fare per la tosse?"))
    await asyncio.sleep(0.1)
    assert bench.answerer.questions
    begun = time.monotonic()
    await bench.conversation.receive(inbound("il nonno non stringe più la mano"))
    await bench.channel.wait_sent(1)
    assert time.monotonic() - begun < 0.5
    assert "112" in bench.channel.texts()[0]
    await bench.conversation.idle()


async def test_the_second_reading_gets_the_messages_just_before(make: Make) -> None:
    bench = make()
    reread = Rereading()
    reread_with(bench, reread)
    await bench.hear("mia moglie", "non trova le parole")
    assert reread.asked == [("mia moglie", ()), ("non trova le parole", ("mia moglie",))]


async def test_two_quick_messages_keep_their_order_however_long_the_first_is_read(make: Make) -> None:
    bench = make()
    await bench.meet()
    reread_with(bench, Rereading(delays_s={"una lunga storia": 0.2}))
    await bench.hear("una lunga storia", "e poi?", "e dopo?")
    assert [question.text for question in bench.answerer.questions] == ["una lunga storia", "e poi?", "e dopo?"]


async def test_what_sounds_harmless_is_answered_after_all_with_the_number_first(make: Make) -> None:
    bench = make(answer(sentence("Si annaffia una volta a settimana.")))
    await bench.meet()
    reread_with(bench, Rereading(overruled="petto"))
    (text,) = await bench.hear("che colpo al petto vedere la mia orchidea")
    assert text.index("112") < text.index("annaffia")


@pytest.mark.parametrize("error", [ModelError("broken"), RuntimeError("engine"), MemoryError()])
@pytest.mark.parametrize(("text", "expected"), [("dolore al petto", "112"), ("Che cosa fare per la tosse?", "Riposo.")])
async def test_a_second_reading_that_fails_leaves_what_the_rules_found(
    make: Make, events: list[dict[str, Any]], error: Exception, text: str, expected: str
) -> None:
    def fail(*_: object) -> GateReading:
        raise error

    bench = make(answer(sentence("Riposo.")))
    await bench.meet()
    reread_with(bench, fail)
    (reply,) = await bench.hear(text)
    assert expected in reply
    assert [event["error"] for event in events if event["event"] == "reread_failed"] == [type(error).__name__]


async def test_an_emergency_of_a_rule_waits_no_longer_than_the_limit(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bot.second_reading._OVERRULE_LIMIT_S", 0.1)
    released = threading.Event()

    def hang(_: str, __: object, first: GateReading) -> GateReading:
        released.wait(5)
        return GateReading()

    bench = make()
    reread_with(bench, hang)
    begun = time.monotonic()
    try:
        await bench.conversation.receive(inbound("Che cosa fare per la tosse?", identity="other"))  # holds the gate's thread
        await bench.conversation.receive(inbound("dolore al petto"))
        await bench.channel.wait_sent(1)
        assert time.monotonic() - begun < 0.6
    finally:
        released.set()
    assert "112" in bench.channel.texts("42")[0]
    await bench.conversation.idle()


async def test_a_message_is_answered_when_its_second_reading_takes_too_long(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bot.second_reading._LIMIT_S", 0.1)
    bench = make(answer(sentence("Riposo.")))
    await bench.meet()
    reread_with(bench, Rereading("tosse", delays_s={"Che cosa fare per la tosse?": 0.5}))
    assert await bench.hear("Che cosa fare per la tosse?") == ["Riposo."]


@pytest.mark.parametrize("kind", [MessageKind.COMMAND, MessageKind.BUTTON, MessageKind.UNREADABLE])
async def test_only_words_are_read_twice(make: Make, kind: MessageKind) -> None:
    bench = make()
    reread = Rereading()
    reread_with(bench, reread)
    await bench.hear(inbound("/start", kind=kind))
    assert reread.asked == []


async def test_a_patient_is_answered_in_the_mode_that_was_chosen(make: Callable[..., Bench]) -> None:
    bench = make()
    await bench.meet()
    for message in ("Che cos'è la febbre?", inbound("/modo preciso", kind=MessageKind.COMMAND), "Quanto dura la febbre?"):
        await bench.hear(message)

    assert [wish["mode"] for wish in bench.answerer.wishes] == [Mode.FAST, Mode.PRECISE]


async def test_with_many_waiting_answers_are_quotes(make: Callable[..., Bench]) -> None:
    bench = make(delay_s=0.3)
    people = [str(number) for number in range(6)]
    await bench.meet(*people)
    await bench.hear(*(inbound("Che cos'è la febbre?", identity=one) for one in people))

    quoting = [wish["quote_only"] for wish in bench.answerer.wishes]
    assert quoting[1] is True  # four still wait when the second one's turn has come
    assert quoting[-1] is False


async def test_of_many_messages_each_is_received_before_the_gate_reads_the_next(make: Make) -> None:
    bench, read = make(), []

    def note(text: str, _: object = ()) -> GateReading:
        read.append(text)
        return GateReading()

    bench.gate.read = note  # type: ignore[method-assign]
    texts = [f"domanda {number}" for number in range(20)]
    for number, text in enumerate(texts):
        await bench.conversation.receive(inbound(text, identity=str(number)))
    for passes in range(1, 10):
        await asyncio.sleep(0)
        assert len(read) <= passes
    await asyncio.wait_for(bench.conversation.idle(), 5)
    assert read == texts
