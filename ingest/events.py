"""Carries out content events one by one, each published at once: also in the middle of a run, and without a whole one."""

import asyncio
import fcntl
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from ingest.errors import IngestError, RunRefused, SourceUnreadable
from ingest.importers.cms import ContentEvent, event_document, event_document_id, read_event
from ingest.ledger import Ledger, StoredEvent
from ingest.page_builder import PageBuilder
from ingest.publisher import Publisher
from ingest.run import index_directory, ledger_path
from ingest.sources import SHIPPED_SOURCES, SourceKind, SourceRow, load_sources
from locales.language import Language
from rag.errors import IndexMismatch, RagError
from rag.models.protocols import Embedder
from rag.store import IndexStore

_NO_RUN = 0
"""The number of the run that pages of events were seen in: no run retires what it did not read."""

_LOCK_PATIENCE_S = 60.0
_LOCK_PAUSE_S = 0.2


async def apply_events(
    home: Path, embedder: Embedder, *, own_sources: Path | None = None, cms_source: str | None = None
) -> list[str]:
    """Carry out all events that wait in the ledger, oldest first, until none is left.

    Args:
        home: Directory of indexes and ledger.
        embedder: The one that the indexes were built with.
        own_sources: The operator's file of sources.
        cms_source: The id of the source that events belong to; the only one of kind "cms" when None.

    Returns:
        Why events could not be carried out, a sentence each; those are settled too, for a repetition would not help. An event
        that met a lock or a full disk stays and is tried again next time.

    Raises:
        SourceUnreadable: If no source takes events.
        RunRefused: If another process carries out events and does not end.
        LedgerUnusable: If the ledger cannot be read or written.
    """
    source = find_cms_source(own_sources, cms_source)
    problems: list[str] = []
    async with _one_at_a_time(home / "events.lock"), Ledger.open(ledger_path(home)) as ledger:
        builder = PageBuilder(embedder)
        publisher = Publisher(
            store=IndexStore(index_directory(home)), ledger=ledger, embedder=embedder, indexed_with=builder.indexed_with
        )
        tried: set[str] = set()
        while waiting := [event for event in await ledger.pending_events() if event.event_id not in tried]:
            for stored in waiting:
                tried.add(stored.event_id)
                problem = await _settle(stored, source, ledger, builder, publisher)
                problems += [problem] if problem else []
            await _note(source, problems, ledger)
            await ledger.compact()
    return problems


def find_cms_source(own_sources: Path | None, cms_source: str | None) -> SourceRow:
    """The source that events belong to.

    Raises:
        SourceUnreadable: If there is none, or several and none is named.
    """
    found = [
        row for row in load_sources(own_sources or SHIPPED_SOURCES) if row.kind is SourceKind.CMS and cms_source in (None, row.id)
    ]
    if len(found) != 1:
        raise SourceUnreadable('content events need exactly one source of kind "cms", or SALUS_CMS_SOURCE to name it')
    return found[0]


async def _note(source: SourceRow, problems: Sequence[str], ledger: Ledger) -> None:
    """Show the latest refusal where the source's own problems are shown."""
    pages = sum(count for (owner, _), count in (await ledger.page_counts()).items() if owner == source.id)
    await ledger.note_source(source.id, source.publisher, pages=pages, problem=problems[-1] if problems else None)


async def _settle(
    stored: StoredEvent, source: SourceRow, ledger: Ledger, builder: PageBuilder, publisher: Publisher
) -> str | None:
    """Carry out one event; returns why it could not be."""
    problem: str | None = None
    try:
        event = read_event(stored.payload)
        if event.kind.is_withdrawal:
            await _withdraw(event_document_id(event, source), ledger, publisher)
        else:
            await _publish(event, source, ledger, builder, publisher)
    except (SourceUnreadable, IndexMismatch) as error:
        problem = f"event {stored.event_id}: {error}"
    except (RagError, IngestError) as error:
        return f"event {stored.event_id} waits: {error}"
    await ledger.settle_event(stored.event_id, problem)
    return problem


async def _publish(event: ContentEvent, source: SourceRow, ledger: Ledger, builder: PageBuilder, publisher: Publisher) -> None:
    document = event_document(event, source)
    states = await ledger.page_states()
    state = states.get(document.document_id)
    if state is not None and state.source_id != source.id:
        raise SourceUnreadable(f"contentId: the id {document.document_id!r} already belongs to {state.source_id}")
    if state is None or (state.content_hash, state.indexed_with) != (document.content_hash, builder.indexed_with):
        known = builder.vectors(await ledger.pages([document.document_id]))
        cut = await asyncio.to_thread(builder.cut, document)
        await ledger.stage(_NO_RUN, await asyncio.to_thread(builder.embed, [cut], known))
    await publisher.publish_pages(document.language, [document.document_id], [])
    if state is not None and state.language is not document.language:
        await publisher.publish_pages(state.language, [], [document.document_id])


async def _withdraw(document_id: str, ledger: Ledger, publisher: Publisher) -> None:
    """Withdraw from every language: the content may have been published in another one before."""
    await ledger.retire([document_id])
    for language in Language:
        if document_id in await asyncio.to_thread(publisher.store.content_hashes, language):
            await publisher.publish_pages(language, [], [document_id])


@asynccontextmanager
async def _one_at_a_time(path: Path) -> AsyncIterator[None]:
    """Let one process at a time carry out events; a second one waits, and then mostly finds nothing left to do."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        for tries_left in reversed(range(int(_LOCK_PATIENCE_S / _LOCK_PAUSE_S))):
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError as error:
                if not tries_left:
                    raise RunRefused("events are being carried out by another process") from error
                await asyncio.sleep(_LOCK_PAUSE_S)
        yield
