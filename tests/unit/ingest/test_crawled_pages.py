from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest

from ingest.crawled_pages import CrawledPages, Slice, extracted_with
from ingest.crawler.page_store import PageStore
from ingest.documents import web_document_id
from ingest.duplicates import DuplicateFinder
from ingest.extraction.extractor import extract
from ingest.fetching import Fetch, RawPage, Visit
from ingest.source_log import Address
from ingest.sources import SourceKind, SourceRow, Start
from locales.language import Language

BASE = "https://editore.esempio.it"
SOURCE = SourceRow(
    id="editore",
    kind=SourceKind.ENCYCLOPAEDIA,
    publisher="Editore",
    language=Language.ITALIAN,
    start=Start(pages=(f"{BASE}/",)),
)
ABOUT = {
    "gastrite": "La gastrite è un'infiammazione della mucosa che riveste lo stomaco e dà bruciore dopo i pasti.",
    "asma": "L'asma restringe i bronchi e rende difficile il respiro, soprattutto di notte e al freddo.",
    "gotta": "La gotta è un accumulo di acido urico che gonfia e arrossa una articolazione, spesso il piede.",
}
REST = (
    "Il medico ascolta i disturbi, visita la persona e chiede gli esami che servono. Di solito la cura comincia da abitudini "
    "semplici e da farmaci che si comprano senza fretta. Se i disturbi durano più di qualche settimana conviene parlarne di "
    "nuovo con lui."
)
LOST = "Pagina non trovata"
SOFT_404 = f"<html><head><title>{LOST}</title></head><body><h1>{LOST}</h1><p>La pagina non esiste.</p></body></html>"
SHORT = "<html lang='it'><head><title>La gastrite</title></head><body><h1>La gastrite</h1><p>In preparazione.</p></body></html>"


def html(subject: str, more: str = "", canonical: str | None = None) -> str:
    link = f'<link rel="canonical" href="{BASE}{canonical}">' if canonical else ""
    return (
        f'<html lang="it"><head><title>{subject.title()}</title>{link}</head><body><main><h1>{subject.title()}</h1>'
        f"<p>{ABOUT[subject]}</p><p>{REST}</p><p>{more}</p></main></body></html>"
    )


