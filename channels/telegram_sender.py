"""Sending one reply to Telegram, part by part, through its refusals."""

import asyncio
import logging
import re
from collections.abc import Iterable, Sequence
from datetime import timedelta

import httpx
from telegram import Bot, InlineKeyboardButton, InlineKeyboardMarkup, LinkPreviewOptions
from telegram.constants import BulkRequestLimit, InlineKeyboardButtonLimit, MessageLimit, ParseMode
from telegram.error import BadRequest, Forbidden, NetworkError, RetryAfter, TelegramError, TimedOut

from channels import markup, splitting
from channels.errors import DeliveryFailed, MessageGone, RecipientGone, TryLater
from channels.flood_waits import FloodWaits
from channels.messages import Button, OutboundMessage

_log = logging.getLogger(__name__)

_TRIES = 4
_LONGEST_WAIT_S = 60.0  # beyond this a patient has long gone elsewhere
_NOT_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)
_ROW_LENGTH = 30  # labels together longer than this are cut short on a narrow phone
_NOT_EDITABLE = ("message to edit not found", "message can't be edited", "message_id_invalid")
_DEAD_CHAT = ("chat not found", "peer_id_invalid", "user is deactivated", "not enough rights to send")
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
        self._floods = FloodWaits()

    def is_flooded(self, address: str) -> bool:
        """Whether Telegram has asked to send nothing to this chat for now."""
        return self._floods.wait_s(address) > 0

    async def send(self, address: str, message: OutboundMessage) -> str | None:
        """Deliver a reply.

        Returns:
            The numbers of its messages in order, separated by spaces.

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
        unsure, sent = False, list[str]()
        for number, part in enumerate(parts, start=1):
            keyboard = _keyboard(message.buttons) if number == len(parts) else None
            try:
                sent.append(str(await self._send_part(address, part, keyboard, insist=message.emphasis)))
            except _PerhapsDelivered:
                unsure = True
        if unsure:
            raise DeliveryFailed("Telegram may not have received a part")
        return " ".join(sent) or None

    async def edit(self, address: str, handle: str, message: OutboundMessage) -> None:
        """Show a reply in place of an earlier message, as far as it fits one message; the buttons stand below the last part.

        Raises:
            TryLater: If Telegram asks to wait.
            MessageGone: If the message is not there any more.
            RecipientGone: If the patient blocked the bot.
            DeliveryFailed: If it failed otherwise.
        """
        part, *others = _parts(message)
        keyboard = None if others else _keyboard(message.buttons)
        try:
            await self._edit_text(address, handle, part, keyboard, formatted=True)
        except TelegramError as error:
            if not _is_unreadable_markup(error):
                self._raise_unless_unchanged(address, error)
                return
            try:
                await self._edit_text(address, handle, part, keyboard, formatted=False)
            except TelegramError as other:
                self._raise_unless_unchanged(address, other)

    async def _edit_text(
        self, address: str, handle: str, part: list[markup.Block], keyboard: InlineKeyboardMarkup | None, *, formatted: bool
    ) -> None:
        if (wait_s := self._floods.wait_s(address)) > 0:
            raise RetryAfter(timedelta(seconds=wait_s))
        await self._bot.edit_message_text(
            chat_id=int(address),
            message_id=int(handle.split()[-1]),
            text=splitting.join(part, markup.html if formatted else markup.plain),
            parse_mode=ParseMode.HTML if formatted else None,
            reply_markup=keyboard,
            link_preview_options=_NO_PREVIEW,
        )

    def _raise_unless_unchanged(self, address: str, error: TelegramError) -> None:
        if isinstance(error, RetryAfter):
            self._floods.note(address, min(_seconds(error.retry_after), _LONGEST_WAIT_S))
        if "message is not modified" not in str(error).lower():
            raise _edit_failure(error) from None

    async def delete(self, address: str, handles: Iterable[str]) -> bool:
        """Delete messages of a private chat; telling Telegram twice does no harm.

        Args:
            address: The chat.
            handles: What `send` gave, and ids of the patient's messages ("CHAT:NUMBER", with or without what marks an edit).

        Returns:
            Whether Telegram says that all are gone.
        """
        numbers = [_message_numbers(address, handle) for handle in handles]
        listed = list(dict.fromkeys(number for some in numbers for number in some))
        if not listed or int(address) < 0:  # a group's number is negative
            return False
        most = BulkRequestLimit.MAX_LIMIT
        batches = [listed[start : start + most] for start in range(0, len(listed), most)]
        return all([await self._delete_batch(address, batch) for batch in batches]) and all(numbers)

    async def _delete_batch(self, address: str, numbers: Sequence[int]) -> bool:
        for attempt in range(1, _TRIES + 1):
            try:
                return await self._bot.delete_messages(chat_id=int(address), message_ids=numbers)
            except TelegramError as error:
                try:
                    pause = self._pause(address, error, attempt, insist=True)
                except DeliveryFailed:
                    break
                await asyncio.sleep(pause)
        _log.warning("messages could not be deleted")
        return False

    async def _send_part(
        self, address: str, part: list[markup.Block], keyboard: InlineKeyboardMarkup | None, *, insist: bool
    ) -> int:
        formatted = True
        for attempt in range(1, _TRIES + 1):
            if not insist:  # an emergency is at least tried at once
                await self._sit_out(address)
            try:
                return await self._send_text(address, part, keyboard, formatted=formatted)
            except TelegramError as error:
                if formatted and _is_unreadable_markup(error):
                    _log.warning("Telegram could not read the markup of a part; sending it as plain text")
                    formatted = False
                    continue
                await asyncio.sleep(self._pause(address, error, attempt, insist=insist))
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

    async def _sit_out(self, address: str) -> None:
        """Wait as long as Telegram has asked for in this chat, whichever message it asked for (H05)."""
        while (wait_s := self._floods.wait_s(address)) > 0:  # noqa: ASYNC110 - what is sent meanwhile may add to it
            await asyncio.sleep(wait_s)

    def _pause(self, address: str, error: TelegramError, attempt: int, *, insist: bool) -> float:
        """Seconds to wait before the part is tried again; raises what the caller must know if it should not be."""
        if _is_gone(error):
            raise RecipientGone("the patient blocked the bot or left") from None
        pause = self._retry_delay_s * 2.0 ** (attempt - 1)
        if isinstance(error, RetryAfter):
            pause = _seconds(error.retry_after)
            self._floods.note(address, min(pause, _LONGEST_WAIT_S))
        elif isinstance(error, BadRequest) or not isinstance(error, NetworkError):
            raise DeliveryFailed(f"Telegram refused a part ({type(error).__name__})") from None
        elif not (insist or _surely_not_taken(error)):
            raise _PerhapsDelivered("the connection to Telegram broke") from None
        if attempt == _TRIES or pause > _LONGEST_WAIT_S:
            raise DeliveryFailed(f"Telegram could not take a part ({type(error).__name__})") from None
        return pause


def _message_numbers(address: str, handle: str) -> list[int]:
    """The message numbers in a handle; none if it is of another chat or names no message (a tap, an album)."""
    if own := re.fullmatch(rf"{re.escape(address)}:(\d+)(?::\d+)?", handle):
        return [int(own[1])]
    return [int(number) for number in handle.split()] if re.fullmatch(r"\d+(?: \d+)*", handle) else []


def _parts(message: OutboundMessage) -> list[list[markup.Block]]:
    return splitting.numbered_parts(markup.blocks(message), markup.html, MessageLimit.MAX_TEXT_LENGTH)


def _edit_failure(error: TelegramError) -> DeliveryFailed:
    if isinstance(error, RetryAfter):
        return TryLater(_seconds(error.retry_after))
    if _is_gone(error):
        return RecipientGone("the patient blocked the bot or left")
    words = str(error).lower()
    if isinstance(error, BadRequest) and any(sign in words for sign in _NOT_EDITABLE):
        return MessageGone("the message cannot be changed any more")
    return DeliveryFailed(f"Telegram did not change a message ({type(error).__name__})")


def _is_unreadable_markup(error: TelegramError) -> bool:
    return isinstance(error, BadRequest) and "parse entities" in str(error).lower()


def _is_gone(error: TelegramError) -> bool:
    """Whether the chat is dead: blocked, left, or closed for good (H06)."""
    return isinstance(error, Forbidden) or (
        isinstance(error, BadRequest) and any(sign in str(error).lower() for sign in _DEAD_CHAT)
    )


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
