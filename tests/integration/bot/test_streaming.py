"""An answer that grows on the reader's screen, through the messengers' real clients and doubles of their servers."""

import asyncio
import io
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest
from rich.console import Console

from bot.streaming import PACES, AnswerStream, Pace
from bot.telemetry import Telemetry
from channels.base import Channel
from channels.console_channel import ConsoleChannel
from channels.errors import DeliveryFailed, RecipientGone
from channels.messages import Button, OutboundLink, OutboundMessage, Patient, Platform
from channels.telegram_channel import TelegramChannel
from channels.whatsapp_channel import WhatsAppChannel
from rag.types import Question, SupportedSentence
from tests.builders import sentence
from tests.doubles import BotApiDouble, TwilioDouble
from tests.doubles.twilio_api import ACCOUNT_SID, AUTH_TOKEN, SENDER

PUBLIC = "https://bot.esempio.it"
READER = Patient(platform=Platform.TELEGRAM, identity="77", address="77")
PHONE = Patient(platform=Platform.WHATSAPP, identity="393331234567", address="whatsapp:+393331234567")
FAST = Pace(first_s=0.05, next_s=0.1)
GONE = "Bad Request: message to edit not found"
LINK = OutboundLink(label="Febbre", url="https://esempio.it")
WHY = (Button(label="Perché?", payload="proof:1"),)


def growing(sentences: Sequence[SupportedSentence]) -> OutboundMessage:
    return OutboundMessage(paragraphs=("Prima.", " ".join(one.text for one in sentences)))


def whole(*sentences: str) -> OutboundMessage:
    return OutboundMessage(paragraphs=("Prima.", " ".join(sentences)), links=(LINK,), closing=("Chiusura.",), buttons=WHY)


async def nobody(_: object) -> None:
    """Nobody writes in these tests."""


@pytest.fixture
async def api() -> AsyncIterator[BotApiDouble]:
    async with BotApiDouble() as double:
        yield double


@pytest.fixture
async def telegram(api: BotApiDouble) -> AsyncIterator[TelegramChannel]:
    channel = TelegramChannel(api.token, "webhook", "secret", PUBLIC, api.base_url, retry_delay_s=0.01)
    await channel.start(nobody)
    yield channel
    await channel.stop()


@pytest.fixture
async def twilio() -> AsyncIterator[TwilioDouble]:
    async with TwilioDouble() as double:
        yield double
    assert double.violations == []


@pytest.fixture
async def whatsapp(twilio: TwilioDouble) -> AsyncIterator[WhatsAppChannel]:
    channel = WhatsAppChannel(ACCOUNT_SID, AUTH_TOKEN, SENDER, PUBLIC, twilio.url, retry_delay_s=0.01)
    await channel.start(nobody)
    yield channel
    await channel.stop()


def started(channel: Channel, to: Patient, pace: Pace | None) -> AnswerStream:
    stream = AnswerStream(channel=channel, to=to, begin=lambda _: growing, telemetry=Telemetry(), pace=pace)
    stream.listen(Question(text="Che cosa fare per la febbre?"))
    return stream


class Growing:
    """An answer being written: `say` gives the stream a sentence from another thread and waits until `condition` holds."""

    def __init__(self, stream: AnswerStream) -> None:
        self.stream = stream

    async def say(self, text: str, condition: Callable[[], bool] = lambda: True) -> None:
        await asyncio.to_thread(self.stream.take, sentence(text))
        async with asyncio.timeout(5):
            while not condition():
                await asyncio.sleep(0.005)


@asynccontextmanager
async def answering(channel: Channel, to: Patient = READER, pace: Pace | None = FAST) -> AsyncIterator[Growing]:
    async with started(channel, to, pace) as stream:
        yield Growing(stream)


def visible(api: BotApiDouble) -> list[str]:
    """What the reader sees in the end, message by message."""
    texts = {number: sent.visible for number, sent in enumerate(api.sent, start=1)}
    return list((texts | {number: sent.visible for number, sent in api.edits}).values())


def shown_once(api: BotApiDouble, *sentences: str) -> bool:
    everything = "\n".join(visible(api))
    return all(everything.count(one) == 1 for one in sentences)


