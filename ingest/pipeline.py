"""The ingestion line: source → fetch → extract → chunk → embed → store → publish."""

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

import numpy as np

from ingest.errors import SourceUnreadable
from ingest.importers.folder import read_folder
from ingest.ledger import Ledger, PageState, RunStatus
from ingest.lock import writer_lock
from ingest.page_builder import PageBuilder
from ingest.report import LanguageReport, OnProgress, Progress, RunReport, Step
from ingest.sources import SourceRow
from locales.language import Language
from rag.documents import Document
from rag.errors import IndexMismatch, IndexMissing
from rag.models.protocols import Embedder
from rag.store import IndexStore

Counts = Counter[tuple[Language, str]]
_Value = TypeVar("_Value")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What a source gave. One that `failed` gave nothing, and one with `problems` perhaps not all."""

    source: SourceRow
    documents: tuple[Document, ...] = ()
    problems: tuple[str, ...] = ()
    failed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Publication:
    """What was published in a language; without a `version`, nothing was."""

    pages: int = 0
    chunks: int = 0
    surfaces: int = 0
    version: int | None = None
    problem: str | None = None


async def ingest(
    sources: Sequence[SourceRow],
    store: IndexStore,
    embedder: Embedder,
    ledger: Ledger,
    *,
    lock: Path,
    configured: Sequence[str] | None = None,
    full: bool = False,
    sentence_vectors: bool = True,
    on_progress: OnProgress = lambda _: None,
) -> RunReport:
    """Bring the published indexes up to date with `sources`.

    An unchanged page is not embedded again, a missing one is retired, and each language that changed is published once, at the
    end. A source that fails leaves its pages as they are, and the others go on. A run that is killed leaves the live indexes
    untouched, and the next one goes on where it stopped.

    Args:
        sources: The sources to read.
        store: The indexes.
        embedder: Called on a worker thread, one call at a time.
        ledger: What was read and embedded before.
        lock: The lock file that all runs on this ledger and these indexes share.
        configured: Ids of all sources there are; pages of any other source are retired. Without it none are.
        full: Embed the pages of `sources` and publish all languages again.
        sentence_vectors: Also embed each sentence, so that evidence need not do so at question time.
        on_progress: Told on the event loop how far the run is.

    Raises:
        RunRefused: If another run holds the lock.
        ModelError: If the embedder fails.
        StoreError: If an index cannot be written.
    """
    started, began = datetime.now(UTC), time.monotonic()
    with writer_lock(lock):
        run_id = await ledger.begin_run()
        try:
            builder = PageBuilder(embedder, sentence_vectors=sentence_vectors)
            counts: Counts = Counter()
            readings: list[Reading] = []
            for source in sources:
                on_progress(Progress(step=Step.READ, subject=source.id, done=0, total=0))
                known = await ledger.page_states()
                reading = _own_pages(await asyncio.to_thread(_fetch, source), known, configured)
                to_embed = [d for d in reading.documents if full or not _is_staged(d, known, builder.indexed_with)]
                await _embed_and_stage(to_embed, builder, ledger, run_id, source.id, on_progress)
                counts += _counted(reading.documents, known)
                retired, reading = await _retire_missing(reading, known, ledger, run_id)
                counts += retired
                await ledger.note_source(
                    source.id, source.publisher, pages=len(reading.documents), problem=next(iter(reading.problems), None)
                )
                readings.append(reading)
            withdrawn = await ledger.retire_withdrawn(configured) if configured is not None else {}
            counts += _as_retired(withdrawn)
            await _renew(builder, ledger, run_id, on_progress)
            published = {
                language: await _publish(
                    language, store, embedder, ledger, builder.indexed_with, full, on_progress, may_empty=language in withdrawn
                )
                for language in Language
            }
            report = RunReport(
                run_id=run_id,
                status=_status(readings, published),
                started=started,
                seconds=time.monotonic() - began,
                languages=tuple(_language_report(language, counts, published[language]) for language in Language),
                problems=tuple(_problems(readings, published)),
                failed_sources=tuple(reading.source.id for reading in readings if reading.failed),
            )
            await ledger.end_run(run_id, report.status, report.as_dict())
            await ledger.compact()
            return report
        except BaseException as error:
            status = RunStatus.INTERRUPTED if isinstance(error, asyncio.CancelledError) else RunStatus.FAILED
            await ledger.end_run(run_id, status, {"problems": [f"{type(error).__name__}: {error}"]})
            raise


def _fetch(source: SourceRow) -> Reading:
    """Fetch a source and extract its pages; a source that gives none fails, and nothing of it is lost."""
    problems: list[str] = []
    try:
        documents = tuple(read_folder(source.path or Path(), source, on_problem=lambda problem: problems.append(str(problem))))
    except SourceUnreadable as error:
        return Reading(source=source, problems=(*problems, str(error)), failed=True)
    return Reading(source=source, documents=documents, problems=tuple(problems))


def _own_pages(reading: Reading, known: Mapping[str, PageState], configured: Sequence[str] | None) -> Reading:
    """Leave out pages whose id another source already uses: whichever came last would take the other's place."""
    mine: list[Document] = []
    problems = list(reading.problems)
    for document in reading.documents:
        state = known.get(document.document_id)
        is_withdrawn = state is not None and configured is not None and state.source_id not in configured
        if state is None or state.source_id == reading.source.id or is_withdrawn:
            mine.append(document)
        else:
            problems.append(f"{reading.source.id}: the id {document.document_id!r} already belongs to {state.source_id}")
    return Reading(source=reading.source, documents=tuple(mine), problems=tuple(problems), failed=reading.failed)


