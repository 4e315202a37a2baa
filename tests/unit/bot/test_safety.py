"""The gate on phrases that a clinician can read (`red_flag_*.tsv`), on earlier messages and on odd input."""

import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.safety import Level, RedFlag, SafetyGate

_HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def gate() -> SafetyGate:
    return SafetyGate.load()


def phrases(label: str) -> list[tuple[str, str]]:
    """(category, text) of every phrase with this label."""
    rows = [
        line.split("\t")
        for name in ("red_flag_examples.tsv", "red_flag_phrases.tsv")
        for line in (_HERE / name).read_text(encoding="utf-8").splitlines()
        if line and not line.startswith("#")
    ]
    return [(category, text) for row_label, _, category, text in rows if row_label == label]


def flag_of(gate: SafetyGate, text: str, *earlier: str) -> RedFlag:
    red_flag = gate.read(text, earlier).red_flag
    assert red_flag is not None
    return red_flag


@pytest.mark.parametrize(("category", "text"), phrases("yes"))
def test_an_emergency_is_a_red_flag(gate: SafetyGate, category: str, text: str) -> None:
    """H40"""
    assert gate.read(text).red_flag is not None, category


@pytest.mark.parametrize(("category", "text"), phrases("no"))
def test_an_ordinary_message_is_no_red_flag(gate: SafetyGate, category: str, text: str) -> None:
    """H40"""
    assert gate.read(text).red_flag is None, category


@pytest.mark.parametrize(("category", "text"), phrases("about"))
def test_a_question_about_an_emergency_is_answered_with_the_emergency_line(gate: SafetyGate, category: str, text: str) -> None:
    """H40"""
    reading = gate.read(text)

    assert reading.red_flag is None
    assert reading.about == category


@pytest.mark.parametrize(
    ("text", "level"),
    [
        ("mi fa male il petto e sudo freddo", Level.CALL_NOW),
        ("mi hijo se tragó lejía", Level.POISON),
        ("ha 20 giorni e 38 e 2", Level.GO_TODAY),
        ("voglio farla finita", Level.CRISIS),
        ("mi marido me pega", Level.ABUSE),
        ("mio figlio ha bevuto candeggina e non si sveglia", Level.CALL_NOW),
    ],
)
def test_the_level_says_what_to_do(gate: SafetyGate, text: str, level: Level) -> None:
    assert flag_of(gate, text).level is level


@pytest.mark.parametrize(
    "text",
    [
        "HO UN DOLORE FORTE AL PETTO",
        "ho un dolooooore al pettoo",
        "ho un dol\u200bore al pet\u200bto",
        "ho un d\u043elor\u0435 f\u043erte al p\u0435tt\u043e",  # Cyrillic letters
        "teng\u03bf d\u03bflor de pech\u03bf",  # Greek ones
        "\uff44\uff4f\uff4c\uff4f\uff52\uff45 al petto",  # full width
        "dolore al pexo",
        "dolor de pexo",
    ],
)
def test_spelling_does_not_hide_an_emergency(gate: SafetyGate, text: str) -> None:
    """H40"""
    assert flag_of(gate, text).category == "chest_pain"


@pytest.mark.parametrize(
    "text",
    [
        "su1c1dio",
        "s u i c i d i o",
        "voglio suicidarmii",
        "quiero su1cidarme",
        "qu\u0131ero mor\u0131r",
        "\u1d20\u1d0f\u0262\u029f\u026a\u1d0f \u1d0d\u1d0f\u0280\u026a\u0280\u1d07",
        "💊😭",
    ],
)
def test_disguised_words_of_a_crisis_are_read(gate: SafetyGate, text: str) -> None:
    assert flag_of(gate, text).level is Level.CRISIS


def test_messages_sent_in_pieces_are_read_together(gate: SafetyGate) -> None:
    assert gate.read("non").red_flag is None
    assert flag_of(gate, "respira", "mio padre", "non").level is Level.CALL_NOW


def test_an_earlier_emergency_alone_is_not_read_twice(gate: SafetyGate) -> None:
    assert gate.read("quanto costa il ticket?", ("mi fa male il petto e sudo freddo",)).red_flag is None


