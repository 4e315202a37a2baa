"""A fever told without its name."""

import pytest

from locales.language import Language
from rag.interpreter import Interpreter
from rag.types import Intent, Population, Question

interpreter = Interpreter()
IT, ES = Language.ITALIAN, Language.SPANISH


@pytest.mark.parametrize(
    ("language", "text", "implied"),
    [
        (IT, "ho 38", "febbre"),
        (IT, "la mia piccola di 2 anni ha 38 e mezzo e mangia poco", "febbre nei bambini"),
        (IT, "il bimbo di 4 anni scotta ma gioca tranquillo", "febbre nei bambini"),
        (IT, "mio marito ha 39,5 da ieri", "febbre"),
        (ES, "mi bebita de 2 años anda con 38 y medio y come poco", "fiebre en niños"),
        (ES, "mi niña está hirviendo", "fiebre en niños"),
        (ES, "tengo 39 y medio", "fiebre"),
        (IT, "ho la febbre a 38", ""),
        (IT, "ho 38 anni e mal di schiena", ""),
        (IT, "sono alla 38 settimana di gravidanza", ""),
        (IT, "peso 38,5 kg", ""),
        (IT, "mi sono scottata con la pentola", ""),
        (ES, "tengo 38 años y tos", ""),
        (ES, "me cayó aceite hirviendo en la mano", ""),
        (ES, "mi niña se quemó con agua hirviendo", ""),
    ],
)
def test_a_body_temperature_means_fever(language: Language, text: str, implied: str) -> None:
    understood = interpreter.interpret(Question(text=text, language=language))
    assert understood.implied == implied
    assert understood.self_contained == text


def test_the_dose_of_a_medicine_for_fever_is_about_fever() -> None:
    question = Question(text="¿cada cuánto le doy paracetamol a mi hijo de 12 kilos?", language=ES)
    understood = interpreter.interpret(question)
    assert understood.intent is Intent.OWN_DOSE
    assert understood.population is Population.CHILD
    assert understood.implied == "fiebre en niños"


@pytest.mark.parametrize(
    ("language", "text", "intent"),
    [
        (IT, "la pressione dell'acqua in casa è bassa", Intent.OFF_TOPIC),
        (ES, "la presión del agua en casa es baja", Intent.OFF_TOPIC),
        (ES, "¿cuánto cuesta un celular?", Intent.OFF_TOPIC),
        (ES, "Miro el celular en la cama y después no me duermo, tiene que ver?", Intent.QUESTION),
    ],
)
def test_a_word_of_another_field_does_not_silence_a_complaint(language: Language, text: str, intent: Intent) -> None:
    assert interpreter.interpret(Question(text=text, language=language)).intent is intent
