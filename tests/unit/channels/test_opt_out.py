import tomllib
from importlib.resources import files

import pytest

from channels.opt_out import is_opt_in, is_opt_out


@pytest.mark.parametrize(
    "text",
    [
        "STOP",
        " stop. ",
        "Stop!!!",
        "«stop»",
        "*STOP*",
        "stop per favore",
        "Por favor, stop",
        "stop, grazie",
        "BAJA",
        "baja por favor",
        "CANCELA SUSCRIPCIÓN",
        "cancelar la suscripción",
        "disiscrivimi",
        "Annulla l’iscrizione",
        "Non scrivermi più",
        "no me escriba más",
        "UNSUBSCRIBE",
        "Stop 🛑",
    ],
)
def test_h17_a_whole_message_that_opts_out_is_understood(text: str) -> None:
    assert is_opt_out(text)


@pytest.mark.parametrize(
    "text",
    [
        "basta",
        "Basta!",
        "ya basta",
        "no más",
        "no mas por favor",
        "no ne posso più, basta",
        "ya no puedo más",
        "Come faccio a smettere? STOP alle sigarette",
        "¿Cómo dejo de fumar?",
        "voglio smettere",
        "voglio farla finita",
        "quiero acabar con todo",
        "salir",
        "fine",
        "fin",
        "esci",
        "lasciami in pace",
        "déjame en paz",
        "annulla",
        "cancelar",
        "la pressione bassa",
        "presión baja",
        "baja médica",
        "stop al dolore",
        "non scrivermi più medicine",
        "",
        "???",
        "stop " * 100,
    ],
)
def test_h17_what_people_in_distress_or_with_a_question_write_is_no_opt_out(text: str) -> None:
    assert not is_opt_out(text)


@pytest.mark.parametrize("text", ["START", "alta", "¡Alta!", "Inizio", "iniciar", "UNSTOP", "Iscrivimi, grazie"])
def test_h17_a_word_that_opts_in_again_is_understood(text: str) -> None:
    assert is_opt_in(text)
    assert not is_opt_out(text)


@pytest.mark.parametrize(
    "text", ["febbre alta", "fiebre alta", "sì", "yes", "inizio a preoccuparmi", "¿cuándo inicia la menopausia?", ""]
)
def test_h17_what_only_holds_such_a_word_opts_in_to_nothing(text: str) -> None:
    assert not is_opt_in(text)


def test_h17_the_lists_are_written_as_messages_are_read() -> None:
    lists = tomllib.loads(files("locales").joinpath("opt_out.toml").read_text(encoding="utf-8"))
    for language in lists.values():
        assert [phrase for phrase in language["stop"] if not is_opt_out(phrase)] == []
        assert [phrase for phrase in language["start"] if not is_opt_in(phrase)] == []
