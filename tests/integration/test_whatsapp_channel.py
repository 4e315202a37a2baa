"""WhatsApp over the wire: our webhooks on a real server with Twilio's own signatures, Twilio's API as a server of our own."""

import asyncio
import io
import logging
import re
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from urllib.parse import urlencode

import httpx
import pytest
from starlette.applications import Starlette

from channels.errors import ChannelMisconfigured, DeliveryFailed, RecipientGone, WindowClosed
from channels.messages import Button, InboundMessage, MessageKind, OutboundLink, OutboundMessage, Patient, Platform
from channels.whatsapp_channel import STATUS_PATH, WEBHOOK_PATH, WhatsAppChannel
from channels.whatsapp_contacts import Contacts
from tests.doubles.local_server import LocalServer
from tests.doubles.twilio_api import ACCOUNT_SID, AUTH_TOKEN, SENDER, TwilioDouble, post_signed_form, whatsapp_form

PUBLIC = "https://bot.esempio.it"
ADDRESS = "https://esempio.it/schede/febbre_nei_bambini?pagina=2&sezione=3"
ADA = Patient(platform=Platform.WHATSAPP, identity="393331234567", address="whatsapp:+393331234567")
SHORT = OutboundMessage(paragraphs=("Salve.",))


class Inbox:
    """Records what a channel receives, and the statuses it is told."""

    def __init__(self) -> None:
        self.messages: list[InboundMessage] = []
        self.statuses: list[tuple[str, str | None]] = []

    async def receive(self, message: InboundMessage) -> None:
        self.messages.append(message)

    def note(self, status: str, code: str | None) -> None:
        self.statuses.append((status, code))


@pytest.fixture
async def twilio() -> AsyncIterator[TwilioDouble]:
    async with TwilioDouble() as double:
        yield double
    assert double.violations == []


@pytest.fixture
def inbox() -> Inbox:
    return Inbox()


@pytest.fixture
async def channel(twilio: TwilioDouble, inbox: Inbox) -> AsyncIterator[WhatsAppChannel]:
    started = WhatsAppChannel(ACCOUNT_SID, AUTH_TOKEN, SENDER, PUBLIC, twilio.url, on_status=inbox.note, retry_delay_s=0.01)
    await started.start(inbox.receive)
    yield started
    await started.stop()


@pytest.fixture
async def web(channel: WhatsAppChannel) -> AsyncIterator[httpx.AsyncClient]:
    async with LocalServer(Starlette(routes=channel.routes())) as server, httpx.AsyncClient(base_url=server.url) as client:
        yield client


def words(bodies: list[str]) -> list[str]:
    """The words of all parts without what numbers them."""
    return " ".join(body.rpartition("\n\n")[0] if re.search(r"\n\n\d/\d$", body) else body for body in bodies).split()


async def post(
    web: httpx.AsyncClient,
    form: dict[str, str],
    path: str = WEBHOOK_PATH,
    signed_url: str | None = None,
    token: str = AUTH_TOKEN,
    **headers: str,
) -> httpx.Response:
    return await post_signed_form(path, token, form, signed_url=signed_url or PUBLIC + path, client=web, **headers)


async def test_h07_a_signed_message_is_received_and_acknowledged_with_empty_twiml(web: httpx.AsyncClient, inbox: Inbox) -> None:
    answer = await post(web, whatsapp_form("cos'è la febbre? 🌡"))
    assert (answer.status_code, answer.text) == (200, "<Response/>")
    assert answer.headers["content-type"].startswith("text/xml")
    assert [message.text for message in inbox.messages] == ["cos'è la febbre? 🌡"]


async def test_h07_a_message_delivered_twice_has_one_id(web: httpx.AsyncClient, inbox: Inbox) -> None:
    form = whatsapp_form("ciao")
    assert [(await post(web, form)).status_code for _ in range(2)] == [200, 200]
    assert len({message.message_id for message in inbox.messages}) == 1


async def test_h12_the_public_address_with_its_raw_query_is_what_counts(web: httpx.AsyncClient, inbox: Inbox) -> None:
    answer = await post(
        web, whatsapp_form("ciao"), f"{WEBHOOK_PATH}?canale=it&v=2&x=%2Fa%20b", x_forwarded_host="altro.esempio.it"
    )
    assert answer.status_code == 200
    assert len(inbox.messages) == 1


