"""What the administrators' side sees of ingestion, which may run in another process: the ledger, opened for each look."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Protocol

from ingest.ledger import Ledger, PublishedIndex, RunRow, SourceState
from ingest.sources import SHIPPED_SOURCES, SourceRow, load_sources
from locales.language import Language


class StartsRuns(Protocol):
    """What starts runs of ingestion, in a process of their own."""

    @property
    def is_running(self) -> bool:
        """Whether a run that was started here goes on."""

    async def start(self, *, source_id: str | None, full: bool, trigger: str) -> object:
        """Start a run.

        Raises:
            AlreadyRunning: If one goes on.
            RunNotStarted: If the system starts no process.
        """

    async def cancel(self) -> bool:
        """Ask the run that goes on to stop, whoever started it; whether there is one."""


class IngestionView(Protocol):
    """What can be seen and chosen between runs and during one."""

    async def latest_run(self) -> RunRow | None:
        """The run that began last."""

    async def runs(self, limit: int) -> list[RunRow]:
        """The latest runs, newest first."""

    async def configured(self) -> tuple[SourceRow, ...]:
        """The rows of the source file."""

    async def source_states(self) -> dict[str, SourceState]:
        """How each source stands, by id; one that was never read or chosen has no state."""

    async def page_counts(self) -> dict[tuple[str, Language], int]:
        """How many pages there are, by source and language."""

    async def publications(self) -> dict[Language, PublishedIndex]:
        """The live indexes."""

    async def choose_source(self, source_id: str, enabled: bool) -> None:
        """Note whether the next run reads a source."""


class LedgerView:
    """The view of one ledger.

    Every look may raise `LedgerUnusable` or `SourceUnreadable`, or an SQLite error where the disk fails.

    Args:
        path: The ledger's file (`ingest.run.ledger_path`).
        own_sources: The operator's source file, read instead of the one that ships with the project.
    """

    def __init__(self, path: Path, own_sources: Path | None = None) -> None:
        self._path = path
        self._sources = own_sources or SHIPPED_SOURCES

    async def latest_run(self) -> RunRow | None:
        """The run that began last."""
        async with self._ledger() as ledger:
            return await ledger.latest_run()

    async def runs(self, limit: int) -> list[RunRow]:
        """The latest runs, newest first."""
        async with self._ledger() as ledger:
            return await ledger.runs(limit)

    async def configured(self) -> tuple[SourceRow, ...]:
        """The rows of the source file, as it is now."""
        return await asyncio.to_thread(load_sources, self._sources)

    async def source_states(self) -> dict[str, SourceState]:
        """How each source stands, by id."""
        async with self._ledger() as ledger:
            return await ledger.source_states()

    async def page_counts(self) -> dict[tuple[str, Language], int]:
        """How many pages there are, by source and language."""
        async with self._ledger() as ledger:
            return await ledger.page_counts()

    async def publications(self) -> dict[Language, PublishedIndex]:
        """The live indexes."""
        async with self._ledger() as ledger:
            return await ledger.publications()

    async def choose_source(self, source_id: str, enabled: bool) -> None:
        """Note whether the next run reads a source."""
        async with self._ledger() as ledger:
            await ledger.choose_source(source_id, enabled)

    @asynccontextmanager
    async def _ledger(self) -> AsyncIterator[Ledger]:
        async with Ledger.open(self._path) as ledger:
            yield ledger
