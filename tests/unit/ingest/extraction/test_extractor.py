import time
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ingest.documents import content_hash
from ingest.extraction.results import Extraction, Refusal
from locales.language import Language
from rag.documents import Authority, DocumentKind
from tests.unit.ingest.extraction.builders import PAGES, TEXT_ES, TEXT_IT, URL, article, document_of, markup, read, source

_TAGS = [
    "p",
    "div",
    "ul",
    "li",
    "table",
    "tr",
    "td",
    "th",
    "dl",
    "dt",
    "dd",
    "h1",
    "h2",
    "aside",
    "details",
    "summary",
    "span",
    "a",
    "sup",
    "form",
    "br",
]
_ATTRIBUTES = [
    "",
    " style='display:none'",
    " class='cookie share'",
    " itemscope itemtype='https://schema.org/QAPage'",
    " itemprop='text'",
    " rowspan=3",
    " hidden",
]
_WORDS = st.sampled_from(["febbre ", "e ", "Il medico. ", "cookie consenso ", "&#0;", "\u202e", "\ufffd", "<", "112 ", "?"])
_opened = st.builds(lambda tag, attribute: f"<{tag}{attribute}>", st.sampled_from(_TAGS), st.sampled_from(_ATTRIBUTES))
_closed = st.sampled_from([f"</{tag}>" for tag in _TAGS])
_pages = st.lists(st.one_of(_opened, _closed, _WORDS), max_size=60).map("".join)

KINDS = ["encyclopaedia", "faq", "forum"]


def _is_one_or_the_other(extraction: Extraction) -> bool:
    return (extraction.refusal is None) == (len(extraction.documents) == 1)


@settings(max_examples=150, deadline=None)
@given(
    body=st.binary(max_size=400),
    kind=st.sampled_from(KINDS),
    content_type=st.sampled_from(["text/html", "application/pdf", "", "x; charset=utf-16"]),
)
def test_any_bytes_give_documents_or_a_refusal(body: bytes, kind: str, content_type: str) -> None:
    assert _is_one_or_the_other(read(body, row=source(kind=kind), content_type=content_type))


@settings(max_examples=150, deadline=None)
@given(body=_pages, kind=st.sampled_from(KINDS), is_long=st.booleans())
def test_any_markup_gives_documents_or_a_refusal(body: str, kind: str, is_long: bool) -> None:
    assert _is_one_or_the_other(read(markup(TEXT_IT * is_long + body), row=source(kind=kind)))


@pytest.mark.parametrize(
    "tag",
    [
        "div",
        "ul><li",
        "table><tr><td",
        "b",
        "dl><dd",
        "details><summary",
        "blockquote",
        "h2",
        "div itemscope itemprop=a itemtype=x/Y",
    ],
)
@pytest.mark.parametrize("depth", [200, 5_000])
def test_deep_nesting_ends_quickly(tag: str, depth: int) -> None:
    started = time.monotonic()
    assert _is_one_or_the_other(read(article(TEXT_IT + f"<{tag}>" * depth + "fine")))
    assert time.monotonic() - started < 5


def test_entities_of_a_page_are_not_expanded() -> None:
    bomb = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 12))
    body = f'<?xml version="1.0"?><!DOCTYPE html [<!ENTITY e0 "bomba">{bomb}<!ENTITY f SYSTEM "file:///etc/passwd">]>' + article(
        f"{TEXT_IT}<p>&e11; &f;</p>"
    ).removeprefix("<!DOCTYPE html>")
    text = document_of(body, content_type="application/xhtml+xml").text
    assert "bomba" not in text
    assert "root:" not in text


