"""Hosts that differ in robots.txt, and one whose pages nobody may ask for."""

import itertools
from collections.abc import Iterator

from locales.language import Language
from tests.doubles.health_site.articles import article_page
from tests.doubles.health_site.leaflets import pdf_leaflet
from tests.doubles.health_site.markup import canonical, listing
from tests.doubles.health_site.pages import Host, Page
from tests.doubles.health_site.publishers import row_of
from tests.doubles.health_site.texts import words

_BOM = b"\xef\xbb\xbf"


class Shelf:
    """Hands out articles with surnames that no other page has."""

    def __init__(self, first_number: int) -> None:
        self.words = words(Language.ITALIAN)
        self._numbers = itertools.count(first_number)
        self._conditions = itertools.cycle(self.words.conditions)

    def article(self, path: str) -> Page:
        number = next(self._numbers)
        condition = next(self._conditions)
        page = article_page(self.words, condition, path, number, title=f"{condition.title}: per saperne di più", seed=path)
        if (own := canonical(path).encode()) not in page.body:
            page.body = page.body.replace(b"</head>", own + b"</head>")
        return page

    def leaflet(self, path: str) -> Page:
        return pdf_leaflet(self.words, next(self._conditions), path, next(self._numbers))

    def index(self, host: Host, path: str, *more: str) -> Page:
        """A page that links to all pages of the host made so far, and to further paths."""
        entries = [(page.title or page.path, page.path) for page in host.listed()] + [(other, other) for other in more]
        body = listing(self.words, "Elenco", entries).encode()
        return Page(path=path, title="Elenco", body=body, is_navigation=True)


def forbidden(page: Page) -> Page:
    """The page as one that must never be asked for."""
    page.document, page.changeable, page.is_forbidden = None, None, True
    return page


def robots_hosts(shelf: Shelf) -> Iterator[Host]:
    """One host for each way in which a robots.txt is misread."""
    yield _wildcard(shelf)
    yield _simple(shelf, "robots-permesso", b"User-agent: *\nDisallow: /\nAllow: /salute/\n")
    yield _simple(shelf, "robots-bom", _BOM + b"User-agent: *\nDisallow: /privato/\n")
    yield _simple(shelf, "robots-gruppo", b"User-agent: *\nDisallow:\n\nUser-agent: Salus\nDisallow: /privato/\n")
    yield _simple(shelf, "robots-404", 404, is_open=True)
    yield _simple(shelf, "robots-ritardo", b"User-agent: *\nCrawl-delay: 2.5\nDisallow: /privato/\n")
    yield _closed(shelf, "robots-503", 503)
    yield _closed(shelf, "robots-chiuso", b"User-agent: *\nDisallow: /\n")
    yield _disabled(shelf)


def _host(name: str, robots: bytes | int) -> Host:
    host = Host(name=name, language=Language.ITALIAN, robots=robots)
    host.row = lambda host: row_of(host, pages=("/salute/",))
    return host


def _wildcard(shelf: Shelf) -> Host:
    host = _host(
        "robots-asterisco", b"User-agent: *\nDisallow: /*.pdf$\nDisallow: /riservato/*/bozza\nAllow: /salute/aperto.pdf\n"
    )
    host.put(shelf.article("/salute/prima"), shelf.article("/salute/guida.pdf.html"), shelf.leaflet("/salute/aperto.pdf"))
    host.put(shelf.article("/riservato/2024/definitivo"), forbidden(shelf.article("/riservato/2024/bozza")))
    host.put(forbidden(shelf.leaflet("/salute/guida.pdf")))
    host.put(shelf.index(host, "/salute/"))
    return host


def _simple(shelf: Shelf, name: str, robots: bytes | int, *, is_open: bool = False) -> Host:
    host = _host(name, robots)
    host.put(shelf.article("/salute/prima"), shelf.article("/salute/seconda"))
    private = shelf.article("/privato/appunti")
    host.put(private if is_open else forbidden(private))
    host.put(shelf.index(host, "/salute/"))
    if name == "robots-permesso":
        host.put(forbidden(shelf.index(host, "/")))
    return host


def _closed(shelf: Shelf, name: str, robots: bytes | int) -> Host:
    """Nothing but robots.txt may be asked for."""
    host = _host(name, robots)
    host.put(forbidden(shelf.article("/salute/prima")))
    host.put(forbidden(shelf.index(host, "/salute/")), forbidden(shelf.index(host, "/")))
    return host


def _disabled(shelf: Shelf) -> Host:
    """A source that is not enabled; its host is also where a redirect leads that must not be followed."""
    host = Host(name="riservata", language=Language.ITALIAN, robots=None)
    host.put(forbidden(shelf.article("/salute/prima")), forbidden(shelf.article("/segreto")))
    host.put(forbidden(shelf.index(host, "/")))
    because = "I termini dell'editore chiedono un consenso."
    host.row = lambda host: row_of(host, pages=("/salute/",), enabled=False, disabled_because=because)
    return host
