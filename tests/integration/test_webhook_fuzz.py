"""Whatever is posted to the webhooks: no server error, nothing unsigned processed, nothing processed twice.

`SALUS_FUZZ_CASES` says how many cases each test tries; `make fuzz` tries 10,000.
"""

import copy
import itertools
import json
import os
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any
from urllib.parse import urlencode

import httpx
import pytest
import pytest_asyncio
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from starlette.datastructures import ImmutableMultiDict
from twilio.request_validator import RequestValidator

from bot.app import build
from bot.registry import ClaimRegistry
from bot.settings import load_settings
from channels.messages import InboundMessage, MessageKind
from tests.doubles.bot_api import BotApiDouble
from tests.doubles.twilio_api import ACCOUNT_SID, AUTH_TOKEN, SENDER, whatsapp_form
from tests.fakes import HashEmbedder, ScriptedLanguageModel

CASES = int(os.environ.get("SALUS_FUZZ_CASES", "150"))
PUBLIC = "https://bot.esempio.it"
SECRET = "a-secret-of-the-webhook"
TELEGRAM, WHATSAPP, STATUS = "/telegram/webhook", "/whatsapp/webhook", "/whatsapp/status"
SECRET_HEADER = b"x-telegram-bot-api-secret-token"
WITH_SECRET = ((SECRET_HEADER, SECRET.encode()),)
FORM_TYPE = (b"content-type", b"application/x-www-form-urlencoded")
Headers = Sequence[tuple[bytes, bytes]]

fresh_numbers = itertools.count(10**9, 10)
pytestmark = pytest.mark.asyncio(loop_scope="module")
fuzzed = settings(max_examples=CASES, deadline=None, suppress_health_check=list(HealthCheck))

PERSON = {"id": 77, "is_bot": False, "first_name": "Mario", "language_code": "it"}
MESSAGE = {"message_id": 5, "date": 1_790_000_000, "chat": {"id": 77, "type": "private"}, "from": PERSON}
GROUP = {"id": -5, "type": "supergroup", "title": "g"}
PHOTO = [{"file_id": "f", "file_unique_id": "u", "width": 9, "height": 9}]
MENTION = [{"type": "mention", "offset": 0, "length": 14}]
CONTENTS: list[dict[str, Any]] = [
    {"message": MESSAGE | {"text": "ho la febbre"}},
    {"message": MESSAGE | {"text": "/start"}},
    {"edited_message": MESSAGE | {"text": "tengo fiebre", "edit_date": 1_790_000_060}},
    {"message": MESSAGE | {"photo": PHOTO, "caption": "è grave?", "media_group_id": "9"}},
    {"message": MESSAGE | {"location": {"latitude": 41.9, "longitude": 12.5}}},
    {"message": MESSAGE | {"chat": GROUP, "text": "@SalusProvaBot ho la febbre", "entities": MENTION}},
    {"message": MESSAGE | {"chat": GROUP, "text": "e poi?", "reply_to_message": MESSAGE | {"from": PERSON | {"id": 999}}}},
    {"callback_query": {"id": "1", "from": PERSON, "chat_instance": "i", "data": "fb:up:1", "message": MESSAGE | {"text": "x"}}},
]

signs = st.text(alphabet=st.characters(exclude_categories=()), max_size=30)  # halves of characters too
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | signs,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(signs, inner, max_size=4),
    max_leaves=12,
)


