"""The pages of one crawl: which must be read again, which stand as they were, and which are another page over again."""

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import TypeVar

from ingest.crawler.page_store import PageStore
from ingest.duplicates import DuplicateFinder, Fingerprint
from ingest.extraction.results import EXTRACTOR_VERSION, Extraction, Refusal
from ingest.fetching import Fetch, Visit
from ingest.source_log import Address
from ingest.sources import SourceRow
from rag.documents import Document

SLICE_PAGES = 32
_UNCHANGED_PAGES = 500
REFUSED_LIKE_GONE = {"robots", "reserved", "not_allowed", "off_site", "private_address"}
"""Reasons of a visit that will not pass by themselves, unlike those of a server in trouble."""
# A page that says so of itself may no longer be read, or is not there: after two such crawls it is retired like one that is gone.
_COUNTS_AS_GONE = {Refusal.NOT_FOUND_PAGE, Refusal.RESERVED}

_Item = TypeVar("_Item")


@dataclass(frozen=True, slots=True, kw_only=True)
class Slice:
    """Some pages of a source.

    `documents` were read now; `unchanged` are ids of documents whose bytes are what they were; `addresses` are to be noted once
    the documents are staged; `fingerprints` likewise, by document id. `moved_from` names, for a document, the earlier one whose
    text it took along to a new address.
    """

    documents: tuple[Document, ...] = ()
    unchanged: tuple[str, ...] = ()
    addresses: tuple[Address, ...] = ()
    fingerprints: Mapping[str, str] = field(default_factory=dict)
    moved_from: Mapping[str, str] = field(default_factory=dict)
    refusals: Mapping[str, int] = field(default_factory=dict)


class CrawledPages:
    """The pages of one crawl, slice by slice."""

    def __init__(
        self,
        source: SourceRow,
        path: Path,
        known: Mapping[str, Address],
        finder: DuplicateFinder,
        visits: Sequence[Visit],
        *,
        again: bool,
    ) -> None:
        self._source, self._path, self._known, self._finder = source, path, known, finder
        self._extracted_with = extracted_with(source)
        self._visits = [visit for visit in visits if visit.fetch in {Fetch.FETCHED, Fetch.UNCHANGED}]
        self._unchanged = [] if again else [visit for visit in self._visits if self._is_unchanged(visit)]
        missing = {visit.url for visit in visits if is_missing(visit)}
        standing = {document_id for url, address in known.items() if url not in missing for document_id in address.document_ids}
        # What says the same as one of these has moved, and is no duplicate.
        self._missing = {document_id for url in missing for document_id in self._ids(url)} - standing
        self._moves = {visit.moved_to: visit.url for visit in visits if visit.fetch is Fetch.MOVED and visit.moved_to}

    def slices(self) -> Iterator[Slice]:
        """Yield unchanged pages in large slices, then those that must be read in small ones."""
        for visits in parts(self._unchanged, _UNCHANGED_PAGES):
            refusals = Counter(reason for visit in visits if (reason := self._known[visit.url].refusal))
            yield Slice(unchanged=tuple(i for visit in visits for i in self._ids(visit.url)), refusals=refusals)
        standing = {visit.url for visit in self._unchanged}
        changed = [visit for visit in self._visits if visit.url not in standing]
        taken = {document_id: "" for url in standing for document_id in self._ids(url)}
        for visits in parts(changed, SLICE_PAGES):
            yield self._read(visits, taken)

    def _read(self, visits: Sequence[Visit], taken: dict[str, str]) -> Slice:
        """Read pages; `taken` are the hashes of the documents that other addresses have given, by id."""
        from ingest.extraction.extractor import extract

        documents: dict[str, Document] = {}
        addresses, refusals = [], Counter[str]()
        fingerprints: dict[str, str] = {}
        moved_from: dict[str, str] = {}
        with PageStore.open(self._path) as store:
            pages = [(visit, store.page(visit.url)) for visit in visits]
        for visit, page in pages:
            extraction = extract(page, self._source) if page else Extraction(refusal=Refusal.NOT_READABLE)
            address = self._address(visit, extraction)
            for document in extraction.documents:
                if _is_taken(document, visit, taken):
                    continue
                fingerprint = Fingerprint.of(document)
                if self._finder.original_of(document, fingerprint, without=self._missing):
                    # Read again each night: its original may go.
                    address = replace(address, document_ids=(), refusal=Refusal.DUPLICATE.value, body_hash="")
                    continue
                if origin := self._origin(visit, document, fingerprint):
                    moved_from[document.document_id] = origin
                taken[document.document_id] = document.content_hash
                documents[document.document_id] = document
                fingerprints[document.document_id] = str(fingerprint)
                self._finder.add(document, fingerprint)
            if address.refusal:
                refusals[address.refusal] += 1
            addresses.append(address)
        return Slice(
            documents=tuple(documents.values()),
            unchanged=tuple(i for address in addresses for i in address.document_ids if i not in documents),
            addresses=tuple(addresses),
            fingerprints=fingerprints,
            moved_from=moved_from,
            refusals=refusals,
        )

    def _address(self, visit: Visit, extraction: Extraction) -> Address:
        """What is noted of an address. One that is refused now keeps the documents that it gave before."""
        earlier = self._known.get(visit.url)
        ids = tuple(document.document_id for document in extraction.documents)
        misses = 0
        if not ids and earlier is not None:
            ids = earlier.document_ids
            misses = earlier.misses + 1 if extraction.refusal in _COUNTS_AS_GONE else 0
        return Address(
            url=visit.url,
            document_ids=ids,
            body_hash=(visit.body_hash or "") if not misses else "",  # read again, so that the next miss is counted too
            extracted_with=self._extracted_with,
            refusal=extraction.refusal.value if extraction.refusal else None,
            misses=misses,
        )

    def _origin(self, visit: Visit, document: Document, fingerprint: Fingerprint) -> str | None:
        """The document that this one was before it got another address."""
        redirected = self._ids(self._moves.get(visit.url, ""))
        if redirected and redirected[0] != document.document_id:
            return redirected[0]
        return self._finder.original_of(document, fingerprint, among=self._missing)

    def _is_unchanged(self, visit: Visit) -> bool:
        address = self._known.get(visit.url)
        if address is None or not visit.body_hash:
            return False
        return (address.body_hash, address.extracted_with) == (visit.body_hash, self._extracted_with)

    def _ids(self, url: str) -> tuple[str, ...]:
        address = self._known.get(url)
        return address.document_ids if address else ()


def is_missing(visit: Visit) -> bool:
    """Whether a page no longer stands at its address; a server in trouble says nothing about it."""
    return visit.fetch in {Fetch.GONE, Fetch.MOVED} or (visit.fetch is Fetch.REFUSED and visit.reason in REFUSED_LIKE_GONE)


def _is_taken(document: Document, visit: Visit, taken: Mapping[str, str]) -> bool:
    """Whether another address of the page has given it; its canonical address has the last word."""
    given = taken.get(document.document_id)
    return given is not None and (document.url != visit.url or given == document.content_hash)


def extracted_with(source: SourceRow) -> str:
    """Names all of a source's row that shapes its documents: a change there reads every page again."""
    shaping = source.model_dump_json(include={"id", "kind", "publisher", "authority", "language", "selectors"})
    return f"{EXTRACTOR_VERSION}:{hashlib.sha256(shaping.encode()).hexdigest()[:12]}"


def parts(items: Iterable[_Item], size: int) -> Iterator[tuple[_Item, ...]]:
    """Cut a collection into tuples of at most `size`."""
    iterator = iter(items)
    while part := tuple(islice(iterator, size)):
        yield part
