import threading
from itertools import pairwise

import pytest

from locales.language import Language
from rag.text import (
    content_tokens,
    euphonic,
    fold,
    lexical_text,
    lexical_tokens,
    normalise,
    query_tokens,
    split_sentences,
    stop_words,
)

ITALIAN, SPANISH = Language.ITALIAN, Language.SPANISH


def sentences(text: str) -> list[str]:
    return [text[start:end] for start, end in split_sentences(text)]


@pytest.mark.parametrize(
    ("page", "query"),
    [
        ("L'emicrania è un mal di testa", "emicrania"),
        ("Cause dell’ipertensione", "ipertensione?"),
        ("Cause dell’ipertensione", "l'ipertensione"),
        ("Perché viene la tosse", "perche"),
        ("Un’influenza di quest'anno", "INFLUENZA"),
        ("C'è chi ha l`asma", "asma"),
        ("Vaccino contro il COVID-19", "covid-19"),
        ("Vaccino contro il COVID-19", "covid"),
        ("Carenza di vitamina B12", "b12"),
        ("Carenza di vitamina B-12", "B12"),
        ("Febbre oltre 38,5 gradi", "38.5"),
        ("Perche\u0301 con accento staccato", "perché"),
    ],
)
def test_an_italian_word_is_found_however_it_is_written_h28(page: str, query: str) -> None:
    assert set(query_tokens(query, ITALIAN)) <= set(lexical_text(page, ITALIAN).split())


@pytest.mark.parametrize(
    ("page", "query"),
    [
        ("La fiebre alta", "¿qué es la fiebre?"),
        ("Una operación urgente", "operaciones"),
        ("Una operación urgente", "operacion"),
        ("Consulte a cardiología", "cardiologia"),
        ("Niños de un an\u0303o", "niño año"),
        ("Enfermedad de Crohn", "Crohn's"),
    ],
)
def test_a_spanish_word_is_found_however_it_is_written_h28(page: str, query: str) -> None:
    assert set(query_tokens(query, SPANISH)) <= set(lexical_text(page, SPANISH).split())


def test_a_year_is_never_taken_for_another_word() -> None:
    assert lexical_tokens("año", SPANISH) != lexical_tokens("ano", SPANISH)
    assert fold("AÑO NUEVO, atención") == "año nuevo, atencion"


@pytest.mark.parametrize("word", ["38,5", "38.5", "covid-19", "B12", "b-12", "omega-3", "500mg", "5%"])
def test_a_figure_or_a_compound_is_one_token(word: str) -> None:
    """H28"""
    assert len(lexical_tokens(word, ITALIAN)) == 1


def test_decimal_comma_and_point_are_equal() -> None:
    assert lexical_tokens("38,5", ITALIAN) == lexical_tokens("38.5", ITALIAN) == ["38.5"]


def test_a_hyphen_between_two_words_parts_them() -> None:
    assert len(lexical_tokens("medico-chirurgico", ITALIAN)) == 2


def test_stop_words_are_searched_only_when_nothing_else_is_asked() -> None:
    assert content_tokens("perché?", ITALIAN) == []
    assert query_tokens("perché?", ITALIAN) == lexical_tokens("perche", ITALIAN)
    assert query_tokens("perché viene la tosse?", ITALIAN) == lexical_tokens("tosse", ITALIAN)


@pytest.mark.parametrize(("language", "word"), [(ITALIAN, "non"), (ITALIAN, "senza"), (SPANISH, "no"), (SPANISH, "sin")])
def test_a_negation_is_no_stop_word(language: Language, word: str) -> None:
    assert word not in stop_words(language)


@pytest.mark.parametrize("language", list(Language))
def test_text_without_words_has_no_tokens(language: Language) -> None:
    assert lexical_tokens("", language) == lexical_tokens("¿?  … 👍", language) == []
    assert lexical_text("", language) == ""


def test_normalise_keeps_case_and_lines_and_drops_what_cannot_be_seen() -> None:
    assert normalise(" L\u2019eta\u0300 \u00a0 del\u00adla\u200b\nnonna ") == "L'età della\nnonna"