@pytest.mark.parametrize(
    "part",
    [
        "<p>La febbre è un aumento della temperatura e la tosse un riflesso.</p>",
        "<li>brividi",
        "<td>brividi<tr>",
        "<span>a</span>",
        "<div class='cookie'>cookie consenso</div>",
        "<details><summary>Che cosa?</summary>nulla</details>",
        "<div itemscope itemtype='https://schema.org/Question'><p itemprop=text>x</p>",
        "<a href=x>brividi</a> ",
        "<sup>3</sup>",
        "<style>.a{display:none}</style>",
        "<!--",
        "&nbsp;",
        "Ã¨",
    ],
)
def test_page_of_five_megabytes_is_read_or_refused_in_time(part: str) -> None:
    started = time.monotonic()
    assert _is_one_or_the_other(read(article(TEXT_IT + part * (5_000_000 // len(part)))))
    assert time.monotonic() - started < 10


def test_document_says_where_it_comes_from() -> None:
    document = document_of((PAGES / "febbre.html").read_bytes())

    assert (document.source_id, document.publisher, document.url) == ("clinica", "Clinica Esempio", URL)
    assert (document.language, document.authority, document.kind) == (Language.ITALIAN, Authority.PUBLISHER, DocumentKind.ARTICLE)
    assert document.fetched_at == datetime(2026, 1, 2, tzinfo=UTC)
    assert document.content_hash


def test_source_in_both_languages_takes_a_page_in_the_language_that_it_says() -> None:
    row = source().model_copy(update={"language": None})
    assert document_of(article(TEXT_ES).replace("<html>", '<html lang="es-ES">'), row=row).language is Language.SPANISH


@pytest.mark.parametrize("kind", ["encyclopaedia", "faq"])
def test_questions_of_structured_data_are_read_where_there_is_no_article(kind: str) -> None:
    question = (
        '{"@type":"Question","name":"La febbre è contagiosa?","acceptedAnswer":{"@type":"Answer",'
        '"text":"<p>No: la febbre non è contagiosa, '
        "ma può esserlo la malattia che la provoca, per esempio l'influenza. Chiami il medico se dura più di tre giorni.</p>\"}}"
    )
    head = '<script type="application/ld+json">{"@type":"FAQPage","mainEntity":[' + question + "]}</script>"
    document = document_of(markup("<h1>Domande sulla febbre</h1>", head=head), row=source(kind=kind))

    assert document.kind is DocumentKind.FAQ
    assert document.text.startswith("## La febbre è contagiosa?\n\nNo: la febbre non è contagiosa")


def test_page_of_a_source_of_questions_without_pairs_is_read_as_an_article() -> None:
    assert document_of(article(TEXT_IT), row=source(kind="faq")).text.startswith("La febbre è un aumento")


FORUM = (
    '{"@type":"QAPage","mainEntity":{"@type":"Question","name":"Febbre da tre giorni",'
    '"text":"Ho la febbre da tre giorni, che faccio?",'
    '"acceptedAnswer":{"@type":"Answer","text":"La febbre di solito passa da sola in pochi giorni e non serve un antibiotico.",'
    '"dateCreated":"2024-02-03","author":{"@type":"Person","name":"Dr. Mario Esempi","jobTitle":"Medico di medicina generale"}}}}'
)


@pytest.mark.parametrize("kind", ["forum", "encyclopaedia"])
def test_thread_is_read_as_a_thread_whatever_its_source_is_called(kind: str) -> None:
    body = article(TEXT_IT, head=f'<script type="application/ld+json">{FORUM}</script>')
    document = document_of(body, row=source(kind=kind))

    assert document.kind is DocumentKind.FORUM
    assert "La febbre di solito passa da sola" in document.text


def test_answers_in_what_looks_like_comments_are_found_by_the_selectors_of_a_forum() -> None:
    answer = "La febbre di solito passa da sola in pochi giorni e non serve un antibiotico."
    comment = f"<div class='comment'><span class='ruolo'>Medico pediatra</span><p>{answer}</p></div>"
    selectors = {"title": "h1", "question": ".domanda", "answer": ".comment", "answered_by": ".ruolo"}
    asked = "<div class='domanda'><p>Ho la febbre da tre giorni, che faccio?</p></div>"
    body = article(f"{asked}<div class='comments'>{comment}</div>{TEXT_IT}")
    assert answer in document_of(body, row=source(kind="forum", selectors=selectors)).text


def test_questions_keep_the_date_of_their_review() -> None:
    answer = '"acceptedAnswer":{"@type":"Answer","text":"No, la febbre non è contagiosa, ma può esserlo la sua causa."}'
    question = f'{{"@type":"Question","name":"È contagiosa?",{answer}}}'
    block = f'{{"@type":"FAQPage","lastReviewed":"2024-03-12","mainEntity":[{question}]}}'
    head = f'<script type="application/ld+json">{block}</script>'
    document = document_of(markup("<h1>Febbre</h1>", head=head), row=source(kind="faq"))
    assert str(document.reviewed_on) == "2024-03-12"
    assert document.content_hash == content_hash(document)


def test_page_of_a_forum_that_is_no_thread_has_no_answer() -> None:
    assert read(article(TEXT_IT), row=source(kind="forum")).refusal is Refusal.NO_ANSWER


def test_error_page_of_a_forum_is_an_error_page() -> None:
    assert (
        read(article("<p>Torni alla home.</p>", h1="Pagina non trovata"), row=source(kind="forum")).refusal
        is Refusal.NOT_FOUND_PAGE
    )
