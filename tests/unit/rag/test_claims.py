import re
import tomllib
from importlib.resources import files

import pytest

from locales.language import Language
from rag.claims import ClaimWords, Link, dangles, keys, segments

ITALIAN, SPANISH = Language.ITALIAN, Language.SPANISH
LANGUAGES = list(Language)


def lists(language: Language) -> dict[str, object]:
    return tomllib.loads((files("locales") / language.value / "alignment.toml").read_text(encoding="utf-8"))


def rows(sentence: str, language: Language = ITALIAN) -> list[list[str]]:
    return keys(segments(sentence, ClaimWords.load(language)))


def flat(sentence: str, language: Language = ITALIAN) -> list[str]:
    return [key for row in rows(sentence, language) for key in row]


def test_both_languages_have_the_same_lists_and_the_same_markers() -> None:
    italian, spanish = lists(ITALIAN), lists(SPANISH)

    assert set(italian) == set(spanish)
    assert set(italian["markers"]) == set(spanish["markers"])  # type: ignore[call-overload]


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_form_belongs_to_two_markers(language: Language) -> None:
    forms = [form for forms in lists(language)["markers"].values() for form in forms]  # type: ignore[attr-defined]

    assert sorted(forms) == sorted(set(forms))


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_limiting_word_is_ignored(language: Language) -> None:
    data = lists(language)
    ignored = set(str(data["ignored"]).split())
    limiting = {form for forms in data["markers"].values() for form in forms}  # type: ignore[attr-defined]

    assert ignored & limiting == set()


@pytest.mark.parametrize("language", LANGUAGES)
def test_pairs_of_endings_are_pairs(language: Language) -> None:
    assert all(re.fullmatch(r"[^\W\d_]*/[^\W\d_]+|[^\W\d_]+/", pair) for pair in str(lists(language)["inflections"]).split())


@pytest.mark.parametrize(
    ("language", "one", "other"),
    [
        (ITALIAN, "La febbre dura più di tre giorni.", "La febbre dura più di 3 giorni."),
        (ITALIAN, "La temperatura supera i 39,5 °C.", "La temperatura supera i 39.5 gradi."),
        (ITALIAN, "Il dolore di solito passa.", "Il dolore in genere passa."),
        (ITALIAN, "Le compresse vanno evitate.", "La compressa va evitata."),
        (SPANISH, "La fiebre dura más de tres días.", "La fiebre dura más de 3 días."),
        (SPANISH, "La temperatura supera los 39,5 °C.", "La temperatura supera los 39.5 grados."),
        (SPANISH, "Suele pasar sola la tos seca.", "Suelen pasar solas las toses secas."),
    ],
)
def test_spellings_of_one_claim_compare_equal(language: Language, one: str, other: str) -> None:
    assert flat(one, language) == flat(other, language)


@pytest.mark.parametrize(
    ("language", "one", "other"),
    [
        (ITALIAN, "Prenda 5 mg.", "Prenda 5 ml."),
        (ITALIAN, "La temperatura è 38 °C.", "La temperatura è > 38 °C."),
        (ITALIAN, "Passa in tre giorni.", "Passa da tre giorni."),
        (ITALIAN, "Compare da uno a quattro giorni dopo.", "Compare a quattro giorni dopo."),
        (ITALIAN, "Si trasmette dai bambini.", "Si trasmette ai bambini."),
        (ITALIAN, "Molti bambini guariscono.", "Pochi bambini guariscono."),
        (ITALIAN, "Chi ha l'asma eviti il fumo.", "Ha l'asma, eviti il fumo."),
        (ITALIAN, "Le persone che fumano hanno tosse.", "Le persone fumano e hanno tosse."),
        (ITALIAN, "Il fumo è una causa di tosse.", "Il fumo è la causa di tosse."),
        (ITALIAN, "Chiami il {emergency}.", "Chiami il emergency."),
        (ITALIAN, "Prenda paracetamolo o ibuprofene.", "Prenda paracetamolo e ibuprofene."),
        (ITALIAN, "La tosse è irritante.", "La Sua tosse è irritante."),
        (SPANISH, "Tome 5 mg.", "Tome 5 ml."),
        (SPANISH, "La temperatura es 38 °C.", "La temperatura es > 38 °C."),
        (SPANISH, "Pasa en tres días.", "Pasa desde hace tres días."),
        (SPANISH, "Tarda una o dos semanas.", "Tarda dos semanas."),
        (SPANISH, "Muchas personas mejoran.", "Pocas personas mejoran."),
        (SPANISH, "Las personas que fuman tienen tos.", "Las personas fuman y tienen tos."),
        (SPANISH, "El tabaco es una causa de tos.", "El tabaco es la causa de tos."),
        (SPANISH, "No tome aspirina.", "Nunca tome aspirina."),
        (SPANISH, "Tome paracetamol o ibuprofeno.", "Tome paracetamol e ibuprofeno."),
        (SPANISH, "La tos es molesta.", "Su tos es molesta."),
    ],
)
def test_what_changes_a_claim_changes_its_form(language: Language, one: str, other: str) -> None:
    assert flat(one, language) != flat(other, language)


