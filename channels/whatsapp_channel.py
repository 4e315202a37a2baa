"""WhatsApp through Twilio: signed webhooks in, the REST API out."""

import asyncio
import logging
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from urllib.parse import parse_qsl, urlsplit

from starlette.datastructures import ImmutableMultiDict
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route
from twilio.request_validator import RequestValidator

from channels.base import Receive
from channels.errors import ChannelMisconfigured, DeliveryFailed, WindowClosed
from channels.messages import InboundMessage, MessageKind, OutboundMessage, Patient, Platform
from channels.numbered_replies import NumberedReplies
from channels.pacing import Pace
from channels.redaction import quieten_libraries
from channels.webhook import InFlight, read_body
from channels.whatsapp_contacts import Contacts
from channels.whatsapp_inbound import PREFIX, read_form
from channels.whatsapp_sender import TwilioTransport, WhatsAppSender

_log = logging.getLogger(__name__)

WEBHOOK_PATH = "/whatsapp/webhook"
STATUS_PATH = "/whatsapp/status"
_LARGEST_BODY = 64 * 1024  # a WhatsApp text has at most 4,096 characters, percent-encoded 12 bytes each
_MOST_FIELDS = 500
_REQUEST_TIMEOUT_S = 15.0
_STOP_GRACE_S = 20.0
_PURGE_EVERY_S = 60.0
_SANDBOX = f"{PREFIX}+14155238886"
_SANDBOX_PACE_S = 3.0  # Twilio's limit for its sandbox
_TYPING_AFTER_S = 1.5  # an answer that is quicker needs no sign, and none should come in after it
_TEMPLATE_SID = re.compile(r"HX[0-9a-fA-F]{32}")
_STATUSES = frozenset(
    {"queued", "sending", "sent", "delivered", "read", "undelivered", "failed", "accepted", "scheduled", "canceled"}
)
_ERROR_CODE = re.compile(r"[1-9]\d{3,5}")

OnStatus = Callable[[str, str | None], None]
"""Counts what became of a message: its status, "other" if unknown, and Twilio's error code if there is one."""