async def test_the_message_appears_with_the_first_sentence_and_grows_to_the_whole_answer(
    api: BotApiDouble, telegram: TelegramChannel
) -> None:
    async with answering(telegram) as answer:
        await answer.say("Uno.", lambda: len(api.sent) == 1)
        await answer.say("Due.", lambda: len(api.edits) == 1)
        await answer.stream.finish(whole("Uno.", "Due.", "Tre."))
    assert [sent.visible for sent in api.sent] == ["Prima.\n\nUno."]
    texts = [sent.visible for _, sent in api.edits]
    assert texts[0] == "Prima.\n\nUno. Due."
    assert texts[1] == "Prima.\n\nUno. Due. Tre.\n\n• Febbre\n\nChiusura."
    assert [sent.buttons for _, sent in api.edits] == [[], [("Perché?", "proof:1")]]
    assert api.edits[-1][1].targets == {"Febbre": "https://esempio.it"}


async def test_an_answer_that_is_complete_at_once_is_one_message_without_edits(
    api: BotApiDouble, telegram: TelegramChannel
) -> None:
    async with answering(telegram, pace=Pace(first_s=5.0, next_s=1.0)) as answer:
        await answer.say("Uno.")
        await answer.stream.finish(whole("Uno.", "Due."))
    assert [sent.visible for sent in api.sent] == ["Prima.\n\nUno. Due.\n\n• Febbre\n\nChiusura."]
    assert api.edits == []


async def test_switched_off_an_answer_is_sent_when_it_is_complete(api: BotApiDouble, telegram: TelegramChannel) -> None:
    async with answering(telegram, pace=None) as answer:
        await answer.say("Uno.")
        await asyncio.sleep(0.1)
        assert api.sent == []
        await answer.stream.finish(whole("Uno."))
    assert len(api.sent) == 1


async def test_sentences_that_come_quickly_share_an_edit(api: BotApiDouble, telegram: TelegramChannel) -> None:
    async with answering(telegram, pace=Pace(first_s=0.0, next_s=0.4)) as answer:
        await answer.say("Uno.", lambda: len(api.sent) == 1)
        begun = time.monotonic()
        for text in ("Due.", "Tre.", "Quattro."):
            await answer.say(text)
        await answer.stream.finish(whole("Uno.", "Due.", "Tre.", "Quattro."))
    assert time.monotonic() - begun > 0.3
    assert len(api.called("editMessageText")) == 1


async def test_a_flood_wait_is_kept_and_the_next_edit_catches_up(api: BotApiDouble, telegram: TelegramChannel) -> None:
    api.fail_next("editMessageText", 429, "Too Many Requests: retry after 1", retry_after=1)
    async with answering(telegram) as answer:
        await answer.say("Uno.", lambda: len(api.sent) == 1)
        await answer.say("Due.", lambda: len(api.called("editMessageText")) == 1)
        begun = time.monotonic()
        await answer.say("Tre.")
        await answer.stream.finish(whole("Uno.", "Due.", "Tre."))
    assert time.monotonic() - begun > 0.8
    assert len(api.called("editMessageText")) == 2
    assert visible(api) == ["Prima.\n\nUno. Due. Tre.\n\n• Febbre\n\nChiusura."]


async def test_a_flood_wait_before_the_last_edit_is_waited_for(api: BotApiDouble, telegram: TelegramChannel) -> None:
    api.fail_next("editMessageText", 429, "Too Many Requests: retry after 1", retry_after=1)
    async with answering(telegram) as answer:
        await answer.say("Uno.", lambda: len(api.sent) == 1)
        await answer.stream.finish(whole("Uno.", "Due."))
    assert (len(api.sent), len(api.edits)) == (1, 1)


