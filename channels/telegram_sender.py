"""Sending one reply to Telegram, part by part, through its refusals."""

import asyncio
import logging
from datetime import timedelta

import httpx
from telegram import Bot, InlineKeyboardButton, InlineKeyboardMarkup, LinkPreviewOptions
from telegram.constants import InlineKeyboardButtonLimit, MessageLimit, ParseMode
from telegram.error import BadRequest, Forbidden, NetworkError, RetryAfter, TelegramError, TimedOut

from channels import markup, splitting
from channels.errors import DeliveryFailed, MessageGone, RecipientGone, TryLater
from channels.messages import Button, OutboundMessage

_log = logging.getLogger(__name__)

_TRIES = 4
_LONGEST_WAIT_S = 60.0  # beyond this a patient has long gone elsewhere
_NOT_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)
_ROW_LENGTH = 30  # labels together longer than this are cut short on a narrow phone
_NOT_EDITABLE = ("message to edit not found", "message can't be edited", "message_id_invalid")
_NO_PREVIEW = LinkPreviewOptions(is_disabled=True)


class _PerhapsDelivered(DeliveryFailed):
    """The connection broke after the request was written: Telegram may have taken the part."""


class TelegramSender:
    """Delivers replies in parts of at most 4,096 UTF-16 units, in order, none of them twice.

    An emergency message is the exception: when it is unknown whether Telegram took a part of it, the part is sent again, since
    twice does no harm there and never does.
    """

    def __init__(self, bot: Bot, *, retry_delay_s: float = 1.0) -> None:
        self._bot = bot
        self._retry_delay_s = retry_delay_s

    async def send(self, address: str, message: OutboundMessage) -> str | None:
        """Deliver a reply.

        Returns:
            The number of its last message.

        Raises:
            RecipientGone: If the patient blocked the bot or closed the account.
            DeliveryFailed: If a part was refused for good, or may not have arrived; later parts were still sent in that case.
        """
        return await self._send_parts(address, _parts(message), message)

    async def send_rest(self, address: str, message: OutboundMessage) -> None:
        """Deliver the parts of a reply that do not fit the first message, which `edit` shows.

        Raises:
            RecipientGone: If the patient blocked the bot or closed the account.
            DeliveryFailed: If a part was refused for good, or may not have arrived; later parts were still sent in that case.
        """
        await self._send_parts(address, _parts(message)[1:], message)

    async def _send_parts(self, address: str, parts: list[list[markup.Block]], message: OutboundMessage) -> str | None:
        unsure, last = False, None
        for number, part in enumerate(parts, start=1):
            keyboard = _keyboard(message.buttons) if number == len(parts) else None
            try:
                last = await self._send_part(address, part, keyboard, insist=message.emphasis)
            except _PerhapsDelivered:
                unsure = True
        if unsure:
            raise DeliveryFailed("Telegram may not have received a part")
        return None if last is None else str(last)

    async def edit(self, address: str, handle: str, message: OutboundMessage) -> None:
        """Show a reply in place of an earlier message, as far as it fits one message; the buttons stand below the last part.

        Raises:
            TryLater: If Telegram asks to wait.
            MessageGone: If the message is not there any more.
            RecipientGone: If the patient blocked the bot.
            DeliveryFailed: If it failed otherwise.
        """
        part, *others = _parts(message)
        try:
            await self._bot.edit_message_text(
                chat_id=int(address),
                message_id=int(handle),
                text=splitting.join(part, markup.html),
                parse_mode=ParseMode.HTML,
                reply_markup=None if others else _keyboard(message.buttons),
                link_preview_options=_NO_PREVIEW,
            )
        except TelegramError as error:
            if "message is not modified" not in str(error).lower():
                raise _edit_failure(error) from None

    async def _send_part(
        self, address: str, part: list[markup.Block], keyboard: InlineKeyboardMarkup | None, *, insist: bool
    ) -> int:
        formatted = True
        for attempt in range(1, _TRIES + 1):
            try:
                return await self._send_text(address, part, keyboard, formatted=formatted)
            except TelegramError as error:
                if formatted and isinstance(error, BadRequest) and "parse entities" in str(error).lower():
                    _log.warning("Telegram could not read the markup of a part; sending it as plain text")
                    formatted = False
                    continue
                await asyncio.sleep(self._pause(error, attempt, insist=insist))
        raise DeliveryFailed("Telegram kept refusing a part")

    async def _send_text(
        self, address: str, part: list[markup.Block], keyboard: InlineKeyboardMarkup | None, *, formatted: bool
    ) -> int:
        sent = await self._bot.send_message(
            chat_id=int(address),
            text=splitting.join(part, markup.html if formatted else markup.plain),
            parse_mode=ParseMode.HTML if formatted else None,
            reply_markup=keyboard,
            link_preview_options=_NO_PREVIEW,
        )
        return sent.message_id

    def _pause(self, error: TelegramError, attempt: int, *, insist: bool) -> float:
        """Seconds to wait before the part is tried again; raises what the caller must know if it should not be."""
        if isinstance(error, Forbidden):
            raise RecipientGone("the patient blocked the bot or left") from None
        pause = self._retry_delay_s * 2.0 ** (attempt - 1)
        if isinstance(error, RetryAfter):
            pause = _seconds(error.retry_after)
        elif isinstance(error, BadRequest) or not isinstance(error, NetworkError):
            raise DeliveryFailed(f"Telegram refused a part ({type(error).__name__})") from None
        elif not (insist or _surely_not_taken(error)):
            raise _PerhapsDelivered("the connection to Telegram broke") from None
        if attempt == _TRIES or pause > _LONGEST_WAIT_S:
            raise DeliveryFailed(f"Telegram could not take a part ({type(error).__name__})") from None
        return pause


def _parts(message: OutboundMessage) -> list[list[markup.Block]]:
    return splitting.split(markup.blocks(message), markup.html, MessageLimit.MAX_TEXT_LENGTH)


def _edit_failure(error: TelegramError) -> DeliveryFailed:
    if isinstance(error, RetryAfter):
        return TryLater(_seconds(error.retry_after))
    if isinstance(error, Forbidden):
        return RecipientGone("the patient blocked the bot or left")
    words = str(error).lower()
    if isinstance(error, BadRequest) and any(sign in words for sign in _NOT_EDITABLE):
        return MessageGone("the message cannot be changed any more")
    return DeliveryFailed(f"Telegram did not change a message ({type(error).__name__})")


def _surely_not_taken(error: NetworkError) -> bool:
    if isinstance(error.__cause__, _NOT_SENT):
        return True
    return not isinstance(error, TimedOut) and "too many requests" in str(error).lower()


def _seconds(wait: int | timedelta) -> float:
    return wait.total_seconds() if isinstance(wait, timedelta) else float(wait)


def _keyboard(buttons: tuple[Button, ...]) -> InlineKeyboardMarkup | None:
    keys = [InlineKeyboardButton(button.label, callback_data=button.payload) for button in buttons if _tappable(button)]
    if not keys:
        return None
    in_one_row = sum(len(key.text) for key in keys) <= _ROW_LENGTH
    return InlineKeyboardMarkup([keys] if in_one_row else [[key] for key in keys])


def _tappable(button: Button) -> bool:
    if 1 <= len(button.payload.encode()) <= InlineKeyboardButtonLimit.MAX_CALLBACK_DATA:
        return True
    _log.error(
        "a button's payload is empty or longer than %d bytes; sent without it", InlineKeyboardButtonLimit.MAX_CALLBACK_DATA
    )
    return False
