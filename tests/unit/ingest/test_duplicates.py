import re

import pytest

from ingest.documents import new_document
from ingest.duplicates import DuplicateFinder, Fingerprint
from locales.language import Language
from rag.documents import Authority, Document, DocumentKind
from tests.doubles.health_site.articles import article_text
from tests.doubles.health_site.texts import words

PARAGRAPH = (
    "La gastrite è un'infiammazione della mucosa che riveste lo stomaco. Spesso dà bruciore nella parte alta dell'addome, nausea "
    "e senso di pienezza dopo i pasti. Tra le cause ci sono un batterio, alcuni farmaci, il fumo e gli alcolici. Il medico "
    "ascolta i disturbi, visita la persona e, se serve, chiede una gastroscopia. Di solito aiutano pasti piccoli e regolari."
)
DOSE = "Gli adulti prendono due compresse da 200 mg ogni 8 ore, a stomaco pieno e non oltre tre giorni di seguito."
SPANISH_DOSE = "Los adultos toman medio comprimido sin comida y nunca de noche; durante el tratamiento no se toma ningún alcohol."


def document(document_id: str, text: str, title: str = "La gastrite", kind: DocumentKind = DocumentKind.ARTICLE) -> Document:
    return new_document(
        document_id=document_id,
        source_id="editore",
        url=f"https://esempio.it/{document_id}",
        title=title,
        publisher="Editore",
        authority=Authority.PUBLISHER,
        language=Language.ITALIAN,
        text=text,
        reviewed_on=None,
        kind=kind,
    )


def leaflet(language: Language, dose: str) -> str:
    """Some 2,000 words, of which a word or two more or less hardly move the fingerprint."""
    vocabulary = words(language)
    articles = [article_text(vocabulary, condition, number).html for number, condition in enumerate(vocabulary.conditions[:8])]
    told = [" ".join(re.sub(r"<[^>]+>", " ", article).split()) for article in articles]
    return "\n\n".join([told[0], dose, *told[1:]])


def is_same(first: Document, second: Document) -> bool:
    finder = DuplicateFinder({first.document_id: str(Fingerprint.of(first))})
    return finder.original_of(second, Fingerprint.of(second)) == first.document_id


def test_same_text_under_another_address_is_the_same() -> None:
    assert is_same(document("a", PARAGRAPH), document("b", PARAGRAPH))


def test_text_with_a_line_for_printers_more_is_the_same() -> None:
    long = leaflet(Language.ITALIAN, DOSE)
    assert is_same(document("a", long), document("b", f"Versione per la stampa.\n\n{long}"))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("200 mg", "400 mg"),
        ("200 mg", "200 g"),
        ("8 ore", "8 giorni"),
        ("due compresse", "quattro compresse"),
        ("e non oltre", "e anche oltre"),
        ("tre giorni", "dieci giorni"),
    ],
)
def test_leaflets_that_differ_in_a_dose_or_a_negation_alone_are_two(before: str, after: str) -> None:
    assert before in DOSE
    first, second = (leaflet(Language.ITALIAN, dose) for dose in (DOSE, DOSE.replace(before, after)))
    assert (Fingerprint.of(document("a", first)).bits ^ Fingerprint.of(document("b", second)).bits).bit_count() <= 3
    assert not is_same(document("a", first), document("b", second))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("sin comida", "con comida"),
        ("ningún alcohol", "algún alcohol"),
        ("medio comprimido", "un comprimido"),
        ("nunca", "siempre"),
    ],
)
def test_spanish_negations_and_halves_tell_texts_apart_too(before: str, after: str) -> None:
    assert before in SPANISH_DOSE
    first, second = (leaflet(Language.SPANISH, dose) for dose in (SPANISH_DOSE, SPANISH_DOSE.replace(before, after)))
    assert (Fingerprint.of(document("a", first)).bits ^ Fingerprint.of(document("b", second)).bits).bit_count() <= 3
    assert not is_same(document("a", first), document("b", second))


def test_same_text_with_another_title_or_of_another_kind_is_not_the_same() -> None:
    assert not is_same(document("a", PARAGRAPH), document("b", PARAGRAPH, title="La gastrite cronica"))
    assert not is_same(document("a", PARAGRAPH), document("b", PARAGRAPH, kind=DocumentKind.FAQ))


def test_text_on_another_subject_is_not_the_same() -> None:
    other = "L'asma restringe i bronchi e rende difficile il respiro. " * 8
    assert not is_same(document("a", PARAGRAPH), document("b", other))


def test_page_is_not_its_own_duplicate() -> None:
    page = document("a", PARAGRAPH)
    finder = DuplicateFinder({"a": str(Fingerprint.of(page))})
    assert finder.original_of(page, Fingerprint.of(page)) is None


def test_pages_that_do_not_count_are_passed_over() -> None:
    page, copy = document("a", PARAGRAPH), document("b", PARAGRAPH)
    finder = DuplicateFinder({"a": str(Fingerprint.of(page))})

    assert finder.original_of(copy, Fingerprint.of(copy), without={"a"}) is None
    assert finder.original_of(copy, Fingerprint.of(copy), among={"z"}) is None
    assert finder.original_of(copy, Fingerprint.of(copy), among={"a"}) == "a"


def test_page_that_changed_is_known_by_its_new_text_alone() -> None:
    finder = DuplicateFinder({"a": str(Fingerprint.of(document("a", PARAGRAPH)))})
    changed = document("a", "L'asma restringe i bronchi e rende difficile il respiro. " * 8)
    finder.add(changed, Fingerprint.of(changed))
    copy = document("b", PARAGRAPH)

    assert finder.original_of(copy, Fingerprint.of(copy)) is None


def test_fingerprint_survives_the_ledger() -> None:
    fingerprint = Fingerprint.of(document("a", PARAGRAPH))
    assert Fingerprint.parse(str(fingerprint)) == fingerprint


@pytest.mark.parametrize("text", ["", "febbre", "— — —"])
def test_text_of_hardly_a_word_has_a_fingerprint(text: str) -> None:
    assert len(str(Fingerprint.of(document("a", text)))) == 33