def _is_staged(document: Document, known: Mapping[str, PageState], indexed_with: str) -> bool:
    state = known.get(document.document_id)
    return state is not None and (state.content_hash, state.indexed_with) == (document.content_hash, indexed_with)


async def _embed_and_stage(
    documents: Iterable[Document], builder: PageBuilder, ledger: Ledger, run_id: int, subject: str, on_progress: OnProgress
) -> None:
    """Chunk and embed documents on a worker thread, and stage each batch as soon as it is done."""
    batches = await asyncio.to_thread(builder.batches, documents)
    total = sum(len(page.texts) for batch in batches for page in batch)
    done = 0
    for batch in batches:
        await ledger.stage(run_id, await asyncio.to_thread(builder.embed, batch))
        done += sum(len(page.texts) for page in batch)
        await ledger.note_progress(run_id, done=done, total=total)
        on_progress(Progress(step=Step.EMBED, subject=subject, done=done, total=total))


async def _retire_missing(
    reading: Reading, known: Mapping[str, PageState], ledger: Ledger, run_id: int
) -> tuple[Counts, Reading]:
    """Retire the pages that a source no longer has; none while something in it was unreadable, for it may be those pages."""
    await ledger.mark_seen(run_id, [document.document_id for document in reading.documents])
    if not reading.problems:
        return _as_retired(await ledger.retire_unseen(run_id, reading.source.id)), reading
    seen = {document.document_id for document in reading.documents}
    kept = sum(state.source_id == reading.source.id and document_id not in seen for document_id, state in known.items())
    if not kept:
        return Counter(), reading
    note = f"{reading.source.id}: pages that were not found ({kept}) stay until the whole source can be read"
    problems = (*reading.problems, note)
    return Counter(), Reading(source=reading.source, documents=reading.documents, problems=problems, failed=reading.failed)


async def _renew(builder: PageBuilder, ledger: Ledger, run_id: int, on_progress: OnProgress) -> None:
    """Embed again what was embedded in another way and not read in this run: an index holds vectors of one kind."""
    states = await ledger.page_states()
    older = [document_id for document_id, state in states.items() if state.indexed_with != builder.indexed_with]
    documents = await ledger.documents(older)
    await _embed_and_stage(documents, builder, ledger, run_id, "earlier pages", on_progress)