async def test_h12_an_added_standard_port_passes(web: httpx.AsyncClient) -> None:
    assert (await post(web, whatsapp_form("ciao"), signed_url=f"https://bot.esempio.it:443{WEBHOOK_PATH}")).status_code == 200


@pytest.mark.parametrize(
    "signed",
    [
        "http://bot.esempio.it/whatsapp/webhook?canale=it&v=2",
        "https://bot.esempio.it/whatsapp/webhook/?canale=it&v=2",
        "https://bot.esempio.it/whatsapp/webhook",
        "https://bot.esempio.it/whatsapp/webhook?v=2&canale=it",
        "https://bot.esempio.it/whatsapp/webhook?canale=it&v=%32",
        "https://bot.esempio.it:8443/whatsapp/webhook?canale=it&v=2",
        "https://falso.esempio.it/whatsapp/webhook?canale=it&v=2",
    ],
)
async def test_h12_a_signature_for_another_address_is_refused_whatever_was_forwarded(
    web: httpx.AsyncClient, inbox: Inbox, signed: str
) -> None:
    host = httpx.URL(signed).host
    forwarded = {"x_forwarded_host": host, "x_forwarded_proto": httpx.URL(signed).scheme, "x_forwarded_port": "8443"}
    answer = await post(web, whatsapp_form("ciao"), f"{WEBHOOK_PATH}?canale=it&v=2", signed_url=signed, **forwarded)
    assert answer.status_code == 403
    assert inbox.messages == []


async def test_h12_a_query_that_a_proxy_decoded_is_refused(web: httpx.AsyncClient, inbox: Inbox) -> None:
    signed = f"{PUBLIC}{WEBHOOK_PATH}?canale=perch%C3%A9%20no"
    answer = await post(web, whatsapp_form("ciao"), f"{WEBHOOK_PATH}?canale=perch%C3%A9+no", signed_url=signed)
    assert (answer.status_code, inbox.messages) == (403, [])


async def test_h12_a_slash_that_was_added_to_the_path_reaches_nothing(web: httpx.AsyncClient, inbox: Inbox) -> None:
    answer = await post(web, whatsapp_form("ciao"), f"{WEBHOOK_PATH}/")
    assert not answer.is_success
    assert inbox.messages == []


@pytest.mark.parametrize(
    ("base", "signed"),
    [
        ("https://bot.esempio.it:8443", "https://bot.esempio.it:8443"),
        ("https://bot.esempio.it/", "https://bot.esempio.it"),
        ("https://bot.esempio.it:443", "https://bot.esempio.it"),
        ("https://esempio.it/salus", "https://esempio.it/salus"),
    ],
)
async def test_h12_a_public_address_with_port_or_path_is_what_is_signed(inbox: Inbox, base: str, signed: str) -> None:
    started = WhatsAppChannel(ACCOUNT_SID, AUTH_TOKEN, SENDER, base)
    await started.start(inbox.receive)
    async with LocalServer(Starlette(routes=started.routes())) as server, httpx.AsyncClient(base_url=server.url) as client:
        answer = await post(client, whatsapp_form("ciao"), signed_url=f"{signed}{WEBHOOK_PATH}")
    await started.stop()
    assert answer.status_code == 200
    assert len(inbox.messages) == 1


@pytest.mark.parametrize("path", [WEBHOOK_PATH, STATUS_PATH])
async def test_h12_no_signature_a_wrong_token_and_a_changed_form_are_refused(
    web: httpx.AsyncClient, inbox: Inbox, path: str
) -> None:
    form = whatsapp_form("ciao", MessageStatus="failed")
    unsigned = await web.post(path, data=form)
    empty = await web.post(path, data=form, headers={"X-Twilio-Signature": ""})
    odd = await web.post(path, data=form, headers=[(b"X-Twilio-Signature", b"\xff\xfe")])
    wrong = await post(web, form, path, token="another")
    signature = wrong.request.headers["X-Twilio-Signature"]
    changed = await web.post(path, data=form | {"Body": "altro"}, headers={"X-Twilio-Signature": signature})
    assert [answer.status_code for answer in (unsigned, empty, odd, wrong, changed)] == [403] * 5
    assert (inbox.messages, inbox.statuses) == ([], [])


