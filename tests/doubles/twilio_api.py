"""Twilio's message API as a server that holds requests to Twilio's own description, and the signing of what Twilio posts."""

import asyncio
import base64
import itertools
import json
import os
import re
from collections import deque
from functools import lru_cache
from pathlib import Path
from typing import Self
from urllib.parse import parse_qsl

import httpx
from openapi_core import OpenAPI
from openapi_core.exceptions import OpenAPIError
from openapi_core.testing import MockRequest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from twilio.request_validator import RequestValidator

from tests.doubles.local_server import LocalServer

ACCOUNT_SID = "AC" + "0123456789abcdef" * 2
AUTH_TOKEN = "double-of-an-auth-token"
SENDER = "whatsapp:+390200000000"
_MESSAGES = "/2010-04-01/Accounts/{AccountSid}/Messages.json"
_TYPING = "/v2/Indicators/Typing.json"
_CONTRACT = Path(__file__).resolve().parents[1] / "data" / "contracts" / "twilio_messages.json"
_MESSAGE_SID = re.compile(r"(?:SM|MM)[0-9a-fA-F]{32}")


class TwilioDouble:
    """`async with TwilioDouble() as twilio:` then give the channel `ACCOUNT_SID`, `AUTH_TOKEN`, `SENDER` and `twilio.url`.

    `twilio.sent` has the accepted requests as dictionaries (`To`, `From`, `Body`, `StatusCallback`), `twilio.requests` all.
    `twilio.fail_next(400, 21610)` refuses the next request; failures queue up, `twilio.succeed_next()` lets one through between.
    `twilio.violations` lists what broke Twilio's description; such a request is refused. A body over 1,600 gets 21617.
    `twilio.typing` has the messages below which the typing sign was shown; `twilio.refuses_typing` makes that fail.
    """

    def __init__(self, account_sid: str = ACCOUNT_SID, auth_token: str = AUTH_TOKEN) -> None:
        self.sent: list[dict[str, str]] = []
        self.requests: list[dict[str, str]] = []
        self.violations: list[str] = []
        self.typing: list[str] = []
        self.refuses_typing = False
        self._credentials = f"{account_sid}:{auth_token}"
        self._failures: deque[tuple[int, int] | None] = deque()
        self._changed = asyncio.Condition()
        self._numbers = itertools.count(1)
        self._server = LocalServer(
            Starlette(
                routes=[Route(_MESSAGES, self._create, methods=["POST"]), Route(_TYPING, self._show_typing, methods=["POST"])]
            )
        )

    async def __aenter__(self) -> Self:
        await self._server.__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._server.__aexit__()

    @property
    def url(self) -> str:
        """What stands in for "https://api.twilio.com"."""
        return self._server.url

    def fail_next(self, status: int, code: int) -> None:
        """Refuse the next request with a Twilio error."""
        self._failures.append((status, code))

    def succeed_next(self) -> None:
        """Let one request through before the failures that are set after this."""
        self._failures.append(None)

    async def wait_sent(self, count: int, within_s: float = 5.0) -> list[dict[str, str]]:
        """The accepted requests once there are `count` of them."""
        async with asyncio.timeout(within_s), self._changed:
            await self._changed.wait_for(lambda: len(self.sent) >= count)
        return self.sent

    async def _show_typing(self, request: Request) -> Response:
        if not self._is_authenticated(request):
            return _refusal(401, 20003, "Authenticate")
        form = dict(parse_qsl((await request.body()).decode(), keep_blank_values=True))
        if (
            form.keys() != {"channel", "messageId"}
            or form["channel"] != "whatsapp"
            or not _MESSAGE_SID.fullmatch(form["messageId"])
        ):
            self.violations.append(f"typing sign: {form}")
            return _refusal(400, 20001, "Bad request")
        if self.refuses_typing:
            return _refusal(400, 63000, "Channel provider returned an error")
        self.typing.append(form["messageId"])
        return JSONResponse({"success": True})

    def _is_authenticated(self, request: Request) -> bool:
        expected = "Basic " + base64.b64encode(self._credentials.encode()).decode()
        return request.headers.get("authorization") == expected

    async def _create(self, request: Request) -> Response:
        if not self._is_authenticated(request):
            return _refusal(401, 20003, "Authenticate")
        body = await request.body()
        form = dict(parse_qsl(body.decode(), keep_blank_values=True))
        self.requests.append(form)
        account_sid = request.path_params["AccountSid"]
        if broken := _violations(request, body):
            self.violations.extend(broken)
            return _refusal(400, 21600, "; ".join(broken))
        failure = self._failures.popleft() if self._failures else None
        if failure:
            return _refusal(*failure, f"The number {form['To']} cannot be reached")
        if not ("Body" in form or "ContentSid" in form):
            return _refusal(400, 21619, "A text message body or media urls must be specified.")
        if len(form.get("Body", "")) > 1600:
            return _refusal(400, 21617, "The concatenated message body exceeds the 1600 character limit")
        async with self._changed:
            self.sent.append(form)
            self._changed.notify_all()
        sid = f"SM{next(self._numbers):032x}"
        content = {
            "sid": sid,
            "account_sid": account_sid,
            "status": "queued",
            "to": form["To"],
            "from": form["From"],
            "body": form.get("Body"),
        }
        return JSONResponse(content, status_code=201)


