import pytest

from channels.messages import InboundMessage, MessageKind
from channels.whatsapp_inbound import read_form
from tests.doubles.twilio_api import whatsapp_form


def read(form: dict[str, str]) -> InboundMessage:
    message = read_form(form)
    assert message is not None
    return message


def test_a_text_tells_who_writes_and_from_which_country() -> None:
    message = read(whatsapp_form(" ho la febbre ", MessageSid="SM1"))
    assert (message.kind, message.text, message.message_id) == (MessageKind.TEXT, "ho la febbre", "SM1")
    assert (message.sender.identity, message.sender.address) == ("393331234567", "whatsapp:+393331234567")
    assert message.country_hint == "IT"


@pytest.mark.parametrize(
    "fields",
    [
        {"Body": "", "NumMedia": "1", "MediaContentType0": "audio/ogg", "MediaUrl0": "https://esempio.invalid/a"},
        {"Body": "", "Latitude": "41.9", "Longitude": "12.5"},
        {"Body": " ", "NumMedia": "abc"},
        {"Body": "", "NumMedia": ""},
    ],
    ids=["voice", "location", "nonsense", "none"],
)
def test_h15_an_empty_body_is_unreadable_and_holds_no_position(fields: dict[str, str]) -> None:
    message = read(whatsapp_form(**fields))
    assert (message.kind, message.text) == (MessageKind.UNREADABLE, "")


@pytest.mark.parametrize("number", ["2", "abc", None])
def test_h15_a_text_with_pictures_is_answered_from_the_text(number: str | None) -> None:
    form = whatsapp_form("cos'è?")
    form.pop("NumMedia")
    message = read(form | ({"NumMedia": number} if number else {}))
    assert (message.kind, message.text) == (MessageKind.TEXT, "cos'è?")


@pytest.mark.parametrize(
    ("fields", "payload"),
    [
        ({"Body": "Sì", "ButtonText": "Sì", "ButtonPayload": "fb:up:123"}, "fb:up:123"),
        ({"Body": "Español", "ListId": "lang_es"}, "lang_es"),
    ],
)
def test_h18_a_button_and_a_list_give_their_stable_id(fields: dict[str, str], payload: str) -> None:
    message = read(whatsapp_form(**fields))
    assert (message.kind, message.text) == (MessageKind.BUTTON, payload)


def test_a_command_is_a_command() -> None:
    assert read(whatsapp_form("/país")).kind is MessageKind.COMMAND


@pytest.mark.parametrize(
    ("one", "other", "country"), [("+5215512345678", "+525512345678", "MX"), ("+5491112345678", "+541112345678", "AR")]
)
def test_both_spellings_of_a_number_are_one_patient_answered_where_they_wrote(one: str, other: str, country: str) -> None:
    first, second = read(whatsapp_form("x", one)), read(whatsapp_form("x", other))
    assert first.sender.identity == second.sender.identity
    assert first.sender.address == f"whatsapp:{one}"
    assert first.country_hint == second.country_hint == country


def test_a_patient_who_hides_the_number_is_known_by_the_scoped_id() -> None:
    form = {"MessageSid": "SM1", "ExternalUserId": "MX.13491208655302741918", "Body": "hola"}
    message = read(form)
    assert message.sender.identity == "MX.13491208655302741918"
    assert message.sender.address == "whatsapp:MX.13491208655302741918"
    assert message.country_hint == "MX"


@pytest.mark.parametrize("form", [{}, {"Body": "x", "From": "whatsapp:+39333"}, {"Body": "x", "MessageSid": "SM1"}])
def test_a_form_without_message_or_sender_is_ignored(form: dict[str, str]) -> None:
    assert read_form(form) is None


def test_h41_the_repr_shows_neither_number_nor_words() -> None:
    shown = repr(read(whatsapp_form("dolore al petto")))
    assert "333" not in shown
    assert "dolore" not in shown
    assert "Mario" not in shown
