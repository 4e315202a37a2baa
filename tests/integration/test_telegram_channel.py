"""Telegram over the wire: our webhook on a real server, the Bot API as a server of our own."""

import asyncio
import io
import logging
import re
import time
from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette

from channels.errors import ChannelMisconfigured, ChannelUnreachable, DeliveryFailed, MessageGone, RecipientGone, TryLater
from channels.flood_waits import FloodWaits
from channels.messages import Button, InboundMessage, MessageKind, OutboundLink, OutboundMessage, Patient, Platform
from channels.telegram_channel import WEBHOOK_PATH, TelegramChannel
from tests.doubles.bot_api import BotApiDouble
from tests.doubles.local_server import LocalServer

SECRET = "a-webhook-secret_1"
PUBLIC = "https://bot.esempio.it"
SECRET_HEADER = "X-Telegram-Bot-Api-Secret-Token"
ODD_ADDRESS = "https://esempio.it/schede/ibuprofene_(orale)?a=1&b=2"
ADA = Patient(platform=Platform.TELEGRAM, identity="77", address="77")
EVA = Patient(platform=Platform.TELEGRAM, identity="88", address="88")
IVO = Patient(platform=Platform.TELEGRAM, identity="99", address="99")
SHORT = OutboundMessage(paragraphs=("Salve.",))
THREE_PARTS = OutboundMessage(paragraphs=tuple(f"Parte {number}. " + "La febbre è un sintomo. " * 150 for number in (1, 2, 3)))


class Inbox:
    """Records what a channel receives."""

    def __init__(self) -> None:
        self.messages: asyncio.Queue[InboundMessage] = asyncio.Queue()

    async def receive(self, message: InboundMessage) -> None:
        self.messages.put_nowait(message)

    async def next(self) -> InboundMessage:
        async with asyncio.timeout(5):
            return await self.messages.get()


@pytest.fixture
async def api() -> AsyncIterator[BotApiDouble]:
    async with BotApiDouble() as double:
        yield double


@pytest.fixture
def inbox() -> Inbox:
    return Inbox()


def webhook_channel(api: BotApiDouble, **options: Any) -> TelegramChannel:
    return TelegramChannel(api.token, "webhook", SECRET, PUBLIC, api.base_url, retry_delay_s=0.01, **options)


@pytest.fixture
async def channel(api: BotApiDouble, inbox: Inbox) -> AsyncIterator[TelegramChannel]:
    started = webhook_channel(api)
    await started.start(inbox.receive)
    yield started
    await started.stop()


@pytest.fixture
async def web(channel: TelegramChannel) -> AsyncIterator[httpx.AsyncClient]:
    async with LocalServer(Starlette(routes=channel.routes())) as server, httpx.AsyncClient(base_url=server.url) as client:
        yield client


async def post(web: httpx.AsyncClient, update: object, secret: str | bytes | None = SECRET) -> int:
    headers: list[tuple[bytes, bytes]] = []
    if secret is not None:
        headers.append((SECRET_HEADER.encode(), secret if isinstance(secret, bytes) else secret.encode()))
    return (await web.post(WEBHOOK_PATH, json=update, headers=headers)).status_code


async def test_the_webhook_is_registered_with_its_secret_and_kinds_of_update(api: BotApiDouble, channel: TelegramChannel) -> None:
    assert api.webhook is not None
    assert api.webhook["url"] == f"{PUBLIC}/telegram/webhook"
    assert api.webhook["secret_token"] == SECRET
    assert api.webhook["allowed_updates"] == ["message", "edited_message", "callback_query"]


async def test_the_menu_is_registered_for_everyone_and_per_language(api: BotApiDouble, inbox: Inbox) -> None:
    started = webhook_channel(api, command_menu={"it": [("lingua", "Cambia lingua")], "es": [("país", "Cambiar de país")]})
    await started.start(inbox.receive)
    await started.stop()
    registered = [(call.get("language_code"), call["commands"][0]["command"]) for call in api.called("setMyCommands")]
    assert registered == [(None, "lingua"), ("it", "lingua"), ("es", "pais")]


