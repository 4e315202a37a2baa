import pytest

from bot.hints import language_of, take_country_hint
from bot.session import Session
from channels.messages import InboundMessage, MessageKind
from locales.language import Language
from tests.builders import inbound

IT, ES = Language


@pytest.mark.parametrize(
    ("message", "session", "expected"),
    [
        (inbound("¿Qué es la fiebre?"), Session(last_seen=0), ES),
        (inbound("Che cos'è la febbre?", locale_hint="es"), Session(last_seen=0), IT),
        (inbound("¿Qué es la fiebre?"), Session(last_seen=0, language=IT), IT),
        (inbound("", kind=MessageKind.UNREADABLE, locale_hint="es-AR"), Session(last_seen=0), ES),
        (inbound("", kind=MessageKind.UNREADABLE, locale_hint="de"), Session(last_seen=0), IT),
        (inbound("ok"), Session(last_seen=0, language_prior=ES), ES),
    ],
)
def test_the_language_is_chosen_read_or_hinted(message: InboundMessage, session: Session, expected: Language) -> None:
    assert language_of(message, session) is expected


@pytest.mark.parametrize(
    ("message", "known", "expected"),
    [
        (inbound(country_hint="MX", locale_hint="es-AR"), None, "MX"),
        (inbound(locale_hint="es-AR"), None, "AR"),
        (inbound(locale_hint="es_co"), None, "CO"),
        (inbound(locale_hint="es-419"), None, None),
        (inbound(locale_hint="es"), None, None),
        (inbound(country_hint="MX"), "IT", "IT"),
    ],
)
def test_the_country_is_hinted_until_one_is_named(message: InboundMessage, known: str | None, expected: str | None) -> None:
    session = Session(last_seen=0, country=known)
    take_country_hint(session, message)
    assert session.country == expected