@pytest.mark.parametrize(
    ("language", "sentence", "conditional"),
    [
        (ITALIAN, "Chiami il medico se la febbre dura giorni o supera i 39 °C.", [False, True, True]),
        (ITALIAN, "Se ha febbre e brividi, beva acqua.", [True, True, False]),
        (SPANISH, "Consulte si la tos dura semanas o hay sangre.", [False, True, True]),
        (SPANISH, "Si hay fiebre y tos, beba agua.", [True, True, False]),
    ],
)
def test_a_condition_reaches_to_its_comma(language: Language, sentence: str, conditional: list[bool]) -> None:
    assert [part.conditional for part in segments(sentence, ClaimWords.load(language))] == conditional


@pytest.mark.parametrize(
    ("language", "sentence", "reason"),
    [
        (ITALIAN, "Gli antibiotici non servono, perché è un virus.", [False, True]),
        (ITALIAN, "È un virus, quindi gli antibiotici non servono.", [True, False]),
        (SPANISH, "Los antibióticos no sirven, porque es un virus.", [False, True]),
        (SPANISH, "Es un virus, por eso los antibióticos no sirven.", [True, False]),
    ],
)
def test_a_reason_is_known_whichever_side_it_stands_on(language: Language, sentence: str, reason: list[bool]) -> None:
    assert [part.reason for part in segments(sentence, ClaimWords.load(language))] == reason


def test_or_before_a_condition_joins_the_condition() -> None:
    parts = segments("Vada dal medico se tossisce sangue o se respira male.", ClaimWords.load(ITALIAN))

    assert [part.link for part in parts] == [Link.PUNCTUATION, Link.PUNCTUATION, Link.OR]


@pytest.mark.parametrize(
    ("language", "word", "other", "may"),
    [
        (ITALIAN, "passa", "passano", True),
        (ITALIAN, "lavi", "lavare", True),
        (ITALIAN, "freddo", "fredde", True),
        (ITALIAN, "passa", "passerà", False),
        (ITALIAN, "prenda", "prendi", False),
        (ITALIAN, "contagiosa", "contagiata", False),
        (SPANISH, "pasa", "pasan", True),
        (SPANISH, "tome", "tomar", True),
        (SPANISH, "infección", "infecciones", True),
        (SPANISH, "pasa", "pasará", False),
        (SPANISH, "tome", "toma", False),
    ],
)
def test_words_of_one_stem_may_differ_in_number_but_not_in_tense_or_address(
    language: Language, word: str, other: str, may: bool
) -> None:
    assert ClaimWords.load(language).may_inflect(word, other) is may


@pytest.mark.parametrize(
    ("language", "sentence", "expected"),
    [
        (ITALIAN, "Il dolore passa, il e la febbre dura.", True),
        (ITALIAN, "E la febbre dura.", True),
        (ITALIAN, "Passa in uno o due giorni e, di solito, da sola.", True),
        (ITALIAN, "Passa in uno o due giorni.", False),
        (SPANISH, "La fiebre, la y el dolor pasan.", True),
        (SPANISH, "Hay dolor en.", True),
        (SPANISH, "Lo que, con el tiempo, mejora.", False),
    ],
)
def test_a_sentence_dangles_where_a_joining_word_joins_nothing(language: Language, sentence: str, expected: bool) -> None:
    assert dangles(sentence, ClaimWords.load(language)) is expected