async def test_a_menu_that_telegram_refuses_does_not_stop_the_start(api: BotApiDouble, inbox: Inbox) -> None:
    api.fail_next("setMyCommands", 400, "Bad Request: command name is invalid")
    started = webhook_channel(api, command_menu={"it": [("lingua", "Cambia lingua")]})
    await started.start(inbox.receive)
    await started.stop()


@pytest.mark.parametrize("name", ["con spazio", "", "così-così", "x" * 33])
def test_a_command_name_that_telegram_would_refuse_is_refused_first(name: str) -> None:
    with pytest.raises(ChannelMisconfigured):
        TelegramChannel("1:t", command_menu={"it": [(name, "x")]})


async def test_h08_a_message_with_the_secret_is_received(api: BotApiDouble, web: httpx.AsyncClient, inbox: Inbox) -> None:
    assert await post(web, api.update(message=api.message("ho la febbre"))) == 200
    assert (await inbox.next()).text == "ho la febbre"


@pytest.mark.parametrize("secret", [None, "", "wrong", SECRET + "x", "sècret".encode(), b"\xff\xfe"])
async def test_h08_without_the_right_secret_nothing_is_processed(
    api: BotApiDouble, web: httpx.AsyncClient, inbox: Inbox, secret: str | bytes | None
) -> None:
    assert await post(web, api.update(message=api.message("ciao")), secret) == 403
    assert inbox.messages.empty()


@pytest.mark.parametrize("secret", ["", "con spazio", "é", "x" * 257])
def test_h08_webhook_mode_does_not_start_without_a_usable_secret(secret: str) -> None:
    with pytest.raises(ChannelMisconfigured):
        TelegramChannel("1:t", "webhook", secret, PUBLIC)


@pytest.mark.parametrize("address", ["", "bot.esempio.it", "ftp://bot.esempio.it"])
def test_webhook_mode_needs_a_public_address(address: str) -> None:
    with pytest.raises(ChannelMisconfigured):
        TelegramChannel("1:t", "webhook", SECRET, address)


@pytest.mark.parametrize(
    ("body", "status"), [(b"{", 400), (b"[]", 400), (b"\xff", 400), (b"[" * 200_000, 400), (b"x" * 600_000, 413)]
)
async def test_what_is_no_json_object_or_too_large_is_refused(
    web: httpx.AsyncClient, inbox: Inbox, body: bytes, status: int
) -> None:
    answer = await web.post(WEBHOOK_PATH, content=body, headers={SECRET_HEADER: SECRET})
    assert answer.status_code == status
    assert inbox.messages.empty()


@pytest.mark.parametrize("update", [{}, {"update_id": 1, "message": "x"}, {"update_id": 1, "message": {"message_id": 1}}])
async def test_an_update_that_cannot_be_read_is_dropped_and_not_sent_again(
    web: httpx.AsyncClient, inbox: Inbox, update: object
) -> None:
    assert await post(web, update) == 200
    assert inbox.messages.empty()


async def test_h07_an_update_delivered_twice_has_one_id_and_is_acknowledged_twice(
    api: BotApiDouble, web: httpx.AsyncClient, inbox: Inbox
) -> None:
    update = api.update(message=api.message("ho la febbre"))
    assert [await post(web, update), await post(web, update)] == [200, 200]
    assert (await inbox.next()).message_id == (await inbox.next()).message_id


async def test_h10_a_tap_is_answered_and_an_expired_one_is_swallowed(
    api: BotApiDouble, web: httpx.AsyncClient, inbox: Inbox
) -> None:
    api.fail_next("answerCallbackQuery", 400, "Bad Request: query is too old and response timeout expired or query ID is invalid")
    person = api.message()["from"]
    for number in ("1", "2"):
        tap = {"id": number, "from": person, "chat_instance": "i", "data": "fb:up:123", "message": api.message("risposta")}
        assert await post(web, api.update(callback_query=tap)) == 200
        assert (await inbox.next()).kind is MessageKind.BUTTON
    async with asyncio.timeout(5):
        while len(api.called("answerCallbackQuery")) < 2:
            await asyncio.sleep(0.01)


