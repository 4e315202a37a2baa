"""What could tell who asked is gone from a question, and what is medical in it is still there."""

import time
import tomllib
from collections import Counter
from importlib.resources import files
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ingest.extraction.deidentify import deidentified, names_told, segmented
from locales.language import Language
from rag.text import fold, words

IT, ES = Language.ITALIAN, Language.SPANISH
_EXAMPLES = Path(__file__).with_name("identity_examples.tsv").read_text(encoding="utf-8").splitlines()
_STARTER = Path(__file__).parents[4] / "ingest" / "starter"
_MOST_LOST = 0.005
_FRAMES = {
    IT: (
        "mi chiamo {}, ho la tosse.",
        "Buongiorno, sono {} e ho la febbre.",
        "Mio figlio {} vomita.",
        "Ho mal di testa.\nGrazie, {}",
    ),
    ES: ("me llamo {}, tengo tos.", "Hola, soy {} y tengo fiebre.", "Mi hijo {} vomita.", "Me duele la cabeza.\nGracias, {}"),
}


def _names(language: Language) -> list[str]:
    text = (files("locales") / language.value / "deidentification.toml").read_text(encoding="utf-8")
    names: list[str] = tomllib.loads(text)["names"]["first"].split()
    return names


@pytest.mark.parametrize("language", Language)
def test_there_are_a_few_hundred_names(language: Language) -> None:
    assert len(set(_names(language))) >= 300


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_no_listed_name_survives_in_any_casing(data: st.DataObject) -> None:
    language = data.draw(st.sampled_from(Language))
    name = data.draw(st.sampled_from(_names(language)))
    written = data.draw(st.sampled_from([name, name.upper(), name.title(), name.swapcase(), name[0] + name[1:].upper()]))
    frame = data.draw(st.sampled_from(_FRAMES[language]))
    shout = data.draw(st.booleans())

    text = frame.format(written)

    assert fold(name) not in words(deidentified(text.upper() if shout else text, language), language)


@pytest.mark.parametrize(
    ("language", "text", "gone"),
    [
        (IT, "Mi chiamo xantia verdini e vivo a borgolungo.", ["xantia", "borgolungo"]),
        (IT, "Sono Kimberly da Milano, mia moglie Samanta sta male.", ["kimberly", "milano", "samanta"]),
        (IT, "Il dott. Rossi dell'ospedale niguarda di Milano mi visita.", ["rossi", "niguarda", "milano"]),
        (IT, "Ricoverata all'Ospedale San Raffaele, poi al Policlinico Gemelli.", ["raffaele", "gemelli"]),
        (IT, "Mia suocera Maria Bianchi ha la tosse.", ["maria", "bianchi"]),
        (IT, "Chiamatemi al 333 1234567 o a mario.neri@posta.it", ["333", "1234567", "mario", "neri"]),
        (IT, "Codice RSSMRA85T10A562S, nato il 12/03/1985 a Como.", ["rssmra85t10a562s", "1985", "como"]),
        (IT, "Vedi www.mionome.it e @giulietta88", ["mionome", "giulietta88"]),
        (IT, "Ho mal di gola.\nCordiali saluti\nOdoacre B.", ["odoacre"]),
        (ES, "Me llamo xiadani perea y vivo en villachica.", ["xiadani", "villachica"]),
        (ES, "Soy de Sevilla, mi esposo Juan Carlos López tose.", ["sevilla", "juan", "carlos", "lopez"]),
        (ES, "El Dr. Pérez del Hospital Universitario La Fe de Valencia me vio.", ["perez", "fe", "valencia"]),
        (ES, "Mi DNI es 12345678Z y mi CURP GOMC850312HDFRRL09.", ["12345678z", "gomc850312hdfrrl09"]),
        (ES, "Llámeme al 612 345 678 o al 55 1234 5678, lola@correo.es", ["612", "1234", "5678", "lola", "correo"]),
        (ES, "Nací el 12 de marzo de 1985 en Lima.", ["marzo", "1985"]),
        (ES, "Saludos, María José Pérez", ["maria", "jose", "perez"]),
    ],
)
def test_names_places_and_contacts_are_gone(language: Language, text: str, gone: list[str]) -> None:
    left = words(deidentified(text, language), language)

    assert not set(gone) & set(left), left