async def _publish(
    language: Language,
    store: IndexStore,
    embedder: Embedder,
    ledger: Ledger,
    indexed_with: str,
    full: bool,
    on_progress: OnProgress,
    *,
    may_empty: bool = False,
) -> Publication:
    """Make the live index of a language hold what the ledger holds, in one step; it is left alone where it does already.

    The last pages of a language are withdrawn only when the operator took their source out of the configuration (`may_empty`).
    """
    states = {key: state for key, state in (await ledger.page_states()).items() if state.language is language}
    live = await asyncio.to_thread(_live_hashes, store, language, embedder.fingerprint)
    if not states and not (may_empty and live):
        problem = f"{language.value}: no page is left, so what is published stays" if live else None
        return Publication(problem=problem)
    rebuild = full or live is None or await ledger.published_with(language) != indexed_with
    hashes = {} if rebuild or live is None else live
    wanted = [key for key, state in states.items() if hashes.get(key) != state.content_hash]
    retired = [key for key in hashes if key not in states]
    if not wanted and not retired:
        return Publication(pages=len(states))
    on_progress(Progress(step=Step.PUBLISH, subject=language.value, done=0, total=len(wanted)))
    pages = await ledger.pages(wanted)
    surfaces = [surface for page in pages for surface in page.surfaces]
    chunks = [chunk for page in pages for chunk in page.chunks]
    version = await _to_the_end(
        lambda: store.publish(
            language,
            documents=[page.document for page in pages],
            chunks=chunks,
            surfaces=surfaces,
            vectors=np.concatenate([np.zeros((0, embedder.dimension), np.float32), *(page.surface_vectors for page in pages)]),
            embedder=embedder,
            sentence_vectors={key: vectors for page in pages for key, vectors in page.sentence_vectors().items()},
            retired=retired,
            full=rebuild,
        )
    )
    await ledger.note_publication(language, indexed_with=indexed_with, version=version)
    on_progress(Progress(step=Step.PUBLISH, subject=language.value, done=len(wanted), total=len(wanted)))
    return Publication(pages=len(states), chunks=len(chunks), surfaces=len(surfaces), version=version)


def _live_hashes(store: IndexStore, language: Language, fingerprint: str) -> dict[str, str] | None:
    """Hashes of the live pages by id; None when there is no index or it must be built anew."""
    try:
        store.open(language, fingerprint)
    except (IndexMissing, IndexMismatch):
        return None
    return store.content_hashes(language)


async def _to_the_end(write: Callable[[], _Value]) -> _Value:
    """Run a write on a worker thread and wait for it also when cancelled: the lock must not be let go before it is done."""
    task = asyncio.ensure_future(asyncio.to_thread(write))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait([task])
        raise


def _counted(documents: Iterable[Document], known: Mapping[str, PageState]) -> Counts:
    counts: Counts = Counter()
    for document in documents:
        state = known.get(document.document_id)
        kind = "new" if state is None else "unchanged" if state.content_hash == document.content_hash else "changed"
        counts[document.language, kind] += 1
    return counts


def _as_retired(by_language: Mapping[Language, int]) -> Counts:
    return Counter({(language, "retired"): count for language, count in by_language.items()})


def _language_report(language: Language, counts: Counts, publication: Publication) -> LanguageReport:
    return LanguageReport(
        language=language,
        new=counts[language, "new"],
        changed=counts[language, "changed"],
        unchanged=counts[language, "unchanged"],
        retired=counts[language, "retired"],
        pages=publication.pages,
        chunks=publication.chunks,
        surfaces=publication.surfaces,
        published_version=publication.version,
    )


def _problems(readings: Sequence[Reading], published: Mapping[Language, Publication]) -> list[str]:
    found = [problem for reading in readings for problem in reading.problems]
    return found + [publication.problem for publication in published.values() if publication.problem]


def _status(readings: Sequence[Reading], published: Mapping[Language, Publication]) -> RunStatus:
    if readings and all(reading.failed for reading in readings):
        return RunStatus.FAILED
    return RunStatus.PARTIAL if _problems(readings, published) else RunStatus.COMPLETE