async def test_a_failure_to_take_a_message_makes_telegram_deliver_it_again(api: BotApiDouble) -> None:
    async def refuse(_: InboundMessage) -> None:
        raise OSError("registry closed")

    started = webhook_channel(api)
    await started.start(refuse)
    transport = httpx.ASGITransport(Starlette(routes=started.routes()), raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url=PUBLIC) as client:
        assert await post(client, api.update(message=api.message("ciao"))) == 500
    await started.stop()


async def test_after_a_stop_the_webhook_asks_for_redelivery(
    api: BotApiDouble, channel: TelegramChannel, web: httpx.AsyncClient
) -> None:
    await channel.stop()
    assert await post(web, api.update(message=api.message("ciao"))) == 503


async def test_h01_formatting_characters_arrive_and_the_link_opens_the_exact_address(
    api: BotApiDouble, channel: TelegramChannel
) -> None:
    text = "Se la febbre è > 38.5 °C (o < 35), evita l'aspirina! [fonte_1] <b>Mario_*"
    await channel.send(ADA, OutboundMessage(paragraphs=(text,), links=(OutboundLink(label="Ibuprofene", url=ODD_ADDRESS),)))
    (sent,) = api.sent
    assert sent.visible == f"{text}\n\n• Ibuprofene"
    assert sent.targets == {"Ibuprofene": ODD_ADDRESS}
    assert sent.parameters["link_preview_options"] == {"is_disabled": True}


async def test_h01_markup_that_telegram_cannot_read_is_sent_once_as_plain_text(
    api: BotApiDouble, channel: TelegramChannel
) -> None:
    api.fail_next("sendMessage", 400, "Bad Request: can't parse entities: Unsupported start tag")
    await channel.send(ADA, OutboundMessage(paragraphs=("a < b",), links=(OutboundLink(label="ISS", url=ODD_ADDRESS),)))
    (sent,) = api.sent
    assert (sent.parse_mode, sent.text) == (None, f"a < b\n\n• ISS: {ODD_ADDRESS}")


async def test_h02_a_long_answer_arrives_in_valid_parts_with_links_and_disclaimer_last(
    api: BotApiDouble, channel: TelegramChannel
) -> None:
    sentence = "Beva acqua 🌡 & riposi. "
    bold = f"{sentence * 180}**{(sentence * 9).strip()}** {sentence * 180}"
    message = OutboundMessage(
        paragraphs=(bold,),
        links=(OutboundLink(label="ISS", url=ODD_ADDRESS),),
        closing=("Avvertenza.",),
        buttons=(Button(label="Utile", payload="fb:up:1"),),
    )
    await channel.send(ADA, message)
    assert len(api.sent) >= 3
    numbers = [sent.visible.rpartition("\n\n")[2] for sent in api.sent]
    assert numbers == [f"{number}/{len(api.sent)}" for number in range(1, len(api.sent) + 1)]
    texts = [sent.visible.removesuffix(f"\n\n{number}") for sent, number in zip(api.sent, numbers, strict=True)]
    assert "".join("".join(texts).split()).startswith("".join((sentence * 369).split()))
    assert api.sent[-1].targets == {"ISS": ODD_ADDRESS}
    assert texts[-1].endswith("Avvertenza.")
    assert [sent.buttons for sent in api.sent[:-1]] == [[]] * (len(api.sent) - 1)
    assert api.sent[-1].buttons == [("Utile", "fb:up:1")]


