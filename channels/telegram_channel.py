"""Telegram, over a webhook of our own server or, for development, by polling."""

import asyncio
import hmac
import json
import logging
import os
import re
import time
from collections.abc import Sequence
from enum import StrEnum
from typing import Any
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route
from telegram import Update
from telegram.constants import ChatAction
from telegram.error import Conflict, InvalidToken, TelegramError
from telegram.ext import Application, ApplicationBuilder, CallbackContext, ExtBot, TypeHandler, Updater

from channels.base import Receive
from channels.errors import ChannelMisconfigured, ChannelUnreachable
from channels.messages import InboundMessage, OutboundMessage, Patient, Platform
from channels.redaction import quieten_libraries
from channels.telegram_inbound import ALLOWED_UPDATES, read_update
from channels.telegram_menu import CommandMenu, checked_menu
from channels.telegram_polling import PollingRequest
from channels.telegram_sender import TelegramSender
from channels.webhook import InFlight, read_body

_log = logging.getLogger(__name__)

WEBHOOK_PATH = "/telegram/webhook"
_LARGEST_BODY = 512 * 1024  # an update quotes the message it replies to; real ones stay under 64 KiB
_STOP_GRACE_S = 20.0
_POLL_S = 10
_MOST_ACKNOWLEDGEMENTS = 200
_OFFICIAL_API = "https://api.telegram.org/bot"
_SECRET = re.compile(r"[A-Za-z0-9_-]{1,256}")


class TelegramMode(StrEnum):
    """How updates arrive."""

    POLLING = "polling"
    WEBHOOK = "webhook"


