"""Reads one source, whatever its kind: what of it must be read again, what stands as it was, and what is gone."""

import asyncio
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ingest.crawled_pages import SLICE_PAGES, CrawledPages, Slice, is_missing, parts
from ingest.crawler.job import CrawlLimits
from ingest.crawler.page_store import PageStore
from ingest.duplicates import DuplicateFinder
from ingest.errors import CrawlFailed, SourceUnreadable
from ingest.fetching import Fetch, Visit
from ingest.importers.folder import read_folder
from ingest.importers.medlineplus_xml import newest_file, read_topics
from ingest.source_log import Address
from ingest.sources import SourceKind, SourceRow

_FEWEST_MISSING = 5  # of a handful of pages one in five may well go in a day
_TOLD = ("unread:", "host_down:")  # beginnings of notes of a crawl that an operator should see

OnPages = Callable[[int, int], None]
"""Told how many addresses are fetched, of how many known so far."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What reading a source promises: `slices` are read one by one, each in a worker thread.

    `pages` is how many there are, `before` how many there were. `misses` says of known addresses how many crawls in a row did not
    find them, 0 for those that were found. `moved` says where known addresses of the source lead now.
    `is_complete` is true when a document that is not in any slice is no longer in the source; never so for a crawl.
    """

    source: SourceRow
    slices: Iterator[Slice]
    pages: int
    before: int
    problems: tuple[str, ...] = ()
    is_complete: bool = False
    misses: Mapping[str, int] = field(default_factory=dict)
    moved: Mapping[str, str] = field(default_factory=dict)
    refusals: Mapping[str, int] = field(default_factory=dict)
    failed: int = 0


class SourceReader:
    """Reads sources for one home.

    Args:
        home: Where crawled pages are kept; without it no site is crawled.
        contact: By what a publisher can reach the operator.
        limits: What no server can make a crawl exceed.
    """

    def __init__(self, home: Path | None = None, contact: str | None = None, limits: CrawlLimits | None = None) -> None:
        self._home = home
        self._contact = contact
        self._limits = limits

    async def read(
        self,
        source: SourceRow,
        known: Mapping[str, Address],
        finder: DuplicateFinder,
        *,
        before: int,
        again: bool = False,
        cancelled: Callable[[], bool],
        on_pages: OnPages,
    ) -> Reading:
        """Fetch a source.

        Args:
            source: What to read.
            known: The addresses of it that were read before.
            finder: Knows the other pages in the language.
            before: How many pages it gave when it was last read.
            again: Read also pages whose bytes have not changed.
            cancelled: Whether to stop.
            on_pages: Told on the event loop how far a crawl is.

        Raises:
            SourceUnreadable: If nothing of it can be read.
        """
        if source.kind is SourceKind.CMS:
            return Reading(source=source, slices=iter(()), pages=before, before=before)
        if not source.kind.is_crawled and source.url is None:
            return await asyncio.to_thread(_imported, source, source.path or Path(), before)
        if self._home is None:
            raise CrawlFailed(f"{source.id}: is crawled only by `salus ingest`")
        path = crawl_path(self._home, source.id)
        if source.kind is SourceKind.HEALTH_TOPICS:
            await self._crawl(source, path, (), cancelled, on_pages)
            if newest := await asyncio.to_thread(_newest_file, source, path):
                source = source.model_copy(update={"url": newest})
                await self._crawl(source, path, (), cancelled, on_pages)
            return await asyncio.to_thread(_fetched_file, source, path, before)
        await self._crawl(source, path, known, cancelled, on_pages)
        return await asyncio.to_thread(_crawled, source, path, known, finder, again)

    async def keep_only(self, source: SourceRow, addresses: Collection[str]) -> None:
        """Erase what was fetched from all other addresses of a source: of a page that is gone, nothing stays on the disk."""
        if self._home is not None:
            await asyncio.to_thread(_keep_only, crawl_path(self._home, source.id), addresses)

    async def _crawl(
        self, source: SourceRow, path: Path, known: Iterable[str], cancelled: Callable[[], bool], on_pages: OnPages
    ) -> None:
        from ingest.crawler.crawl import crawl

        summary = await crawl(
            source,
            path,
            known=tuple(known),
            contact=self._contact,
            limits=self._limits,
            only=(source.url,) if source.url else (),
            cancelled=cancelled,
            on_progress=on_pages,
        )
        if not summary.is_whole and not cancelled():
            raise CrawlFailed(f"{source.id}: the crawl broke off; what is published stays")