async def test_h02_two_thousand_emoji_arrive_whole_with_sources_and_disclaimer(
    api: BotApiDouble, channel: TelegramChannel
) -> None:
    message = OutboundMessage(
        paragraphs=("🌡" * 2049,), links=(OutboundLink(label="OMS", url=ODD_ADDRESS),), closing=("Salus no sustituye al médico.",)
    )
    await channel.send(ADA, message)
    assert sum(sent.visible.count("🌡") for sent in api.sent) == 2049
    assert api.sent[-1].targets == {"OMS": ODD_ADDRESS}
    assert "Salus no sustituye al médico." in api.sent[-1].visible


@pytest.mark.parametrize("start", range(3900, 4100, 50))
async def test_h02_a_bold_span_across_the_cut_is_bold_on_both_sides(
    api: BotApiDouble, channel: TelegramChannel, start: int
) -> None:
    text = f"{'a' * 60} " * 200
    bold = f"{text[:start].rstrip()} **{'b' * 90} {'c' * 90}** {text[start:9000].strip()}"
    await channel.send(ADA, OutboundMessage(paragraphs=(bold,), closing=("Avvertenza.",)))
    assert len(api.sent) == 3
    marked = "".join(re.findall(r"<b>(.*?)</b>", " ".join(sent.text for sent in api.sent), re.DOTALL))
    assert marked.replace(" ", "") == "b" * 90 + "c" * 90


async def test_an_emergency_line_stands_in_the_first_part_and_a_single_part_is_not_numbered(
    api: BotApiDouble, channel: TelegramChannel
) -> None:
    await channel.send(ADA, OutboundMessage(paragraphs=("Llame al 112.", *THREE_PARTS.paragraphs), emphasis=True))
    await channel.send(ADA, SHORT)
    assert api.sent[0].visible.startswith("Llame al 112.")
    assert api.sent[0].visible.endswith("1/3")
    assert api.sent[-1].visible == "Salve."


async def test_a_button_with_too_long_a_payload_does_not_cost_the_message(api: BotApiDouble, channel: TelegramChannel) -> None:
    await channel.send(
        ADA,
        OutboundMessage(paragraphs=("Salve.",), buttons=(Button(label="a", payload="x" * 65), Button(label="b", payload="y"))),
    )
    assert api.sent[0].buttons == [("b", "y")]


async def test_h05_only_the_part_that_was_refused_waits_and_other_chats_do_not(
    api: BotApiDouble, channel: TelegramChannel
) -> None:
    api.succeed_next("sendMessage")
    api.fail_next("sendMessage", 429, "Too Many Requests: retry after 1", retry_after=1)
    started = time.monotonic()
    long = asyncio.create_task(channel.send(ADA, THREE_PARTS))
    await asyncio.sleep(0.3)
    await channel.send(EVA, SHORT)
    assert time.monotonic() - started < 0.9
    await long
    assert time.monotonic() - started >= 1.0
    assert [(sent.chat, sent.visible[:7]) for sent in api.sent] == [
        (77, "Parte 1"),
        (88, "Salve."),
        (77, "Parte 2"),
        (77, "Parte 3"),
    ]


async def test_h05_after_a_refused_typing_sign_part_two_waits_and_part_one_is_not_sent_again(
    api: BotApiDouble, channel: TelegramChannel
) -> None:
    api.fail_next("sendChatAction", 429, "Too Many Requests: retry after 4", retry_after=4)
    api.succeed_next("sendMessage")
    api.fail_next("sendMessage", 429, "Too Many Requests: retry after 1", retry_after=1)
    assert await channel.show_typing(ADA)
    await channel.send(ADA, THREE_PARTS)
    assert [sent.visible[:7] for sent in api.sent] == ["Parte 1", "Parte 2", "Parte 3"]
    assert len(api.called("sendMessage")) == 4


