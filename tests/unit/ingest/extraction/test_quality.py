import pytest

from ingest.extraction.results import Refusal
from tests.unit.ingest.extraction.builders import BANNER_WORDS, TEXT_ES, TEXT_IT, article, document_of, markup, read, source

MENU = "<nav>" + "".join(f'<a href="/{n}">Malattia numero {n}</a> ' for n in range(40)) + "</nav>"
ENGLISH = (
    "<p>Fever is a rise in body temperature and it usually comes with an infection. Drink plenty of water, rest and wear "
    "light clothes. Do not give aspirin to children before you have talked to the doctor. Call the doctor if the fever lasts "
    "more than three days.</p>"
)


@pytest.mark.parametrize(
    ("body", "language"),
    [
        # H35
        (article("<p>La pagina che stai cercando non esiste o è stata spostata.</p>", h1="Pagina non trovata"), "it"),
        (article("<p>Torni alla home o usi la ricerca.</p>", h1="Errore 404", title="404 | Clinica Esempio"), "it"),
        (article(f"<h2>Le ultime notizie</h2>{TEXT_IT}", h1="Ops!", title="Pagina non trovata - Clinica Esempio"), "it"),
        (article("<p>Spiacenti, la pagina richiesta non è disponibile.</p>", h1="Clinica Esempio"), "it"),
        (article("<p>Lo sentimos, la página que busca no existe.</p>", h1="Página no encontrada", title="Ministerio"), "es"),
        (article("<p>Es posible que se haya movido.</p>", h1="Error 404: no se encontró la página"), "es"),
    ],
)
def test_h35_page_that_says_not_found_is_refused(body: str, language: str) -> None:
    assert read(body, row=source(language=language)).refusal is Refusal.NOT_FOUND_PAGE


@pytest.mark.parametrize("h1", ["404 casi di morbillo", "Valori non trovati nel referto", "La pagina del bambino"])
def test_article_whose_title_only_sounds_like_an_error_is_read(h1: str) -> None:
    assert document_of(article(TEXT_IT, h1=h1, title="Notizie")).title == h1


def test_list_of_links_to_all_pages_is_refused() -> None:
    links = "".join(f'<li><a href="/{n}">Malattia rara del fegato numero {n}</a></li>' for n in range(60))
    assert read(article(f"<ul>{links}</ul>", h1="Malattie dalla A alla Z")).refusal is Refusal.TOO_SHORT


@pytest.mark.parametrize(
    "body",
    [
        # H32
        markup('<div id="root"></div><script src="/app.js"></script><noscript>Devi abilitare JavaScript.</noscript>'),
        markup('<div id="app"></div><script src="/a.js"></script>'),
        markup("<p>Per visualizzare il sito è necessario JavaScript.</p>"),
        markup(f'{MENU}<div id="__next"><div></div></div>'),
    ],
)
def test_h32_shell_that_a_script_fills_is_refused(body: str) -> None:
    assert read(body).refusal is Refusal.SCRIPT_SHELL


@pytest.mark.parametrize(
    "body",
    [
        # H32
        markup(f'{MENU}<div id="onetrust-consent-sdk"><p>{BANNER_WORDS * 4}</p></div><main></main>'),
        markup(f"<div class='x'><p>{BANNER_WORDS * 4}</p><p>{BANNER_WORDS * 3}</p></div>"),
    ],
)
def test_h32_page_of_nothing_but_a_consent_banner_is_refused(body: str) -> None:
    assert read(body).refusal is Refusal.CONSENT_BANNER


@pytest.mark.parametrize("body", [article("<p>La febbre è alta.</p>"), markup(""), markup(MENU), "<html></html>"])
def test_page_with_hardly_any_text_is_refused(body: str) -> None:
    assert read(body).refusal is Refusal.TOO_SHORT


@pytest.mark.parametrize(("text", "language"), [(TEXT_ES, "it"), (TEXT_IT, "es"), (ENGLISH, "it"), (ENGLISH, "es")])
def test_page_in_another_language_is_refused(text: str, language: str) -> None:
    assert read(article(text), row=source(language=language)).refusal is Refusal.WRONG_LANGUAGE


def test_one_quotation_in_another_language_is_no_reason_to_refuse() -> None:
    assert "Fever is a rise" in document_of(article(TEXT_IT * 4 + ENGLISH + "<h2>Altro</h2>" + TEXT_IT * 3)).text


@pytest.mark.parametrize(
    "head",
    [
        '<meta name="robots" content="noindex, follow">',
        '<META NAME="ROBOTS" CONTENT="NONE">',
        '<meta name="robots" content="index,noai">',
        '<meta name="robots" content="max-snippet:0">',
        '<meta name="tdm-reservation" content="1">',
    ],
)
def test_page_that_reserves_itself_is_refused(head: str) -> None:
    assert read(article(head=head)).refusal is Refusal.RESERVED


@pytest.mark.parametrize("headers", [{"x_robots_tag": "noindex"}, {"x_robots_tag": "nofollow, noai"}, {"tdm_reservation": "1"}])
def test_page_whose_headers_reserve_it_is_refused(headers: dict[str, str]) -> None:
    assert read(article(), **headers).refusal is Refusal.RESERVED


@pytest.mark.parametrize("headers", [{"x_robots_tag": "googlebot: noindex"}, {"x_robots_tag": "all"}, {"tdm_reservation": "0"}])
def test_rules_for_others_and_permissions_do_not_refuse_a_page(headers: dict[str, str]) -> None:
    head = '<meta name="robots" content="index, follow, max-snippet:-1"><meta name="googlebot" content="noindex">'
    assert read(article(head=head), **headers).refusal is None


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        (b"", "text/html"),
        (b"   ", "text/html"),
        (b"solo parole", "text/plain"),
        (b'{"a": 1}', "application/json"),
        (b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 40, "image/png"),
        (b"PK\x03\x04" + b"\0<a>\0" * 200, ""),
        ("perché".encode("utf-16-le") * 50 + "<p>".encode("utf-16-le"), "text/html"),
    ],
)
def test_what_is_no_page_is_refused(body: bytes, content_type: str) -> None:
    assert read(body, content_type=content_type).refusal is Refusal.NOT_READABLE
