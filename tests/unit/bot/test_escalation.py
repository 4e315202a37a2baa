"""The reply to a red flag: the right number, first, and the right words."""

import itertools
import re
from datetime import UTC, datetime

import pytest

from bot.escalation import ANSWER_PAYLOAD, emergency_line, escalation_message
from bot.safety import Level, RedFlag
from channels.messages import OutboundMessage
from locales.catalog import Catalog
from locales.emergency import EmergencyDirectory
from locales.language import Language

IT, ES = Language.ITALIAN, Language.SPANISH
DAY = datetime(2026, 1, 10, 14, 0, tzinfo=UTC)
NIGHT = datetime(2026, 1, 10, 2, 0, tzinfo=UTC)  # three in the morning in Italy
CATALOG, DIRECTORY = Catalog.load(), EmergencyDirectory.load()


def reply(level: Level, language: Language, country: str | None, now: datetime = DAY, **fields: bool) -> OutboundMessage:
    return escalation_message(RedFlag(category="test", level=level, **fields), language, country, now, CATALOG, DIRECTORY)


def whole(message: OutboundMessage) -> str:
    return "\n".join(message.paragraphs)


@pytest.mark.parametrize("level", Level)
@pytest.mark.parametrize("language", Language)
@pytest.mark.parametrize("country", [None, "IT", "ES", "MX", "AR", "CO", "US", "CH", "FR"])
@pytest.mark.parametrize("now", [DAY, NIGHT])
def test_every_reply_has_a_number_in_its_first_paragraph(
    level: Level, language: Language, country: str | None, now: datetime
) -> None:
    for third, minor, under_way in itertools.product((False, True), repeat=3):
        message = reply(level, language, country, now, third_person=third, minor=minor, under_way=under_way)

        assert any(character.isdigit() for character in message.paragraphs[0])
        assert message.emphasis
        assert not message.links
        assert not message.closing
        assert "{" not in whole(message)


@pytest.mark.parametrize(
    ("country", "number"), [("IT", "112"), ("ES", "112"), ("MX", "911"), ("AR", "911"), ("CO", "123"), ("US", "911")]
)
def test_the_number_is_that_of_the_country_whatever_the_language(country: str, number: str) -> None:
    for language in Language:
        assert number in reply(Level.CALL_NOW, language, country).paragraphs[0]


def test_spanish_without_a_country_names_the_number_of_each() -> None:
    first = reply(Level.CALL_NOW, ES, None).paragraphs[0]

    assert all(number in first for number in ("112", "911", "123", "número local"))


@pytest.mark.parametrize("country", ["FR", "other"])
@pytest.mark.parametrize("level", Level)
@pytest.mark.parametrize("minor", [False, True])
def test_italian_in_a_country_not_in_the_table_is_sent_to_no_line_of_italy(country: str, level: Level, minor: bool) -> None:
    text = whole(reply(level, IT, country, NIGHT, minor=minor))

    assert not any(foreign in text for foreign in ("Where ARE U", "06 ", "02 ", "1522", "114", "19696", "Telefono Amico", "024"))
    assert level is not Level.CALL_NOW or "numero locale" in text


def test_italian_without_a_country_is_italy() -> None:
    assert reply(Level.CALL_NOW, IT, None).paragraphs[0] == "Chiami subito il 112."


@pytest.mark.parametrize("level", [Level.CALL_NOW, Level.GO_TODAY, Level.POISON])
def test_a_patient_can_say_that_it_is_no_emergency(level: Level) -> None:
    assert [button.payload for button in reply(level, IT, "IT").buttons] == [ANSWER_PAYLOAD]


@pytest.mark.parametrize("level", [Level.CRISIS, Level.ABUSE])
def test_nobody_is_asked_to_deny_a_crisis(level: Level) -> None:
    assert reply(level, ES, "ES").buttons == ()


def test_the_italian_crisis_line_is_offered_while_it_answers() -> None:
    assert "02 2327 2327, ogni giorno dalle 9 alle 24" in whole(reply(Level.CRISIS, IT, "IT", DAY))


def test_at_night_the_italian_crisis_reply_leads_with_112_and_says_that_the_line_is_closed() -> None:
    message = reply(Level.CRISIS, IT, "IT", NIGHT)

    assert message.paragraphs[0].startswith("Se è in pericolo adesso, o ha già preso qualcosa, chiami il 112")
    assert "riapre alle 9" in whole(message)