async def post_signed_form(
    url: str,
    token: str,
    form: dict[str, str],
    *,
    signed_url: str | None = None,
    client: httpx.AsyncClient | None = None,
    **headers: str,
) -> httpx.Response:
    """Post a form to `url` as Twilio would, signed with Twilio's own code.

    Args:
        url: Where it is posted.
        token: The auth token that signs.
        form: The fields.
        signed_url: The address that is signed, where a proxy or a forger stands between; `url` itself if None.
        client: Used if given, and left open.
        headers: Further headers, with underscores for dashes.
    """
    signature = RequestValidator(token).compute_signature(signed_url or url, form)
    sent = {"X-Twilio-Signature": signature} | {name.replace("_", "-"): value for name, value in headers.items()}
    if client:
        return await client.post(url, data=form, headers=sent)
    async with httpx.AsyncClient() as own:
        return await own.post(url, data=form, headers=sent)


def whatsapp_form(body: str = "", number: str = "+393331234567", **fields: str) -> dict[str, str]:
    """The form of a message from this number; further fields as Twilio names them."""
    form = {
        "MessageSid": f"SM{os.urandom(16).hex()}",
        "AccountSid": ACCOUNT_SID,
        "From": f"whatsapp:{number}",
        "WaId": number.lstrip("+"),
        "To": SENDER,
        "ProfileName": "Mario Rossi",
        "Body": body,
        "NumMedia": "0",
    }
    return form | fields


def _violations(request: Request, body: bytes) -> list[str]:
    """What breaks Twilio's description, in openapi-core's words."""
    held = MockRequest(
        "https://api.twilio.com",
        request.method.lower(),
        request.url.path,
        headers=dict(request.headers),
        content_type=request.headers.get("content-type", "").partition(";")[0],
        data=body,
    )
    try:
        _contract().validate_request(held)
    except OpenAPIError as error:
        return [f"{error!r}: {error.__cause__!r}"]
    return []


@lru_cache(maxsize=1)
def _contract() -> OpenAPI:
    """Twilio's OpenAPI description of how a message is created, the form closed to unknown names."""
    document = json.loads(_CONTRACT.read_text(encoding="utf-8"))
    content = document["paths"][_MESSAGES]["post"]["requestBody"]["content"]
    content["application/x-www-form-urlencoded"]["schema"]["additionalProperties"] = False
    return OpenAPI.from_dict(document)


def _refusal(status: int, code: int, message: str) -> Response:
    return JSONResponse({"code": code, "message": message, "status": status, "more_info": ""}, status_code=status)