def test_stems_are_the_same_in_many_threads() -> None:
    words = "infiammazione polmonare bronchite intestinale gravidanza allattamento vaccinazione" * 20
    expected = lexical_tokens(words, ITALIAN)
    found: list[list[str]] = []
    threads = [threading.Thread(target=lambda: found.extend(lexical_tokens(words, ITALIAN) for _ in range(30))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 120


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Il dott. Rossi consiglia riposo. Beva molto.", ["Il dott. Rossi consiglia riposo.", "Beva molto."]),
        ("Eviti alcuni farmaci, p. es. Aspirina. Basta così.", ["Eviti alcuni farmaci, p. es. Aspirina.", "Basta così."]),
        ("Evite, p. ej. Madrid. Fin.", ["Evite, p. ej. Madrid.", "Fin."]),
        ("El Dr. Pérez y la Sra. Gil. En EE. UU. Se vende.", ["El Dr. Pérez y la Sra. Gil.", "En EE. UU. Se vende."]),
        ("La febbre supera 38.5 gradi? Chiami.", ["La febbre supera 38.5 gradi?", "Chiami."]),
        ("Prenda acqua, brodo ecc. Poi riposi.", ["Prenda acqua, brodo ecc.", "Poi riposi."]),
        ("Virus dell'epatite C. Il virus vive.", ["Virus dell'epatite C.", "Il virus vive."]),
        ("Lo scrisse John F. Kennedy. Poi morì.", ["Lo scrisse John F. Kennedy.", "Poi morì."]),
        ("Causata da E. coli. Si cura.", ["Causata da E. coli.", "Si cura."]),
        ("¿Qué es? ¡Cuidado! Es una gripe.", ["¿Qué es?", "¡Cuidado!", "Es una gripe."]),
        ("Disse: «Perché?» e uscì. Fine.", ["Disse: «Perché?» e uscì.", "Fine."]),
        ("Aspetti… poi chiami. Ora.", ["Aspetti… poi chiami.", "Ora."]),
        ("I segni sono: febbre, tosse e mal di gola.", ["I segni sono: febbre, tosse e mal di gola."]),
        ("Chiami se:\n- ha febbre\n- vomita. Subito\n1. Beva", ["Chiami se:", "ha febbre", "vomita.", "Subito", "Beva"]),
        ("## Sintomi\n\nFebbre.", ["Sintomi", "Febbre."]),
        ("¿Toma aspirina? No. El médico lo sabe.", ["¿Toma aspirina?", "No.", "El médico lo sabe."]),
        ("", []),
        ("…\n---\n", []),
    ],
)
def test_sentences_end_where_a_reader_would_end_them(text: str, expected: list[str]) -> None:
    assert sentences(text) == expected


def test_offsets_are_in_order_and_lose_no_word() -> None:
    text = "  ## Febbre\r\n\r\nLa febbre sale. Di sera, spesso!\n  - acqua (p. es. 2 l)\n• brodo\n"
    spans = split_sentences(text)
    assert all(before[1] <= after[0] for before, after in pairwise(spans))
    left = "".join(
        text[end:start] for end, start in zip([0, *(end for _, end in spans)], [*(s for s, _ in spans), len(text)], strict=True)
    )
    assert not any(letter.isalnum() for letter in left)


@pytest.mark.parametrize("unit", ["°C", "° C"])
def test_a_temperature_ends_its_sentence(unit: str) -> None:
    text = f"Acuda si la fiebre pasa de 39 {unit}. Si dura más, consulte."
    assert [text[start:end] for start, end in split_sentences(text)] == [
        f"Acuda si la fiebre pasa de 39 {unit}.",
        "Si dura más, consulte.",
    ]


@pytest.mark.parametrize(
    ("language", "text", "spoken"),
    [
        (ITALIAN, "dura poco e è contagioso, e ha tosse", "dura poco ed è contagioso, e ha tosse"),
        (ITALIAN, "febbre e esantema e tosse", "febbre ed esantema e tosse"),
        (SPANISH, "dolor y inflamación y hierro", "dolor e inflamación y hierro"),
        (SPANISH, "padres y hijos y hielo", "padres e hijos y hielo"),
        (SPANISH, "minutos o horas o días", "minutos u horas o días"),
    ],
)
def test_and_and_or_are_written_as_they_are_spoken(language: Language, text: str, spoken: str) -> None:
    assert euphonic(text, language) == spoken
