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
from typing import Any, Self
from urllib.parse import parse_qsl

import httpx
from jsonschema import Draft7Validator
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
# Enough to catch a wrong name where Twilio's description is not at hand.
_BUILT_IN: dict[str, Any] = {
    "type": "object",
    "required": ["To", "From", "Body"],
    "additionalProperties": False,
    "properties": {
        name: {"type": "string"} for name in ("To", "From", "Body", "StatusCallback", "MessagingServiceSid", "ContentSid")
    },
}


class TwilioDouble:
    """`async with TwilioDouble() as twilio:` then give the channel `ACCOUNT_SID`, `AUTH_TOKEN`, `SENDER` and `twilio.url`.

    `twilio.sent` has the accepted requests as dictionaries (`To`, `From`, `Body`, `StatusCallback`), `twilio.requests` all.
    `twilio.fail_next(400, 21610)` refuses the next request; failures queue up, `twilio.succeed_next()` lets one through between.
    `twilio.violations` lists what broke Twilio's description; such a request is refused. A body over 1,600 gets 21617.
    """

    def __init__(self, account_sid: str = ACCOUNT_SID, auth_token: str = AUTH_TOKEN) -> None:
        self.sent: list[dict[str, str]] = []
        self.requests: list[dict[str, str]] = []
        self.violations: list[str] = []
        self._credentials = f"{account_sid}:{auth_token}"
        self._failures: deque[tuple[int, int] | None] = deque()
        self._changed = asyncio.Condition()
        self._numbers = itertools.count(1)
        self._server = LocalServer(Starlette(routes=[Route(_MESSAGES, self._create, methods=["POST"])]))

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

    async def _create(self, request: Request) -> Response:
        expected = "Basic " + base64.b64encode(self._credentials.encode()).decode()
        if request.headers.get("authorization") != expected:
            return _refusal(401, 20003, "Authenticate")
        form = dict(parse_qsl((await request.body()).decode(), keep_blank_values=True))
        self.requests.append(form)
        account_sid = request.path_params["AccountSid"]
        if broken := _violations(form, account_sid):
            self.violations.extend(broken)
            return _refusal(400, 21600, "; ".join(broken))
        failure = self._failures.popleft() if self._failures else None
        if failure:
            return _refusal(*failure, f"The number {form['To']} cannot be reached")
        if len(form["Body"]) > 1600:
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
            "body": form["Body"],
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


def has_description() -> bool:
    """Whether Twilio's own description was found, so that requests are held to it."""
    return _description() is not None


def _violations(form: dict[str, str], account_sid: str) -> list[str]:
    description = _description()
    schema = _BUILT_IN if description is None else description
    problems = [error.message for error in Draft7Validator(schema).iter_errors(form)]
    if not re.fullmatch(r"AC[0-9a-fA-F]{32}", account_sid):
        problems.append("AccountSid has the wrong form")
    return problems


@lru_cache(maxsize=1)
def _description() -> dict[str, Any] | None:
    """The form schema of Twilio's OpenAPI description, closed to unknown names."""
    beside = Path(__file__).resolve().parents[3] / "shared" / "contracts" / "twilio_api_v2010.json"
    path = Path(os.environ.get("SALUS_TWILIO_CONTRACT", beside))
    if not path.is_file():
        return None
    document = json.loads(path.read_text(encoding="utf-8"))
    content = document["paths"][_MESSAGES]["post"]["requestBody"]["content"]
    schema: dict[str, Any] = content["application/x-www-form-urlencoded"]["schema"]
    # A form has only strings: what is checked is the names, the required ones, lengths and patterns.
    texts = ("minLength", "maxLength", "pattern")
    properties = {
        name: {"type": "string"} | {key: rule[key] for key in texts if key in rule} for name, rule in schema["properties"].items()
    }
    return {"type": "object", "required": schema["required"], "properties": properties, "additionalProperties": False}


def _refusal(status: int, code: int, message: str) -> Response:
    return JSONResponse({"code": code, "message": message, "status": status, "more_info": ""}, status_code=status)