async def test_h05_whatever_else_is_meant_for_a_flooded_chat_waits_too(api: BotApiDouble, channel: TelegramChannel) -> None:
    handle = await channel.post(ADA, SHORT)
    assert handle is not None
    api.fail_next("sendMessage", 429, "Too Many Requests: retry after 1", retry_after=1)
    waiting = asyncio.create_task(channel.send(ADA, THREE_PARTS))
    await asyncio.sleep(0.2)
    second = asyncio.create_task(channel.send(ADA, SHORT))
    with pytest.raises(TryLater):
        await channel.edit(ADA, handle, THREE_PARTS)
    await channel.show_typing(ADA)
    await asyncio.sleep(0.2)
    assert [method for method, _ in api.calls][-2:] == ["sendMessage", "sendMessage"]
    assert len(api.called("sendMessage")) == 2
    await asyncio.gather(waiting, second)
    assert len(api.sent) == 5


def test_h05_waits_are_forgotten_when_over_and_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("channels.flood_waits._MOST_CHATS", 2)
    now = 0.0
    waits = FloodWaits(clock=lambda: now)
    for chat in "abc":
        waits.note(chat, 5.0)
    assert [waits.wait_s(chat) for chat in "abc"] == [0.0, 5.0, 5.0]
    now = 6.0
    assert [waits.wait_s(chat) for chat in "abc"] == [0.0, 0.0, 0.0]
    assert len(waits._until) == 0


async def test_h05_a_failure_to_show_typing_is_ignored(api: BotApiDouble, channel: TelegramChannel) -> None:
    api.fail_next("sendChatAction", 429, "Too Many Requests: retry after 4", retry_after=4)
    api.fail_next("sendChatAction", 403, "Forbidden: bot was blocked by the user")
    for _ in range(3):
        await channel.show_typing(ADA)
    assert len(api.called("sendChatAction")) == 3


async def test_h05_an_endless_flood_wait_is_given_up(api: BotApiDouble, channel: TelegramChannel) -> None:
    api.fail_next("sendMessage", 429, "Too Many Requests: retry after 3600", retry_after=3600)
    with pytest.raises(DeliveryFailed):
        await channel.send(ADA, SHORT)


async def test_h06_a_patient_who_blocked_the_bot_is_gone_and_the_others_are_served(
    api: BotApiDouble, channel: TelegramChannel
) -> None:
    api.succeed_next("sendMessage")
    api.fail_next("sendMessage", 403, "Forbidden: bot was blocked by the user")
    await channel.send(ADA, SHORT)
    with pytest.raises(RecipientGone) as gone:
        await channel.send(EVA, SHORT)
    await channel.send(IVO, SHORT)
    assert [sent.chat for sent in api.sent] == [77, 99]
    assert len(api.called("sendMessage")) == 3
    assert "88" not in str(gone.value)


@pytest.mark.parametrize(
    ("status", "description"),
    [
        (403, "Forbidden: bot was blocked by the user"),
        (403, "Forbidden: user is deactivated"),
        (403, "Forbidden: bot can't initiate conversation with a user"),
        (403, "Forbidden: bot was kicked from the supergroup chat"),
        (400, "Bad Request: chat not found"),
        (400, "Bad Request: PEER_ID_INVALID"),
        (400, "Bad Request: not enough rights to send text messages to the chat"),
    ],
)
async def test_h06_a_dead_chat_is_told_from_a_refused_message_whatever_killed_it(
    api: BotApiDouble, channel: TelegramChannel, status: int, description: str
) -> None:
    api.fail_next("sendMessage", status, description)
    with pytest.raises(RecipientGone):
        await channel.send(ADA, SHORT)
    assert len(api.called("sendMessage")) == 1


async def test_a_refusal_for_good_is_not_repeated(api: BotApiDouble, channel: TelegramChannel) -> None:
    api.fail_next("sendMessage", 400, "Bad Request: BUTTON_DATA_INVALID")
    with pytest.raises(DeliveryFailed) as failed:
        await channel.send(ADA, SHORT)
    assert not isinstance(failed.value, RecipientGone)
    assert len(api.called("sendMessage")) == 1