class WhatsAppChannel:
    """WhatsApp, both ways.

    Args:
        account_sid: Twilio's account.
        auth_token: Its secret, which also proves that a webhook comes from Twilio.
        sender: The bot's number, "+39…" or "whatsapp:+39…".
        public_base_url: What Twilio has as this server's address; signatures are checked against it and nothing else.
        api_base_url: Stands in for Twilio's own host (a test double).
        button_hint: How one choice is written, with {number} and {label}.
        on_status: Told of every delivery status; never given a number or a text.
        pace_s: Seconds between two messages of this number; if None, 3 for Twilio's sandbox and 0 for any other number.
        template_sid: An approved template ("HX…") that is sent, without variables, in place of a reply that comes too late for
            free text; without one such a reply is not sent.
        discard: Whether to ask Twilio to keep no text of what is sent; the account must have Message Redaction.
        typing: Whether to ask Twilio for the typing sign, which also marks the patient's message as read.
        retry_delay_s: First pause when Twilio is busy or unreachable; doubles each time.

    Raises:
        ChannelMisconfigured: If any of the first four is missing or unusable.
    """

    def __init__(
        self,
        account_sid: str,
        auth_token: str,
        sender: str,
        public_base_url: str,
        api_base_url: str | None = None,
        *,
        button_hint: str = "{number}. {label}",
        on_status: OnStatus | None = None,
        pace_s: float | None = None,
        template_sid: str = "",
        discard: bool = False,
        typing: bool = True,
        retry_delay_s: float = 1.0,
    ) -> None:
        if not (account_sid and auth_token and sender):
            raise ChannelMisconfigured("WhatsApp needs Twilio's account, its auth token and the sending number")
        if urlsplit(public_base_url).scheme not in ("https", "http") or not urlsplit(public_base_url).netloc:
            raise ChannelMisconfigured("WhatsApp needs the server's public address: signatures are checked against it")
        if template_sid and not _TEMPLATE_SID.fullmatch(template_sid):
            raise ChannelMisconfigured("a WhatsApp template is named by HX and 32 hexadecimal digits")
        quieten_libraries(auth_token)
        self._account_sid = account_sid
        self._auth_token = auth_token
        self._sender_address = sender if sender.startswith(PREFIX) else f"{PREFIX}{sender}"
        self._base_url = public_base_url.rstrip("/")
        self._api_base_url = api_base_url
        self._button_hint = button_hint
        self._on_status = on_status
        self._template_sid = template_sid
        self._discard = discard
        self._typing = typing
        self._retry_delay_s = retry_delay_s
        self._pace = Pace((_SANDBOX_PACE_S if self._sender_address == _SANDBOX else 0.0) if pace_s is None else pace_s)
        self._contacts = Contacts()
        self._validator = RequestValidator(auth_token)
        self._replies = NumberedReplies()
        self._receive: Receive | None = None
        self._purging: asyncio.TimerHandle | None = None
        self._transport: TwilioTransport | None = None
        self._sender: WhatsAppSender | None = None
        self._sending = InFlight()

    def __repr__(self) -> str:
        return "WhatsAppChannel()"

    @property
    def platform(self) -> Platform:
        """Which messenger this is."""
        return Platform.WHATSAPP

    def routes(self) -> list[BaseRoute]:
        """The webhooks for messages and for delivery statuses."""
        return [
            Route(WEBHOOK_PATH, self._webhook, methods=["POST"]),
            Route(STATUS_PATH, self._status, methods=["POST"]),
        ]

    async def start(self, receive: Receive) -> None:
        """Open the connection to Twilio and deliver every arriving message to `receive`.

        Twilio is not called: the credentials are first tried by a reply.
        """
        from twilio.rest import Client  # loads hundreds of modules

        quieten_libraries(self._auth_token)
        self._transport = TwilioTransport(self._api_base_url, _REQUEST_TIMEOUT_S)
        self._sender = WhatsAppSender(
            Client(self._account_sid, self._auth_token, http_client=self._transport),
            self._sender_address,
            self._base_url + STATUS_PATH,
            button_hint=self._button_hint,
            retry_delay_s=self._retry_delay_s,
            pace=self._pace,
            discard=self._discard,
        )
        self._receive = receive
        self._purge_now_and_then()

    async def stop(self) -> None:
        """Take no more messages, let replies being sent finish, and close connections."""
        self._receive = None
        if self._purging:
            self._purging.cancel()
        if not await self._sending.finish(_STOP_GRACE_S):
            _log.warning("stopped while replies were still being sent")
        self._sender = None
        if self._transport:
            await self._transport.close()
            self._transport = None

    async def send(self, to: Patient, message: OutboundMessage) -> None:
        """Deliver a reply in as many parts as WhatsApp needs, in order; buttons become numbered lines.

        Raises:
            RecipientGone: If the patient opted out.
            WindowClosed: If the patient wrote last more than 24 hours ago, and no template stands in (H14).
            DeliveryFailed: If Twilio refuses the message for good or may not have received it.
        """
        if self._sender is None:
            raise DeliveryFailed("the channel is not started")
        with self._sending:
            try:
                await self._send_freely(self._sender, to.address, message)
            except WindowClosed:
                if not self._template_sid:
                    raise
                await self._sender.send_template(to.address, self._template_sid)
            self._contacts.note_sent(to.address)

    async def post(self, to: Patient, message: OutboundMessage) -> str | None:
        """Deliver a message as `send` does; WhatsApp cannot change it later."""
        await self.send(to, message)
        return None

    async def edit(self, to: Patient, handle: str, message: OutboundMessage) -> None:  # noqa: ARG002 - the protocol's signature
        """Refuse: `post` gave no handle."""
        raise DeliveryFailed("WhatsApp cannot change a message")

    async def send_rest(self, to: Patient, message: OutboundMessage) -> None:
        """Nothing: no message was changed."""

    async def delete(self, to: Patient, handles: Sequence[str]) -> bool:  # noqa: ARG002 - the protocol's signature
        """Nothing: WhatsApp lets a business delete no message."""
        return False

    async def show_typing(self, to: Patient) -> bool:
        """Show "typing…" below the patient's last message, for about 25 seconds and after a moment; failures are ignored."""
        if not self._typing or self._sender is None:
            return False
        await asyncio.sleep(_TYPING_AFTER_S)
        message_id = self._contacts.typing_due(to.address)
        if message_id is not None and self._sender is not None:
            self._contacts.note_typing(to.address, shown=await self._sender.show_typing(message_id))
        return self._contacts.is_typing_shown(to.address)

    def _purge_now_and_then(self) -> None:
        self._replies.purge()
        self._purging = asyncio.get_running_loop().call_later(_PURGE_EVERY_S, self._purge_now_and_then)

    async def _send_freely(self, sender: WhatsAppSender, address: str, message: OutboundMessage) -> None:
        if self._contacts.is_window_closed(address):
            raise WindowClosed("the patient wrote last more than 24 hours ago")
        self._replies.offer(address, message.buttons)
        await sender.send(address, message)

    async def _webhook(self, request: Request) -> Response:
        form = await self._signed_form(request)
        if isinstance(form, Response):
            return form
        if self._receive is None:
            return Response(status_code=503)
        message = read_form(form)
        if message:
            self._contacts.note(message.sender.address, message.message_id)
            await self._receive(self._with_choice(message))
        return _acknowledged()

    async def _status(self, request: Request) -> Response:
        """Note what became of a message; this never reaches the conversation (H14)."""
        form = await self._signed_form(request)
        if isinstance(form, Response):
            return form
        reported = form.get("MessageStatus") or form.get("SmsStatus") or ""
        status = reported if reported in _STATUSES else "other"
        error_code = form.get("ErrorCode", "")
        code = error_code if _ERROR_CODE.fullmatch(error_code) else None
        if status in ("failed", "undelivered"):
            _log.warning("WhatsApp did not deliver a message (status %s, Twilio error %s)", status, code)
        if self._on_status:
            self._on_status(status, code)
        return _acknowledged()

    async def _signed_form(self, request: Request) -> ImmutableMultiDict[str, str] | Response:
        """The form if Twilio signed it, else the refusal."""
        body = await read_body(request, _LARGEST_BODY)
        if body is None:
            return Response(status_code=413)
        try:
            fields = parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=_MOST_FIELDS, errors="strict")
        except ValueError:
            return Response(status_code=403)
        form = ImmutableMultiDict(fields)
        signature = request.headers.get("x-twilio-signature", "")
        if not signature or not self._validator.validate(self._signed_url(request), form, signature):
            return Response(status_code=403)
        return form

    def _signed_url(self, request: Request) -> str:
        """The address Twilio called: ours as configured, with path and query as they came, undecoded (H12)."""
        path: bytes = request.scope.get("raw_path") or request.scope["path"].encode()
        query: bytes = request.scope.get("query_string") or b""
        return self._base_url + (path + b"?" + query if query else path).decode("latin-1")

    def _with_choice(self, message: InboundMessage) -> InboundMessage:
        """A reply that names one of the numbered choices counts as a tap on it."""
        payload = self._replies.payload(message.sender.address, message.text) if message.kind is MessageKind.TEXT else None
        return replace(message, text=payload, kind=MessageKind.BUTTON) if payload else message


def _acknowledged() -> Response:
    return Response("<Response/>", media_type="text/xml")
