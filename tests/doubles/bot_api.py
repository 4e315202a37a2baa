"""A Bot API server that is as strict as Telegram's where the project depends on it: bad HTML, long texts, wrong tokens."""

import asyncio
import contextlib
import itertools
import json
import re
from collections import defaultdict, deque
from dataclasses import dataclass
from html.parser import HTMLParser
from typing import Any, Self

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from tests.doubles.local_server import LocalServer

Json = Any
TOKEN = "123456:double-of-a-token"
_STRAY = re.compile(r"<(?!/?(?:b|strong|i|em|u|s|code|pre|a)(?:\s[^<>]*)?>)")


@dataclass(frozen=True, slots=True)
class SentText:
    """What one accepted sendMessage showed: `visible` is the text after parsing, `targets` the links in it by label."""

    chat: int
    text: str
    visible: str
    targets: dict[str, str]
    parse_mode: str | None
    buttons: list[tuple[str, str]]
    parameters: dict[str, Any]


@dataclass(slots=True)
class _Failure:
    status: int
    description: str
    retry_after: int | None = None
    cut: bool = False
    done: bool = False


class BotApiDouble:
    """`async with BotApiDouble() as api:` then give the channel `api.token` and `api_base_url=api.base_url`.

    `api.sent` has the accepted texts (`SentText`), `api.calls` every (method, parameters) in order.
    `api.fail_next("sendMessage", 429, "Too Many Requests", retry_after=1)` makes that method's next call fail; called more than
    once, the failures queue up, and `None` in their place (`api.succeed_next`) lets one call through first.
    `api.edits` has the accepted edits, (message number, `SentText`); `api.forget(number)` deletes a message as its reader can.
    `api.deleted` has the (chat, message number) of each message that deleteMessages was told to delete.
    `api.cut_next(method)` breaks the connection in the middle of the reply; `api.lose_reply(method)` does so after it has obeyed.
    `api.inject(message=…)` gives an update to polling; `update(…)`, `message(…)` build payloads for a webhook too.
    """

    def __init__(self, token: str = TOKEN, username: str = "SalusProvaBot") -> None:
        self.token = token
        self.username = username
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self.sent: list[SentText] = []
        self.edits: list[tuple[int, SentText]] = []
        self.deleted: list[tuple[int, int]] = []
        self._shown: dict[int, SentText] = {}
        self.webhook: dict[str, Any] | None = None
        self._failures: defaultdict[str, deque[_Failure | None]] = defaultdict(deque)
        self._updates: list[dict[str, Any]] = []
        self._changed = asyncio.Condition()
        self._numbers = itertools.count(1)
        self._server = LocalServer(Starlette(routes=[Route("/bot{token}/{method}", self._call, methods=["POST", "GET"])]))

    async def __aenter__(self) -> Self:
        await self._server.__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._server.__aexit__()

    @property
    def base_url(self) -> str:
        """What python-telegram-bot takes as `base_url`."""
        return f"{self._server.url}/bot"

    @property
    def numbers(self) -> list[int]:
        """The numbers of all messages that are there."""
        return list(self._shown)

    def called(self, method: str) -> list[dict[str, Any]]:
        """The parameters of every call of a method, refused ones too."""
        return [parameters for name, parameters in self.calls if name == method]

    def fail_next(self, method: str, status: int, description: str, *, retry_after: int | None = None) -> None:
        """Refuse the method's next call."""
        self._failures[method].append(_Failure(status, description, retry_after))

    def succeed_next(self, method: str) -> None:
        """Let one call through before the failures that are set after this."""
        self._failures[method].append(None)

    def cut_next(self, method: str) -> None:
        """Take the method's next call and break the connection before the reply is whole."""
        self._failures[method].append(_Failure(0, "", cut=True))

    def lose_reply(self, method: str) -> None:
        """Do what the method's next call says, and break the connection before the reply is whole."""
        self._failures[method].append(_Failure(0, "", cut=True, done=True))

    def pending(self, method: str) -> int:
        """How many failures of a method are still to come."""
        return len(self._failures[method])

    def forget(self, number: int) -> None:
        """Delete a message: it cannot be edited any more."""
        del self._shown[number]

    async def inject(self, **content: Json) -> None:
        """Give polling an update with this content, such as `message=message(...)`."""
        async with self._changed:
            self._updates.append(self.update(**content))
            self._changed.notify_all()

    def update(self, **content: Json) -> dict[str, Any]:
        """An update with a new number."""
        return {"update_id": next(self._numbers), **content}

    def message(self, text: str | None = None, *, chat: int = 77, **content: Json) -> dict[str, Any]:
        """A message from a patient in a private chat; further fields (`sticker`, `caption`, `edit_date`, …) as in the Bot API."""
        person = {"id": chat, "is_bot": False, "first_name": "<b>Mario_*", "language_code": "it"}
        base: dict[str, Any] = {
            "message_id": next(self._numbers),
            "date": 1_790_000_000,
            "chat": {"id": chat, "type": "private"},
            "from": person,
        }
        return base | ({"text": text} if text is not None else {}) | content

    async def wait_sent(self, count: int, within_s: float = 5.0) -> list[SentText]:
        """The accepted texts once there are `count` of them."""
        async with asyncio.timeout(within_s), self._changed:
            await self._changed.wait_for(lambda: len(self.sent) >= count)
        return self.sent

    async def _call(self, request: Request) -> Response:
        method = request.path_params["method"]
        parameters = {name: _decoded(name, str(value)) for name, value in (await request.form()).items()} | dict(
            request.query_params
        )
        self.calls.append((method, parameters))
        if request.path_params["token"] != self.token:
            return _refusal(401, "Unauthorized")
        failure = self._failures[method].popleft() if self._failures[method] else None
        if failure and failure.done:
            await getattr(self, f"_{method}")(parameters)
        if failure and failure.cut:
            return StreamingResponse(iter([b'{"ok":']), headers={"content-length": "1000"})
        if failure:
            return _refusal(failure.status, failure.description, failure.retry_after)
        answer = getattr(self, f"_{method}", None)
        if answer is None:
            return _refusal(404, "Not Found")
        reply: Response = await answer(parameters)
        return reply

    async def _getMe(self, _: dict[str, Any]) -> Response:
        return _ok({"id": 999, "is_bot": True, "first_name": "Salus", "username": self.username})

    async def _setWebhook(self, parameters: dict[str, Any]) -> Response:
        self.webhook = parameters
        return _ok(True)

    async def _deleteWebhook(self, _: dict[str, Any]) -> Response:
        self.webhook = None
        return _ok(True)

    async def _setMyCommands(self, _: dict[str, Any]) -> Response:
        return _ok(True)

    async def _sendChatAction(self, _: dict[str, Any]) -> Response:
        return _ok(True)

    async def _answerCallbackQuery(self, _: dict[str, Any]) -> Response:
        return _ok(True)

    async def _editMessageText(self, parameters: dict[str, Any]) -> Response:
        number = int(parameters["message_id"])
        before, text = self._shown.get(number), self._read_text(parameters)
        if isinstance(text, Response):
            return text
        if before is None or before.chat != text.chat:
            return _refusal(400, "Bad Request: message to edit not found")
        if (before.visible, before.buttons) == (text.visible, text.buttons):
            return _refusal(400, "Bad Request: message is not modified: specified new message content is exactly the same")
        return await self._show(number, text, self.edits, (number, text))

    async def _deleteMessages(self, parameters: dict[str, Any]) -> Response:
        for number in parameters["message_ids"]:  # those that are not there are passed over, as the Bot API says
            self.deleted.append((int(parameters["chat_id"]), number))
            self._shown.pop(number, None)
        return _ok(True)

    async def _getUpdates(self, parameters: dict[str, Any]) -> Response:
        offset = int(parameters.get("offset", 0))

        def waiting() -> list[dict[str, Any]]:
            return [update for update in self._updates if update["update_id"] >= offset]

        async with self._changed:
            # Never as long as a real poll, so that a test's server can stop.
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._changed.wait_for(waiting), min(float(parameters.get("timeout", 0)), 1.0))
            return _ok(waiting())

    async def _sendMessage(self, parameters: dict[str, Any]) -> Response:
        text = self._read_text(parameters)
        if isinstance(text, Response):
            return text
        return await self._show(next(self._numbers), text, self.sent, text)

    async def _show(self, number: int, text: SentText, record: list[Any], entry: Json) -> Response:
        async with self._changed:
            self._shown[number] = text
            record.append(entry)
            self._changed.notify_all()
        chat = {"id": text.chat, "type": "private"}
        return _ok({"message_id": number, "date": 1_790_000_001, "chat": chat, "text": text.visible})

    def _read_text(self, parameters: dict[str, Any]) -> SentText | Response:
        text = str(parameters.get("text", ""))
        formatted = parameters.get("parse_mode") == "HTML"
        reader = _HtmlReader()
        if formatted and (complaint := reader.read(text)):
            return _refusal(400, f"Bad Request: can't parse entities: {complaint}")
        visible = reader.visible if formatted else text
        if not visible.strip():
            return _refusal(400, "Bad Request: message text is empty")
        if len(visible.encode("utf-16-le")) // 2 > 4096:
            return _refusal(400, "Bad Request: message is too long")
        keys = (parameters.get("reply_markup") or {}).get("inline_keyboard", [])
        buttons = [(key["text"], key["callback_data"]) for row in keys for key in row]
        chat = int(parameters["chat_id"])
        return SentText(chat, text, visible, reader.targets, parameters.get("parse_mode"), buttons, parameters)