@pytest.mark.parametrize(("earlier", "text"), [("voglio morire", "basta."), ("me quiero morir", "da igual")])
def test_an_unclear_message_after_a_crisis_is_a_follow_up(gate: SafetyGate, earlier: str, text: str) -> None:
    assert flag_of(gate, text, earlier).follow_up


@pytest.mark.parametrize("text", ["basta.", "da igual", "fa niente"])
def test_an_unclear_message_alone_is_nothing(gate: SafetyGate, text: str) -> None:
    assert gate.read(text, ("ho mal di testa",)).red_flag is None


@pytest.mark.parametrize(
    ("text", "third_person"),
    [
        ("mi fa male il petto e sudo", False),
        ("mio padre ha un dolore al petto", True),
        ("me duele el pecho", False),
        ("mi mamá no despierta", True),
        ("voglio morire", False),
        ("mi hijo de 14 se corta las piernas", True),
        ("mio marito ieri mi ha stretto il collo", False),
        ("il patrigno tocca la mia amica, ha 12 anni", True),
    ],
)
def test_it_knows_whether_the_writer_speaks_of_someone_else(gate: SafetyGate, text: str, third_person: bool) -> None:
    assert flag_of(gate, text).third_person is third_person


@pytest.mark.parametrize(
    ("text", "minor"),
    [
        ("ho 14 anni e voglio morire", True),
        ("mi tío me hace cosas que no quiero, tengo 13", True),
        ("da 3 giorni voglio morire", False),
    ],
)
def test_it_knows_when_a_minor_is_concerned(gate: SafetyGate, text: str, minor: bool) -> None:
    assert flag_of(gate, text).minor is minor


def test_sexual_violence_and_strangulation_are_told_apart(gate: SafetyGate) -> None:
    assert flag_of(gate, "mi hanno violentata, adesso che faccio").sexual_violence
    assert flag_of(gate, "mio marito ieri mi ha stretto il collo").strangulation
    assert not flag_of(gate, "mi marido me pega").sexual_violence


@pytest.mark.parametrize(
    "text", ["ho preso tutte le pastiglie, voglio morire", "tengo las pastillas en la mano", "me corté las venas"]
)
def test_a_crisis_that_is_happening_is_under_way(gate: SafetyGate, text: str) -> None:
    red_flag = flag_of(gate, text)

    assert red_flag.level is Level.CRISIS
    assert red_flag.under_way


@pytest.mark.parametrize(
    ("text", "red"),
    [
        ("non ho dolore al petto, ma non sento più il braccio", True),
        ("non ho febbre o dolore al petto", False),
        ("no tengo dolor de pecho ni me falta el aire", False),
        ("non ce la faccio più, mi fa male il petto", True),
        ("non ho mai avuto un dolore al petto così forte", True),
        ("no puedo respirar y me duele el pecho", True),
    ],
)
def test_a_denial_reaches_only_what_it_denies(gate: SafetyGate, text: str, red: bool) -> None:
    assert (gate.read(text).red_flag is not None) is red


@pytest.mark.parametrize(
    "text", ["", " ", "\u200b\u200b", "😀😀😀", "?!...", "é", "1", "ñ" * 10_000, "non " * 2_500, "\n" * 50, "۱۲ ②", "٣٫٥"]
)
def test_odd_input_is_read_without_failing(gate: SafetyGate, text: str) -> None:
    gate.read(text, (text, "", text))


@given(st.text(max_size=300), st.lists(st.text(max_size=60), max_size=3))
@settings(max_examples=150, deadline=None)
def test_no_text_makes_the_gate_fail(text: str, earlier: list[str]) -> None:
    _SHARED.read(text, earlier)


_SHARED = SafetyGate.load()


def test_a_long_message_takes_milliseconds(gate: SafetyGate) -> None:
    sentence = "ciao mia madre ha la febbre da tre giorni e non so cosa fare, me duele la cabeza y kuando komo me ziento mal. "
    text = (sentence * 40)[:4_000]
    spent = []
    for _ in range(5):
        start = time.process_time()
        gate.read(text)
        spent.append(time.process_time() - start)

    assert min(spent) < 0.015  # 5 ms on the reference machine; the rest is room for a slower one


def test_an_emergency_at_the_end_of_a_long_message_is_found(gate: SafetyGate) -> None:
    assert flag_of(gate, "le racconto la mia giornata. " * 350 + "Adesso non riesco a respirare").category == "breathing"