@pytest.mark.parametrize(
    ("code", "question", "secrets"), [line.split("\t") for line in _EXAMPLES if line and not line.startswith("#")]
)
def test_names_towns_and_ages_on_no_list_are_gone(code: str, question: str, secrets: str) -> None:
    left = words(deidentified(question, Language(code)), Language(code))

    for secret in secrets.split(","):
        hidden = words(secret, Language(code))
        assert not any(left[at : at + len(hidden)] == hidden for at in range(len(left))), left


@pytest.mark.parametrize("language", Language)
def test_medical_sentences_that_name_nobody_lose_next_to_nothing(language: Language) -> None:
    count, lost = 0, Counter[str]()
    for page in sorted((_STARTER / language).glob("*.md"))[::4]:
        for line in page.read_text(encoding="utf-8").split("---", 2)[2].replace("{emergency}", "112").split("\n"):
            before = Counter(words(line, language))
            count += before.total()
            lost += before - Counter(words(deidentified(line.lstrip("#- "), language), language))

    assert lost.total() / count < _MOST_LOST, lost


@pytest.mark.parametrize(
    ("language", "text", "kept"),
    [
        (IT, "Prendo Zyloric 300 mg e uso la pomata Xeroderm.", ["Zyloric 300 mg", "Xeroderm"]),
        (
            IT,
            "Ho fatto una Gastroscopia, IgG e TSH sono nella norma, FERRITINA bassa.",
            ["Gastroscopia", "IgG", "TSH", "FERRITINA"],
        ),
        (IT, "Di Lunedì prendo l'Eutirox per la tiroidite di Hashimoto.", ["Lunedì", "Eutirox", "Hashimoto"]),
        (IT, "Dolore Al Fianco Destro Dopo I Pasti", ["dolore al fianco destro dopo i pasti"]),
        (IT, "Salve, Soffro di reflusso. Mio marito diabetico vomita.", ["Soffro di reflusso", "marito diabetico vomita"]),
        (IT, "La bronchite acuta è contagiosa? Epifora e prurito da un mese.", ["bronchite acuta", "Epifora e prurito"]),
        (ES, "Tomo Zyloric 300 mg y uso la pomada Xeroderm.", ["Zyloric 300 mg", "Xeroderm"]),
        (ES, "Me hicieron una Gastroscopia, IgG y TSH normales.", ["Gastroscopia", "IgG", "TSH"]),
        (ES, "El Lunes tomo Eutirox por la tiroiditis de Hashimoto.", ["Lunes", "Eutirox", "Hashimoto"]),
        (ES, "Hola, Sufro de reflujo. Mi marido diabético vomita.", ["Sufro de reflujo", "marido diabético vomita"]),
        (ES, "Cuando tomas leche te sale una mancha en la piel.", ["tomas leche", "mancha en la piel"]),
    ],
)
def test_words_of_medicine_stay_with_a_capital_too(language: Language, text: str, kept: list[str]) -> None:
    left = deidentified(text, language)

    assert [part for part in kept if part not in left] == [], left


def test_people_tell_their_own_names() -> None:
    assert names_told("Hola, me llamo Telmo y tengo tos.", ES) == {"Telmo"}
    assert names_told("Salve, Sono Incinta da poco.\nGrazie, Ulderica", IT) == {"Ulderica"}


@pytest.mark.parametrize("language", Language)
def test_no_word_that_is_ordinary_is_a_listed_name(language: Language) -> None:
    plain = tomllib.loads((files("locales") / language.value / "ordinary_words.toml").read_text(encoding="utf-8"))

    assert not set(plain["ordinary"].split()) & set(_names(language))


