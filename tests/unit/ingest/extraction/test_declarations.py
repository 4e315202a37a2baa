import pytest

from ingest.documents import web_document_id
from tests.unit.ingest.extraction.builders import URL, article, document_of, read, source


@pytest.mark.parametrize(
    ("named", "canonical"),
    [
        ("https://www.clinica.example/malattie/la-febbre", "https://www.clinica.example/malattie/la-febbre"),
        ("/malattie/la-febbre#top", "https://www.clinica.example/malattie/la-febbre"),
        ("https://altro.example/malattie/febbre", None),
        ("https://www.clinica.example:8443/malattie/febbre", None),
        ("https://www.clinica.example/", None),
        ("", None),
        ("http://[", None),
        ("javascript:alert(1)", None),
        ("https://io@www.clinica.example/febbre", None),
    ],
)
def test_page_may_name_its_own_address_on_its_own_host(named: str, canonical: str | None) -> None:
    extraction = read(article(head=f'<link rel="canonical" href="{named}">'))

    (document,) = extraction.documents
    assert extraction.canonical_url == canonical
    assert document.url == (canonical or URL)
    assert document.document_id == web_document_id("clinica", canonical or URL)


@pytest.mark.parametrize("query", ["", "/", "?utm_source=x"])
def test_h35_one_page_under_several_addresses_is_one_document(query: str) -> None:
    body = article(head=f'<link rel="canonical" href="{URL}">')
    assert document_of(body, url=URL + query).document_id == web_document_id("clinica", URL)


def test_two_different_canonical_addresses_are_none() -> None:
    head = '<link rel="canonical" href="/a"><link rel="canonical" href="/b">'
    assert read(article(head=head)).canonical_url is None


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("Febbre | Clinica Esempio", "Febbre"),
        ("Clinica Esempio - Febbre alta", "Febbre alta"),
        ("Febbre – Clinica Esempio – clinica.example", "Febbre"),
        ("Febbre: sintomi e cause | Malattie | Clinica Esempio", "Febbre: sintomi e cause | Malattie"),
        ("Febbre - sintomi e cause", "Febbre - sintomi e cause"),
        ("Covid-19", "Covid-19"),
        ("Clinica Esempio", "Clinica Esempio"),
        ("Mal di testa &egrave; comune&nbsp;&#8211; Clinica Esempio", "Mal di testa è comune"),
    ],
)
def test_title_goes_without_the_name_of_the_site(title: str, expected: str) -> None:
    assert document_of(article(h1="", title=title)).title == expected


def test_shown_title_goes_before_that_of_the_window() -> None:
    body = article(h1="La <em>febbre</em>", title="Febbre: cos'è, cause | Clinica Esempio")
    assert document_of(body).title == "La febbre"


def test_name_of_the_site_in_a_heading_is_no_title() -> None:
    body = article(h1="Febbre", title="Febbre | X").replace("<nav>", "<header><h1>Clinica Esempio</h1></header><nav>")
    document = document_of(body)
    assert document.title == "Febbre"
    assert "Clinica" not in document.text


def test_name_that_the_site_gives_itself_is_known() -> None:
    head = '<meta property="og:site_name" content="Portale Salute">'
    assert document_of(article(h1="", title="Febbre | Portale Salute", head=head), row=source(publisher="X Y")).title == "Febbre"