async def test_a_flood_wait_beyond_all_patience_ends_in_one_message_with_the_rest(
    api: BotApiDouble, telegram: TelegramChannel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("channels.telegram_sender._LONGEST_WAIT_S", 0.2)
    api.fail_next("editMessageText", 429, "Too Many Requests: retry after 3600", retry_after=3600)
    async with answering(telegram) as answer:
        await answer.say("Uno.", lambda: len(api.sent) == 1)
        await answer.stream.finish(whole("Uno.", "Due."))
    assert visible(api) == ["Prima.\n\nUno.", "Due.\n\n• Febbre\n\nChiusura."]


@pytest.mark.parametrize(
    "refusal", [GONE, "Bad Request: message can't be edited", "Bad Request: MESSAGE_ID_INVALID"], ids=["gone", "fixed", "invalid"]
)
@pytest.mark.parametrize("last", [False, True], ids=["while it grows", "at the end"])
async def test_an_edit_that_fails_for_good_leads_to_one_message_with_what_was_not_shown(
    api: BotApiDouble, telegram: TelegramChannel, refusal: str, *, last: bool
) -> None:
    async with answering(telegram) as answer:
        await answer.say("Uno.", lambda: len(api.sent) == 1)
        if last:
            await answer.say("Due.", lambda: len(api.edits) == 1)
        api.fail_next("editMessageText", 400, refusal)
        if not last:
            await answer.say("Due.", lambda: len(api.called("editMessageText")) == 1)
            await answer.say("Tre.")
            await asyncio.sleep(0.3)
        assert len(api.sent) == 1
        await answer.stream.finish(whole("Uno.", "Due.", "Tre."))
    assert len(api.sent) == 2
    assert len(api.called("editMessageText")) == (2 if last else 1)
    assert shown_once(api, "Prima.", "Uno.", "Due.", "Tre.", "Chiusura.")
    assert api.sent[1].buttons == [("Perché?", "proof:1")]


async def test_a_message_that_its_reader_deleted_is_not_posted_again(api: BotApiDouble, telegram: TelegramChannel) -> None:
    async with answering(telegram) as answer:
        await answer.say("Uno.", lambda: len(api.sent) == 1)
        api.forget(1)
        await answer.stream.finish(whole("Uno.", "Due."))
    assert [sent.visible for sent in api.sent] == ["Prima.\n\nUno.", "Due.\n\n• Febbre\n\nChiusura."]


@pytest.mark.parametrize("failure", ["cut", "lost", "error"])
async def test_an_edit_that_breaks_is_caught_up_and_nothing_is_sent_twice(
    api: BotApiDouble, telegram: TelegramChannel, failure: str
) -> None:
    async with answering(telegram) as answer:
        await answer.say("Uno.", lambda: len(api.sent) == 1)
        for text in ("Due.", "Tre."):
            _break_next_edit(api, failure)
            await answer.say(text, lambda: not api.pending("editMessageText"))
        _break_next_edit(api, failure)
        await answer.stream.finish(whole("Uno.", "Due.", "Tre."))
    assert len(api.sent) == 1
    assert visible(api) == ["Prima.\n\nUno. Due. Tre.\n\n• Febbre\n\nChiusura."]


def _break_next_edit(api: BotApiDouble, failure: str) -> None:
    if failure == "error":
        api.fail_next("editMessageText", 502, "Bad Gateway")
    else:
        {"cut": api.cut_next, "lost": api.lose_reply}[failure]("editMessageText")


async def test_edits_that_keep_breaking_end_in_one_message_with_the_rest(api: BotApiDouble, telegram: TelegramChannel) -> None:
    for _ in range(5):
        api.fail_next("editMessageText", 502, "Bad Gateway")
    async with answering(telegram, pace=Pace(first_s=0.0, next_s=0.02)) as answer:
        await answer.say("Uno.", lambda: len(api.sent) == 1)
        await answer.stream.finish(whole("Uno.", "Due."))
    assert visible(api) == ["Prima.\n\nUno.", "Due.\n\n• Febbre\n\nChiusura."]


async def test_an_edit_that_says_the_same_is_no_failure(api: BotApiDouble, telegram: TelegramChannel) -> None:
    async with answering(telegram) as answer:
        await answer.say("Uno.", lambda: len(api.sent) == 1)
        await answer.stream.finish(growing([sentence("Uno.")]))
    assert len(api.called("editMessageText")) == 1
    assert len(api.sent) == 1


async def test_a_first_part_that_was_refused_leaves_the_whole_answer_to_the_end(
    api: BotApiDouble, telegram: TelegramChannel
) -> None:
    api.fail_next("sendMessage", 400, "Bad Request: something")
    async with answering(telegram) as answer:
        await answer.say("Uno.", lambda: len(api.called("sendMessage")) == 1)
        await answer.say("Due.")
        await answer.stream.finish(whole("Uno.", "Due."))
    assert [sent.visible for sent in api.sent] == ["Prima.\n\nUno. Due.\n\n• Febbre\n\nChiusura."]


async def test_a_first_part_of_which_nobody_knows_leaves_no_hole(api: BotApiDouble, telegram: TelegramChannel) -> None:
    api.lose_reply("sendMessage")
    async with answering(telegram) as answer:
        await answer.say("Uno.", lambda: len(api.sent) == 1)
        await answer.say("Due.")
        await asyncio.sleep(0.3)
        assert len(api.sent) == 1
        await answer.stream.finish(whole("Uno.", "Due."))
    assert [sent.visible for sent in api.sent] == ["Prima.\n\nUno.", "Prima.\n\nUno. Due.\n\n• Febbre\n\nChiusura."]


async def test_a_flood_wait_of_the_first_part_is_waited_for_and_the_rest_edits_it(
    api: BotApiDouble, telegram: TelegramChannel
) -> None:
    api.fail_next("sendMessage", 429, "Too Many Requests: retry after 1", retry_after=1)
    async with answering(telegram) as answer:
        await answer.say("Uno.", lambda: len(api.called("sendMessage")) == 1)
        await answer.stream.finish(whole("Uno.", "Due."))
    assert visible(api) == ["Prima.\n\nUno. Due.\n\n• Febbre\n\nChiusura."]


async def test_a_whole_answer_longer_than_a_message_edits_the_first_part_and_sends_the_others(
    api: BotApiDouble, telegram: TelegramChannel
) -> None:
    long = [f"Frase {number} sulla febbre e su come si misura." for number in range(200)]
    async with answering(telegram) as answer:
        await answer.say(long[0], lambda: len(api.sent) == 1)
        await answer.stream.finish(whole(*long))
    parts = visible(api)
    assert len(parts) == 3
    assert len(api.edits) == 1
    assert parts[0].startswith(f"Prima.\n\n{long[0]} {long[1]}")
    assert [part.split()[-1] for part in parts] == ["1/3", "2/3", "3/3"]
    said = [part.rsplit(maxsplit=1)[0] for part in parts]
    assert " ".join(" ".join(said).split()) == f"Prima. {' '.join(long)} • Febbre Chiusura."
    assert [sent.buttons for _, sent in api.edits] == [[]]
    assert [sent.buttons for sent in api.sent[1:]] == [[], [("Perché?", "proof:1")]]


async def test_a_rest_that_is_refused_does_not_edit_or_send_again(api: BotApiDouble, telegram: TelegramChannel) -> None:
    long = ["La febbre è un sintomo." for _ in range(200)]
    async with answering(telegram) as answer:
        await answer.say(long[0], lambda: len(api.sent) == 1)
        api.fail_next("sendMessage", 400, "Bad Request: something")
        with pytest.raises(DeliveryFailed):
            await answer.stream.finish(whole(*long))
    assert (len(api.sent), len(api.edits)) == (1, 1)


@pytest.mark.parametrize("method", ["sendMessage", "editMessageText"])
async def test_who_blocked_the_bot_in_the_middle_is_gone(api: BotApiDouble, telegram: TelegramChannel, method: str) -> None:
    async with answering(telegram) as answer:
        if method == "editMessageText":
            await answer.say("Uno.", lambda: len(api.sent) == 1)
        api.fail_next(method, 403, "Forbidden: bot was blocked by the user")
        await answer.say("Due.", lambda: len(api.called(method)) == 1)
        with pytest.raises(RecipientGone):
            await answer.stream.finish(whole("Uno.", "Due."))


async def test_a_sentence_that_comes_after_the_end_is_not_shown(api: BotApiDouble, telegram: TelegramChannel) -> None:
    async with answering(telegram) as answer:
        await answer.say("Uno.", lambda: len(api.sent) == 1)
        assert [one.text for one in await answer.stream.settle()] == ["Uno."]
        await answer.say("Due.")
        assert [one.text for one in await answer.stream.settle()] == ["Uno."]
        await answer.stream.finish(whole("Uno."))
    assert "Due." not in "".join(visible(api))


async def test_a_turn_that_ends_early_stops_its_stream(api: BotApiDouble, telegram: TelegramChannel) -> None:
    async with answering(telegram, pace=Pace(first_s=0.2, next_s=0.1)) as answer:
        await answer.say("Uno.")
    await asyncio.sleep(0.3)
    assert api.sent == []


async def test_a_turn_that_ends_early_gives_up_a_part_that_waits(api: BotApiDouble, telegram: TelegramChannel) -> None:
    api.fail_next("sendMessage", 429, "Too Many Requests: retry after 1", retry_after=1)
    async with answering(telegram) as answer:
        await answer.say("Uno.", lambda: len(api.called("sendMessage")) == 1)
    await asyncio.sleep(1.2)
    assert api.sent == []


async def test_wording_that_breaks_leaves_the_whole_answer_to_the_end(api: BotApiDouble, telegram: TelegramChannel) -> None:
    def fail(_: Question) -> Any:
        raise RuntimeError("tosse")

    stream = AnswerStream(channel=telegram, to=READER, begin=fail, telemetry=Telemetry(), pace=FAST)
    async with stream:
        stream.listen(Question(text="x"))(sentence("Uno."))
        await asyncio.sleep(0.15)
        await stream.finish(whole("Uno."))
    assert len(api.sent) == 1


async def test_on_whatsapp_an_answer_that_takes_long_begins_with_a_part(twilio: TwilioDouble, whatsapp: WhatsAppChannel) -> None:
    async with answering(whatsapp, PHONE) as answer:
        await answer.say("Uno.", lambda: len(twilio.sent) == 1)
        await answer.stream.finish(whole("Uno.", "Due."))
    assert [sent["Body"] for sent in twilio.sent] == [
        "Prima.\n\nUno.",
        "Due.\n\n* Febbre: https://esempio.it\n\n1. Perché?\n\nChiusura.",
    ]


async def test_on_whatsapp_an_answer_that_is_quick_is_one_message(twilio: TwilioDouble, whatsapp: WhatsAppChannel) -> None:
    async with answering(whatsapp, PHONE, Pace(first_s=5.0, next_s=5.0, most=2)) as answer:
        for text in ("Uno.", "Due."):
            await answer.say(text)
        await answer.stream.finish(whole("Uno.", "Due."))
    assert len(twilio.sent) == 1


async def test_on_whatsapp_no_more_than_two_parts_come_before_the_last(twilio: TwilioDouble, whatsapp: WhatsAppChannel) -> None:
    texts = [f"Frase {number}." for number in range(6)]
    async with answering(whatsapp, PHONE, Pace(first_s=0.0, next_s=0.05, most=2)) as answer:
        for text in texts:
            await answer.say(text)
            await asyncio.sleep(0.1)
        await answer.stream.finish(whole(*texts))
    bodies = [sent["Body"] for sent in twilio.sent]
    assert bodies[:2] == ["Prima.\n\nFrase 0.", "Frase 1."]
    assert len(bodies) == 3
    assert bodies[2].startswith("Frase 2. Frase 3. Frase 4. Frase 5.\n\n")


async def test_in_the_terminal_lines_come_one_by_one() -> None:
    screen = io.StringIO()
    terminal = ConsoleChannel(Console(file=screen, width=80))
    reader = Patient(platform=Platform.CONSOLE, identity="console", address="console")
    async with answering(terminal, reader, PACES[Platform.CONSOLE]) as answer:
        await answer.say("Uno.", lambda: screen.getvalue() == "Prima.\n\nUno.\n\n")
        await answer.say("Due.", lambda: screen.getvalue().endswith("\n\nDue.\n\n"))
        await answer.stream.finish(whole("Uno.", "Due."))
    expected = "Prima.\n\nUno.\n\nDue.\n\n• Febbre: https://esempio.it\n\n1. Perché?\n\nChiusura.\n\n"
    assert screen.getvalue() == expected


async def test_on_whatsapp_a_refused_part_comes_with_the_last(twilio: TwilioDouble, whatsapp: WhatsAppChannel) -> None:
    twilio.succeed_next()
    twilio.fail_next(400, 63016)
    async with answering(whatsapp, PHONE, Pace(first_s=0.0, next_s=0.05, most=2)) as answer:
        await answer.say("Uno.", lambda: len(twilio.requests) == 1)
        await answer.say("Due.", lambda: len(twilio.requests) == 2)
        await answer.stream.finish(whole("Uno.", "Due.", "Tre."))
    bodies = [sent["Body"] for sent in twilio.sent]
    assert bodies[0] == "Prima.\n\nUno."
    assert bodies[1].startswith("Due. Tre.\n\n")


async def test_a_sentence_that_comes_while_a_part_waits_is_in_it_and_uses_up_no_other(
    twilio: TwilioDouble, whatsapp: WhatsAppChannel
) -> None:
    async with answering(whatsapp, PHONE, Pace(first_s=0.2, next_s=0.1, most=2)) as answer:
        await answer.say("Uno.")
        await answer.say("Due.", lambda: len(twilio.sent) == 1)
        await asyncio.sleep(0.3)
        await answer.say("Tre.", lambda: len(twilio.sent) == 2)
        await answer.stream.finish(whole("Uno.", "Due.", "Tre."))

    assert "Tre." in twilio.sent[1]["Body"]