class Crawl:
    """A page store that a test fills, and what the ledger would have noted of the nights before."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.known: dict[str, Address] = {}
        self.prints: dict[str, str] = {}

    def night(self, pages: dict[str, str | Visit], *, source: SourceRow = SOURCE, again: bool = False) -> list[Slice]:
        """Store what addresses answered, read it, and note what came of it."""
        with PageStore.open(self.path) as store:
            visits = [
                answer if isinstance(answer, Visit) else self._put(store, BASE + path, answer)
                for path, answer in sorted(pages.items())
            ]
        finder = DuplicateFinder(self.prints)
        crawled = CrawledPages(source, self.path, self.known, finder, visits, again=again)
        slices = list(crawled.slices())
        for part in slices:
            self.known |= {address.url: address for address in part.addresses}
            self.prints |= part.fingerprints
        return slices

    def _put(self, store: PageStore, url: str, text: str) -> Visit:
        digest = store.put(url, text.encode(), {"content-type": "text/html; charset=utf-8"}, is_new=True)
        return Visit(url=url, fetch=Fetch.FETCHED, body_hash=digest)


@pytest.fixture
def crawl(tmp_path: Path) -> Crawl:
    return Crawl(tmp_path / "editore.sqlite")


def gone(path: str) -> Visit:
    return Visit(url=BASE + path, fetch=Fetch.GONE)


def failed(path: str) -> Visit:
    return Visit(url=BASE + path, fetch=Fetch.FAILED, reason="timeout")


def moved(path: str, to: str) -> Visit:
    return Visit(url=BASE + path, fetch=Fetch.MOVED, moved_to=BASE + to)


def key(path: str) -> str:
    return web_document_id("editore", BASE + path)


def read(slices: Iterable[Slice]) -> list[str]:
    return [document.document_id for part in slices for document in part.documents]


def standing(slices: Iterable[Slice]) -> set[str]:
    return {document_id for part in slices for document_id in part.unchanged}


def refusals(slices: Sequence[Slice]) -> dict[str, int]:
    return {reason: count for part in slices for reason, count in part.refusals.items()}


def moves(slices: Iterable[Slice]) -> dict[str, str]:
    return {new: old for part in slices for new, old in part.moved_from.items()}


def test_same_bytes_are_not_read_twice(crawl: Crawl) -> None:
    pages: dict[str, str | Visit] = {"/asma": html("asma"), "/gotta": html("gotta")}
    assert read(crawl.night(pages)) == [key("/asma"), key("/gotta")]

    second = crawl.night(pages)
    assert (read(second), standing(second)) == ([], {key("/asma"), key("/gotta")})
    assert read(crawl.night(pages, again=True)) == [key("/asma"), key("/gotta")]


def test_other_bytes_or_another_row_are_read_again(crawl: Crawl) -> None:
    crawl.night({"/asma": html("asma"), "/gotta": html("gotta")})

    changed = crawl.night({"/asma": html("asma", "Lo spray si porta sempre con sé."), "/gotta": html("gotta")})
    assert (read(changed), standing(changed)) == ([key("/asma")], {key("/gotta")})
    renamed = SOURCE.model_copy(update={"publisher": "Altro editore"})
    assert extracted_with(renamed) != extracted_with(SOURCE)
    assert len(read(crawl.night({"/gotta": html("gotta")}, source=renamed))) == 1
    assert extracted_with(SOURCE.model_copy(update={"delay_s": 9.0})) == extracted_with(SOURCE)


def test_another_extractor_reads_every_page_again(crawl: Crawl, monkeypatch: pytest.MonkeyPatch) -> None:
    crawl.night({"/asma": html("asma")})
    monkeypatch.setattr("ingest.crawled_pages.EXTRACTOR_VERSION", "next")

    assert read(crawl.night({"/asma": html("asma")})) == [key("/asma")]
    assert read(crawl.night({"/asma": html("asma")})) == []


def test_refused_page_keeps_the_document_that_it_gave_before(crawl: Crawl) -> None:
    crawl.night({"/gastrite": html("gastrite")})
    for _ in range(3):
        night = crawl.night({"/gastrite": SHORT})
        assert (read(night), standing(night), refusals(night)) == ([], {key("/gastrite")}, {"too_short": 1})
        assert crawl.known[f"{BASE}/gastrite"].misses == 0

    assert read(crawl.night({"/gastrite": html("gastrite")})) == [key("/gastrite")]


def test_page_that_says_not_found_counts_as_missing_each_night_and_not_after_it_is_back(crawl: Crawl) -> None:
    crawl.night({"/asma": html("asma")})
    for misses in (1, 2):
        assert refusals(crawl.night({"/asma": SOFT_404})) == {"not_found_page": 1}
        assert crawl.known[f"{BASE}/asma"].misses == misses

    crawl.night({"/asma": html("asma")})
    assert crawl.known[f"{BASE}/asma"].misses == 0


def test_copy_is_a_duplicate_until_its_original_is_gone(crawl: Crawl) -> None:
    pages: dict[str, str | Visit] = {"/asma": html("asma"), "/stampa/asma": html("asma")}
    first = crawl.night(pages)
    assert (read(first), refusals(first)) == ([key("/asma")], {"duplicate": 1})
    assert refusals(crawl.night(pages)) == {"duplicate": 1}

    last = crawl.night({"/asma": gone("/asma"), "/stampa/asma": html("asma")})
    assert moves(last) == {key("/stampa/asma"): key("/asma")}


def test_copy_does_not_take_the_place_of_an_original_whose_server_is_in_trouble(crawl: Crawl) -> None:
    crawl.night({"/asma": html("asma"), "/stampa/asma": html("asma")})
    night = crawl.night({"/asma": failed("/asma"), "/stampa/asma": html("asma")})

    assert (read(night), moves(night), refusals(night)) == ([], {}, {"duplicate": 1})


def test_page_with_a_canonical_address_is_one_document(crawl: Crawl) -> None:
    """H35"""
    pages: dict[str, str | Visit] = {
        "/gotta": html("gotta", canonical="/gotta"),
        "/gotta/": html("gotta", canonical="/gotta"),
        "/gotta?pagina=1": html("gotta", "Stampa.", canonical="/gotta"),
    }
    first = crawl.night(pages)
    assert (read(first), refusals(first)) == ([key("/gotta")], {})
    assert {address.document_ids for address in crawl.known.values()} == {(key("/gotta"),)}
    assert standing(crawl.night(pages)) == {key("/gotta")}


def test_change_at_the_canonical_address_is_read_though_its_alias_stands(crawl: Crawl) -> None:
    alias = html("gotta", canonical="/gotta")
    crawl.night({"/gotta": html("gotta", canonical="/gotta"), "/a/gotta": alias})
    night = crawl.night({"/gotta": html("gotta", "Colchicina quanto basta.", canonical="/gotta"), "/a/gotta": alias})

    (document,) = [document for part in night for document in part.documents]
    assert "Colchicina" in document.text


def test_canonical_address_has_the_last_word_over_an_alias_that_is_read_first(crawl: Crawl) -> None:
    night = crawl.night(
        {
            "/a/gotta": html("gotta", "Versione vecchia.", canonical="/gotta"),
            "/gotta": html("gotta", "Nuova.", canonical="/gotta"),
        }
    )
    (document,) = [document for part in night for document in part.documents]
    assert "Nuova." in document.text


def test_change_at_an_alias_does_not_touch_the_canonical_page(crawl: Crawl) -> None:
    own = html("gotta", canonical="/gotta")
    crawl.night({"/gotta": own, "/gotta/": own})
    night = crawl.night({"/gotta": own, "/gotta/": html("gotta", "Altro testo.", canonical="/gotta")})

    assert read(night) == []


def test_redirect_names_what_the_page_was_before(crawl: Crawl) -> None:
    crawl.night({"/vecchia": html("asma")})
    night = crawl.night({"/vecchia": moved("/vecchia", "/nuova"), "/nuova": html("asma", "E un'altra riga di testo.")})

    assert (read(night), moves(night)) == ([key("/nuova")], {key("/nuova"): key("/vecchia")})


def test_same_text_at_a_new_address_has_moved_when_the_old_one_is_missing(crawl: Crawl) -> None:
    crawl.night({"/vecchia": html("asma")})
    for missing in (gone("/vecchia"), Visit(url=f"{BASE}/vecchia", fetch=Fetch.REFUSED, reason="robots")):
        known, prints = dict(crawl.known), dict(crawl.prints)
        night = crawl.night({"/vecchia": missing, "/nuova": html("asma")})
        assert moves(night) == {key("/nuova"): key("/vecchia")}
        crawl.known, crawl.prints = known, prints


def test_page_that_vanished_from_the_store_is_told_as_unreadable(crawl: Crawl) -> None:
    night = crawl.night({"/asma": Visit(url=f"{BASE}/asma", fetch=Fetch.UNCHANGED, body_hash="0" * 64)})
    assert refusals(night) == {"not_readable": 1}


def test_pages_of_the_tests_are_what_they_should_be() -> None:
    page = RawPage(
        url=f"{BASE}/x", body=html("asma").encode(), headers={"content-type": "text/html"}, fetched_at=datetime.now(UTC)
    )
    (document,) = extract(page, SOURCE).documents
    assert document.document_id == key("/x")
