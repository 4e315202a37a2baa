from datetime import UTC, datetime
from typing import Any

import pytest
from telegram import Update, User

from channels.messages import InboundMessage, MessageKind
from channels.telegram_inbound import read_update

Json = Any
BOT = User(id=999, is_bot=True, first_name="Salus", username="SalusBot")
PHOTO = {"photo": [{"file_id": "f", "file_unique_id": "u", "width": 9, "height": 9}]}
STICKER = {
    "sticker": {
        "file_id": "f",
        "file_unique_id": "u",
        "width": 9,
        "height": 9,
        "is_animated": False,
        "is_video": False,
        "type": "regular",
    }
}
VOICE = {"voice": {"file_id": "f", "file_unique_id": "u", "duration": 3}}
LOCATION = {"location": {"latitude": 41.9, "longitude": 12.5}}
GROUP = {"chat": {"id": -5, "type": "supergroup", "title": "g"}}


def message(**content: Json) -> dict[str, Any]:
    person = {"id": 77, "is_bot": False, "first_name": "Mario", "language_code": "es-MX"}
    return {"message_id": 5, "date": 1_790_000_000, "chat": {"id": 77, "type": "private"}, "from": person} | content


def read(**update: Json) -> InboundMessage | None:
    parsed = Update.de_json({"update_id": 1, **update}, None)
    return read_update(parsed, BOT)


def read_one(**update: Json) -> InboundMessage:
    result = read(**update)
    assert result is not None
    return result


def test_a_text_tells_who_where_when_and_in_which_language() -> None:
    found = read_one(message=message(text=" mi duele la cabeza "))
    assert (found.kind, found.text) == (MessageKind.TEXT, "mi duele la cabeza")
    assert (found.sender.identity, found.sender.address, found.chat) == ("77", "77", "77")
    assert (found.message_id, found.locale_hint, found.country_hint) == ("77:5", "es-MX", None)
    assert found.received_at == datetime.fromtimestamp(1_790_000_000, UTC)


def test_h41_the_repr_of_a_message_shows_neither_person_nor_words() -> None:
    shown = repr(read_one(message=message(text="dolore al petto")))
    assert "dolore" not in shown
    assert "77" not in shown


@pytest.mark.parametrize(
    "content", [STICKER, VOICE, LOCATION, PHOTO, {"text": "   "}], ids=["sticker", "voice", "location", "photo", "blank"]
)
def test_h04_what_has_no_text_is_unreadable_and_not_silence(content: dict[str, Any]) -> None:
    assert read_one(message=message(**content)).kind is MessageKind.UNREADABLE


FILE = {"file_id": "f", "file_unique_id": "u"}


@pytest.mark.parametrize(
    "content",
    [
        {"video_note": FILE | {"length": 9, "duration": 1}},
        {"video": FILE | {"width": 9, "height": 9, "duration": 1}},
        {"audio": FILE | {"duration": 1}},
        {"document": FILE},
        {"animation": FILE | {"width": 9, "height": 9, "duration": 1}, "document": FILE},
        {"contact": {"phone_number": "+39333", "first_name": "Mario"}},
        {"dice": {"emoji": "🎲", "value": 1}},
        {"venue": {"location": {"latitude": 41.9, "longitude": 12.5}, "title": "t", "address": "a"}},
        {"game": {"title": "t", "description": "d", "photo": [FILE | {"width": 9, "height": 9}]}},
        {"story": {"chat": {"id": 77, "type": "private"}, "id": 1}},
        {"paid_media": {"star_count": 1, "paid_media": []}},
        {"something_of_tomorrow": {"a": 1}},
    ],
    ids=lambda content: next(iter(content)),
)
def test_h04_whatever_else_is_sent_is_unreadable_and_not_silence(content: dict[str, Any]) -> None:
    assert read_one(message=message(**content)).kind is MessageKind.UNREADABLE


def test_h04_a_caption_is_read_as_text() -> None:
    found = read_one(message=message(**PHOTO, caption="è grave questa macchia?"))
    assert (found.kind, found.text) == (MessageKind.TEXT, "è grave questa macchia?")


def test_h04_a_command_in_a_caption_is_a_command() -> None:
    assert read_one(message=message(**PHOTO, caption="/start")).kind is MessageKind.COMMAND


def test_h04_the_pictures_of_an_album_share_one_id() -> None:
    ids = {read_one(message=message(**PHOTO, media_group_id="9", message_id=number)).message_id for number in (5, 6, 7)}
    assert len(ids) == 1


