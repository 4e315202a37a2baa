"""Reading Telegram's updates: which of them are messages from a patient, and what they say."""

from datetime import UTC, datetime
from functools import partial

from telegram import CallbackQuery, Message, MessageEntity, Update, User
from telegram.constants import ChatType
from telegram.ext import filters

from channels.command_line import command_line
from channels.messages import InboundMessage, MessageKind, Patient, Platform

ALLOWED_UPDATES = [Update.MESSAGE, Update.EDITED_MESSAGE, Update.CALLBACK_QUERY]
_GROUPS = (ChatType.GROUP, ChatType.SUPERGROUP)


def read_update(update: Update, bot: User) -> InboundMessage | None:
    """The patient's message in an update, or None for what asks for no reply.

    An edited message is answered once as a new text, since the patient may have corrected it; an edited command or picture is
    ignored, so that no command runs twice (H03). In a group only what is addressed to the bot is read.
    """
    if update.callback_query:
        return _read_tap(update.callback_query)
    message = update.message or update.edited_message
    if message is None or message.chat.type == ChatType.CHANNEL or (message.from_user and message.from_user.is_bot):
        return None
    if filters.StatusUpdate.ALL.check_update(update) or not _addressed_to(message, bot):
        return None
    return _read_message(message, bot)


def _read_message(message: Message, bot: User) -> InboundMessage | None:
    text = _without_mention(_sound(message.text or message.caption or "").strip(), bot)
    command = command_line(text, bot.username)
    if message.edit_date and (command or not text):
        return None
    sender = message.from_user
    build = partial(
        InboundMessage,
        message_id=_message_id(message, text),
        sender=_patient(sender.id if sender else message.chat.id, message.chat.id),
        chat=str(message.chat.id),
        received_at=message.edit_date or message.date,
        locale_hint=_locale(sender),
        original_id=_original_id(message) if message.edit_date else "",
        is_edit=message.edit_date is not None,
        is_group=message.chat.type in _GROUPS,
    )
    if command:
        return build(text=command, kind=MessageKind.COMMAND)
    return build(text=text, kind=MessageKind.TEXT if text else MessageKind.UNREADABLE)


def _read_tap(query: CallbackQuery) -> InboundMessage | None:
    if not query.data or not isinstance(query.data, str):
        return None
    place = query.message.chat if query.message else None
    chat = place.id if place else query.from_user.id
    return InboundMessage(
        message_id=_sound(f"tap:{query.id}"),
        sender=_patient(query.from_user.id, chat),
        chat=str(chat),
        text=_sound(query.data),
        kind=MessageKind.BUTTON,
        received_at=datetime.now(UTC),
        locale_hint=_locale(query.from_user),
        is_group=place is not None and place.type in _GROUPS,
    )


def _message_id(message: Message, text: str) -> str:
    if message.media_group_id and not text:
        # The pictures of an album arrive one by one; under one id they get one "text only" reply (H04).
        return _sound(f"{message.chat.id}:album:{message.media_group_id}")
    edited = f":{int(message.edit_date.timestamp())}" if message.edit_date else ""
    return f"{_original_id(message)}{edited}"


def _original_id(message: Message) -> str:
    return _sound(f"{message.chat.id}:{message.message_id}")


def _patient(identity: int, chat: int) -> Patient:
    return Patient(platform=Platform.TELEGRAM, identity=str(int(identity)), address=str(int(chat)))


def _locale(sender: User | None) -> str | None:
    code = sender.language_code if sender else None
    return _sound(code) if isinstance(code, str) else None


def _sound(text: str) -> str:
    """The text without halves of characters, which JSON can carry and nothing else can."""
    return text.encode(errors="replace").decode()


def _addressed_to(message: Message, bot: User) -> bool:
    if message.chat.type not in _GROUPS:
        return True
    replied = message.reply_to_message
    if replied and replied.from_user and replied.from_user.id == bot.id:
        return True
    text = message.text or message.caption or ""
    return command_line(text, bot.username) is not None or _mention(bot) in _mentions(message)


def _mentions(message: Message) -> set[str]:
    entities = (
        message.parse_entities([MessageEntity.MENTION])
        if message.text
        else message.parse_caption_entities([MessageEntity.MENTION])
    )
    return {mention.casefold() for mention in entities.values()}


def _mention(bot: User) -> str:
    return f"@{bot.username}".casefold()


def _without_mention(text: str, bot: User) -> str:
    for edge in (text[: len(_mention(bot))], text[-len(_mention(bot)) :]):
        if edge.casefold() == _mention(bot):
            text = text.removeprefix(edge).removesuffix(edge).strip()
    return text
