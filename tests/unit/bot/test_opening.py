import pytest

from bot.opening import Opening, opening_of
from locales.language import Language
from rag.replies import Preface
from rag.types import Question

IT, ES = Language


@pytest.mark.parametrize(
    ("text", "language", "preface"),
    [
        ("Che dose di paracetamolo devo prendere?", IT, Preface.OWN_DOSE),
        ("¿Qué dosis de paracetamol debo tomar?", ES, Preface.OWN_DOSE),
        ("Ho il colesterolo a 240 nelle analisi, cosa significa?", IT, Preface.READING),
        ("Che cosa fare per la febbre?", IT, None),
    ],
)
def test_language_and_preface_are_known_before_the_answer(text: str, language: Language, preface: Preface | None) -> None:
    opening = opening_of(Question(text=text), extractive=False, about_emergency=True)
    assert opening == Opening(language=language, preface=preface, about_emergency=True)


def test_a_chosen_language_holds() -> None:
    assert opening_of(Question(text="febbre", language=ES), extractive=True, about_emergency=False).language is ES