@pytest.mark.parametrize(("text", "command"), [("/start@SalusBot", "/start"), ("/país", "/país"), ("/lingua es", "/lingua es")])
def test_a_command_arrives_as_a_whole_line_without_the_bots_name(text: str, command: str) -> None:
    found = read_one(message=message(text=text))
    assert (found.kind, found.text) == (MessageKind.COMMAND, command)


def test_h03_an_edited_text_is_a_new_message_once() -> None:
    first = read_one(message=message(text="dosi tachipirina"))
    edited = read_one(edited_message=message(text="effetti collaterali tachipirina", edit_date=1_790_000_060))
    assert edited.text == "effetti collaterali tachipirina"
    assert edited.message_id != first.message_id
    assert edited.message_id == read_one(edited_message=message(text="x", edit_date=1_790_000_060)).message_id


def test_h03_an_edited_message_names_the_one_that_it_replaces() -> None:
    first = read_one(message=message(text="dosi tachipirina"))
    edited = read_one(edited_message=message(text="effetti collaterali tachipirina", edit_date=1_790_000_060))
    assert (first.is_edit, first.original_id) == (False, first.message_id)
    assert (edited.is_edit, edited.original_id) == (True, first.message_id)


def test_h03_an_edited_caption_is_a_new_message_too() -> None:
    edited = read_one(edited_message=message(**PHOTO, caption="¿es grave?", edit_date=1_790_000_060))
    assert (edited.kind, edited.text, edited.is_edit) == (MessageKind.TEXT, "¿es grave?", True)


@pytest.mark.parametrize("content", [{"text": "/start"}, LOCATION], ids=["command", "live location"])
def test_h03_an_edited_command_or_position_is_ignored(content: dict[str, Any]) -> None:
    assert read(edited_message=message(**content, edit_date=1_790_000_060)) is None


def test_a_tap_carries_its_payload() -> None:
    tap = {"id": "42", "from": message()["from"], "chat_instance": "i", "data": "fb:up:123", "message": message(text="risposta")}
    found = read_one(callback_query=tap)
    assert (found.kind, found.text, found.message_id) == (MessageKind.BUTTON, "fb:up:123", "tap:42")


def test_a_tap_in_a_group_and_one_in_a_private_chat_are_told_apart() -> None:
    tap = {"id": "42", "from": message()["from"], "chat_instance": "i", "data": "fb:up:123"}
    assert read_one(callback_query=tap | {"message": message(**GROUP, text="risposta")}).is_group
    assert not read_one(callback_query=tap | {"message": message(text="risposta")}).is_group


def test_h10_a_tap_on_a_message_that_is_gone_is_still_read() -> None:
    gone = {"chat": {"id": 77, "type": "private"}, "message_id": 5, "date": 0}
    tap = {"id": "42", "from": message()["from"], "chat_instance": "i", "data": "fb:up:123", "message": gone}
    assert read_one(callback_query=tap).sender.address == "77"


@pytest.mark.parametrize("content", [{"text": "ciao a tutti"}, STICKER, {"text": "/start@OtroBot"}])
def test_in_a_group_what_is_not_for_the_bot_is_not_read(content: dict[str, Any]) -> None:
    assert read(message=message(**GROUP, **content)) is None


def test_in_a_group_a_mention_a_reply_and_a_command_are_read() -> None:
    mention = {"text": "@SalusBot ho la febbre", "entities": [{"type": "mention", "offset": 0, "length": 9}]}
    reply = {"text": "e poi?", "reply_to_message": message(**GROUP) | {"from": BOT.to_dict()}}
    found = read_one(message=message(**GROUP, **mention))
    assert (found.text, found.sender.identity, found.chat) == ("ho la febbre", "77", "-5")
    assert found.is_group
    assert read_one(message=message(**GROUP, **reply)).text == "e poi?"
    assert read_one(message=message(**GROUP, text="/start")).kind is MessageKind.COMMAND


@pytest.mark.parametrize(
    "update",
    [
        {"channel_post": message(chat={"id": -9, "type": "channel", "title": "c"}, text="x")},
        {"message": message(group_chat_created=True)},
        {"message": message(text="x") | {"from": {"id": 1, "is_bot": True, "first_name": "b"}}},
        {"poll_answer": {"poll_id": "1", "option_ids": [0], "option_persistent_ids": ["a"], "user": message()["from"]}},
    ],
)
def test_what_is_no_message_from_a_person_is_ignored(update: dict[str, Any]) -> None:
    assert read(**update) is None
