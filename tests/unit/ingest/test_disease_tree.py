import tomllib
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from ingest.disease_tree import DiagnosisWords, disease_tree
from ingest.importers.folder import read_folder
from locales.language import Language
from rag.disease_tree import DiseaseTree, Facet
from rag.documents import Document
from tests.builders import document, starter_sources

STARTER = Path(__file__).parents[3] / "ingest" / "starter"
PAGES = sorted(STARTER.glob("*/*.md"))
LANGUAGES = list(Language)


def tree(text: str, **changes: Any) -> DiseaseTree:
    return disease_tree(document(text=text, **changes))


def paths(text: str, **changes: Any) -> list[tuple[str, ...]]:
    return [path for path, _ in tree(text, **changes).walk()]


def diagnosis(text: str, **changes: Any) -> str:
    return tree(text, **changes).diagnosis_text(1000)


@cache
def words_file(language: Language) -> dict[str, Any]:
    return tomllib.loads((files("locales") / language.value / "disease_tree.toml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: f"{page.parent.name}-{page.stem}")
def test_every_starter_page_has_symptoms_and_when_to_see_a_doctor_marked_and_neither_causes_nor_remedies(page: Path) -> None:
    row = next(row for row in starter_sources() if row.language == page.parent.name)
    (read,) = read_folder(page, row)
    built = disease_tree(read)

    assert [branch.facet for branch in built.diagnostic()] == [Facet.SYMPTOMS, Facet.CARE, Facet.CARE]
    assert built.is_marked


def test_there_are_eighty_three_starter_pages_in_each_language() -> None:
    assert [sum(page.parent.name == language.value for page in PAGES) for language in LANGUAGES] == [83, 83]


def test_title_is_the_root_and_text_before_the_first_heading_is_its_own() -> None:
    root = tree("È comune.\n\nPassa da sola.\n\n## Sintomi\n\nTosse.", title="Influenza").root

    assert (root.heading, root.leaves) == ("Influenza", ("È comune.", "Passa da sola."))


def test_list_is_one_leaf_with_its_lead_in() -> None:
    (_, symptoms) = tree("## Sintomi\n\nDà:\n- tosse\n  - secca\n\nDura poco.").walk()

    assert symptoms[1].leaves == ("Dà:\n- tosse\n  - secca", "Dura poco.")


def test_level_left_out_is_no_obstacle() -> None:
    assert paths("## Sintomi\n\n#### Rari\n\nA.\n\n### Comuni\n\nB.\n\n# Altro\n\n# Ancora\n\nC.") == [
        (),
        ("Sintomi",),
        ("Sintomi", "Rari"),
        ("Sintomi", "Comuni"),
        ("Altro",),
        ("Ancora",),
    ]


def test_headings_of_the_same_name_stay_two() -> None:
    assert (
        diagnosis("## Sintomi\n\nTosse.\n\n## Cura\n\nRiposo.\n\n## Sintomi\n\nFebbre.") == "Sintomi:\nTosse.\nSintomi:\nFebbre."
    )


def test_heading_that_is_the_title_of_the_page_marks_nothing() -> None:
    text = "# Influenza: sintomi e cure\n\nÈ comune.\n\n## Sintomi\n\nTosse.\n\n## Cura\n\nRiposo."

    assert diagnosis(text) == "Sintomi:\nTosse."
    assert tree(text).root.leaves == ("È comune.",)


def test_first_of_several_highest_headings_is_a_heading_like_the_others() -> None:
    assert diagnosis("# Sintomi\n\nTosse.\n\n# Cura\n\nRiposo.") == "Sintomi:\nTosse."


def test_heading_of_two_subjects_leaves_the_choice_to_the_headings_below() -> None:
    assert diagnosis("## Diagnosi e cura\n\n### Diagnosi\n\nTampone.\n\n### Cura\n\nRiposo.") == "Diagnosi:\nTampone."


def test_heading_of_two_subjects_with_nothing_marked_below_marks_all_of_it() -> None:
    assert diagnosis("## Sintomi e cause\n\nTosse.\n\n### Nei bambini\n\nVomito.").split("\n") == [
        "Sintomi e cause:",
        "Tosse.",
        "Nei bambini:",
        "Vomito.",
    ]


@pytest.mark.parametrize("text", ["", "## Sintomi", "\n\n", "#Sintomi senza spazio", "Solo testo."])
def test_page_without_a_marked_heading_or_without_text_is_no_failure(text: str) -> None:
    assert diagnosis(text) == ("" if text in ("", "## Sintomi", "\n\n") else text)


def test_endless_heading_is_read_only_at_its_beginning() -> None:
    assert not tree("## " + "parola " * 100_000 + "sintomi\n\nTesto.").is_marked


ITALIAN = {
    Facet.SYMPTOMS: """Sintomi | Quali sono i sintomi dell'influenza? | Segni e sintomi | I segnali d'allarme |
        Come si manifesta | Come si riconosce | Come riconoscerla | Manifestazioni cliniche |
        Quadro clinico | Campanelli d'allarme | Che cosa si sente | Come faccio a capire se è influenza? |
        DISTURBI | Quali disturbi provoca? | Come si presenta l'eruzione | SINTOMATOLOGIA""",
    Facet.DIAGNOSIS: """Diagnosi | La diagnosi dell'asma | Come si diagnostica | Come si scopre | Diagnosi differenziale |
        Valutazione specialistica | Come viene individuata""",
    Facet.EXAMINATIONS: """Esami | Quali esami fare | Accertamenti | Analisi del sangue | Indagini strumentali |
        Test allergologici | Visita specialistica | Screening | Che cosa farà il medico |
        Come si misura la pressione | Radiografia del torace""",
    Facet.CARE: """Quando andare dal medico | Quando consultare il medico | Quando rivolgersi al pediatra |
        A chi rivolgersi | Quando preoccuparsi | Quando chiamare il 118 | Quando andare al pronto soccorso |
        Quando chiamare il numero di emergenza | Quando chiedere aiuto | A quale specialista rivolgersi |
        È grave? | Quando è bene farsi visitare""",
    None: """Cause | Fattori di rischio | Cura | Che cosa fare | Che cos'è | Prevenzione | Primo soccorso |
        Complicanze | Prognosi | Terapia sintomatica | Come alleviare i sintomi | Trattamento dei sintomi |
        Farmaci contro i sintomi | Orari di visita | Contraccezione d'emergenza | Quando vaccinarsi |
        Significato del nome | Dieta | Bibliografia""",
}
SPANISH = {
    Facet.SYMPTOMS: """Síntomas | ¿Cuáles son los síntomas? | Signos y síntomas | Señales de alarma | Cómo se manifiesta |
        Cómo reconocerla | Manifestaciones clínicas | Cuadro clínico | ¿Qué se siente? |
        ¿Cómo sé si tengo gripe? | Molestias | Datos de alarma | ¿Cómo saber si es gripe? |
        Señales para reconocer | SINTOMATOLOGÍA""",
    Facet.DIAGNOSIS: "Diagnóstico | ¿Cómo se diagnostica? | Cómo se detecta | Detección | Evaluación médica | Historia clínica",
    Facet.EXAMINATIONS: """Pruebas y exámenes | Exploración física | Análisis de sangre | Analítica | Estudios de imagen |
        Radiografía | ¿Qué hará el médico? | Tamizaje | Cribado | Cómo se mide la presión | Ultrasonido""",
    Facet.CARE: """Cuándo consultar | Cuándo contactar a un profesional médico | Cuándo ir al médico |
        Cuándo acudir a urgencias | Cuándo llamar al 911 | Cuándo preocuparse | Cuándo buscar ayuda |
        ¿Es grave? | A qué especialista acudir | Cuándo llamar al número de emergencia | Cuándo pedir cita""",
    None: """Causas | Factores de riesgo | Tratamiento | Qué hacer | Qué es | Prevención | Primeros auxilios |
        Complicaciones | Pronóstico | Tratamiento sintomático | Cómo aliviar los síntomas |
        Tratamiento de los síntomas | Horario de visitas | Anticoncepción de emergencia | Cuándo vacunarse |
        Significado del nombre | Ensayos clínicos | Estudios clínicos | Nombres alternativos""",
}
HEADINGS = [
    pytest.param(language, heading.strip(), facet, id=f"{language.value}-{heading.strip()}")
    for language, table in ((Language.ITALIAN, ITALIAN), (Language.SPANISH, SPANISH))
    for facet, listed in table.items()
    for heading in listed.split("|")
]


@pytest.mark.parametrize(("language", "heading", "facet"), HEADINGS)
def test_heading_is_marked_as_what_it_tells(language: Language, heading: str, facet: Facet | None) -> None:
    assert DiagnosisWords.load(language).facet(" ".join(heading.split())) is facet


def test_words_files_have_the_same_tables_with_a_good_many_wordings_each() -> None:
    tables = [words_file(language) for language in LANGUAGES]

    assert all(set(table) == {"not_meant", "other_subjects", "facets"} for table in tables)
    assert all(set(table["facets"]) == set(Facet) for table in tables)
    assert all(len(table["facets"][facet]) >= 15 for table in tables for facet in Facet)


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_wording_is_listed_twice(language: Language) -> None:
    table = words_file(language)

    for listed in (table["not_meant"], table["other_subjects"], *table["facets"].values()):
        assert len(listed) == len(set(listed))


def test_spanish_page_is_read_with_spanish_words() -> None:
    spanish: Document = document(
        language=Language.SPANISH, text="## Cuándo consultar\n\nSi dura.\n\n## Quando andare dal medico\n\nNo."
    )

    assert disease_tree(spanish).diagnosis_text(100) == "Cuándo consultar:\nSi dura."