def places(value: Any, before: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path to every value within a JSON value."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in inside:
        yield (*before, key)
        yield from places(inner, (*before, key))


@st.composite
def changed_updates(draw: st.DrawFn) -> dict[str, Any]:
    """A valid update in which some values were replaced, left out or added."""
    update: dict[str, Any] = {"update_id": draw(st.integers(min_value=1, max_value=10**9))}
    update |= copy.deepcopy(draw(st.sampled_from(CONTENTS)))
    for _ in range(draw(st.integers(min_value=0, max_value=3))):
        if not update:
            break
        *way, last = draw(st.sampled_from(list(places(update))))
        holder: Any = update
        for key in way:
            holder = holder[key]
        if draw(st.booleans()):
            holder[last] = draw(json_values)
        else:
            del holder[last]
    return update


class Desk:
    """The whole bot's web application; what its messengers hand over is claimed, as the conversation does, and kept."""

    def __init__(self, http: httpx.AsyncClient, registry: ClaimRegistry) -> None:
        self.http = http
        self.processed: list[InboundMessage] = []
        self._registry = registry

    async def receive(self, message: InboundMessage) -> None:
        platform = message.sender.platform
        if self._registry.claim(platform, message.message_id) and await self._registry.record(platform, message.message_id):
            self.processed.append(message)

    async def post(self, path: str, body: bytes, headers: Headers) -> int:
        return (await self.http.post(path, content=body, headers=list(headers))).status_code

    async def telegram(self, update: object, headers: Headers = WITH_SECRET) -> int:
        return await self.post(TELEGRAM, json.dumps(update).encode(), headers)

    async def twilio(self, fields: Sequence[tuple[str, str]], path: str = WHATSAPP) -> int:
        return await self.post(path, urlencode(fields).encode(), signed(fields, path))

    def take(self) -> list[InboundMessage]:
        """What was processed since the last time; each of it is what a conversation can rely on."""
        taken, self.processed = self.processed, []
        for message in taken:
            assert isinstance(message.kind, MessageKind)
            texts = (message.text, message.message_id, message.chat, message.sender.identity, message.sender.address)
            assert all(text.encode() or text is message.text for text in texts)
            assert message.locale_hint is None or message.locale_hint.encode() is not None
        return taken


def signed(fields: Sequence[tuple[str, str]], path: str = WHATSAPP) -> Headers:
    signature = RequestValidator(AUTH_TOKEN).compute_signature(PUBLIC + path, ImmutableMultiDict(fields))
    return (FORM_TYPE, (b"x-twilio-signature", signature.encode()))


@pytest.fixture(scope="module")
def bare_environment() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith("SALUS_")]:
            patch.delenv(name)
        yield


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def desk(tmp_path_factory: pytest.TempPathFactory, bare_environment: None) -> AsyncIterator[Desk]:
    tmp_path = tmp_path_factory.mktemp("home")
    registry = ClaimRegistry(tmp_path / "claims.sqlite", b"a key for hashes, long enough")
    await registry.open()
    async with BotApiDouble() as telegram:
        chosen = load_settings(
            home=tmp_path,
            public_base_url=PUBLIC,
            telegram_token=telegram.token,
            telegram_mode="webhook",
            telegram_webhook_secret=SECRET,
            telegram_api_base_url=telegram.base_url,
            twilio_account_sid=ACCOUNT_SID,
            twilio_auth_token=AUTH_TOKEN,
            whatsapp_from=SENDER,
            twilio_api_base_url="http://127.0.0.1:9",
        )
        app = build(chosen, language_model=ScriptedLanguageModel(""), embedder=HashEmbedder())
        transport = httpx.ASGITransport(app.asgi, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://10.0.0.5:8000") as http:
            desk = Desk(http, registry)
            messengers = list(app._parts.channels.values())
            for messenger in messengers:
                await messenger.start(desk.receive)
            yield desk
            for messenger in messengers:
                await messenger.stop()
    await registry.close()


@fuzzed
@given(body=json_values)
async def test_any_json_to_telegrams_webhook_is_taken_or_refused(desk: Desk, body: object) -> None:
    assert await desk.telegram(body) in {200, 400}
    desk.take()


@fuzzed
@given(update=changed_updates())
@example(update={"update_id": 1, "callback_query": CONTENTS[-1]["callback_query"] | {"id": "\ud800"}})
@example(update={"update_id": 1, "message": MESSAGE | {"text": "\udfff"}})
@example(update={"update_id": 1, "message": MESSAGE | {"text": ["ho la febbre"]}})
@example(update={"update_id": 1, "message": MESSAGE | {"text": "x", "chat": {"id": [], "type": "private"}}})
async def test_a_changed_update_is_taken_and_delivered_twice_processed_once(desk: Desk, update: dict[str, Any]) -> None:
    assert await desk.telegram(update) == 200
    first = desk.take()
    assert await desk.telegram(update) == 200
    assert desk.take() == []
    assert len(first) <= 1


@fuzzed
@given(
    update=st.sampled_from(CONTENTS),
    shown=st.lists(st.binary(max_size=40).filter(lambda value: value != SECRET.encode()), max_size=2),
    others=st.lists(
        st.tuples(st.sampled_from([b"x-forwarded-host", b"content-type", b"cookie"]), st.binary(max_size=20)), max_size=3
    ),
)
async def test_an_update_without_the_secret_is_refused_whatever_its_headers(
    desk: Desk, update: dict[str, Any], shown: list[bytes], others: list[tuple[bytes, bytes]]
) -> None:
    headers = [(SECRET_HEADER, value) for value in shown] + others
    assert await desk.telegram({"update_id": 1} | update, headers) == 403
    assert desk.take() == []


FIELD_NAMES = [
    "Body",
    "From",
    "WaId",
    "NumMedia",
    "Latitude",
    "ButtonPayload",
    "ListId",
    "ExternalUserId",
    "SmsSid",
    "MessageSid",
]
texts = st.text(max_size=60)
forms = st.lists(st.tuples(st.sampled_from(FIELD_NAMES) | texts, texts), max_size=12).map(
    lambda odd: list(whatsapp_form("ho la febbre").items()) + odd
)


@fuzzed
@given(form=forms)
async def test_a_signed_form_with_odd_fields_is_taken_and_delivered_twice_processed_once(
    desk: Desk, form: list[tuple[str, str]]
) -> None:
    assert await desk.twilio(form) == 200
    first = desk.take()
    assert await desk.twilio(form) == 200
    assert desk.take() == []
    assert len(first) <= 1


@fuzzed
@given(
    fields=st.lists(st.tuples(st.sampled_from(["MessageStatus", "ErrorCode", "ErrorMessage", "To"]) | texts, texts), max_size=8)
)
async def test_h14_a_signed_status_with_odd_fields_is_noted_and_reaches_no_conversation(
    desk: Desk, fields: list[tuple[str, str]]
) -> None:
    assert await desk.twilio(fields, STATUS) == 200
    assert desk.take() == []


@st.composite
def tampered(draw: st.DrawFn) -> tuple[str, bytes, Headers]:
    """A request that Twilio did not sign as it stands: no, another or an odd signature, or changed after it was signed."""
    form = draw(forms)
    path = draw(st.sampled_from([WHATSAPP, STATUS]))
    headers, body = list(signed(form, path)), urlencode(form).encode()
    match draw(st.integers(min_value=0, max_value=4)):
        case 0:
            return path, body, headers[:1]
        case 1:
            return path, body, [FORM_TYPE, (b"x-twilio-signature", draw(st.binary(max_size=40)))]
        case 2:
            # Twilio signs names and values written one after the other: an empty field, or one twice, changes nothing.
            return path, body + b"&" + urlencode([("added" + draw(texts), "x" + draw(texts))]).encode(), headers
        case 3:
            query = urlencode([("v", draw(texts))])
            return f"{path}?{query}", body, headers
        case _:
            return path, draw(st.binary(max_size=300)), headers


@fuzzed
@given(request=tampered(), forwarded=st.binary(max_size=30))
async def test_an_unsigned_form_is_refused_whatever_was_forwarded(
    desk: Desk, request: tuple[str, bytes, Headers], forwarded: bytes
) -> None:
    path, body, headers = request
    assert await desk.post(path, body, [*headers, (b"x-forwarded-host", forwarded)]) == 403
    assert desk.take() == []


@settings(fuzzed, max_examples=max(50, CASES // 10))
@given(order=st.lists(st.integers(min_value=0, max_value=3), min_size=1, max_size=12))
async def test_of_signed_requests_and_updates_that_are_played_again_each_is_processed_once(desk: Desk, order: list[int]) -> None:
    first = next(fresh_numbers)
    updates = [
        {"update_id": first + number, "message": MESSAGE | {"message_id": first + number, "text": "x"}} for number in range(4)
    ]
    letters = [list(whatsapp_form("ciao").items()) for _ in range(4)]
    for number in order:
        assert await desk.telegram(updates[number]) == 200
        assert await desk.twilio(letters[number]) == 200
    assert len(desk.take()) == 2 * len(set(order))


@settings(fuzzed, max_examples=max(10, CASES // 100))
@given(size=st.integers(min_value=64 * 1024 + 1, max_value=700_000), path=st.sampled_from([TELEGRAM, WHATSAPP, STATUS]))
async def test_a_body_that_is_too_large_is_refused_unread(desk: Desk, size: int, path: str) -> None:
    body = b"x" * (size if path != TELEGRAM else size + 512 * 1024)
    headers = (*WITH_SECRET, FORM_TYPE, (b"x-twilio-signature", b"x"))
    assert await desk.post(path, body, headers) == 413
    assert desk.take() == []