def crawl_path(home: Path, source_id: str) -> Path:
    """Where the fetched pages of a source are kept."""
    return home / "crawl" / f"{source_id}.sqlite"


def _keep_only(path: Path, addresses: Collection[str]) -> None:
    with PageStore.open(path) as store:
        store.keep_only(addresses)


def _imported(source: SourceRow, path: Path, before: int) -> Reading:
    problems: list[str] = []
    read = read_topics if source.kind is SourceKind.HEALTH_TOPICS else read_folder
    documents = tuple(read(path, source, lambda problem: problems.append(str(problem))))
    slices = (Slice(documents=part) for part in parts(documents, SLICE_PAGES))
    return Reading(
        source=source, slices=slices, pages=len(documents), before=before, problems=tuple(problems), is_complete=not problems
    )


def _newest_file(source: SourceRow, store_path: Path) -> str | None:
    """The file that the fetched page lists, when it is a page that lists files; None when it is the file itself."""
    with PageStore.open(store_path) as store:
        page = store.page(source.url or "")
    return newest_file(page.body.decode("utf-8", "replace"), page.url) if page and page.content_type == "text/html" else None


def _fetched_file(source: SourceRow, store_path: Path, before: int) -> Reading:
    """An XML file that came over the wire: written beside the store, read, and removed again."""
    with PageStore.open(store_path) as store:
        visit = next((v for v in store.visits() if v.fetch in {Fetch.FETCHED, Fetch.UNCHANGED}), None)
        page = store.page(visit.url) if visit else None
    if page is None:
        raise SourceUnreadable(f"{source.id}: the file could not be fetched")
    path = store_path.with_suffix(".xml")
    path.write_bytes(page.body)
    try:
        return _imported(source, path, before)
    finally:
        path.unlink()


def _crawled(source: SourceRow, path: Path, known: Mapping[str, Address], finder: DuplicateFinder, again: bool) -> Reading:
    with PageStore.open(path) as store:
        visits, notes = list(store.visits()), store.notes()
    found = [visit for visit in visits if visit.fetch in {Fetch.FETCHED, Fetch.UNCHANGED}]
    moved = {v.url: v.moved_to for v in visits if v.fetch is Fetch.MOVED and v.moved_to and v.url in known}
    failed = sum(visit.fetch is Fetch.FAILED for visit in visits)
    return Reading(
        source=source,
        slices=CrawledPages(source, path, known, finder, visits, again=again).slices(),
        pages=len(found),
        before=min(sum(address.misses == 0 for address in known.values()), source.max_pages),
        problems=tuple(f"{source.id}: {problem}" for problem in _problems(failed, notes, found)),
        misses={visit.url: _misses(visit, known[visit.url]) for visit in visits if visit.url in known},
        moved=moved,
        refusals=Counter(visit.reason or "refused" for visit in visits if visit.fetch is Fetch.REFUSED),
        failed=failed,
    )


def _problems(failed: int, notes: Iterable[str], found: Collection[Visit]) -> Iterator[str]:
    if failed:
        yield f"{failed} addresses could not be fetched; what they had given stays"
    yield from (note for note in notes if note.startswith(_TOLD))
    if not found:
        yield "gave no page at all"


def _misses(visit: Visit, address: Address) -> int:
    """How many crawls in a row did not find an address; a failure says nothing either way."""
    if is_missing(visit):  # one that moved to where there is no page is as good as gone
        return address.misses + 1
    return address.misses if visit.fetch in {Fetch.FAILED, Fetch.REFUSED} else 0


def is_smaller(reading: Reading, limit: float) -> bool:
    """Whether a source gives so much fewer pages than before that it is more likely broken than shorter."""
    return is_much(reading.before - reading.pages, reading.before, limit)


def is_much(missing: int, before: int, limit: float) -> bool:
    """Whether so many missing pages speak of a fault rather than of a publisher who took them down."""
    return missing >= _FEWEST_MISSING and missing > limit * before
