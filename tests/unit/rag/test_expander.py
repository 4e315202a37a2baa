import pytest

from locales.language import Language
from rag.expander import Direction, Expander, Lexicon, LexiconEntry
from rag.types import Intent, Interpretation

ITALIAN, SPANISH = Language.ITALIAN, Language.SPANISH

ENTRIES = [
    LexiconEntry(lay=("mal di testa", "male alla testa"), clinical=("cefalea",), direction=Direction.BOTH),
    LexiconEntry(lay=("testa",), clinical=("capo",), direction=Direction.BOTH),
    LexiconEntry(lay=("pressione alta",), clinical=("ipertensione arteriosa",), direction=Direction.BOTH),
    LexiconEntry(lay=("bruciore di stomaco",), clinical=("reflusso",), direction=Direction.TO_CLINICAL),
    LexiconEntry(lay=("mutua",), clinical=("medico di base",), direction=Direction.BOTH, countries=frozenset({"IT"})),
]


def expansions(question: str, country: str | None = None) -> tuple[str, ...]:
    understood = Interpretation(language=ITALIAN, intent=Intent.SYMPTOM, self_contained=question)
    query = Expander({ITALIAN: Lexicon(ITALIAN, ENTRIES)}).expand(understood, country)
    assert query.question == question
    assert query.intent is Intent.SYMPTOM
    return query.expansions


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Ho mal di testa da ieri", ("Ho cefalea da ieri",)),
        ("MAL DI TESTA", ("cefalea",)),
        ("cos'è la cefalea?", ("cos'è la mal di testa?",)),
        ("ho la pressione alta e il mal di testa", ("ho la ipertensione arteriosa e il cefalea",)),
        ("mi gira la testa", ("mi gira la capo",)),
        ("ho bruciori di stomaco", ("ho reflusso",)),
        ("cos'è il reflusso?", ()),
        ("che tempo fa?", ()),
        ("", ()),
    ],
)
def test_the_other_words_stand_in_place_of_the_patients(question: str, expected: tuple[str, ...]) -> None:
    assert expansions(question) == expected


@pytest.mark.parametrize(("country", "expected"), [("IT", ("vado dal medico di base",)), ("CH", ()), (None, ())])
def test_a_word_of_one_country_counts_only_there(country: str | None, expected: tuple[str, ...]) -> None:
    assert expansions("vado dal mutua", country) == expected


def test_a_stop_word_is_not_taken_for_a_form_with_its_stem() -> None:
    entry = LexiconEntry(lay=("parir",), clinical=("parto",), direction=Direction.BOTH)
    understood = Interpretation(language=SPANISH, intent=Intent.QUESTION, self_contained="tratamientos para la tos")
    assert Expander({SPANISH: Lexicon(SPANISH, [entry])}).expand(understood).expansions == ()


def test_a_language_without_a_lexicon_is_not_expanded() -> None:
    understood = Interpretation(language=SPANISH, intent=Intent.QUESTION, self_contained="mal di testa")
    assert Expander({}).expand(understood).expansions == ()


@pytest.mark.parametrize("language", list(Language))
def test_the_lexicon_of_every_language_loads(language: Language) -> None:
    assert Lexicon.load(language).language is language


@pytest.mark.parametrize(
    ("language", "question"),
    [
        (ITALIAN, "il bimbo scotta ma gioca tranquillo"),
        (ITALIAN, "sto seduta otto ore"),
        (SPANISH, "toca pedir cita"),
        (SPANISH, "se me olvidó la pastilla de la presión"),
    ],
)
def test_an_ordinary_word_with_the_stem_of_a_form_is_not_that_form(language: Language, question: str) -> None:
    meant = {other for found in Lexicon.load(language).find(question) for other in found.others}
    assert meant <= {"bambino", "antihipertensivos", "comprimido"}


def test_an_implied_topic_is_searched_beside_the_patients_words() -> None:
    told = Interpretation(language=ITALIAN, intent=Intent.SYMPTOM, self_contained="ha 38 e mezzo", implied="febbre nei bambini")
    query = Expander({}).expand(told)
    assert query.question == "ha 38 e mezzo (febbre nei bambini)"


@pytest.mark.parametrize(
    ("language", "question", "expected"),
    [
        (ITALIAN, "dolore da apendicite", "dolore da appendicite"),
        (ITALIAN, "ho mal di testa e le palpebbre gonfie", "ho cefalea e le palpebre gonfie"),
        (SPANISH, "la pastiya me da calor", "el comprimido"),
        (SPANISH, "me a picado una abispa", "me a picado una avispa"),
    ],
)
def test_a_misspelt_question_is_searched_as_it_should_be_spelt_too(language: Language, question: str, expected: str) -> None:
    entries = {
        ITALIAN: ENTRIES,
        SPANISH: [LexiconEntry(lay=("la pastilla me da calor",), clinical=("el comprimido",), direction=Direction.BOTH)],
    }
    understood = Interpretation(language=language, intent=Intent.QUESTION, self_contained=question)
    query = Expander({language: Lexicon(language, entries[language])}).expand(understood)
    assert query.question == question
    assert query.expansions == (expected,)