@pytest.mark.parametrize(
    ("sid", "token", "sender", "address"),
    [
        ("", "t", SENDER, PUBLIC),
        (ACCOUNT_SID, "", SENDER, PUBLIC),
        (ACCOUNT_SID, "t", "", PUBLIC),
        (ACCOUNT_SID, "t", SENDER, ""),
    ],
)
def test_h12_nothing_starts_without_token_and_address(sid: str, token: str, sender: str, address: str) -> None:
    with pytest.raises(ChannelMisconfigured):
        WhatsAppChannel(sid, token, sender, address)


async def test_an_enormous_form_is_refused_unread(web: httpx.AsyncClient, inbox: Inbox) -> None:
    assert (await post(web, whatsapp_form("x" * 70_000))).status_code == 413
    assert (await web.post(WEBHOOK_PATH, content=urlencode({f"f{n}": "" for n in range(600)}))).status_code == 403
    assert (await web.post(WEBHOOK_PATH, content=b"Body=%ff")).status_code == 403
    assert inbox.messages == []


@pytest.mark.parametrize(
    ("fields", "kind"),
    [
        ({"Body": "", "NumMedia": "1", "MediaContentType0": "audio/ogg"}, MessageKind.UNREADABLE),
        ({"Body": "", "Latitude": "41.9", "Longitude": "12.5", "NumMedia": "0"}, MessageKind.UNREADABLE),
        ({"Body": "cos'è?", "NumMedia": "2"}, MessageKind.TEXT),
        ({"Body": "¿qué es?", "NumMedia": "abc"}, MessageKind.TEXT),
        ({"Body": "", "NumMedia": "abc"}, MessageKind.UNREADABLE),
        ({"NumMedia": "1"}, MessageKind.UNREADABLE),
        ({}, MessageKind.UNREADABLE),
    ],
)
async def test_h15_whatever_a_form_lacks_it_is_received_and_no_position_is_kept_or_logged(
    web: httpx.AsyncClient, inbox: Inbox, log: io.StringIO, fields: dict[str, str], kind: MessageKind
) -> None:
    sender = {name: value for name, value in whatsapp_form().items() if name in ("MessageSid", "From", "WaId", "To")}
    assert (await post(web, sender | fields)).status_code == 200
    (message,) = inbox.messages
    assert message.kind is kind
    assert "41.9" not in f"{message!r}{message.text}{log.getvalue()}"


async def test_h15_a_voice_note_is_unreadable_and_its_media_are_not_fetched(
    web: httpx.AsyncClient, inbox: Inbox, twilio: TwilioDouble
) -> None:
    form = whatsapp_form("", NumMedia="1", MediaContentType0="audio/ogg", MediaUrl0=f"{twilio.url}/media")
    assert (await post(web, form)).status_code == 200
    assert [message.kind for message in inbox.messages] == [MessageKind.UNREADABLE]
    assert twilio.requests == []


@pytest.mark.parametrize(
    ("form", "noted"),
    [
        ({"MessageStatus": "undelivered", "ErrorCode": "63016", "ErrorMessage": ""}, ("undelivered", "63016")),
        ({"MessageStatus": "delivered"}, ("delivered", None)),
        ({"MessageStatus": "<script>", "ErrorCode": "x"}, ("other", None)),
        ({}, ("other", None)),
    ],
)
async def test_h14_a_status_is_counted_and_never_reaches_the_conversation(
    web: httpx.AsyncClient, inbox: Inbox, twilio: TwilioDouble, form: dict[str, str], noted: tuple[str, str | None]
) -> None:
    answer = await post(web, {"MessageSid": "SM1", "From": SENDER, "To": ADA.address, "Body": "x"} | form, STATUS_PATH)
    assert answer.status_code == 200
    assert inbox.statuses == [noted]
    assert (inbox.messages, twilio.requests) == ([], [])