async def test_h10_an_edit_that_changes_nothing_is_no_failure(api: BotApiDouble, channel: TelegramChannel) -> None:
    handle = await channel.post(ADA, SHORT)
    assert handle is not None
    await channel.edit(ADA, handle, SHORT)
    assert len(api.called("editMessageText")) == 1


@pytest.mark.parametrize("description", ["message to edit not found", "message can't be edited", "MESSAGE_ID_INVALID"])
async def test_h10_an_edit_of_a_deleted_or_old_message_says_so(
    api: BotApiDouble, channel: TelegramChannel, description: str
) -> None:
    api.fail_next("editMessageText", 400, f"Bad Request: {description}")
    with pytest.raises(MessageGone):
        await channel.edit(ADA, "41", SHORT)


async def test_h10_two_quick_taps_are_two_messages_and_both_are_answered(
    api: BotApiDouble, web: httpx.AsyncClient, inbox: Inbox
) -> None:
    for number in ("1", "2"):
        tap = {"id": number, "from": api.message()["from"], "chat_instance": "i", "data": "fb:up:123"}
        await post(web, api.update(callback_query=tap))
    received = [await inbox.next(), await inbox.next()]
    assert [message.message_id for message in received] == ["tap:1", "tap:2"]


async def test_h10_acknowledgements_of_a_flood_of_taps_are_bounded(
    api: BotApiDouble, web: httpx.AsyncClient, inbox: Inbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("channels.telegram_channel._MOST_ACKNOWLEDGEMENTS", 0)
    tap = {"id": "1", "from": api.message()["from"], "chat_instance": "i", "data": "fb:up:123"}
    assert await post(web, api.update(callback_query=tap)) == 200
    assert (await inbox.next()).text == "fb:up:123"
    assert api.called("answerCallbackQuery") == []


async def test_h01_an_edit_whose_markup_telegram_cannot_read_is_shown_as_plain_text(
    api: BotApiDouble, channel: TelegramChannel
) -> None:
    handle = await channel.post(ADA, SHORT)
    assert handle is not None
    api.fail_next("editMessageText", 400, "Bad Request: can't parse entities: Unsupported start tag")
    await channel.edit(ADA, handle, OutboundMessage(paragraphs=("38 °C < 39 °C",)))
    ((_, shown),) = api.edits
    assert (shown.parse_mode, shown.text) == (None, "38 °C < 39 °C")


async def test_a_part_that_may_have_arrived_is_not_sent_again_and_the_rest_is_sent(
    api: BotApiDouble, channel: TelegramChannel
) -> None:
    api.cut_next("sendMessage")
    with pytest.raises(DeliveryFailed):
        await channel.send(ADA, THREE_PARTS)
    assert [sent.visible[:7] for sent in api.sent] == ["Parte 2", "Parte 3"]


async def test_an_emergency_that_may_not_have_arrived_is_sent_again(api: BotApiDouble, channel: TelegramChannel) -> None:
    api.cut_next("sendMessage")
    await channel.send(ADA, OutboundMessage(paragraphs=("Chiami il 112.",), emphasis=True))
    assert [sent.text for sent in api.sent] == ["<b>Chiami il 112.</b>"]


async def test_the_patients_message_and_every_part_of_the_reply_are_deleted(
    api: BotApiDouble, channel: TelegramChannel, web: httpx.AsyncClient, inbox: Inbox
) -> None:
    await post(web, api.update(message=api.message("mi picchia", message_id=41)))
    await post(web, api.update(edited_message=api.message("mi picchia sempre", message_id=41, edit_date=1_790_000_060)))
    written, edited = await inbox.next(), await inbox.next()
    handle = await channel.post(ADA, THREE_PARTS)
    assert handle is not None
    parts = [(77, number) for number in api.numbers]
    assert await channel.delete(ADA, [written.message_id, edited.message_id, handle])
    assert api.deleted == [(77, 41), *parts]


@pytest.mark.parametrize("handle", ["88:41", "77:album:9", "tap:42", "", "x", "-5"])
async def test_what_names_no_message_of_this_chat_is_not_deleted_and_not_said_to_be(
    api: BotApiDouble, channel: TelegramChannel, handle: str
) -> None:
    assert not await channel.delete(ADA, [handle, "77:41"])
    assert api.deleted == [(77, 41)]


async def test_nothing_is_deleted_from_a_group(api: BotApiDouble, channel: TelegramChannel) -> None:
    group = Patient(platform=Platform.TELEGRAM, identity="77", address="-5")
    assert not await channel.delete(group, ["-5:41"])
    assert api.called("deleteMessages") == []


async def test_a_deletion_waits_for_telegram_and_a_refusal_is_told_and_not_raised(
    api: BotApiDouble, channel: TelegramChannel
) -> None:
    api.fail_next("deleteMessages", 429, "Too Many Requests: retry after 1", retry_after=1)
    assert await channel.delete(ADA, ["77:41"])
    api.fail_next("deleteMessages", 400, "Bad Request: message can't be deleted")
    assert not await channel.delete(ADA, ["77:42"])
    assert api.deleted == [(77, 41)]


async def test_a_refused_connection_is_tried_again_and_then_reported(inbox: Inbox) -> None:
    async with BotApiDouble() as api:
        started = webhook_channel(api)
        await started.start(inbox.receive)
    with pytest.raises(DeliveryFailed):
        await started.send(ADA, SHORT)
    await started.stop()


async def test_a_stop_lets_a_reply_finish(api: BotApiDouble, inbox: Inbox) -> None:
    started = webhook_channel(api)
    await started.start(inbox.receive)
    api.fail_next("sendMessage", 429, "Too Many Requests: retry after 1", retry_after=1)
    sending = asyncio.create_task(started.send(ADA, SHORT))
    await asyncio.sleep(0.1)
    await started.stop()
    await sending
    assert len(api.sent) == 1


async def test_a_refused_token_is_a_misconfiguration_that_does_not_name_it(api: BotApiDouble, inbox: Inbox) -> None:
    started = TelegramChannel("999:another-token", "polling", api_base_url=api.base_url)
    with pytest.raises(ChannelMisconfigured) as refused:
        await started.start(inbox.receive)
    assert "another-token" not in str(refused.value)


async def test_a_messenger_out_of_reach_is_told_from_a_wrong_token(api: BotApiDouble, inbox: Inbox) -> None:
    api.fail_next("getMe", 502, "Bad Gateway")
    with pytest.raises(ChannelUnreachable):
        await webhook_channel(api).start(inbox.receive)


async def test_polling_receives_edits_and_messages_and_stops_cleanly(api: BotApiDouble, inbox: Inbox) -> None:
    polling = TelegramChannel(api.token, api_base_url=api.base_url)
    assert polling.routes() == []
    await polling.start(inbox.receive)
    await api.inject(message=api.message("dosi tachipirina"))
    await api.inject(edited_message=api.message("effetti collaterali tachipirina", edit_date=1_790_000_060))
    await api.inject(message=api.message("/país"))
    received = [await inbox.next() for _ in range(3)]
    assert [message.text for message in received] == ["dosi tachipirina", "effetti collaterali tachipirina", "/país"]
    assert received[2].kind is MessageKind.COMMAND
    assert polling.seconds_since_poll is not None
    await polling.stop()
    assert inbox.messages.empty()


async def test_h09_h11_polling_survives_a_rival_a_broken_reply_and_a_failing_conversation(
    api: BotApiDouble, inbox: Inbox
) -> None:
    failures = iter([True, False])

    async def receive(message: InboundMessage) -> None:
        if next(failures):
            raise OSError("registry closed")
        await inbox.receive(message)

    api.fail_next("getUpdates", 409, "Conflict: terminated by other getUpdates request")
    api.cut_next("getUpdates")
    polling = TelegramChannel(api.token, api_base_url=api.base_url)
    await polling.start(receive)
    await api.inject(message=api.message("prima"))
    await api.inject(message=api.message("seconda"))
    assert (await inbox.next()).text == "seconda"
    await polling.stop()


class Hurried:
    """asyncio whose sleeps are short."""

    def __getattr__(self, name: str) -> Any:
        return getattr(asyncio, name)

    async def sleep(self, _: float) -> None:
        await asyncio.sleep(0.01)


async def test_h11_after_five_broken_polls_the_next_message_is_received(
    api: BotApiDouble, inbox: Inbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("telegram.ext._utils.networkloop.asyncio", Hurried())
    for _ in range(5):
        api.cut_next("getUpdates")
    polling = TelegramChannel(api.token, api_base_url=api.base_url)
    await polling.start(inbox.receive)
    await api.inject(message=api.message("¿qué es la fiebre?"))
    assert (await inbox.next()).text == "¿qué es la fiebre?"
    await polling.stop()
    assert api.pending("getUpdates") == 0


async def test_h11_polling_that_never_succeeds_is_seen_from_its_age(
    api: BotApiDouble, inbox: Inbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("telegram.ext._utils.networkloop.asyncio", Hurried())
    for _ in range(1_000):
        api.cut_next("getUpdates")
        api.fail_next("getUpdates", 502, "Bad Gateway")
    polling = TelegramChannel(api.token, api_base_url=api.base_url)
    assert polling.seconds_since_poll is None
    await polling.start(inbox.receive)
    await asyncio.sleep(0.3)
    assert polling.seconds_since_poll is not None
    assert polling.seconds_since_poll >= 0.3
    await polling.stop()


async def test_h09_a_rival_poller_is_told_once_and_polling_goes_on(
    api: BotApiDouble, inbox: Inbox, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("telegram.ext._utils.networkloop.asyncio", Hurried())
    for _ in range(3):
        api.fail_next("getUpdates", 409, "Conflict: terminated by other getUpdates request")
    polling = TelegramChannel(api.token, api_base_url=api.base_url)
    await polling.start(inbox.receive)
    await api.inject(message=api.message("ciao"))
    await inbox.next()
    await polling.stop()
    assert [record.levelname for record in caplog.records if "another process polls" in record.message] == ["ERROR"]


@pytest.fixture
def log() -> Iterator[io.StringIO]:
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    root, level = logging.getLogger(), logging.getLogger().level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    yield stream
    root.removeHandler(handler)
    root.setLevel(level)


async def test_h41_at_debug_neither_token_nor_words_nor_person_are_logged(log: io.StringIO, inbox: Inbox) -> None:
    async with BotApiDouble() as api:
        polling = TelegramChannel(api.token, api_base_url=api.base_url)
        await polling.start(inbox.receive)
        await api.inject(message=api.message("dolore al petto", chat=424242))
        patient = (await inbox.next()).sender
        api.fail_next("sendMessage", 400, "Bad Request: chat 424242 not found")
        with pytest.raises(DeliveryFailed):
            await polling.send(patient, OutboundMessage(paragraphs=("dolore al petto",)))
        api.fail_next("getUpdates", 502, "Bad Gateway")
        await polling.stop()
        with pytest.raises(ChannelMisconfigured):
            await TelegramChannel("999:another-token", api_base_url=api.base_url).start(inbox.receive)
    written = log.getvalue()
    assert not any(secret in written for secret in (api.token, "another-token", "dolore al petto", "424242", "Mario"))


async def test_h05_an_emergency_does_not_wait_for_a_flood_to_end(api: BotApiDouble, channel: TelegramChannel) -> None:
    channel._sender._floods.note("7", 60.0)
    patient = Patient(platform=Platform.TELEGRAM, identity="7", address="7")
    await asyncio.wait_for(channel.send(patient, OutboundMessage(paragraphs=("Chiami subito il 112.",), emphasis=True)), 5)
    assert [sent.visible for sent in api.sent] == ["Chiami subito il 112."]
