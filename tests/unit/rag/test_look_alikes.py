import pytest

from locales.language import Language
from rag.interpreter import Interpreter
from rag.text import normalise, query_tokens, word_spans
from rag.types import Question

ITALIAN, SPANISH = Language.ITALIAN, Language.SPANISH


@pytest.mark.parametrize(
    ("written", "meant", "language"),
    [
        ("f\u0435bbre \u0430lta", "febbre alta", ITALIAN),
        ("p\u0435rch\u00e9 ho la t\u03bfsse", "perché ho la tosse", ITALIAN),
        ("\u0421\u0415FALEA", "CEFALEA", ITALIAN),
        ("\uff26\uff25\uff22\uff22\uff32\uff25 a \uff13\uff18,5", "FEBBRE a 38,5", ITALIAN),
        ("\U0001d5f3\U0001d5f2\U0001d5ef\U0001d5ef\U0001d5ff\U0001d5f2", "febbre", ITALIAN),
        ("in\ufb02uenza", "influenza", ITALIAN),
        ("f\u0336e\u0336b\u0336b\u0336r\u0336e\u0336", "febbre", ITALIAN),
        ("feb\u00adbre\u200b al\u2060ta\ufe0f", "febbre alta", ITALIAN),
        ("f\u0456\u0435br\u0435 del ni\u00f1\u043e", "fiebre del niño", SPANISH),
        ("dolor de c\u03bfraz\u00f3n", "dolor de corazón", SPANISH),
        ("\U0001d4bf\U0001d4b6\U0001d4c6\U0001d4ca\U0001d4ee\U0001d4ec\U0001d4b6", "jaqueca", SPANISH),
        ("un an\u0303o", "un año", SPANISH),
        ("\uff34\uff4f\uff53 y asma", "Tos y asma", SPANISH),
    ],
)
def test_a_letter_that_looks_like_another_is_read_as_that(written: str, meant: str, language: Language) -> None:
    assert normalise(written) == meant
    assert query_tokens(written, language) == query_tokens(meant, language)


@pytest.mark.parametrize(
    "text",
    [
        "TNFα e β-bloccanti, 5 μg",
        "кашель",  # a word of another language, no disguise
        "El médico dijo «кашель» y νόσος.",
        "½ compressa, 1º giorno, 25 kg/m², Aspirina™",
        "año y ano",
        "È già più caldo, perché? ¿Qué pasó? ¡Vergüenza!",
    ],
)
def test_what_is_meant_as_it_stands_is_left_so(text: str) -> None:
    assert normalise(text) == text


@pytest.mark.parametrize(("language", "text"), [(ITALIAN, "Ho la febbre🤒alta"), (SPANISH, "Tengo fiebre🤒alta")])
def test_a_picture_parts_words_as_a_blank_does(language: Language, text: str) -> None:
    assert [word for word, _, _ in word_spans(normalise(text), language)][-1] == "alta"


@pytest.mark.parametrize(
    ("language", "written", "meant"),
    [
        (ITALIAN, "cos'\u00e8 la f\u0435bbr\u0435?", "cos'è la febbre?"),
        (SPANISH, "\u00bfqu\u00e9 es la f\u0456\u0435br\u0435?", "¿qué es la fiebre?"),
    ],
)
def test_what_is_embedded_is_the_plain_spelling_too(language: Language, written: str, meant: str) -> None:
    assert Interpreter().interpret(Question(text=written, language=language)).meaning == meant