@pytest.mark.parametrize(
    ("language", "text", "kept"),
    [
        (IT, "Da 3 giorni ho 38,5 di febbre, TSH 4,2, prendo 20 mg.", ["Da 3 giorni", "38,5", "TSH 4,2", "20 mg"]),
        (IT, "Pressione 120/80, glicemia 126 mg/dl, globuli 4.500.000/mmc.", ["120/80", "126 mg/dl", "4.500.000/mmc"]),
        (IT, "Fumo da 20 anni, operato 10 anni fa, terapia di 3 mesi.", ["da 20 anni", "10 anni fa", "terapia di 3 mesi"]),
        (IT, "Sono incinta di 12 settimane.", ["12 settimane"]),
        (IT, "Ho il fuoco di Sant'Antonio e il morbo di Crohn.", ["fuoco di Sant'Antonio", "morbo di Crohn"]),
        (
            IT,
            "I valori sono nella norma, la flora è alterata, massimo rosa chiara.",
            ["nella norma", "flora", "massimo rosa chiara"],
        ),
        (ES, "Desde hace 3 días tengo 38,5 de fiebre, TSH 4,2, tomo 20 mg.", ["hace 3 días", "38,5", "TSH 4,2", "20 mg"]),
        (ES, "Tengo 3 meses con tos y 12 semanas de embarazo.", ["3 meses con tos", "12 semanas de embarazo"]),
        (ES, "Fumo desde hace 20 años, me operaron hace 5 años.", ["hace 20 años", "hace 5 años"]),
        (ES, "Tengo dolores en la palma, los remedios y la salud.", ["dolores", "palma", "remedios", "salud"]),
    ],
)
def test_medical_figures_durations_and_words_stay(language: Language, text: str, kept: list[str]) -> None:
    left = deidentified(text, language)

    assert [part for part in kept if part not in left] == [], left


@pytest.mark.parametrize(
    ("language", "text", "coarse", "figure"),
    [
        (IT, "Mio figlio Luca di 3 mesi tossisce.", "un lattante", "3"),
        (IT, "Mia figlia di due anni vomita.", "un bambino", "due"),
        (IT, "Mio figlio ha 15 anni e tossisce.", "un adolescente", "15"),
        (IT, "Mia nonna, 78 anni, cade.", "una persona anziana", "78"),
        (IT, "Ho settantadue anni e la tosse.", "una persona anziana", "settantadue"),
        (IT, "Sono una 34enne con emicrania.", "una persona adulta", "34enne"),
        (ES, "Mi hijo Pedro de 3 meses tose.", "un lactante", "3"),
        (ES, "Mi hija tiene 2 años y vomita.", "un niño", "2"),
        (ES, "Mi abuela, 78 años, se cae.", "una persona mayor", "78"),
        (ES, "Tengo setenta y dos años y tos.", "una persona mayor", "setenta"),
    ],
)
def test_an_age_becomes_coarse(language: Language, text: str, coarse: str, figure: str) -> None:
    left = deidentified(text, language)

    assert coarse in left
    assert fold(figure) not in words(left, language)


@pytest.mark.parametrize(
    ("language", "text"),
    [
        (IT, "Ho 34 anni e la tosse."),
        (IT, "Donna di 45 anni con tosse."),
        (IT, "34 anni, tosse."),
        (IT, "Età: 34. Tosse."),
        (ES, "Tengo 34 años y tos."),
        (ES, "Mujer de 45 años con tos."),
        (ES, "Edad: 34 años. Tos."),
    ],
)
def test_the_age_of_an_adult_is_gone(language: Language, text: str) -> None:
    assert not any(letter.isdigit() for letter in deidentified(text, language))


def test_pieces_are_whole_sentences_without_greeting_and_thanks() -> None:
    text = "Buongiorno dottore,\nho mal di pancia da tre giorni. Non ho febbre. Grazie mille per la risposta!"

    assert segmented(text, IT, count_words=8) == ("ho mal di pancia da tre giorni.", "Non ho febbre.")
    assert segmented("Hola, buenas tardes. Tengo tos. Muchas gracias por su ayuda.", ES) == ("Tengo tos.",)


def test_an_endless_sentence_is_cut_and_loses_no_word() -> None:
    text = " ".join(f"parola{number}," if number % 7 == 0 else f"parola{number}" for number in range(200))

    pieces = segmented(text, IT)

    assert " ".join(pieces) == text
    assert max(len(piece.split()) for piece in pieces) <= 60


def test_nothing_comes_of_nothing() -> None:
    assert segmented("", IT) == ()
    assert segmented("Grazie mille!", IT) == ()
    assert deidentified("", ES) == ""


@pytest.mark.parametrize(
    "text", ["A" * 50_000, "Aa " * 15_000, "Mio figlio Luca di 3 mesi a Rovereto vomita, " * 1_000, "a, B " * 10_000]
)
def test_no_text_takes_long(text: str) -> None:
    began = time.process_time()
    deidentified(text, IT)

    assert time.process_time() - began < 5
