"""A home that the test site is crawled into, and what lies in its index and its ledger."""

import asyncio
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import lancedb

from ingest.crawler.job import CrawlLimits
from ingest.ledger import Ledger
from ingest.pipeline import RunOptions
from ingest.report import RunReport
from ingest.run import index_directory, ledger_path, run_ingest
from ingest.source_log import Address
from ingest.source_reader import SourceReader
from ingest.sources import SourceRow
from ingest.staging import StagedPage
from locales.language import Language
from rag.documents import Chunk, Document
from rag.store import IndexStore
from rag.store_schema import decode_chunk, decode_document
from rag.text import lexical_text
from tests.doubles.health_site import HealthSite, SeenRequest
from tests.fakes import HashEmbedder

CONTACT = "prova@esempio.it"
LIMITS = CrawlLimits(timeout_s=5, retries=0, retry_pause_s=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Night:
    """What one run did: its report, the texts that were embedded, and what the site was asked."""

    report: RunReport
    embedded: tuple[str, ...]
    requests: tuple[SeenRequest, ...]
    seconds: float

    def count(self, kind: str) -> int:
        """Pages that are new, changed, unchanged, moved or retired, in both languages."""
        return sum(getattr(row, kind) for row in self.report.languages)

    @property
    def pages_a_second(self) -> float:
        """Through the pipeline; waiting for sites does not count."""
        pages = sum(self.count(kind) for kind in ("new", "changed", "unchanged", "moved"))
        return pages / max(self.report.seconds - self.report.fetch_seconds, 1e-9)


class CrawledHome:
    """Opened once: what a bot would have in its hands all the time."""

    def __init__(self, path: Path, site: HealthSite, rows: Iterable[SourceRow] | None = None) -> None:
        self.path = path
        self.site = site
        self.embedder = HashEmbedder()
        self.store = IndexStore(index_directory(path))
        self.sources = path / "sources.toml"
        self.configure(rows)

    def configure(self, rows: Iterable[SourceRow] | None = None) -> None:
        """Write the operator's file of sources."""
        self.site.write_sources(self.sources, rows)

    def night(self, source_id: str | None = None, limits: CrawlLimits = LIMITS, **options: bool) -> Night:
        self.embedder.passages.clear()
        self.site.forget_requests()
        began = time.monotonic()
        report = asyncio.run(
            run_ingest(
                self.path,
                self.embedder,
                source_id=source_id,
                own_sources=self.sources,
                options=RunOptions(**options),  # type: ignore[arg-type]
                contact=CONTACT,
                reader=SourceReader(self.path, CONTACT, limits),
            )
        )
        return Night(
            report=report,
            embedded=tuple(self.embedder.passages),
            requests=tuple(self.site.requests),
            seconds=time.monotonic() - began,
        )

    def found(self, words: str, language: Language = Language.ITALIAN, among: int = 5) -> list[str]:
        """Paths of the pages that the words find, best first."""
        reader = self.store.open(language, self.embedder.fingerprint)
        hits = reader.lexical(lexical_text(words, language), among)
        return list(dict.fromkeys(self.site_path(hit.chunk.url) for hit in hits))

    def cited(self, path: str) -> bool:
        """Whether the page of this path is live, in whatever language."""
        return self.site.url(path) in self.documents() if path else False

    def site_path(self, url: str | None) -> str:
        """An address without its host."""
        assert url
        return "/" + url.split("/", 3)[3]

    def documents(self) -> dict[str, Document]:
        """What is live, by address; read from the table itself."""
        return {document.url or "": document for column in self._column("document") for document in [decode_document(column)]}

    def chunks(self) -> list[Chunk]:
        """All that can be quoted."""
        return [decode_chunk(column) for column in self._column("chunk")]

    def _column(self, name: str) -> list[str]:
        found: list[str] = []
        database = lancedb.connect(str(index_directory(self.path)))
        for table_name in database.list_tables().tables:
            table = database.open_table(table_name)
            table.checkout("live")
            rows = table.search().where(f"{name} IS NOT NULL").select([name]).limit(None).to_list()
            found += [row[name] for row in rows]
        return found

    def staged(self) -> list[StagedPage]:
        """All pages of the ledger."""

        async def read() -> list[StagedPage]:
            async with Ledger.open(ledger_path(self.path)) as ledger:
                return await ledger.pages(await ledger.page_states())

        return asyncio.run(read())

    def addresses(self, source_id: str) -> dict[str, Address]:
        """What the ledger knows of the addresses of a source, by path."""

        async def read() -> dict[str, Address]:
            async with Ledger.open(ledger_path(self.path)) as ledger:
                return await ledger.addresses(source_id)

        return {self.site_path(url): address for url, address in asyncio.run(read()).items()}

    def choose(self, source_id: str, enabled: bool) -> None:
        """As an administrator does from the chat."""

        async def note() -> None:
            async with Ledger.open(ledger_path(self.path)) as ledger:
                await ledger.choose_source(source_id, enabled)

        asyncio.run(note())

    def holds(self, words: Sequence[str]) -> list[str]:
        """Which of these words stand in any file of the home."""
        everything = b"".join(path.read_bytes() for path in self.path.rglob("*") if path.is_file())
        return [word for word in words if word.encode() in everything]


def one(text: str) -> str:
    """The text with single white space."""
    return " ".join(text.split())
