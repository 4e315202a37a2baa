"""Pages of questions with the publisher's answers become one document of pairs."""

from datetime import UTC, datetime

from lxml import html

from ingest.extraction.faq import faq_document, pairs_from_selectors, pairs_from_structured
from ingest.sources import Selectors, SourceKind, SourceRow, Start
from locales.language import Language
from rag.documents import DocumentKind

_AT = datetime(2026, 1, 2, tzinfo=UTC)
_URL = "https://ministero.example/faq"


def _source(**selectors: str) -> SourceRow:
    start = Start(pages=("https://ministero.example/",))
    kind, language = SourceKind.FAQ, Language.ITALIAN
    return SourceRow(id="faq", kind=kind, publisher="Ministero", language=language, start=start, selectors=Selectors(**selectors))


def _question(name: str, text: str) -> dict[str, object]:
    return {"@type": "Question", "name": name, "acceptedAnswer": {"@type": "Answer", "text": text}}


def test_structured_answers_become_the_plain_form() -> None:
    page = {
        "@type": ["WebPage", "FAQPage"],
        "mainEntity": [
            _question("Che cos&#39;è l'influenza?", "<p>È una malattia.</p><ul><li>febbre</li><li>tosse</li></ul>"),
            _question("Quando?", ""),
            {"@type": "Thing"},
        ],
    }

    (pair,) = pairs_from_structured(page)

    assert pair[0] == "Che cos'è l'influenza?"
    assert pair[1].startswith("È una malattia.")
    assert pair[1].endswith("- febbre\n- tosse")


def test_one_question_alone_is_read_and_other_data_are_not() -> None:
    assert pairs_from_structured(_question("Che cos'è?", "È così.")) == [("Che cos'è?", "È così.")]
    assert pairs_from_structured({"@type": "Article", "name": "x"}) == []


def test_a_document_has_one_section_per_question() -> None:
    pairs = [("Che cos'è?", "È così."), ("Quanto dura?", "Una settimana."), ("Che cos'è?", "Doppione."), ("Vuota?", "")]

    document = faq_document(pairs, title="Influenza", source=_source(), url=_URL, fetched_at=_AT)

    assert document is not None
    assert document.kind is DocumentKind.FAQ
    assert document.title == "Influenza"
    assert document.text == "## Che cos'è?\n\nÈ così.\n\n## Quanto dura?\n\nUna settimana."


def test_no_pair_is_no_document() -> None:
    assert faq_document([], title="Influenza", source=_source(), url=_URL, fetched_at=_AT) is None


def test_headings_inside_an_answer_stand_below_the_question() -> None:
    ((_, answer),) = pairs_from_structured(_question("Che cos'è?", "<h2>In breve</h2><p>È così.</p>"))

    assert answer == "### In breve\n\nÈ così."


def test_selectors_give_each_question_the_answers_up_to_the_next() -> None:
    page = """<div><h3>Che cos'è?</h3><p class="r">È così.</p><p class="r">E anche così.</p><h3>Senza?</h3>
    <h3>Quanto dura?</h3><div class="r"><ul><li>poco</li><li>molto</li></ul><i class="x">Stampa</i></div></div>"""

    tree = html.fragment_fromstring(page)
    source = _source(question="h3", answer=".r")

    assert pairs_from_selectors(tree, source)[0] == ("Che cos'è?", "È così.\n\nE anche così.")
    assert [question for question, _ in pairs_from_selectors(tree, source)] == ["Che cos'è?", "Quanto dura?"]
    removing = source.model_copy(update={"selectors": source.selectors.model_copy(update={"remove": (".x",)})})
    assert pairs_from_selectors(tree, removing)[1][1] == "- poco\n- molto"
    assert pairs_from_selectors(tree, _source()) == []
