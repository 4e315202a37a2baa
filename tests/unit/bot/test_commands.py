import pytest

from bot.commands import COUNTRY_PAYLOAD, LANGUAGE_PAYLOAD, MODE_PAYLOAD, OFFERED_COUNTRIES, choose, command_menu, respond
from bot.outcomes import Topic
from bot.session import Session
from locales.catalog import Catalog
from locales.emergency import EmergencyDirectory
from locales.language import Language
from rag.types import Mode

DIRECTORY = EmergencyDirectory.load()
IT, ES = Language


def tell(line: str, session: Session | None = None, language: Language = IT) -> tuple[Topic, Language]:
    notice = respond(line, session or Session(last_seen=0), language, DIRECTORY)
    return notice.topic, notice.language


@pytest.mark.parametrize(
    ("line", "topic", "language"),
    [
        ("/start", Topic.START, IT),
        ("/start deep-link", Topic.START, IT),
        ("/help", Topic.HELP, IT),
        ("/aiuto", Topic.HELP, IT),
        ("/ayuda", Topic.HELP, ES),
        ("/Privacy", Topic.PRIVACY, IT),
        ("/lingua", Topic.LANGUAGE_ASK, IT),
        ("/idioma", Topic.LANGUAGE_ASK, ES),
        ("/fonti", Topic.PROOF, IT),
        ("/fuentes", Topic.PROOF, ES),
        ("/modo", Topic.MODE_ASK, IT),
        ("/modo lento", Topic.MODE_ASK, IT),
        ("/modo preciso", Topic.MODE_SET, IT),
        ("/modo Rápido", Topic.MODE_SET, IT),
        ("/paese", Topic.COUNTRY_ASK, IT),
        ("/pais", Topic.COUNTRY_ASK, ES),
        ("/país", Topic.COUNTRY_ASK, ES),
        ("/pai\u0301s", Topic.COUNTRY_ASK, ES),
        ("/nuovo", Topic.NEW_SESSION, IT),
        ("/nueva", Topic.NEW_SESSION, ES),
        ("/reset", Topic.NEW_SESSION, IT),
        ("/dimentica", Topic.ERASED, IT),
        ("/olvidar", Topic.ERASED, ES),
        ("/admin", Topic.UNKNOWN_COMMAND, IT),
        ("/", Topic.UNKNOWN_COMMAND, IT),
        ("/help@SalusBot", Topic.HELP, IT),
    ],
)
def test_a_command_is_understood_in_both_languages(line: str, topic: Topic, language: Language) -> None:
    assert tell(line) == (topic, language)


def test_a_chosen_language_wins_over_that_of_the_command() -> None:
    assert tell("/ayuda", Session(last_seen=0, language=IT)) == (Topic.HELP, IT)


@pytest.mark.parametrize("argument", ["es", "ES", "español", "Espanol", "spagnolo"])
def test_a_language_is_chosen_by_name_or_code(argument: str) -> None:
    session = Session(last_seen=0)
    assert tell(f"/lingua {argument}", session) == (Topic.LANGUAGE_SET, ES)
    assert session.language is ES


@pytest.mark.parametrize(
    ("argument", "code"),
    [
        ("Messico", "MX"),
        ("méxico", "MX"),
        ("mx", "MX"),
        ("EE. UU.", "US"),
        ("España", "ES"),
        ("stati  uniti", "US"),
        ("Suiza", "CH"),
    ],
)
def test_a_country_is_chosen_by_name_or_code(argument: str, code: str) -> None:
    session = Session(last_seen=0)
    respond(f"/paese {argument}", session, IT, DIRECTORY)
    assert session.country == code


@pytest.mark.parametrize(
    ("argument", "mode"),
    [("veloce", Mode.FAST), ("rápido", Mode.FAST), ("rapido", Mode.FAST), ("preciso", Mode.PRECISE), ("PRECISO", Mode.PRECISE)],
)
def test_a_mode_is_chosen_by_its_word_in_either_language(argument: str, mode: Mode) -> None:
    session = Session(last_seen=0)
    respond(f"/modo {argument}", session, IT, DIRECTORY)
    assert session.mode is mode


def test_a_tapped_mode_is_chosen_and_survives_a_new_start() -> None:
    session = Session(last_seen=0)
    assert choose(f"{MODE_PAYLOAD}precise", session, ES, DIRECTORY) is not None
    respond("/nuevo", session, ES, DIRECTORY)
    assert session.mode is Mode.PRECISE


def test_a_country_without_known_numbers_gets_honest_words() -> None:
    session = Session(last_seen=0)
    assert tell("/paese altro", session) == (Topic.COUNTRY_SET_OTHER, IT)
    assert DIRECTORY.emergency_number(session.country, IT) == "112"


def test_an_unknown_country_asks_again_and_changes_nothing() -> None:
    session = Session(last_seen=0, country="IT")
    assert tell("/paese Atlantide", session) == (Topic.COUNTRY_ASK, IT)
    assert session.country == "IT"


def test_a_new_start_forgets_the_words() -> None:
    session = Session(last_seen=0)
    session.remember("words", 0)
    tell("/nuovo", session)
    assert session.earlier() == ()


def test_every_offered_choice_is_understood() -> None:
    for code in OFFERED_COUNTRIES:
        session = Session(last_seen=0)
        assert choose(COUNTRY_PAYLOAD + code, session, IT, DIRECTORY) is not None
        assert session.country == code
    for language in Language:
        session = Session(last_seen=0)
        assert choose(LANGUAGE_PAYLOAD + language.value, session, IT, DIRECTORY) is not None
        assert session.language is language


def test_another_payload_is_no_choice() -> None:
    assert choose("fb:up:1", Session(last_seen=0), IT, DIRECTORY) is None


def test_the_menu_offers_commands_that_exist() -> None:
    menu = command_menu(Catalog.load())
    assert set(menu) == {"it", "es"}
    assert "fonti" in dict(menu["it"])
    assert "fuentes" in dict(menu["es"])
    for pairs in menu.values():
        assert len(pairs) >= 4
        for name, description in pairs:
            assert description
            assert tell(f"/{name}")[0] is not Topic.UNKNOWN_COMMAND
