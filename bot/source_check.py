"""Looks at what a source would give: a few of its pages, fetched into a store that is thrown away, and extracted."""

import asyncio
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from ingest.errors import SourceUnreadable
from ingest.sources import SourceKind, SourceRow
from rag.documents import Document

# The first pages of a crawl are often indexes, of which nothing is extracted; with some more there is an article among them.
_PAGES = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """What a source gave: the fullest `document` of those that were looked at, or none for the reason in `problem`.

    `refusals` counts addresses that were not taken, by reason.
    """

    source_id: str
    document: Document | None = None
    refusals: Mapping[str, int] = field(default_factory=dict)
    problem: str | None = None


async def check_source(source: SourceRow, contact: str | None, *, page: str | None = None) -> Checked:
    """Look at a source as a run would, robots.txt and delays kept, without noting anything.

    Args:
        source: The source, whether it is enabled or not.
        contact: By what a publisher can reach the operator.
        page: The only page to look at; the first few that a crawl finds unless given.
    """
    try:
        if source.kind is SourceKind.CMS:
            return Checked(source_id=source.id, problem="its pages arrive as events: there is nothing to fetch")
        if source.path:
            return await asyncio.to_thread(_first_of_file, source, source.path)
        with TemporaryDirectory(prefix="salus-check-") as folder:
            store = Path(folder) / "pages.sqlite"
            if source.kind is SourceKind.HEALTH_TOPICS:
                return await _topics(source, store, contact)
            await _crawl(source, store, contact, [page] if page else [])
            return await asyncio.to_thread(_fullest, source, store)
    except SourceUnreadable as error:
        return Checked(source_id=source.id, problem=str(error))


async def _crawl(source: SourceRow, store: Path, contact: str | None, only: list[str]) -> None:
    from ingest.crawler.crawl import crawl

    await crawl(
        source.model_copy(update={"max_pages": min(source.max_pages, _PAGES)}),
        store,
        known=(),
        contact=contact,
        only=only,
        cancelled=lambda: False,
        on_progress=lambda _done, _known: None,
    )


def _fullest(source: SourceRow, path: Path) -> Checked:
    from ingest.crawler.page_store import PageStore
    from ingest.extraction.extractor import extract
    from ingest.fetching import Fetch

    documents: list[Document] = []
    refusals: Counter[str] = Counter()
    with PageStore.open(path) as store:
        for visit in store.visits():
            if visit.fetch in {Fetch.FAILED, Fetch.REFUSED, Fetch.GONE}:
                refusals[visit.reason or visit.fetch.value] += 1
            elif page := store.page(visit.url):
                extraction = extract(page, source)
                documents.extend(extraction.documents)
                if extraction.refusal:
                    refusals[extraction.refusal.value] += 1
    fullest = max(documents, key=lambda document: len(document.text), default=None)
    problem = None if fullest else "no page could be taken" if refusals else "no page was found"
    return Checked(source_id=source.id, document=fullest, refusals=refusals, problem=problem)


async def _topics(source: SourceRow, store: Path, contact: str | None) -> Checked:
    """The first topic of a file on the web, which may be reached through a page that links to it."""
    from ingest.importers.medlineplus_xml import newest_file

    address = source.url or ""
    body = await _body(source, store, contact, address)
    if newest := newest_file(body.decode("utf-8", "replace"), address):
        body = await _body(source, store, contact, newest)
    file = store.with_name("topics.xml")
    await asyncio.to_thread(file.write_bytes, body)
    return await asyncio.to_thread(_first_of_file, source, file)


async def _body(source: SourceRow, path: Path, contact: str | None, address: str) -> bytes:
    from ingest.crawler.page_store import PageStore

    await _crawl(source.model_copy(update={"url": address}), path, contact, [address])
    with PageStore.open(path) as store:
        visits = list(store.visits())
        pages = [page for visit in visits if (page := store.page(visit.url))]
    if not pages:
        reason = next((visit.reason or visit.fetch.value for visit in visits), "no answer")
        raise SourceUnreadable(f"{address}: could not be fetched ({reason})")
    return pages[0].body


def _first_of_file(source: SourceRow, path: Path) -> Checked:
    from ingest.importers.folder import read_folder
    from ingest.importers.medlineplus_xml import read_topics

    problems: list[SourceUnreadable] = []
    read = read_topics if source.kind is SourceKind.HEALTH_TOPICS else read_folder
    document = next(read(path, source, problems.append), None)
    return Checked(source_id=source.id, document=document, problem=str(problems[0]) if problems else None)