class Clock:
    """Time that passes when told to."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(channel: WhatsAppChannel, monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(channel, "_contacts", Contacts(clock))
    return clock


async def test_h14_a_reply_later_than_24_hours_is_not_tried_as_free_text(
    channel: WhatsAppChannel, web: httpx.AsyncClient, twilio: TwilioDouble, clock: Clock
) -> None:
    await post(web, whatsapp_form("cos'è la febbre?"))
    clock.now += 24 * 3600 + 60
    with pytest.raises(WindowClosed) as closed:
        await channel.send(ADA, SHORT)
    assert twilio.requests == []
    assert "333" not in str(closed.value)
    await post(web, whatsapp_form("ci siete?"))
    await channel.send(ADA, SHORT)
    assert len(twilio.sent) == 1


async def test_h14_a_reply_within_24_hours_and_one_to_somebody_unknown_are_sent(
    channel: WhatsAppChannel, web: httpx.AsyncClient, twilio: TwilioDouble, clock: Clock
) -> None:
    await post(web, whatsapp_form("¿qué es la fiebre?"))
    clock.now += 24 * 3600 - 60
    await channel.send(ADA, SHORT)
    await channel.send(replace(ADA, address="whatsapp:+34600111222"), SHORT)
    assert len(twilio.sent) == 2


async def test_h14_a_refusal_because_of_the_window_is_not_repeated(channel: WhatsAppChannel, twilio: TwilioDouble) -> None:
    twilio.fail_next(400, 63016)
    with pytest.raises(WindowClosed):
        await channel.send(ADA, SHORT)
    assert len(twilio.requests) == 1


async def test_h14_a_configured_template_stands_in_and_holds_nothing_of_the_reply(
    twilio: TwilioDouble, inbox: Inbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    template = "HX" + "0123456789abcdef" * 2
    started = WhatsAppChannel(ACCOUNT_SID, AUTH_TOKEN, SENDER, PUBLIC, twilio.url, template_sid=template)
    await started.start(inbox.receive)
    twilio.fail_next(400, 63016)
    await started.send(ADA, SHORT)
    await started.stop()
    callback = f"{PUBLIC}{STATUS_PATH}"
    assert twilio.sent == [{"From": SENDER, "To": ADA.address, "ContentSid": template, "StatusCallback": callback}]


def test_h14_a_template_is_named_as_twilio_names_it() -> None:
    with pytest.raises(ChannelMisconfigured):
        WhatsAppChannel(ACCOUNT_SID, AUTH_TOKEN, SENDER, PUBLIC, template_sid="febbre")


async def test_the_typing_sign_is_asked_for_once_below_the_last_message_until_a_reply_takes_it_away(
    channel: WhatsAppChannel, web: httpx.AsyncClient, twilio: TwilioDouble, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("channels.whatsapp_channel._TYPING_AFTER_S", 0.01)
    first, second = whatsapp_form("ciao"), whatsapp_form("cos'è la febbre?")
    await post(web, first)
    await post(web, second)
    assert [await channel.show_typing(ADA) for _ in range(3)] == [True] * 3
    assert twilio.typing == [second["MessageSid"]]
    await channel.send(ADA, SHORT)
    assert await channel.show_typing(ADA)
    assert twilio.typing == [second["MessageSid"]] * 2


async def test_a_typing_sign_that_twilio_refuses_is_not_asked_for_again_and_not_said_to_be_shown(
    channel: WhatsAppChannel, web: httpx.AsyncClient, twilio: TwilioDouble, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("channels.whatsapp_channel._TYPING_AFTER_S", 0.01)
    twilio.refuses_typing = True
    await post(web, whatsapp_form("ciao"))
    assert not await channel.show_typing(ADA)
    twilio.refuses_typing = False
    assert not await channel.show_typing(ADA)
    await post(web, whatsapp_form("ciao"))
    assert await channel.show_typing(ADA)


async def test_no_typing_sign_for_who_has_not_written_or_where_it_is_switched_off(
    channel: WhatsAppChannel, twilio: TwilioDouble, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("channels.whatsapp_channel._TYPING_AFTER_S", 0.01)
    assert not await channel.show_typing(ADA)
    assert not await WhatsAppChannel(ACCOUNT_SID, AUTH_TOKEN, SENDER, PUBLIC, twilio.url, typing=False).show_typing(ADA)
    assert twilio.typing == []


async def test_a_quick_answer_needs_no_typing_sign(
    channel: WhatsAppChannel, web: httpx.AsyncClient, twilio: TwilioDouble
) -> None:
    await post(web, whatsapp_form("ciao"))
    asking = asyncio.create_task(channel.show_typing(ADA))
    await asyncio.sleep(0.05)
    asking.cancel()
    assert twilio.typing == []


async def test_later_parts_wait_as_the_pace_demands_and_an_emergency_goes_before_them(twilio: TwilioDouble, inbox: Inbox) -> None:
    started = WhatsAppChannel(ACCOUNT_SID, AUTH_TOKEN, SENDER, PUBLIC, twilio.url, pace_s=0.2)
    await started.start(inbox.receive)
    begun = time.monotonic()
    elsewhere = replace(ADA, address="whatsapp:+34600111222")
    async with asyncio.TaskGroup() as group:
        group.create_task(started.send(ADA, OutboundMessage(paragraphs=tuple("parola " * 200 for _ in range(4)))))
        await twilio.wait_sent(1)
        await started.send(elsewhere, OutboundMessage(paragraphs=("Llame al 112.",), emphasis=True))
        assert len(twilio.sent) < 4
    await started.stop()
    assert len(twilio.sent) == 5
    assert time.monotonic() - begun >= 0.8


@pytest.mark.parametrize(
    ("sender", "pace_s", "expected"),
    [("+14155238886", None, 3.0), ("whatsapp:+14155238886", None, 3.0), ("+14155238886", 0.0, 0.0), (SENDER, None, 0.0)],
)
def test_twilios_sandbox_is_paced_by_itself(sender: str, pace_s: float | None, expected: float) -> None:
    assert WhatsAppChannel(ACCOUNT_SID, AUTH_TOKEN, sender, PUBLIC, pace_s=pace_s)._pace._pace_s == expected


def test_what_is_remembered_of_patients_is_bounded_and_holds_no_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("channels.whatsapp_contacts._MOST_PATIENTS", 3)
    contacts = Contacts()
    for number in range(100):
        contacts.note(f"whatsapp:+39333{number:07}", f"SM{number}")
    assert len(contacts._contacts) == 3
    assert "39333" not in repr(contacts._contacts)


async def test_a_reply_names_sender_patient_and_status_address(channel: WhatsAppChannel, twilio: TwilioDouble) -> None:
    await channel.send(ADA, SHORT)
    assert twilio.sent == [{"From": SENDER, "To": ADA.address, "Body": "Salve.", "StatusCallback": f"{PUBLIC}{STATUS_PATH}"}]


async def test_h13_a_long_reply_arrives_in_order_with_whole_addresses_and_the_disclaimer_last(
    channel: WhatsAppChannel, twilio: TwilioDouble
) -> None:
    text = f"{'Perché è così 🌡. ' * 98}{ADDRESS} {'Beva molta acqua. ' * 130}"
    message = OutboundMessage(
        paragraphs=(text,),
        links=(OutboundLink(label="ISS", url=ADDRESS),),
        closing=("Avvertenza.",),
        buttons=(Button(label="Utile", payload="fb:up:1"),),
    )
    await channel.send(ADA, message)
    bodies = [sent["Body"] for sent in twilio.sent]
    assert len(bodies) >= 3
    assert all(len(body) <= 1600 for body in bodies)
    assert sum(ADDRESS in body for body in bodies) == 2
    assert bodies[-1].endswith(f"1. Utile\n\nAvvertenza.\n\n{len(bodies)}/{len(bodies)}")
    assert words(bodies)[: len(text.split())] == text.split()


@pytest.mark.parametrize("before", range(1520, 1600, 16))
async def test_h13_no_address_is_cut_wherever_the_1600th_character_falls(
    channel: WhatsAppChannel, twilio: TwilioDouble, before: int
) -> None:
    text = f"{'è' * before} {ADDRESS} " + "¿Cuándo baja la fiebre? 🌡 " * 90
    await channel.send(ADA, OutboundMessage(paragraphs=(text,), closing=("Salus no sustituye al médico.",)))
    bodies = [sent["Body"] for sent in twilio.sent]
    assert all(len(body) <= 1600 for body in bodies)
    assert sum(ADDRESS in body for body in bodies) == 1
    assert "Salus no sustituye al médico." in bodies[-1]


async def test_parts_are_numbered_where_there_are_several_and_the_emergency_line_stands_in_the_first(
    channel: WhatsAppChannel, twilio: TwilioDouble
) -> None:
    long = tuple("Resti accanto alla persona. " * 40 for _ in range(3))
    await channel.send(ADA, OutboundMessage(paragraphs=("Chiami il 112.", *long), emphasis=True))
    await channel.send(ADA, SHORT)
    *parts, single = [sent["Body"] for sent in twilio.sent]
    assert [part.rpartition("\n\n")[2] for part in parts] == ["1/3", "2/3", "3/3"]
    assert parts[0].startswith("*Chiami il 112.*")
    assert single == "Salve."


async def test_h13_a_part_that_twilio_finds_too_long_is_sent_in_shorter_ones(
    channel: WhatsAppChannel, twilio: TwilioDouble
) -> None:
    twilio.fail_next(400, 21617)
    text = ("Beva molta acqua. " * 80).strip()
    await channel.send(ADA, OutboundMessage(paragraphs=(text,), closing=("Avvertenza.",)))
    bodies = [sent["Body"] for sent in twilio.sent]
    assert len(bodies) >= 3
    assert all(len(body) <= 700 for body in bodies)
    assert " ".join(bodies).split() == [*text.split(), "Avvertenza."]


async def test_h16_model_markdown_arrives_in_whatsapp_markup(channel: WhatsAppChannel, twilio: TwilioDouble) -> None:
    text = "## Febbre\n**Attenzione**: vedi [ISS](https://esempio.it/a_b_c)\n* riposo\n2*3*4"
    await channel.send(ADA, OutboundMessage(paragraphs=(text,)))
    assert twilio.sent[0]["Body"] == "*Febbre*\n*Attenzione*: vedi ISS: https://esempio.it/a_b_c\n* riposo\n2*3*4"


@pytest.mark.parametrize("code", [21610, 63014])
async def test_h17_a_patient_who_opted_out_is_gone_for_good(channel: WhatsAppChannel, twilio: TwilioDouble, code: int) -> None:
    twilio.fail_next(400, code)
    with pytest.raises(RecipientGone) as gone:
        await channel.send(ADA, SHORT)
    assert len(twilio.requests) == 1
    assert "333" not in str(gone.value)


@pytest.mark.parametrize(("status", "code"), [(400, 63016), (400, 21211), (401, 20003), (500, 20500)])
async def test_h14_a_refusal_for_good_is_not_repeated(
    channel: WhatsAppChannel, twilio: TwilioDouble, status: int, code: int
) -> None:
    twilio.fail_next(status, code)
    with pytest.raises(DeliveryFailed) as failed:
        await channel.send(ADA, SHORT)
    assert not isinstance(failed.value, RecipientGone)
    assert len(twilio.requests) == 1
    assert "333" not in str(failed.value)


async def test_a_busy_twilio_is_asked_again_and_no_part_is_sent_twice(channel: WhatsAppChannel, twilio: TwilioDouble) -> None:
    twilio.succeed_next()
    twilio.fail_next(429, 20429)
    twilio.fail_next(429, 20429)
    await channel.send(ADA, OutboundMessage(paragraphs=tuple(f"{number} " + "parola " * 200 for number in (1, 2, 3))))
    assert [sent["Body"][0] for sent in twilio.sent] == ["1", "2", "3"]


async def test_a_twilio_that_stays_busy_is_given_up(channel: WhatsAppChannel, twilio: TwilioDouble) -> None:
    for _ in range(9):
        twilio.fail_next(429, 20429)
    with pytest.raises(DeliveryFailed):
        await channel.send(ADA, SHORT)
    assert len(twilio.requests) == 5


async def test_an_emergency_is_sent_again_after_an_unclear_failure(channel: WhatsAppChannel, twilio: TwilioDouble) -> None:
    twilio.fail_next(500, 20500)
    await channel.send(ADA, OutboundMessage(paragraphs=("Chiami il 112.",), emphasis=True))
    assert [sent["Body"] for sent in twilio.sent] == ["*Chiami il 112.*"]


async def test_whatsapp_deletes_nothing_and_says_so(channel: WhatsAppChannel) -> None:
    assert not await channel.delete(ADA, ["SM1"])


async def test_a_twilio_out_of_reach_is_tried_again_and_then_reported(inbox: Inbox) -> None:
    async with TwilioDouble() as twilio:
        started = WhatsAppChannel(ACCOUNT_SID, AUTH_TOKEN, SENDER, PUBLIC, twilio.url, retry_delay_s=0.01)
    await started.start(inbox.receive)
    with pytest.raises(DeliveryFailed):
        await started.send(ADA, SHORT)
    await started.stop()


async def test_a_stop_lets_a_reply_finish(twilio: TwilioDouble, inbox: Inbox) -> None:
    started = WhatsAppChannel(ACCOUNT_SID, AUTH_TOKEN, SENDER, PUBLIC, twilio.url, retry_delay_s=0.3)
    await started.start(inbox.receive)
    twilio.fail_next(429, 20429)
    sending = asyncio.create_task(started.send(ADA, SHORT))
    await asyncio.sleep(0.1)
    await started.stop()
    await sending
    assert len(twilio.sent) == 1
    with pytest.raises(DeliveryFailed):
        await started.send(ADA, SHORT)


async def test_h18_a_reply_with_the_number_counts_as_a_tap_until_the_next_message(
    channel: WhatsAppChannel, web: httpx.AsyncClient, inbox: Inbox
) -> None:
    buttons = (Button(label="Sì", payload="fb:up:123"), Button(label="No", payload="fb:down:123"))
    await channel.send(
        ADA, OutboundMessage(paragraphs=("Le è stato utile?",), buttons=buttons, buttons_hint="Risponda con il numero:")
    )
    await post(web, whatsapp_form("2"))
    await post(web, whatsapp_form("sì"))
    await post(web, whatsapp_form("2", "+393339999999"))
    await channel.send(ADA, SHORT)
    await post(web, whatsapp_form("2"))
    assert [(message.kind, message.text) for message in inbox.messages] == [
        (MessageKind.BUTTON, "fb:down:123"),
        (MessageKind.BUTTON, "fb:up:123"),
        (MessageKind.TEXT, "2"),
        (MessageKind.TEXT, "2"),
    ]


async def test_choices_that_lapsed_are_forgotten_even_if_nobody_writes(
    channel: WhatsAppChannel, twilio: TwilioDouble, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("channels.numbered_replies._VALID_S", 0.05)
    monkeypatch.setattr("channels.whatsapp_channel._PURGE_EVERY_S", 0.05)
    channel._purge_now_and_then()
    await channel.send(ADA, OutboundMessage(paragraphs=("Ha febbre?",), buttons=(Button(label="Sì", payload="in:yes"),)))
    assert len(channel._replies._offers) == 1
    await asyncio.sleep(0.2)
    assert len(channel._replies._offers) == 0


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


async def test_h41_at_debug_neither_token_nor_words_nor_number_are_logged(
    log: io.StringIO, channel: WhatsAppChannel, web: httpx.AsyncClient, twilio: TwilioDouble
) -> None:
    await post(web, whatsapp_form("dolore al petto"))
    await post(web, {"MessageSid": "SM1", "To": ADA.address, "MessageStatus": "failed", "ErrorCode": "63016"}, STATUS_PATH)
    await channel.send(ADA, OutboundMessage(paragraphs=("dolore al petto",)))
    twilio.fail_next(400, 21211)
    with pytest.raises(DeliveryFailed):
        await channel.send(ADA, SHORT)
    written = log.getvalue()
    assert not any(secret in written for secret in (AUTH_TOKEN, "dolore", "333123", "Mario Rossi"))
    assert "63016" in written


@pytest.mark.parametrize(("discard", "asked"), [(True, "discard"), (False, None)])
async def test_twilio_keeps_no_text_where_the_operator_wants_it(
    twilio: TwilioDouble, inbox: Inbox, discard: bool, asked: str | None
) -> None:
    started = WhatsAppChannel(ACCOUNT_SID, AUTH_TOKEN, SENDER, PUBLIC, twilio.url, discard=discard)
    await started.start(inbox.receive)
    await started.send(ADA, SHORT)
    await started.stop()
    assert twilio.sent[-1].get("ContentRetention") == asked
