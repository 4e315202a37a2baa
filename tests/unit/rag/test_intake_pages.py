"""What a page's tree tells of each feature."""

import pytest

from ingest.disease_tree import disease_tree
from locales.language import Language
from rag.intake_features import FeatureLexicon
from rag.intake_pages import UNTOLD, PageProfile, read_profile
from tests.builders import document

PAGES = {
    Language.ITALIAN: """## Che cos'è

Il raffreddore è un'infezione del naso.

## Sintomi

Il raffreddore dà naso che cola e starnuti. Il raffreddore non dà vomito.

## Quando andare dal medico

Vada dal medico se ha mal d'orecchio.
""",
    Language.SPANISH: """## Qué es

El resfriado es una infección de la nariz.

## Síntomas

El resfriado da mocos y estornudos. El resfriado no da vómitos.

## Cuándo consultar

Consulte si tiene dolor de oído.
""",
}
ASKED = {Language.ITALIAN: "ho mal di gola e il naso che cola", Language.SPANISH: "me duele la garganta y me gotea la nariz"}


def read(language: Language) -> PageProfile:
    page = document(text=PAGES[language], language=language, topic="cold", asked=(ASKED[language],))
    return read_profile(page, disease_tree, FeatureLexicon.load(language))


@pytest.mark.parametrize("language", list(Language))
def test_symptoms_say_more_than_patients_words_and_these_more_than_warnings(language: Language) -> None:
    page = read(language)
    assert page.chance("sneezing") > page.chance("sore_throat") > page.chance("ear_pain") > page.chance("itch") == UNTOLD


@pytest.mark.parametrize("language", list(Language))
def test_what_a_page_denies_is_less_likely_than_what_it_does_not_name(language: Language) -> None:
    assert read(language).chance("vomiting") < UNTOLD


@pytest.mark.parametrize("language", list(Language))
def test_a_page_names_what_it_or_its_patients_tell_as_a_symptom(language: Language) -> None:
    page = read(language)
    assert page.names("sneezing")
    assert page.names("sore_throat")
    assert not page.names("ear_pain")
