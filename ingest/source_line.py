"""One source in one run: read it slice by slice, stage what is new, retire what is gone."""

import asyncio
import time
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ingest.crawled_pages import Slice
from ingest.duplicates import DuplicateFinder
from ingest.errors import SourceUnreadable
from ingest.ledger import Ledger, PageState
from ingest.report import Step
from ingest.source_log import MISSES_TO_RETIRE
from ingest.source_reader import Reading, SourceReader, is_much, is_smaller
from ingest.sources import SourceKind, SourceRow
from ingest.stager import Stager
from locales.language import Language
from rag.documents import Document

Counts = Counter[tuple[Language, str]]
"""How many pages of a language are new, changed, unchanged, moved or retired."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceOptions:
    """How a run treats a source: see `ingest.pipeline.RunOptions`."""

    configured: Sequence[str] | None = None
    full: bool = False
    dry_run: bool = False
    accept_smaller: bool = False
    shrink_limit: float = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceResult:
    """What became of one source. One that `failed` gave nothing, and one that is `refused` lost too much to be believed."""

    source: SourceRow
    counts: Counts = field(default_factory=Counter)
    problems: tuple[str, ...] = ()
    refusals: Counter[str] = field(default_factory=Counter)
    failed: bool = False
    refused: bool = False
    fetch_seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceLine:
    """Takes one source after the other through reading, staging and retiring."""

    reader: SourceReader
    stager: Stager
    ledger: Ledger
    options: SourceOptions

    async def ingest(self, source: SourceRow) -> SourceResult:
        """Read a source and stage what it has new.

        Raises:
            RunCancelled: If the run was asked to stop.
            ModelError: If the embedder fails.
        """
        monitor = self.stager.monitor
        monitor.tell(Step.READ, source.id, 0, 0)
        states = await self.ledger.page_states()
        before = sum(state.source_id == source.id for state in states.values())
        began = time.monotonic()
        try:
            reading = await self._read(source, states, before)
        except SourceUnreadable as error:
            monitor.count(failed=1)
            return await self._left_alone(SourceResult(source=source, problems=(str(error),), failed=True), before)
        monitor.stop_if_cancelled()  # a crawl that was stopped has not seen all there is
        monitor.count(failed=reading.failed)
        smaller = is_smaller(reading, self.options.shrink_limit)
        if smaller and not self.options.accept_smaller:
            problem = f"{source.id}: gave {reading.pages} pages, {reading.before} before; {_kept(source)}"
            return await self._left_alone(SourceResult(source=source, problems=(problem,), refused=True), before)
        result = SourceResult(
            source=source,
            problems=reading.problems,
            refusals=Counter(reading.refusals),
            fetch_seconds=time.monotonic() - began if source.kind.is_crawled else 0.0,
        )
        if not self.options.dry_run:
            await self.ledger.note_misses(source.id, _believed(reading.misses) if smaller else reading.misses)
        replaced: set[str] = set()
        standing: set[str] = set()
        seen = 0
        monitor.tell(Step.READ, source.id, 0, reading.pages)
        while (part := await asyncio.to_thread(next, reading.slices, None)) is not None:
            part, foreign = _own(part, source, states, self.options.configured)
            counts = _counted(part, states)
            monitor.count(new=_of_kind(counts, "new"), changed=_of_kind(counts, "changed"))
            if not self.options.dry_run:
                await self._keep(part, states, source)
            seen += len(part.documents) + len(part.unchanged)
            replaced.update(part.moved_from.values())
            standing.update(document.document_id for document in part.documents)
            monitor.tell(Step.READ, source.id, seen, max(reading.pages, seen))
            result = replace(
                result,
                counts=result.counts + counts,
                problems=(*result.problems, *foreign),
                refusals=result.refusals + Counter(part.refusals),
            )
        if self.options.dry_run:
            return _foretold(result, reading, states, standing)
        return await self._finished(result, reading, replaced, before)

    async def _read(self, source: SourceRow, states: Mapping[str, PageState], before: int) -> Reading:
        fingerprints = await self.ledger.fingerprints(source.language) if source.language else {}
        stay = {key for key, state in states.items() if not _is_withdrawn(state, self.options.configured)}
        monitor = self.stager.monitor
        return await self.reader.read(
            source,
            await self.ledger.addresses(source.id),
            DuplicateFinder({key: written for key, written in fingerprints.items() if key in stay}),
            before=before,
            again=self.options.full,
            cancelled=monitor.cancelled,
            on_pages=lambda done, known: monitor.show(Step.FETCH, source.id, done, known),
        )

    async def _left_alone(self, result: SourceResult, pages: int) -> SourceResult:
        if not self.options.dry_run:
            source = result.source
            await self.ledger.note_source(source.id, source.publisher, pages=pages, problem=result.problems[0])
        return result

    async def _keep(self, part: Slice, states: Mapping[str, PageState], source: SourceRow) -> None:
        """Stage what is new or changed in a slice, and note that the rest still stands."""
        fresh = [d for d in part.documents if self.options.full or not self.stager.is_staged(d, states)]
        await self.stager.stage(fresh, states, subject=source.id, moved_from=part.moved_from, reuse=not self.options.full)
        standing = [*(document.document_id for document in part.documents), *part.unchanged]
        await self.ledger.mark_seen(self.stager.run_id, standing)
        await self.ledger.note_addresses(source.id, part.addresses)
        if source.language and part.fingerprints:
            await self.ledger.keep_fingerprints(source.language, part.fingerprints)

    async def _finished(self, result: SourceResult, reading: Reading, replaced: Iterable[str], before: int) -> SourceResult:
        """Retire the pages that the source no longer has; none while something in it was unreadable, for it may be those."""
        source, ledger = result.source, self.ledger
        retired: Mapping[Language, int] = {}
        if reading.is_complete and not result.problems:
            retired = await ledger.retire_unseen(self.stager.run_id, source.id)
        elif source.kind.is_crawled:
            retired, problem = await self._retire_unreachable(reading, set(replaced), before)
            if problem:
                result = replace(result, problems=(*result.problems, problem), refused=True)
        elif source.kind is SourceKind.CMS:
            pass  # its pages come and go with events
        elif kept := before - _of_kind(result.counts, "changed") - _of_kind(result.counts, "unchanged"):
            note = f"{source.id}: pages that were not found ({kept}) stay until the whole source can be read"
            result = replace(result, problems=(*result.problems, note))
        self.stager.monitor.count(gone=sum(retired.values()))
        pages = sum(count for (owner, _), count in (await ledger.page_counts()).items() if owner == source.id)
        await ledger.note_source(source.id, source.publisher, pages=pages, problem=next(iter(result.problems), None))
        return replace(result, counts=result.counts + as_retired(retired))

    async def _retire_unreachable(
        self, reading: Reading, replaced: set[str], before: int
    ) -> tuple[Mapping[Language, int], str | None]:
        """Retire what moved, and what is gone unless it is too much to be believed; then the problem says so."""
        source, ledger = reading.source, self.ledger
        known = await ledger.addresses(source.id)
        left = [url for url, target in reading.moved.items() if target in known and known[target].document_ids]
        moved = {document_id for url in left if url in known for document_id in known[url].document_ids}
        unreachable = await ledger.unreachable(source.id, left)
        gone = unreachable - moved - replaced
        is_believed = self.options.accept_smaller or not is_much(len(gone), before, self.options.shrink_limit)
        await ledger.forget_addresses(source.id, left, missed=is_believed)
        retired = await ledger.retire((unreachable if is_believed else unreachable & moved) | replaced)
        await self.reader.keep_only(source, await ledger.addresses(source.id))
        problem = f"{source.id}: {len(gone)} of {before} pages are no longer what they were; {_kept(source)}"
        return retired, None if is_believed else problem


def _kept(source: SourceRow) -> str:
    return f"what is published of it stays, unless `salus ingest --source {source.id} --accept-smaller` believes it"


def _foretold(result: SourceResult, reading: Reading, states: Mapping[str, PageState], standing: Collection[str]) -> SourceResult:
    """Count what a run would retire, where one reading decides it; a page that a crawl misses is retired only the second time."""
    if not reading.is_complete or result.problems:
        return result
    gone = [state for key, state in states.items() if state.source_id == reading.source.id and key not in standing]
    return replace(result, counts=result.counts + as_retired(Counter(state.language for state in gone)))


def as_retired(by_language: Mapping[Language, int]) -> Counts:
    """Retired pages as counts."""
    return Counter({(language, "retired"): count for language, count in by_language.items()})


def _own(
    part: Slice, source: SourceRow, states: Mapping[str, PageState], configured: Sequence[str] | None
) -> tuple[Slice, list[str]]:
    """Leave out pages whose id another source already uses: whichever came last would take the other's place."""
    mine: list[Document] = []
    problems = []
    for document in part.documents:
        state = states.get(document.document_id)
        if state is None or state.source_id == source.id or _is_withdrawn(state, configured):
            mine.append(document)
        else:
            problems.append(f"{source.id}: the id {document.document_id!r} already belongs to {state.source_id}")
    return replace(part, documents=tuple(mine)), problems


def _is_withdrawn(state: PageState, configured: Sequence[str] | None) -> bool:
    return configured is not None and state.source_id not in configured


def _believed(misses: Mapping[str, int]) -> Mapping[str, int]:
    """Misses that an operator vouches for: one is enough."""
    return {url: MISSES_TO_RETIRE if count else 0 for url, count in misses.items()}


def _counted(part: Slice, states: Mapping[str, PageState]) -> Counts:
    counts: Counts = Counter()
    for document in part.documents:
        state = states.get(document.document_id)
        if document.document_id in part.moved_from:
            kind = "moved"
        elif state is None:
            kind = "new"
        else:
            kind = "unchanged" if state.content_hash == document.content_hash else "changed"
        counts[document.language, kind] += 1
    for document_id in dict.fromkeys(part.unchanged):
        if document_id in states:
            counts[states[document_id].language, "unchanged"] += 1
    return counts


def _of_kind(counts: Counts, kind: str) -> int:
    return sum(count for (_, name), count in counts.items() if name == kind)
