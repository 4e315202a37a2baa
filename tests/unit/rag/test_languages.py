"""The language of a message: short, without accents, mixed, or in neither of the two."""

import pytest

from locales.language import Language
from rag.languages import LanguageReading, identify

IT, ES = Language.ITALIAN, Language.SPANISH


@pytest.mark.parametrize(
    "text",
    [
        "ho la febbre", "mal di gola", "che cos'e il diabete", "quanto dura l'influenza", "mi fa male la pancia", "tosse secca",
        "perche ho mal di testa", "sono incinta e ho la nausea", "dengue come si prende", "pressione alta",
        "cosa fare per la diarrea",
        "posso prendere il Tylenol Extra Strength con la febbre?", "Ho letto di 'long covid syndrome': che cos'è?",
        "mio figlio ha 39", "e per i bambini?", "HO MAL DI SCHIENA", "nn riesco a dormire xche ho ansia",
    ],
)  # fmt: skip
def test_short_italian_is_italian(text: str) -> None:
    assert identify(text) == LanguageReading(IT)


@pytest.mark.parametrize(
    "text",
    [
        "tengo fiebre", "dolor de garganta", "que es la diabetes", "cuanto dura la gripe", "me duele la panza", "tos seca",
        "por que me duele la cabeza", "estoy embarazada y tengo nauseas", "como se contagia el dengue", "presion alta",
        "me duele el chest", "que hago con la diarrea", "puedo tomar Tylenol Extra Strength con fiebre?", "mi hijo tiene 39",
        "y en los niños?", "ME DUELE LA ESPALDA", "q tomo pa la gripa", "qué es el long covid syndrome",
    ],
)  # fmt: skip
def test_short_spanish_is_spanish(text: str) -> None:
    assert identify(text) == LanguageReading(ES)


@pytest.mark.parametrize("prior", [IT, ES])
@pytest.mark.parametrize("text", ["ok", "no", "febbre", "fiebre", "dengue", "38,5", "?", "", "asma"])
def test_a_single_word_takes_the_language_of_the_session(text: str, prior: Language) -> None:
    assert identify(text, prior) == LanguageReading(prior)


@pytest.mark.parametrize("text", ["", "38,5", "👍", "ok", "asma"])
def test_the_undecidable_is_italian_without_a_prior(text: str) -> None:
    assert identify(text) == LanguageReading(IT)


@pytest.mark.parametrize(
    ("text", "prior", "expected"),
    [
        ("¿cuánto dura la gripe en los niños?", IT, ES),
        ("me duele mucho la cabeza desde ayer", IT, ES),
        ("quanto dura l'influenza nei bambini?", ES, IT),
        ("mi fa male la testa da ieri, cosa faccio?", ES, IT),
        ("la diarrea", ES, ES),
        ("la diarrea", IT, IT),
    ],
)
def test_a_clear_change_of_language_wins_over_the_session(text: str, prior: Language, expected: Language) -> None:
    assert identify(text, prior) == LanguageReading(expected)


@pytest.mark.parametrize(
    "text",
    [
        "what is diabetes?", "how long does the flu last", "my son has a fever, what should I do?", "I have a headache",
        "combien de temps dure la grippe ?", "j'ai mal à la tête depuis hier", "qu'est-ce que le diabète",
        "tenho tosse há duas semanas", "estou com febre e dor de cabeça", "meu filho está com febre, o que eu faço?",
        "wie lange dauert die Grippe?", "ich habe Kopfschmerzen", "mein Kind hat Fieber",
        "cât durează gripa la copii?", "ma doare capul si am febra", "ما هو مرض السكري", "что такое диабет", "什么是糖尿病",
    ],
)  # fmt: skip
@pytest.mark.parametrize("prior", [None, ES, IT])
def test_a_third_language_is_recognised_and_keeps_the_session_language(text: str, prior: Language | None) -> None:
    assert identify(text, prior) == LanguageReading(prior or IT, is_other=True)
