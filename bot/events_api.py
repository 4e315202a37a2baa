"""Takes content events from a CMS: each is checked and kept before it is acknowledged, and carried out by another process."""

import asyncio
import sqlite3
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from pydantic import SecretStr
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from bot.api_access import error_reply, is_signed, reply
from bot.telemetry import Telemetry
from channels.webhook import read_body
from ingest.errors import LedgerUnusable, SourceUnreadable
from ingest.importers.cms import ContentEvent, read_event
from ingest.ledger import Ledger
from ingest.run import ledger_path

PATH = "/cms/events"

_LARGEST_BODY = 3_000_000  # content has at most 2,000,000 characters
_REPEAT_AFTER_S = 30
_NOT_SIGNED = "the signature is missing or wrong, or its timestamp is more than five minutes from the time here"


class EventsApi:
    """The address that a CMS tells of its content.

    Args:
        secret: Signs every event.
        home: Whose ledger keeps them.
        wake: Told, on the event loop, that an event waits.
        telemetry: Notes what was refused and why, never what it held.
        clock: Unix seconds.
    """

    def __init__(
        self,
        secret: SecretStr,
        home: Path,
        wake: Callable[[], object],
        telemetry: Telemetry,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._secret = secret
        self._home = home
        self._wake = wake
        self._telemetry = telemetry
        self._clock = clock
        self._keeping = asyncio.Lock()  # one connection to the ledger at a time, however many events arrive at once

    def routes(self) -> list[BaseRoute]:
        """Routes for the web application."""
        return [Route(PATH, self._receive, methods=["POST"])]

    async def _receive(self, request: Request) -> Response:
        body = await read_body(request, _LARGEST_BODY)
        if body is None:
            return self._refuse("too_long", error_reply(413, f"an event has at most {_LARGEST_BODY:,} bytes"))
        if not await asyncio.to_thread(is_signed, request, body, self._secret, self._clock()):
            return self._refuse("not_signed", error_reply(401, _NOT_SIGNED, now=int(self._clock())))
        try:
            event, payload = await asyncio.to_thread(_read, body)
        except SourceUnreadable as error:
            return self._refuse("malformed", error_reply(400, str(error)))
        try:
            is_new = await self._keep(event.event_id, payload)
        except (LedgerUnusable, sqlite3.Error) as error:
            self._telemetry.failure("event_not_kept", error)
            return error_reply(503, "the event could not be kept; send it again", {"Retry-After": str(_REPEAT_AFTER_S)})
        self._telemetry.event("event_kept", outcome=event.kind.value if is_new else "duplicate")
        self._wake()
        return reply({"accepted": True, "duplicate": not is_new}, 202)

    async def _keep(self, event_id: str, payload: str) -> bool:
        received_at = datetime.fromtimestamp(self._clock(), UTC)
        async with self._keeping, Ledger.open(ledger_path(self._home)) as ledger:
            return await ledger.add_event(event_id, received_at, payload)

    def _refuse(self, reason: str, refusal: Response) -> Response:
        self._telemetry.warning("event_refused", outcome=reason)
        return refusal


def _read(body: bytes) -> tuple[ContentEvent, str]:
    """The event, and what of it must be kept until it is carried out.

    Raises:
        SourceUnreadable: If it is no event; the message names the key, and never holds a value.
    """
    event = read_event(body)
    needed = {"event_id": True, "kind": True, "content": {"content_id": True} if event.kind.is_withdrawal else True}
    return event, event.model_dump_json(by_alias=True, exclude_none=True, include=needed)