def test_the_hour_is_that_of_the_country() -> None:
    before_midnight_in_italy = datetime(2026, 7, 10, 21, 59, tzinfo=UTC)
    after_midnight_in_italy = datetime(2026, 7, 10, 22, 0, tzinfo=UTC)

    assert "riapre" not in whole(reply(Level.CRISIS, IT, "IT", before_midnight_in_italy))
    assert "riapre" in whole(reply(Level.CRISIS, IT, "IT", after_midnight_in_italy))


@pytest.mark.parametrize(
    ("country", "number"),
    [("ES", "024"), ("MX", "800 911 2000"), ("AR", "0800 999 0091"), ("CO", "106"), ("US", "988"), ("CH", "143")],
)
def test_the_crisis_line_is_that_of_the_country(country: str, number: str) -> None:
    assert number in whole(reply(Level.CRISIS, ES, country, NIGHT))


def test_a_spanish_crisis_without_a_country_offers_one_line_for_each_of_five() -> None:
    text = whole(reply(Level.CRISIS, ES, None, NIGHT))

    assert [text.count(f"{name}: ") for name in ("España", "México", "Argentina", "Colombia", "Estados Unidos")] == [1] * 5


def test_a_crisis_that_is_under_way_begins_with_the_number() -> None:
    assert reply(Level.CRISIS, IT, "IT", under_way=True).paragraphs[0].startswith("Chiami subito il 112")


def test_a_follow_up_is_short() -> None:
    message = reply(Level.CRISIS, IT, "IT", follow_up=True)

    assert message.paragraphs[0] == "Sono ancora qui. Se il pericolo è adesso: 112."
    assert len(message.paragraphs) == 2


def test_a_minor_gets_the_line_for_minors() -> None:
    assert "19696" in whole(reply(Level.CRISIS, IT, "IT", minor=True))
    assert "116 111" in whole(reply(Level.CRISIS, ES, "ES", minor=True))


@pytest.mark.parametrize("country", ["MX", "CO", None])
def test_without_a_verified_poison_centre_the_emergency_number_is_given(country: str | None) -> None:
    assert "emergencias" in reply(Level.POISON, ES, country).paragraphs[0]


@pytest.mark.parametrize(
    ("country", "number"), [("IT", "06 305 4343"), ("ES", "91 562 04 20"), ("AR", "(011) 4801-7767"), ("US", "1-800-222-1222")]
)
def test_the_poison_centre_comes_first(country: str, number: str) -> None:
    assert number in reply(Level.POISON, ES, country).paragraphs[0]


def test_sexual_violence_is_sent_to_hospital_today() -> None:
    assert "Vada oggi in pronto soccorso" in whole(reply(Level.ABUSE, IT, "IT", sexual_violence=True))
    assert "Vaya hoy a urgencias" in whole(reply(Level.ABUSE, ES, "MX", sexual_violence=True))


def test_an_abused_child_is_spoken_to_as_a_child() -> None:
    assert reply(Level.ABUSE, IT, "IT", minor=True).paragraphs[0].startswith("Hai fatto bene a scriverlo.")
    assert reply(Level.ABUSE, ES, "ES", minor=True).paragraphs[0].startswith("Has hecho bien en contarlo.")
    assert reply(Level.ABUSE, ES, "CO", minor=True).paragraphs[0].startswith("Hizo bien en contarlo.")


@pytest.mark.parametrize("harm", ["sexual_violence", "strangulation"])
def test_an_abused_child_is_not_addressed_formally_halfway(harm: str) -> None:
    for language, country, said in ((IT, "IT", "Vai oggi in pronto soccorso"), (ES, "ES", "Ve hoy a urgencias")):
        text = whole(reply(Level.ABUSE, language, country, minor=True, **{harm: True}))

        assert said in text
        assert not re.search(r"\b(?:Vada|Si faccia|Vaya|usted|Suo|Sua)\b", text)


def test_at_night_a_minor_in_crisis_reads_first_which_line_answers() -> None:
    paragraphs = reply(Level.CRISIS, IT, "IT", NIGHT, minor=True).paragraphs
    places = [next(i for i, text in enumerate(paragraphs) if said in text) for said in ("112", "19696", "02 2327 2327")]

    assert places == sorted(places)
    assert places[1] == 1


def test_the_emergency_line_of_an_answer_is_one_sentence() -> None:
    assert emergency_line(IT, "IT", CATALOG, DIRECTORY) == "Se sta succedendo adesso, chiami subito il 112."
    assert emergency_line(ES, "MX", CATALOG, DIRECTORY) == "Si está pasando ahora mismo, llame ya: 911."