class TelegramChannel:
    """Telegram, both ways.

    Args:
        token: The bot's token.
        mode: `webhook` for a server with a public address, `polling` for development.
        webhook_secret: What Telegram must show with every update; needed in webhook mode, 1 to 256 of A-Z a-z 0-9 _ -.
        public_base_url: Where Telegram reaches this server, such as "https://bot.esempio.it"; needed in webhook mode.
        api_base_url: Another Bot API server, as python-telegram-bot's `base_url` (ends in "/bot").
        command_menu: Commands to offer in Telegram's menu. Accents are dropped from names, as Telegram's rule demands.
        retry_delay_s: First pause after a failed connection; doubles each time.

    Raises:
        ChannelMisconfigured: If the token, or in webhook mode the secret or the address, is missing or unusable.
    """

    def __init__(
        self,
        token: str,
        mode: TelegramMode | str = TelegramMode.POLLING,
        webhook_secret: str = "",
        public_base_url: str = "",
        api_base_url: str | None = None,
        *,
        command_menu: CommandMenu | None = None,
        retry_delay_s: float = 1.0,
    ) -> None:
        if not token:
            raise ChannelMisconfigured("the Telegram token is missing")
        self._mode = TelegramMode(mode)
        if self._mode is TelegramMode.WEBHOOK:
            _check_webhook(webhook_secret, public_base_url)
        # Without it the library warns, with every flood wait, that its type will change.
        os.environ.setdefault("PTB_TIMEDELTA", "true")
        quieten_libraries(token, webhook_secret)
        self._secret = webhook_secret.encode()
        self._webhook_url = public_base_url.rstrip("/") + WEBHOOK_PATH
        self._menu = checked_menu(command_menu or {})
        self._polls = PollingRequest(connection_pool_size=1)
        builder = ApplicationBuilder().token(token).base_url(api_base_url or _OFFICIAL_API).get_updates_request(self._polls)
        # More connections than these make each request slower: the pool looks at all of them.
        builder = builder.connection_pool_size(32).pool_timeout(30.0)
        self._application: Application[Any, Any, Any, Any, Any, Any] = builder.updater(None).job_queue(None).build()
        self._application.add_handler(TypeHandler(Update, self._on_polled))
        self._application.add_error_handler(_log_failed_update)
        self._bot: ExtBot[Any] = self._application.bot
        self._updater: Updater | None = None
        self._sender = TelegramSender(self._bot, retry_delay_s=retry_delay_s)
        self._receive: Receive | None = None
        self._sending = InFlight()
        self._acknowledgements: set[asyncio.Task[None]] = set()
        self._conflict_logged = False

    def __repr__(self) -> str:
        return f"TelegramChannel(mode={self._mode.value!r})"

    @property
    def platform(self) -> Platform:
        """Which messenger this is."""
        return Platform.TELEGRAM

    @property
    def seconds_since_poll(self) -> float | None:
        """Age of the last answer to a poll, or of the start without any; None in webhook mode and before the start (H11)."""
        return None if self._polls.last_answer is None else time.monotonic() - self._polls.last_answer

    def routes(self) -> list[BaseRoute]:
        """The webhook; none when polling."""
        if self._mode is TelegramMode.POLLING:
            return []
        return [Route(WEBHOOK_PATH, self._webhook, methods=["POST"])]

    async def start(self, receive: Receive) -> None:
        """Connect, register webhook and command menu, and deliver every arriving message to `receive`.

        Raises:
            ChannelMisconfigured: If Telegram refuses the token.
            ChannelUnreachable: If Telegram cannot be reached.
        """
        try:
            await self._application.initialize()
            self._receive = receive
            await self._listen()
        except TelegramError as error:
            await self.stop()
            if isinstance(error, InvalidToken):
                raise ChannelMisconfigured("Telegram refuses the token") from None
            raise ChannelUnreachable(f"Telegram cannot be reached ({type(error).__name__})") from None
        await self._register_menu()

    async def stop(self) -> None:
        """Take no more messages, let replies being sent finish, and close connections.

        The webhook stays registered, so that Telegram keeps messages meanwhile.
        """
        if self._updater and self._updater.running:
            await self._updater.stop()
        if self._application.running:
            await self._application.stop()
        self._receive = None
        if not await self._sending.finish(_STOP_GRACE_S):
            _log.warning("stopped while replies were still being sent")
        await asyncio.gather(*self._acknowledgements)
        if self._updater:
            await self._updater.shutdown()
            self._updater = None
        await self._application.shutdown()
        await self._bot.shutdown()  # the application leaves it open if it never came up

    async def send(self, to: Patient, message: OutboundMessage) -> None:
        """Deliver a reply in as many parts as Telegram needs, in order.

        Raises:
            RecipientGone: If the patient blocked the bot.
            DeliveryFailed: If Telegram refuses the message for good or may not have received it.
        """
        with self._sending:
            await self._sender.send(to.address, message)

    async def post(self, to: Patient, message: OutboundMessage) -> str | None:
        """Deliver a message as `send` does, and give the numbers of its parts, the last of which can be changed."""
        with self._sending:
            return await self._sender.send(to.address, message)

    async def edit(self, to: Patient, handle: str, message: OutboundMessage) -> None:
        """Show another text in place of a message; see `Channel.edit` for what can fail."""
        with self._sending:
            await self._sender.edit(to.address, handle, message)

    async def send_rest(self, to: Patient, message: OutboundMessage) -> None:
        """Deliver what did not fit the message that `edit` changed."""
        with self._sending:
            await self._sender.send_rest(to.address, message)

    async def delete(self, to: Patient, handles: Sequence[str]) -> bool:
        """Delete the bot's and the patient's messages from a private chat; never from a group."""
        with self._sending:
            return await self._sender.delete(to.address, handles)

    async def show_typing(self, to: Patient) -> bool:
        """Show "typing…" for about five seconds; failures, flood limits among them, are ignored (H05)."""
        if self._sender.is_flooded(to.address):
            return True
        try:
            await self._bot.send_chat_action(chat_id=int(to.address), action=ChatAction.TYPING)
        except TelegramError as error:
            _log.debug("typing not shown (%s)", type(error).__name__)
        return True  # a sign that failed is shown by the next call; words in its place would only add to a flood

    async def _listen(self) -> None:
        if self._mode is TelegramMode.WEBHOOK:
            await self._bot.set_webhook(
                self._webhook_url, secret_token=self._secret.decode(), allowed_updates=ALLOWED_UPDATES, drop_pending_updates=False
            )
            return
        self._updater = Updater(self._bot, self._application.update_queue)
        await self._updater.initialize()
        await self._application.start()
        self._polls.last_answer = time.monotonic()
        await self._updater.start_polling(timeout=_POLL_S, allowed_updates=ALLOWED_UPDATES, error_callback=self._log_failed_poll)

    async def _register_menu(self) -> None:
        try:
            for number, (language, commands) in enumerate(self._menu.items()):
                if number == 0:
                    await self._bot.set_my_commands(commands)
                await self._bot.set_my_commands(commands, language_code=language)
        except TelegramError as error:
            _log.warning("the command menu was not registered (%s)", type(error).__name__)

    async def _webhook(self, request: Request) -> Response:
        # Headers arrive as Latin-1; comparing bytes lets no odd character raise (H08).
        shown = request.headers.get("x-telegram-bot-api-secret-token", "").encode("latin-1", "replace")
        if not hmac.compare_digest(shown, self._secret):
            return Response(status_code=403)
        body = await read_body(request, _LARGEST_BODY)
        if body is None:
            return Response(status_code=413)
        try:
            content = json.loads(body)
        except (ValueError, RecursionError):
            return Response(status_code=400)
        if not isinstance(content, dict):
            return Response(status_code=400)
        if self._receive is None:
            return Response(status_code=503)  # Telegram delivers again once we are up
        update = self._parsed(content)
        if update:
            await self._deliver(update)
        return Response(status_code=200)

    def _parsed(self, content: dict[str, Any]) -> Update | None:
        try:
            return Update.de_json(content, self._bot)
        except Exception as error:  # noqa: BLE001 - whatever the library trips over
            # Refusing it would make Telegram send it again and again, and hold back what comes after.
            _log.warning("an update could not be read (%s)", type(error).__name__)
            return None

    async def _deliver(self, update: Update) -> None:
        if update.callback_query:
            self._acknowledge(str(update.callback_query.id))
        message = self._read(update)
        if message and self._receive:
            await self._receive(message)

    def _read(self, update: Update) -> InboundMessage | None:
        try:
            return read_update(update, self._bot.bot)
        except Exception as error:  # noqa: BLE001 - a field of another kind than the Bot API says, which the library lets pass
            _log.warning("a message could not be read (%s)", type(error).__name__)
            return None

    def _acknowledge(self, query_id: str) -> None:
        """Stop the button's spinner, without making the webhook wait for it."""
        if len(self._acknowledgements) >= _MOST_ACKNOWLEDGEMENTS:  # the spinner stops by itself
            return
        task = asyncio.create_task(self._answer_tap(query_id))
        self._acknowledgements.add(task)
        task.add_done_callback(self._acknowledgements.discard)

    async def _answer_tap(self, query_id: str) -> None:
        try:
            await self._bot.answer_callback_query(query_id)
        except (TelegramError, ValueError) as error:  # expired, or no id at all: nothing to mend (H10)
            _log.debug("a tap was not answered (%s)", type(error).__name__)

    async def _on_polled(self, update: Update, _: CallbackContext[Any, Any, Any, Any]) -> None:
        await self._deliver(update)

    def _log_failed_poll(self, error: TelegramError) -> None:
        if not isinstance(error, Conflict):
            _log.warning("polling failed (%s); trying again", type(error).__name__)
        elif not self._conflict_logged:
            self._conflict_logged = True
            _log.error("another process polls with the same token; trying again at growing intervals")


async def _log_failed_update(_: object, context: CallbackContext[Any, Any, Any, Any]) -> None:
    _log.error("a polled message could not be handled (%s)", type(context.error).__name__)


def _check_webhook(secret: str, base_url: str) -> None:
    if not secret:
        raise ChannelMisconfigured("Telegram's webhook mode needs a webhook secret")
    if not _SECRET.fullmatch(secret):
        raise ChannelMisconfigured("the Telegram webhook secret may hold only 1 to 256 of A-Z a-z 0-9 _ -")
    if urlsplit(base_url).scheme not in ("https", "http") or not urlsplit(base_url).netloc:
        raise ChannelMisconfigured("Telegram's webhook mode needs the server's public address")
