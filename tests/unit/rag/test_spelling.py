import pytest

from locales.language import Language
from rag.spelling import Spelling

ITALIAN, SPANISH = Language.ITALIAN, Language.SPANISH


@pytest.mark.parametrize(
    ("language", "written", "meant"),
    [
        (ITALIAN, "ho la febbreeee", "ho la febbre"),
        (ITALIAN, "apendicite, stomacco e psorriasi", "appendicite, stomaco e psoriasi"),
        (ITALIAN, "dolore al quore", "dolore al cuore"),
        (ITALIAN, "globuli bianki bassi", "globuli bianchi bassi"),
        (ITALIAN, "graminacie e polini", "graminacee e pollini"),
        (SPANISH, "tengo fiebreeee", "tengo fiebre"),
        (SPANISH, "me buelve la garganta inchada", "me vuelve la garganta hinchada"),
        (SPANISH, "el jarave y la pastiya", "el jarabe y la pastilla"),
        (SPANISH, "eso se contajia", "eso se contagia"),
        (SPANISH, "me da verguensa", "me da vergüenza"),
    ],
)
def test_a_word_written_as_it_sounds_is_put_right(language: Language, written: str, meant: str) -> None:
    assert Spelling.load(language).corrected(written) == meant


@pytest.mark.parametrize(
    ("language", "question"),
    [
        (ITALIAN, "Perché mi fa male lo stomaco dopo il caffè?"),
        (ITALIAN, "perche ho la tosse da piu di una settimana"),
        (ITALIAN, "Il capello e il cappello, la pala e la palla, la sete e le sette"),
        (ITALIAN, "Posso prendere lo Xyzalvin 500mg con omega-3?"),
        (SPANISH, "¿Por qué me duele la cabeza después de comer?"),
        (SPANISH, "a veces me duele la panza despues de comer"),
        (SPANISH, "el bello vello, el callo y el cayo"),
        (SPANISH, "un bebé de un año con vitamina B12"),
        (SPANISH, ""),
    ],
)
def test_a_word_that_is_known_or_sounds_like_none_stays(language: Language, question: str) -> None:
    assert Spelling.load(language).corrected(question) == question


def test_the_nearest_of_several_words_is_taken() -> None:
    assert Spelling(ITALIAN, ["pallotta", "palotta"]).corrected("palllotta") == "pallotta"
    assert Spelling(SPANISH, ["vacilo", "bacilo"]).corrected("basilo") == "bacilo"


def test_an_everyday_word_stands_back_behind_one_of_the_lexicon() -> None:
    assert Spelling(SPANISH, ["cirrosis"], ["sirrosis"]).corrected("sirosis") == "cirrosis"
    assert Spelling(SPANISH, ["cirrosis"], ["sirrosis"]).corrected("sirrosis") == "sirrosis"
    assert Spelling(ITALIAN, [], ["stanchezza"]).corrected("stancheza") == "stanchezza"