class _HtmlReader(HTMLParser):
    """Reads Telegram's HTML as strictly as Telegram: known tags, well nested, every other "<" escaped."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.visible = ""
        self.targets: dict[str, str] = {}
        self._open: list[str] = []
        self._complaint = ""
        self._link = ""

    def read(self, text: str) -> str:
        """What Telegram would complain about, or ""."""
        if stray := _STRAY.search(text):
            self._complaint = f"Unsupported start tag at byte offset {stray.start()}"
        self.feed(text)
        self.close()
        if self._open:
            self._complaint = f"Can't find end tag corresponding to start tag {self._open[-1]}"
        return self._complaint

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._open.append(tag)
        if tag == "a":
            self._link = dict(attrs).get("href") or ""

    def handle_endtag(self, tag: str) -> None:
        if not self._open or self._open.pop() != tag:
            self._complaint = f"Unexpected end tag {tag}"

    def handle_data(self, data: str) -> None:
        self.visible += data
        if "a" in self._open:
            self.targets[data] = self._link


def _decoded(name: str, value: str) -> Json:
    if name != "text" and value[:1] in ("{", "["):
        with contextlib.suppress(ValueError):
            return json.loads(value)
    return value


def _ok(content: Json) -> Response:
    return JSONResponse({"ok": True, "result": content})


def _refusal(status: int, description: str, retry_after: int | None = None) -> Response:
    content: dict[str, Any] = {"ok": False, "error_code": status, "description": description}
    if retry_after is not None:
        content["parameters"] = {"retry_after": retry_after}
    return JSONResponse(content, status_code=status)
