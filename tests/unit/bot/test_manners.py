"""How the bot behaves around an answer: consent, bursts, stopping, erasing, opting out, limits, follow-ups, groups."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from bot.commands import WIPE_PAYLOAD
from bot.consent import ACCEPT_PAYLOAD, DECLINE_PAYLOAD, ConsentDesk
from bot.escalation import ANSWER_PAYLOAD
from bot.patient_limits import PatientLimits
from bot.patient_registry import PatientRegistry
from bot.safety import GateReading, Level
from channels.messages import InboundMessage, MessageKind, Platform
from locales.language import Language
from tests.builders import answer, evidence, inbound, patient, red_flag, sentence
from tests.fakes import RecordingChannel, ScriptedGate
from tests.unit.bot.test_conversation import Bench

ES = Language.SPANISH
QUESTION = "Che cosa fare per la febbre?"
TG = Platform.TELEGRAM


@pytest.fixture
async def make() -> AsyncIterator[Callable[..., Bench]]:
    made: list[Bench] = []

    def build(*replies: Any, **parts: Any) -> Bench:
        made.append(Bench(*replies, **parts))
        return made[-1]

    yield build
    for bench in made:
        await bench.worker.stop()
        bench.conversation.close()


Make = Callable[..., Bench]


def command(line: str, **changes: Any) -> InboundMessage:
    return inbound(line, kind=MessageKind.COMMAND, **changes)


def tap(payload: str, **changes: Any) -> InboundMessage:
    return inbound(payload, kind=MessageKind.BUTTON, **changes)


def asking(registry: PatientRegistry | None = None) -> ConsentDesk:
    return ConsentDesk(registry or PatientRegistry(None, None), time.monotonic)


def last_buttons(bench: Bench) -> dict[str, str]:
    return {button.payload.partition(":")[0]: button.payload for button in bench.channel.sent[-1][1].buttons}


class TestConsent:
    @pytest.mark.parametrize("yes", [tap(ACCEPT_PAYLOAD), "Accetto", "sì", "ok"])
    async def test_the_question_already_written_waits_and_is_then_answered(self, make: Make, yes: Any) -> None:
        bench = make(answer(sentence("Riposo.")), consent=asking())
        (asked,) = await bench.hear(QUESTION)
        assert "Non sono un medico" in asked
        assert bench.answerer.questions == []
        assert await bench.hear(yes if isinstance(yes, str) else inbound(yes.text, kind=yes.kind)) == ["Riposo."]
        assert [question.text for question in bench.answerer.questions] == [QUESTION]

    @pytest.mark.parametrize("no", ["No", "no acepto"])
    async def test_who_declines_is_not_answered_and_can_think_again(self, make: Make, no: str) -> None:
        bench = make(consent=asking())
        await bench.hear("¿Qué hago con la fiebre de mi hija?")
        (declined,) = await bench.hear(no)
        assert "borré" in declined
        (given,) = await bench.hear("acepto")
        assert "Escríbame su pregunta" in given
        assert bench.answerer.questions == []

    async def test_two_questions_before_consent_are_answered_together(self, make: Make) -> None:
        bench = make(answer(sentence("Riposo.")), consent=asking())
        await bench.hear(QUESTION)
        (again,) = await bench.hear("e per la tosse?")
        assert "accordo" in again
        assert await bench.hear(tap(ACCEPT_PAYLOAD)) == ["Riposo."]
        assert bench.answerer.questions[0].text == f"{QUESTION}\ne per la tosse?"

    async def test_consent_is_asked_for_once(self, make: Make) -> None:
        registry = PatientRegistry(None, None)
        bench = make(answer(sentence("Riposo.")), consent=asking(registry))
        await bench.hear(QUESTION, tap(ACCEPT_PAYLOAD))
        bench.sessions.drop((TG, "42", "42"))
        assert await bench.hear(QUESTION) == ["Riposo."]

    @pytest.mark.parametrize(
        ("text", "words"), [("ho male al petto", "Chiami subito"), ("voglio farla finita", "Grazie per avermelo scritto")]
    )
    async def test_an_emergency_needs_no_consent(self, make: Make, text: str, words: str) -> None:
        bench = make(consent=asking())
        (first, *_) = await bench.hear(text)
        assert words in bench.channel.sent[0][1].paragraphs[0] + first

    @pytest.mark.parametrize("line", ["/privacy", "/lingua es", "/paese Messico", "/aiuto", "/emergenza"])
    async def test_what_tells_about_the_bot_needs_no_consent(self, make: Make, line: str) -> None:
        bench = make(consent=asking())
        (told,) = await bench.hear(command(line))
        assert "14 anni" not in told

    async def test_a_question_about_an_emergency_keeps_its_first_line_while_it_waits(self, make: Make) -> None:
        bench = make(answer(sentence("Riposo.")), consent=asking())
        await bench.hear("cos'è l'infarto?")
        (shown,) = await bench.hear(tap(ACCEPT_PAYLOAD))
        assert shown.startswith("Se sta succedendo adesso")

    async def test_a_put_off_question_waits_for_consent_with_its_first_line(self, make: Make) -> None:
        bench = make(answer(sentence("Riposo.")), consent=asking())
        await bench.hear("ho male al petto quando tossisco")
        await bench.hear(tap(ANSWER_PAYLOAD))
        (shown,) = await bench.hear(tap(ACCEPT_PAYLOAD))
        assert shown.startswith("Se sta succedendo adesso")
        assert bench.answerer.questions[0].text == "ho male al petto quando tossisco"

    async def test_a_no_takes_consent_back(self, make: Make) -> None:
        bench = make(answer(sentence("Riposo.")), consent=asking())
        await bench.hear(QUESTION, tap(ACCEPT_PAYLOAD))
        await bench.hear(tap(DECLINE_PAYLOAD))
        (asked,) = await bench.hear(QUESTION)
        assert "accordo" in asked

    async def test_a_voice_note_is_told_that_only_text_is_read(self, make: Make) -> None:
        bench = make(consent=asking())
        (told,) = await bench.hear(inbound("", kind=MessageKind.UNREADABLE))
        assert "solo testo" in told


class TestBursts:
    async def test_three_quick_messages_are_one_question(self, make: Make) -> None:
        bench = make(answer(sentence("Riposo.")), debounce_s=0.3)
        await bench.meet()
        assert await bench.hear("ho la febbre", "da due giorni", "che cosa posso fare?") == ["Riposo."]
        assert bench.answerer.questions[0].text == "ho la febbre\nda due giorni\nche cosa posso fare?"

    async def test_a_later_message_is_a_question_of_its_own(self, make: Make) -> None:
        bench = make(answer(sentence("Riposo.")), debounce_s=0.1)
        await bench.meet()
        await bench.hear("ho la febbre")
        await asyncio.sleep(0.15)
        await bench.hear("e la tosse?")
        assert [question.text for question in bench.answerer.questions] == ["ho la febbre", "e la tosse?"]

    async def test_an_edit_within_the_burst_replaces_what_it_edits_h03(self, make: Make) -> None:
        bench = make(answer(sentence("Riposo.")), debounce_s=0.3)
        await bench.meet()
        await bench.hear(
            inbound("dosi tachipirina", message_id="1"),
            inbound("effetti collaterali tachipirina", message_id="1:9", original_id="1", is_edit=True),
        )
        assert [question.text for question in bench.answerer.questions] == ["effetti collaterali tachipirina"]

    async def test_an_emergency_in_a_burst_is_told_at_once_and_nothing_else_is_answered(self, make: Make) -> None:
        bench = make(debounce_s=0.3)
        await bench.meet()
        (told,) = await bench.hear("sono sul divano", "ho male al petto")
        assert "Chiami subito" in told
        assert bench.answerer.questions == []

    async def test_a_command_ends_the_waiting_and_keeps_its_place(self, make: Make) -> None:
        bench = make(answer(sentence("Riposo.")), debounce_s=5.0)
        await bench.meet()
        begun = time.monotonic()
        sent = await bench.hear("ho la febbre", command("/lingua es"))
        assert time.monotonic() - begun < 4
        assert sent[0] == "Riposo."
        assert "español" in sent[1]


class TestStopping:
    @pytest.mark.parametrize("line", ["/annulla", "/cancelar"])
    async def test_a_running_answer_is_stopped_and_said_once(self, make: Make, line: str) -> None:
        bench = make(answer(sentence("Riposo.")), delay_s=3.0)
        await bench.meet()
        await bench.conversation.receive(inbound(QUESTION))
        while not bench.answerer.questions:
            await asyncio.sleep(0.01)
        begun = time.monotonic()
        (told,) = await bench.hear(command(line))
        assert time.monotonic() - begun < 2
        assert "mi fermo" in told

    async def test_a_question_that_still_waits_for_more_is_stopped_too(self, make: Make) -> None:
        bench = make(debounce_s=3.0)
        await bench.meet()
        await bench.conversation.receive(inbound(QUESTION))
        (told,) = await bench.hear(command("/annulla"))
        assert "mi fermo" in told
        assert bench.answerer.questions == []

    async def test_nothing_to_stop_is_said(self, make: Make) -> None:
        bench = make()
        await bench.meet()
        (told,) = await bench.hear(command("/annulla"))
        assert "Non stavo preparando" in told

    async def test_the_next_question_is_answered(self, make: Make) -> None:
        bench = make(answer(sentence("Riposo.")), delay_s=1.0)
        await bench.meet()
        await bench.conversation.receive(inbound(QUESTION))
        while not bench.answerer.questions:
            await asyncio.sleep(0.01)
        await bench.hear(command("/annulla"))
        assert await bench.hear("e la tosse?") == ["Riposo."]


class TestErasing:
    async def test_everything_goes_at_once_and_it_is_said_what(self, make: Make) -> None:
        registry = PatientRegistry(None, None)
        bench = make(answer(sentence("Riposo.")), consent=asking(registry), delay_s=2.0)
        await bench.hear(tap(ACCEPT_PAYLOAD))
        await bench.conversation.receive(inbound(QUESTION))
        while not bench.answerer.questions:
            await asyncio.sleep(0.01)
        (told,) = await bench.hear(command("/dimentica"))
        assert "le Sue domande" in told
        assert "consenso" in told
        assert bench.sessions.touch((TG, "42", "42")).earlier() == ()
        assert not (await registry.standing(patient())).has_consented

    async def test_what_waits_behind_the_running_answer_is_left_too(self, make: Make) -> None:
        bench = make(answer(sentence("Riposo.")), delay_s=1.0)
        await bench.meet()
        await bench.conversation.receive(inbound(QUESTION))
        await bench.conversation.receive(inbound("e la tosse?"))
        while not bench.answerer.questions:
            await asyncio.sleep(0.01)
        (told,) = await bench.hear(command("/olvidar"))
        assert "borré" in told
        assert len(bench.answerer.questions) == 1

    async def test_an_opt_out_stays(self, make: Make) -> None:
        registry = PatientRegistry(None, None)
        bench = make(consent=asking(registry))
        await registry.note_opt_out(patient())
        await bench.hear(command("/dimentica"))
        assert (await registry.standing(patient())).has_opted_out


class TestOptingOut:
    def make(self, make: Make, registry: PatientRegistry | None = None) -> tuple[Bench, Callable[..., InboundMessage]]:
        channel = RecordingChannel(platform=Platform.WHATSAPP)
        consent = asking(registry)
        bench = make(answer(sentence("Riposo.")), channels={Platform.WHATSAPP: channel}, consent=consent)
        bench.channel = channel
        return bench, lambda text, **changes: inbound(text, platform=Platform.WHATSAPP, **changes)

    @pytest.mark.parametrize("word", ["STOP", " stop. ", "BAJA"])
    async def test_a_whole_word_stops_and_the_next_message_reopens_h17(self, make: Make, word: str) -> None:
        registry = PatientRegistry(None, None)
        bench, says = self.make(make, registry)
        await bench.hear(says(QUESTION), tap(ACCEPT_PAYLOAD, platform=Platform.WHATSAPP))
        await bench.hear(says(word))
        someone = patient(platform=Platform.WHATSAPP)
        assert (await registry.standing(someone)).has_opted_out
        assert await bench.hear(says(QUESTION)) == ["Riposo."]
        assert not (await registry.standing(someone)).has_opted_out

    @pytest.mark.parametrize("text", ["basta", "ya basta", "no más", "Come faccio a smettere? STOP alle sigarette"])
    async def test_what_people_in_distress_or_with_a_question_write_is_no_opt_out_h17(self, make: Make, text: str) -> None:
        registry = PatientRegistry(None, None)
        bench, says = self.make(make, registry)
        await bench.hear(says(QUESTION), tap(ACCEPT_PAYLOAD, platform=Platform.WHATSAPP))
        await bench.hear(says(text))
        assert not (await registry.standing(patient(platform=Platform.WHATSAPP))).has_opted_out

    async def test_a_red_flag_is_answered_after_an_opt_out_h17(self, make: Make) -> None:
        bench, says = self.make(make)
        await bench.hear(says("STOP"))
        (told,) = await bench.hear(says("ho male al petto"))
        assert "Chiami subito" in told


class TestLimits:
    async def test_who_writes_too_much_is_told_once_and_can_go_on_later(self, make: Make) -> None:
        moment = [0.0]
        limits = PatientLimits(a_minute=2, in_all_a_minute=1000, clock=lambda: moment[0])
        bench = make(answer(sentence("Riposo.")), limits=limits)
        await bench.hear("uno?")
        await bench.hear("due?")
        (told,) = await bench.hear("tre?")
        assert "Aspetti un minuto" in told
        assert await bench.hear("quattro?") == []
        moment[0] = 70.0
        assert await bench.hear("cinque?") == ["Riposo."]

    async def test_an_emergency_is_read_before_any_limit(self, make: Make) -> None:
        limits = PatientLimits(a_minute=1, in_all_a_minute=1000, clock=lambda: 0.0)
        bench = make(limits=limits)
        await bench.hear("uno?", "due?", "tre?")
        (told,) = await bench.hear("ho male al petto")
        assert "Chiami subito" in told

    def test_who_goes_on_waits_longer(self) -> None:
        moment = [0.0]
        limits = PatientLimits(a_minute=1, in_all_a_minute=1000, clock=lambda: moment[0])
        for _ in range(12):
            limits.admit("a")
        moment[0] = 45.0
        assert limits.admit("a").value == "ignored"
        assert limits.admit("b").value == "admitted"

    def test_nothing_grows_with_the_number_of_senders(self) -> None:
        limits = PatientLimits(a_minute=1, in_all_a_minute=1, clock=lambda: 0.0)
        for number in range(30_000):
            limits.admit(str(number))
        assert len(limits._quiet) <= 10_000


class TestFollowUps:
    async def answered(self, make: Make, *replies: Any) -> Bench:
        bench = make(*(replies or (answer(sentence("Riposo.")),)))
        await bench.meet()
        await bench.hear(QUESTION)
        return bench

    async def test_a_verdict_is_counted_once_h10(self, make: Make) -> None:
        bench = await self.answered(make)
        buttons = last_buttons(bench)
        sent = await bench.hear(tap(buttons["useful"]), tap(buttons["useful"]), tap(buttons["useless"]))
        assert len(sent) == 1
        assert "senza il Suo nome" in sent[0]
        assert bench.parts.metrics.feedback["", Language.ITALIAN] == (1, 0)

    @pytest.mark.parametrize("kind", ["useful", "useless", "plainer", "more", "proof"])
    async def test_a_tap_on_an_answer_that_is_gone_gets_a_polite_sentence_h10(self, make: Make, kind: str) -> None:
        bench = await self.answered(make)
        (told,) = await bench.hear(tap(f"{kind}:999"))
        assert "Non ho più quella risposta" in told
        assert bench.parts.metrics.feedback == {}

    async def test_the_tap_of_somebody_else_changes_nothing_h18(self, make: Make) -> None:
        bench = await self.answered(make)
        await bench.meet("7")
        payload = last_buttons(await self.answered(make))["useful"]
        (told,) = await bench.hear(tap(payload, identity="7"))
        assert "Non ho più quella risposta" in told

    async def test_more_asks_for_what_was_left_unsaid(self, make: Make) -> None:
        first = answer(sentence("Riposo.", evidence=(evidence("Riposo."),)))
        bench = await self.answered(make, first, answer(sentence("E bere molto.")))
        assert await bench.hear(tap(last_buttons(bench)["more"])) == ["E bere molto."]
        options = bench.answerer.wishes[-1]
        assert options["detail"].value == "more"
        assert first.sentences[0].evidence[0].place in options["said"]

    @pytest.mark.parametrize("kind", ["more", "plainer"])
    async def test_a_double_tap_is_answered_once_h10(self, make: Make, kind: str) -> None:
        bench = await self.answered(make, answer(sentence("Riposo.")), answer(sentence("E bere molto.")))
        payload = last_buttons(bench)[kind]
        assert await bench.hear(tap(payload), tap(payload)) == ["E bere molto."]

    async def test_under_an_answer_that_was_added_to_the_buttons_go_on_working(self, make: Make) -> None:
        second = answer(sentence("E bere molto.", evidence=(evidence("E bere molto."),)))
        bench = await self.answered(make, answer(sentence("Riposo.")), second, answer(sentence("Stia a letto.")))
        buttons = last_buttons(bench)
        await bench.hear(tap(buttons["more"]))
        assert "Riposo." in "".join(await bench.hear(tap(buttons["proof"])))
        assert "senza il Suo nome" in "".join(await bench.hear(tap(buttons["useful"])))
        assert await bench.hear(tap(buttons["plainer"])) == ["Stia a letto."]
        assert second.sentences[0].evidence[0].place in bench.answerer.wishes[-1]["said"]

    async def test_what_was_shown_before_is_not_shown_again(self, make: Make) -> None:
        plain = answer(sentence("Stia a letto."))
        bench = await self.answered(make, answer(sentence("Riposo.")), plain, answer(sentence("E bere molto.")), plain)
        buttons = last_buttons(bench)
        await bench.hear(tap(buttons["plainer"]))
        await bench.hear(tap(buttons["more"]))
        (told,) = await bench.hear(tap(last_buttons(bench)["plainer"]))
        assert "più semplici" in told

    async def test_a_question_that_has_become_too_old_is_said_to_be_gone(self, make: Make) -> None:
        bench = await self.answered(make)
        payload = last_buttons(bench)["more"]
        bench.sessions.touch((TG, "42", "42")).kept[0].question = None
        (told,) = await bench.hear(tap(payload))
        assert "Non ho più quella risposta" in told

    async def test_what_is_no_plainer_is_said_to_be_none(self, make: Make) -> None:
        bench = await self.answered(make)
        (told,) = await bench.hear(tap(last_buttons(bench)["plainer"]))
        assert "più semplici" in told


class TestAbuse:
    def gate(self) -> ScriptedGate:
        return ScriptedGate({"mi picchia": red_flag(category="abuse", level=Level.ABUSE)})

    async def test_in_a_group_nothing_of_it_is_said(self, make: Make) -> None:
        bench = make(gate=self.gate())
        (told,) = await bench.hear(inbound("mi picchia", is_group=True))
        assert "privato" in told
        assert "1522" not in told

    async def test_the_messages_can_be_deleted_on_telegram(self, make: Make) -> None:
        bench = make(gate=self.gate())
        await bench.hear(inbound("mi picchia", message_id="42:7"))
        (_, message) = bench.channel.sent[-1]
        assert [button.payload for button in message.buttons] == [WIPE_PAYLOAD]
        assert message.links == message.closing == ()
        await bench.hear(tap(WIPE_PAYLOAD))
        assert "42:7" in bench.channel.deleted


async def test_the_languages_of_a_prefix_are_spoken_before_anything_is_written(make: Make) -> None:
    channel = RecordingChannel(platform=Platform.WHATSAPP)
    bench = make(channels={Platform.WHATSAPP: channel})
    await bench.conversation.receive(inbound("", kind=MessageKind.UNREADABLE, platform=Platform.WHATSAPP, country_hint="MX"))
    await bench.conversation.idle()
    assert "solo leo texto" in channel.texts()[-1].lower() or "texto" in channel.texts()[-1]


@pytest.mark.parametrize("line", ["/dimentica", "/olvidar"])
async def test_a_question_right_behind_the_erasure_is_answered(make: Make, line: str) -> None:
    bench = make(answer(sentence("Riposo.")))
    await bench.meet()
    sent = await bench.hear(command(line), QUESTION)
    assert sent[-1] == "Riposo."


async def test_several_pictures_at_once_are_told_once_that_only_text_is_read_h15(make: Make) -> None:
    bench = make()
    await bench.meet()
    sent = await bench.hear(*(inbound("", kind=MessageKind.UNREADABLE) for _ in range(3)))
    assert len(sent) == 1


class TestFaultsOnceSeen:
    """What an adversarial reader of the running bot found."""

    async def test_the_emergency_line_stands_when_the_second_message_of_a_burst_names_the_condition(self, make: Make) -> None:
        bench = make(answer(sentence("Riposo.")), debounce_s=0.3)
        await bench.meet()
        (shown,) = await bench.hear("Buongiorno", "cos'è l'infarto?")
        assert shown.startswith("Se sta succedendo adesso")

    async def test_what_an_emergency_overtakes_is_not_answered(self, make: Make) -> None:
        bench = make(answer(sentence("Riposo.")), debounce_s=0.3)
        await bench.meet()
        slow = asyncio.Event()

        async def read(text: str, burst: tuple[str, ...], first: Any, on_late: Any) -> Any:
            if first.red_flag is None:
                await slow.wait()
            return first

        bench.conversation._emergencies._second_reader.read = read  # type: ignore[method-assign]
        await bench.conversation.receive(inbound("quanto dura l'influenza?"))
        await bench.conversation.receive(inbound("ho male al petto"))
        await bench.channel.wait_sent(1)
        slow.set()
        await bench.conversation.idle()
        assert len(bench.channel.sent) == 1
        assert bench.answerer.questions == []

    async def test_messages_about_abuse_can_be_deleted_before_any_consent(self, make: Make) -> None:
        gate = ScriptedGate({"mi picchia": red_flag(category="abuse", level=Level.ABUSE)})
        bench = make(gate=gate, consent=asking())
        await bench.hear(inbound("mi picchia", message_id="42:7"))
        (told,) = await bench.hear(tap(WIPE_PAYLOAD))
        assert told == "Fatto."
        assert "42:7" in bench.channel.deleted

    async def test_erasing_reaches_every_chat_of_the_patient(self, make: Make) -> None:
        bench = make(answer(sentence("Riposo.")), consent=asking())
        await bench.hear(QUESTION, tap(ACCEPT_PAYLOAD))
        await bench.hear(inbound(QUESTION, chat="-100", is_group=True))
        await bench.hear(command("/dimentica"))
        assert bench.sessions.touch((TG, "-100", "42")).earlier() == ()
        (asked,) = await bench.hear(inbound(QUESTION, chat="-100", is_group=True))
        assert "sistema automatico" in asked

    @pytest.mark.parametrize(
        "yes",
        [
            "accetto grazie",
            "ok grazie",
            "sì va bene",
            "accetto, sono maggiorenne",
            "👍",
            "👍🏽",
            "1",
            "Accetto!",
            "acepto, gracias",
        ],
    )
    async def test_a_yes_is_understood_however_it_is_worded(self, make: Make, yes: str) -> None:
        bench = make(answer(sentence("Riposo.")), consent=asking())
        await bench.hear(QUESTION)
        assert await bench.hear(yes) == ["Riposo."]

    @pytest.mark.parametrize("text", ["non accetto", "no grazie", "NO", "2"])
    async def test_a_no_is_a_no(self, make: Make, text: str) -> None:
        bench = make(consent=asking())
        await bench.hear(QUESTION)
        (told,) = await bench.hear(text)
        assert "cancellato" in told

    @pytest.mark.parametrize(
        "text", ["non so se accetto", "che cosa devo accettare?", "ho male alla gamba, va bene il ghiaccio?"]
    )
    async def test_what_is_no_yes_is_held(self, make: Make, text: str) -> None:
        bench = make(consent=asking())
        await bench.hear(QUESTION)
        (told,) = await bench.hear(text)
        assert "accordo" in told
        assert bench.answerer.questions == []

    async def test_a_yes_and_a_question_in_one_burst_answer_both(self, make: Make) -> None:
        bench = make(answer(sentence("Riposo.")), consent=asking(), debounce_s=0.2)
        await bench.hear(QUESTION)
        assert await bench.hear("accetto", "e per la tosse?") == ["Riposo."]
        assert bench.answerer.questions[0].text == f"{QUESTION}\ne per la tosse?"

    async def test_an_edit_replaces_what_is_held(self, make: Make) -> None:
        bench = make(answer(sentence("Riposo.")), consent=asking())
        await bench.hear(inbound("tosse?", message_id="1"))
        await bench.hear(inbound("raffreddore?", message_id="1:9", original_id="1", is_edit=True))
        await bench.hear(tap(ACCEPT_PAYLOAD))
        assert [question.text for question in bench.answerer.questions] == ["raffreddore?"]

    async def test_stopping_takes_back_what_is_held_and_what_waits(self, make: Make) -> None:
        bench = make(answer(sentence("Riposo.")), consent=asking())
        await bench.hear(QUESTION)
        (told,) = await bench.hear(command("/annulla"))
        assert "mi fermo" in told.lower()
        (given,) = await bench.hear(tap(ACCEPT_PAYLOAD))
        assert "Mi scriva" in given

    async def test_all_that_waits_behind_a_stopped_answer_is_stopped_too(self, make: Make) -> None:
        bench = make(answer(sentence("Riposo.")), delay_s=0.5)
        await bench.meet()
        for text in (QUESTION, "e la tosse?", "e il raffreddore?"):
            await bench.conversation.receive(inbound(text))
        while not bench.answerer.questions:
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.1)
        sent = await bench.hear(command("/annulla"))
        assert len(sent) == 1
        assert len(bench.answerer.questions) == 1

    async def test_a_spanish_patient_keeps_the_language_without_a_hint(self, make: Make) -> None:
        bench = make(consent=asking())
        await bench.hear(inbound("¿Qué hago con la fiebre de mi hija pequeña?", locale_hint="en"))
        (told,) = await bench.hear(tap(DECLINE_PAYLOAD, locale_hint="en"))
        assert "borré" in told

    async def test_numbers_and_stop_again_and_again_are_limited(self, make: Make) -> None:
        limits = PatientLimits(a_minute=3, in_all_a_minute=1000, clock=lambda: 0.0)
        bench = make(limits=limits)
        sent = await bench.hear(*(command("/emergenza") for _ in range(10)))
        assert len(sent) == 4


async def test_an_emergency_that_is_found_too_late_for_its_turn_is_told_all_the_same(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.second_reading._LIMIT_S", 0.05)
    bench = make(answer(sentence("Riposo.")))
    await bench.meet()

    def reread(text: str, earlier: tuple[str, ...], first: GateReading) -> GateReading:
        time.sleep(0.3)
        return GateReading(red_flag=red_flag())

    bench.gate.reread = reread  # type: ignore[method-assign]
    await bench.hear(QUESTION)
    await bench.channel.wait_sent(2)
    assert "Chiami subito" in bench.channel.texts()[-1]


async def test_a_short_message_does_not_overtake_the_long_one_before_it(make: Make) -> None:
    bench = make(answer(sentence("Riposo.")))
    await bench.meet()

    def reread(text: str, earlier: tuple[str, ...], first: GateReading) -> GateReading:
        time.sleep(0.3 if len(text) > 600 else 0.0)
        return first

    bench.gate.reread = reread  # type: ignore[method-assign]
    long = "ho la febbre da due giorni e mi sento debole. " * 20
    await bench.hear(long, "e la tosse?")
    assert [question.text for question in bench.answerer.questions] == [long, "e la tosse?"]


@pytest.mark.parametrize("third", ["e il raffreddore?", command("/fonti")])
async def test_of_three_messages_behind_a_long_one_none_overtakes_another(make: Make, third: str | InboundMessage) -> None:
    bench = make(answer(sentence("Riposo.")), answer(sentence("Tè caldo.")), answer(sentence("Vapore.")))
    await bench.meet()

    def reread(text: str, earlier: tuple[str, ...], first: GateReading) -> GateReading:
        time.sleep(0.3 if len(text) > 600 else 0.0)
        return first

    bench.gate.reread = reread  # type: ignore[method-assign]
    await bench.hear("ho la febbre da due giorni e mi sento debole. " * 20, "e la tosse?", third)
    assert bench.channel.texts()[-3:][:2] == ["Riposo.", "Tè caldo."]


async def test_no_farewell_follows_an_emergency_that_was_found_late(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bot.second_reading._LIMIT_S", 0.05)
    bench = make(answer(sentence("Riposo.")), delay_s=2.0)
    await bench.meet()

    def reread(text: str, earlier: tuple[str, ...], first: GateReading) -> GateReading:
        time.sleep(0.3)
        return GateReading(red_flag=red_flag())

    bench.gate.reread = reread  # type: ignore[method-assign]
    (told,) = await bench.hear(QUESTION)
    assert "Chiami subito" in told


async def test_start_is_answered_also_in_a_new_session_of_who_has_consented(make: Make) -> None:
    registry = PatientRegistry(None, None)
    await registry.note_consent(patient())
    bench = make(consent=asking(registry))
    (told,) = await bench.hear(command("/start"))
    assert "Sono qui" in told
