"""Sending one reply to WhatsApp through Twilio, part by part, through its refusals."""

import asyncio
import base64
import logging
import re
from typing import Any

import aiohttp
from twilio.base.exceptions import TwilioException

from channels import markup, splitting
from channels.errors import DeliveryFailed, RecipientGone, WindowClosed
from channels.messages import OutboundMessage
from channels.numbered_replies import numbered_lines
from channels.pacing import Pace

_log = logging.getLogger(__name__)

LONGEST_PART = 1600
_SHORTER_PART = 700  # for the rare part that Twilio still counts as too long
_TRIES = 5
_TOO_LONG = 21617
_GONE = (21610, 63014)  # opted out at Twilio, or blocked by WhatsApp: final (H17)
_WINDOW_CLOSED = 63016
_TOO_MANY = (429, 20429, 63018)
_MESSAGE_SID = re.compile(r"(?:SM|MM)[0-9a-fA-F]{32}")


class _TooLong(DeliveryFailed):
    """Twilio counts the part as too long."""


class TwilioTransport:
    """Twilio's HTTP client with a time limit, and with another host in place of Twilio's where one is configured.

    To be made inside a running event loop.
    """

    is_async = True

    def __init__(self, api_base_url: str | None, timeout_s: float) -> None:
        from twilio.http.async_http_client import AsyncTwilioHttpClient

        self._client = AsyncTwilioHttpClient(pool_connections=False)
        # Each request has a connection of its own: a kept one may have been closed at the other end, and then nobody knows
        # whether Twilio took the message.
        self._client.session = aiohttp.ClientSession(connector=aiohttp.TCPConnector(force_close=True))
        self._api_base_url = api_base_url
        self._timeout_s = timeout_s

    async def request(self, method: str, url: str, **options: Any) -> Any:  # noqa: ANN401 - passed on as they are
        """Make one request to Twilio's API or what stands in for it."""
        if self._api_base_url:
            url = self._api_base_url.rstrip("/") + "/" + url.split("/", 3)[3]
        if auth := options.pop("auth", None):
            # The client would make an aiohttp.BasicAuth, which aiohttp has deprecated with a warning at every request.
            credentials = base64.b64encode(":".join(auth).encode()).decode()
            options["headers"] = {**(options.get("headers") or {}), "Authorization": f"Basic {credentials}"}
        options["timeout"] = options.get("timeout") or self._timeout_s
        try:
            return await self._client.request(method, url, **options)
        finally:
            self._client._test_only_last_request = None  # noqa: SLF001 - the library keeps number and text for its own tests

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()


class WhatsAppSender:
    """Delivers replies in parts of at most 1,600 characters, in order, none of them twice.

    An emergency message is sent again when it is unknown whether Twilio took it: twice does no harm there and never does.
    """

    def __init__(
        self,
        client: Any,  # noqa: ANN401 - twilio is untyped
        sender: str,
        status_callback: str,
        *,
        button_hint: str,
        retry_delay_s: float,
        pace: Pace,
        discard: bool = False,
    ) -> None:
        self._client = client
        self._sender = sender
        self._status_callback = status_callback
        self._button_hint = button_hint
        self._retry_delay_s = retry_delay_s
        self._pace = pace
        self._retention = {"content_retention": "discard"} if discard else {}

    async def send(self, address: str, message: OutboundMessage) -> None:
        """Deliver a reply.

        Raises:
            RecipientGone: If the patient opted out.
            WindowClosed: If Twilio takes no free text any more.
            DeliveryFailed: If Twilio refuses a part for good or may not have received it.
        """
        choices = numbered_lines(message.buttons_hint, message.buttons, self._button_hint)
        for part in splitting.numbered_parts(markup.blocks(message, choices), markup.whatsapp, LONGEST_PART):
            try:
                await self._send_text(address, part, insist=message.emphasis)
            except _TooLong:
                _log.warning("Twilio found a part too long (%d); sending it in shorter ones", _TOO_LONG)
                for shorter in splitting.split(part, markup.whatsapp, _SHORTER_PART):
                    await self._send_text(address, shorter, insist=message.emphasis)

    async def send_template(self, address: str, template_sid: str) -> None:
        """Deliver an approved template as it is, without any variable.

        Raises:
            RecipientGone: If the patient opted out.
            DeliveryFailed: If Twilio refuses it for good or may not have received it.
        """
        await self._create(address, insist=False, content_sid=template_sid)

    async def show_typing(self, message_id: str) -> bool:
        """Ask once for the typing sign below a patient's message; whether Twilio took it."""
        if not _MESSAGE_SID.fullmatch(message_id):
            return False
        try:
            await self._client.messaging.v2.typing_indicator.create_async("whatsapp", message_id)
        except (TwilioException, aiohttp.ClientError, TimeoutError) as error:
            _log.debug("typing not shown (%s)", type(error).__name__)
            return False
        return True

    async def _send_text(self, address: str, part: list[markup.Block], *, insist: bool) -> None:
        await self._create(address, insist=insist, body=splitting.join(part, markup.whatsapp))

    async def _create(self, address: str, *, insist: bool, **content: str) -> None:
        for attempt in range(1, _TRIES + 1):
            await self._pace.turn(urgent=insist)
            try:
                await self._client.messages.create_async(
                    to=address, from_=self._sender, status_callback=self._status_callback, **self._retention, **content
                )
            except TwilioException as error:
                _raise_if_final(error, attempt, insist=insist)
            except aiohttp.ClientConnectorError:
                _raise_if_last(attempt)
            except (aiohttp.ClientError, TimeoutError):
                if not insist:
                    raise DeliveryFailed("Twilio may not have received a part") from None
                _raise_if_last(attempt)
            else:
                return
            await asyncio.sleep(self._retry_delay_s * 2.0 ** (attempt - 1))


def _raise_if_final(error: Any, attempt: int, *, insist: bool) -> None:  # noqa: ANN401 - twilio is untyped
    """Raise what the caller must know unless the part may be tried again.

    Twilio's own wording names the patient's number, so it is left out.
    """
    code, status = getattr(error, "code", None), getattr(error, "status", None)
    if code in _GONE:
        raise RecipientGone(f"the patient cannot be written to (Twilio {code})") from None
    if code == _TOO_LONG:
        raise _TooLong("a part is too long for Twilio") from None
    if code == _WINDOW_CLOSED:
        raise WindowClosed(f"the patient wrote too long ago (Twilio {code})") from None
    busy = status in _TOO_MANY or code in _TOO_MANY
    broken = insist and isinstance(status, int) and status >= 500
    if not (busy or broken) or attempt == _TRIES:
        raise DeliveryFailed(f"Twilio refused a part ({code or status or type(error).__name__})") from None


def _raise_if_last(attempt: int) -> None:
    if attempt == _TRIES:
        raise DeliveryFailed("Twilio could not be reached") from None
