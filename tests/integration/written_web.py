"""A web that the test writes itself, in place of one that is crawled, and a home that reads it night after night."""

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ingest.crawler.job import CrawlSummary
from ingest.crawler.page_store import PageStore
from ingest.fetching import Fetch, Visit
from ingest.ledger import Ledger
from ingest.pipeline import RunOptions
from ingest.report import RunReport
from ingest.run import index_directory, ledger_path, run_ingest
from ingest.source_log import Address
from ingest.source_reader import crawl_path
from ingest.sources import SourceRow
from locales.language import Language
from rag.store import IndexStore
from rag.text import lexical_text
from tests.fakes import HashEmbedder

BASE = "https://editore.esempio.it"
REST = (
    "Il medico ascolta i disturbi, visita la persona e chiede gli esami che servono. Di solito la cura comincia da abitudini "
    "semplici e da farmaci che si comprano senza fretta. Se i disturbi durano più di qualche settimana conviene parlarne di "
    "nuovo con lui."
)
GONE = Visit(url="", fetch=Fetch.GONE)
TIMEOUT = Visit(url="", fetch=Fetch.FAILED, reason="timeout")
FORBIDDEN = Visit(url="", fetch=Fetch.REFUSED, reason="robots")
NO_ROBOTS = Visit(url="", fetch=Fetch.REFUSED, reason="robots_unreachable")
LOST = "Pagina non trovata"
SOFT_404 = f"<html><head><title>{LOST}</title></head><body><h1>{LOST}</h1><p>La pagina non esiste.</p></body></html>"
BANNER = (
    '<html lang="it"><head><title>Cookie</title></head><body><div id="cookie-consent" class="cookie-banner"><p>Questo sito usa '
    "cookie tecnici e di profilazione. Cliccando su accetta si acconsente all'uso dei cookie.</p></div></body></html>"
)
RESERVED = '<html lang="it"><head><meta name="robots" content="noindex"></head><body><p>Testo.</p></body></html>'
LIST = '<html lang="it"><head><title>Elenco</title></head><body><ul><li><a href="/a">A</a></li></ul></body></html>'


def html(word: str, *more: str, canonical: str | None = None, title: str | None = None) -> str:
    """A page that alone holds `word`."""
    link = f'<link rel="canonical" href="{BASE}{canonical}">' if canonical else ""
    title = title or f"Scheda {word}"
    said = "".join(f"<p>{text}</p>" for text in more)
    return (
        f'<html lang="it"><head><title>{title}</title>{link}</head><body><main><h1>{title}</h1>'
        f"<p>La scheda parla di {word} e di come si riconosce.</p><p>{REST}</p>{said}</main></body></html>"
    )


def sources(*rows: str) -> str:
    return "\n".join(
        f'[[source]]\nid = "{name}"\nkind = "encyclopaedia"\npublisher = "Editore"\nlanguage = "it"\n'
        f'start = {{ pages = ["{BASE}/{name}/"] }}\n'
        for name in rows
    )


@dataclass
class Web:
    """What each address answers: text, or a visit that is no page. `moved` are permanent redirects."""

    pages: dict[str, str | Visit] = field(default_factory=dict)
    moved: dict[str, str] = field(default_factory=dict)
    of: dict[str, dict[str, str | Visit]] = field(default_factory=dict)
    """Pages of further sources, by id."""
    during: Callable[[Callable[[], bool]], Any] | None = None
    asked: list[str] = field(default_factory=list)

    async def crawl(
        self, source: SourceRow, path: Path, *, known: Collection[str], cancelled: Callable[[], bool], **_: Any
    ) -> CrawlSummary:
        self.asked.append(source.id)
        with PageStore.open(path) as store:
            store.begin()
            if self.during is not None and (await self.during(cancelled)):
                return _summary(is_whole=False)
            self._fill(store, self.of.get(source.id, self.pages), known)
            store.finish(is_whole=True)
        return _summary(is_whole=True)

    def _fill(self, store: PageStore, pages: dict[str, str | Visit], known: Collection[str]) -> None:
        for url in {*(BASE + path for path in pages), *known}:
            answer = pages.get(url.removeprefix(BASE), GONE)
            if url.removeprefix(BASE) in self.moved:
                store.record(Visit(url=url, fetch=Fetch.MOVED, moved_to=BASE + self.moved[url.removeprefix(BASE)]))
            elif isinstance(answer, Visit):
                store.record(Visit(url=url, fetch=answer.fetch, reason=answer.reason))
            else:
                digest = store.put(url, answer.encode(), {"content-type": "text/html; charset=utf-8"}, is_new=True)
                store.record(Visit(url=url, fetch=Fetch.FETCHED, body_hash=digest))


def _summary(*, is_whole: bool) -> CrawlSummary:
    return CrawlSummary(fetched=0, unchanged=0, gone=0, failed=0, refused={}, seconds=0.0, is_whole=is_whole)


class Home:
    def __init__(self, path: Path, web: Web) -> None:
        self.path = path
        self.web = web
        self.embedder = HashEmbedder()
        self.store = IndexStore(index_directory(path))  # opened once, as the bot does
        self.sources = path / "sources.toml"
        self.sources.write_text(sources("a"), encoding="utf-8")

    async def night(self, **options: Any) -> RunReport:
        self.embedder.passages.clear()
        return await run_ingest(
            self.path, self.embedder, own_sources=self.sources, contact="prova@esempio.it", options=RunOptions(**options)
        )

    def found(self, word: str) -> list[str]:
        """Addresses of the pages that hold a word, in what is live now."""
        reader = self.store.open(Language.ITALIAN, "hash-1")
        hits = reader.lexical(lexical_text(word, Language.ITALIAN), 50)
        return sorted({(hit.chunk.url or hit.chunk.document_id).removeprefix(BASE) for hit in hits})

    def version(self) -> int:
        return self.store.open(Language.ITALIAN, "hash-1").version

    async def addresses(self, source_id: str = "a") -> dict[str, Address]:
        async with Ledger.open(ledger_path(self.path)) as ledger:
            return {url.removeprefix(BASE): address for url, address in (await ledger.addresses(source_id)).items()}

    def bytes(self) -> bytes:
        return b"".join(path.read_bytes() for path in self.path.rglob("*") if path.is_file())

    def fetched(self, path: str, source_id: str = "a") -> bool:
        with PageStore.open(crawl_path(self.path, source_id)) as store:
            return store.page(BASE + path) is not None


def counts(report: RunReport) -> dict[str, int]:
    row = next(row for row in report.languages if row.language is Language.ITALIAN)
    names = ("new", "changed", "unchanged", "moved", "retired")
    return {name: getattr(row, name) for name in names if getattr(row, name)}
