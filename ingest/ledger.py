"""What ingestion remembers between runs: sources, pages with their vectors, runs, events, publications. No patient data.

A page is staged here as soon as it is embedded, so that a killed run goes on where it stopped and the live index is written from
one place, once, at the end.
"""

import json
from collections.abc import AsyncIterator, Collection, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from ingest.event_log import EventLog, StoredEvent
from ingest.ledger_database import connected, now
from ingest.report import RunStatus
from ingest.run_log import WHOLE, RunLog, RunRow
from ingest.source_log import Address, SourceLog, SourceState
from ingest.staging import StagedPage, decode_page, encode_page
from locales.language import Language
from rag.documents import Document
from rag.store_schema import decode_document


@dataclass(frozen=True, slots=True, kw_only=True)
class PageState:
    """By what a page is recognised as unchanged."""

    source_id: str
    language: Language
    content_hash: str
    indexed_with: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedIndex:
    """The live version of a language and since when it is."""

    version: int
    published_at: datetime


class Ledger(RunLog, SourceLog, EventLog):
    """The ledger of one home, open in one event loop. Several processes may read; one run at a time, and events, write."""

    @classmethod
    @asynccontextmanager
    async def open(cls, path: Path) -> AsyncIterator["Ledger"]:
        """Open the ledger, made or brought up to date where needed; it is closed and its thread gone when the block ends.

        Raises:
            LedgerUnusable: If the file is not a ledger, a newer release wrote it, or it cannot be written.
        """
        async with connected(path) as connection:
            yield cls(connection)

    async def page_states(self) -> dict[str, PageState]:
        """The current pages of all sources by their document id."""
        rows = await self._db.execute_fetchall(
            "SELECT document_id, source_id, language, content_hash, indexed_with FROM pages WHERE status = 'current'"
        )
        return {
            row[0]: PageState(source_id=row[1], language=Language(row[2]), content_hash=row[3], indexed_with=row[4])
            for row in rows
        }

    async def stage(self, run_id: int, pages: Iterable[StagedPage]) -> None:
        """Keep new and changed pages, all of them or none."""
        async with self._transaction():
            await self._db.executemany(
                "INSERT OR REPLACE INTO pages VALUES (?, ?, ?, ?, ?, ?, 'current', ?, ?, ?, ?, ?)",
                [_identity(page, run_id) + encode_page(page) for page in pages],
            )

    async def mark_seen(self, run_id: int, document_ids: Iterable[str]) -> None:
        """Note that unchanged pages still stand in their source."""
        async with self._transaction():
            await self._db.executemany(
                "UPDATE pages SET seen_in_run = ? WHERE document_id = ?", [(run_id, document_id) for document_id in document_ids]
            )

    async def retire_unseen(self, run_id: int, source_id: str) -> dict[Language, int]:
        """Retire the pages of a source that this run did not see; their text and vectors are gone. Returns how many."""
        return await self._retire("source_id = ? AND seen_in_run < ?", (source_id, run_id))

    async def retire(self, document_ids: Collection[str]) -> dict[Language, int]:
        """Retire pages by id. Returns how many."""
        return await self._retire("document_id IN (SELECT value FROM json_each(?))", (json.dumps(list(document_ids)),))

    async def retire_withdrawn(self, configured: Sequence[str]) -> dict[Language, int]:
        """Retire the pages of all sources that are no longer configured. Returns how many."""
        known = json.dumps(list(configured))
        async with self._transaction():
            await self._db.execute("DELETE FROM addresses WHERE source_id NOT IN (SELECT value FROM json_each(?))", (known,))
        return await self._retire("source_id NOT IN (SELECT value FROM json_each(?))", (known,))

    async def fingerprints(self, language: Language) -> dict[str, str]:
        """Fingerprints of the texts of current pages in a language, by document id."""
        rows = await self._db.execute_fetchall(
            "SELECT document_id, fingerprint FROM fingerprints WHERE language = ?", (language,)
        )
        return {row[0]: row[1] for row in rows}

    async def keep_fingerprints(self, language: Language, fingerprints: Mapping[str, str]) -> None:
        """Keep the fingerprints of texts."""
        async with self._transaction():
            await self._db.executemany(
                "INSERT OR REPLACE INTO fingerprints VALUES (?, ?, ?)",
                [(document_id, language, fingerprint) for document_id, fingerprint in fingerprints.items()],
            )

    async def documents(self, document_ids: Iterable[str]) -> list[Document]:
        """The texts of current pages, as they were last read."""
        rows = await self._db.execute_fetchall(
            "SELECT document FROM pages WHERE status = 'current' AND document_id IN (SELECT value FROM json_each(?))"
            " ORDER BY document_id",
            (json.dumps(list(document_ids)),),
        )
        return [decode_document(row[0]) for row in rows]

    async def pages(self, document_ids: Iterable[str]) -> list[StagedPage]:
        """Current pages with their vectors, in the order of their ids."""
        rows = await self._db.execute_fetchall(
            "SELECT indexed_with, document, chunks, surfaces, vectors, dimension FROM pages"
            " WHERE status = 'current' AND document_id IN (SELECT value FROM json_each(?)) ORDER BY document_id",
            (json.dumps(list(document_ids)),),
        )
        return [decode_page(*row) for row in rows]

    async def published_with(self, language: Language) -> str | None:
        """What the live index of a language was built with; None before the first publication."""
        rows = await self._db.execute_fetchall("SELECT indexed_with FROM publications WHERE language = ?", (language,))
        return next((str(row[0]) for row in rows), None)

    async def note_publication(self, language: Language, *, indexed_with: str, version: int) -> None:
        """Note what was published."""
        async with self._transaction():
            await self._db.execute(
                "INSERT OR REPLACE INTO publications VALUES (?, ?, ?, ?)", (language, indexed_with, version, now())
            )

    async def publications(self) -> dict[Language, PublishedIndex]:
        """What is published, by language."""
        rows = await self._db.execute_fetchall("SELECT language, version, published_at FROM publications")
        return {Language(row[0]): PublishedIndex(version=row[1], published_at=datetime.fromisoformat(row[2])) for row in rows}

    async def page_counts(self) -> dict[tuple[str, Language], int]:
        """How many current pages there are, by source and language."""
        rows = await self._db.execute_fetchall(
            "SELECT source_id, language, count(*) FROM pages WHERE status = 'current' GROUP BY source_id, language ORDER BY 1, 2"
        )
        return {(row[0], Language(row[1])): row[2] for row in rows}

    async def compact(self) -> None:
        """Fold the write-ahead log into the ledger, so that retired text is gone from it too."""
        await self._db.execute_fetchall("PRAGMA wal_checkpoint(TRUNCATE)")

    async def _retire(self, condition: str, parameters: tuple[object, ...]) -> dict[Language, int]:
        select = f"SELECT language, count(*) FROM pages WHERE status = 'current' AND {condition} GROUP BY language"  # noqa: S608
        async with self._transaction():
            rows = await self._db.execute_fetchall(select, parameters)
            await self._db.execute(f"DELETE FROM pages WHERE {condition}", parameters)  # noqa: S608
            for table in ("fingerprints", "generated"):
                await self._db.execute(
                    f"DELETE FROM {table} WHERE document_id NOT IN (SELECT document_id FROM pages)"  # noqa: S608
                )
            # An address that gives a retired page once more is read again, though its bytes are what they were.
            await self._db.execute(
                "UPDATE addresses SET body_hash = ''"
                " WHERE document_id <> '' AND document_id NOT IN (SELECT document_id FROM pages)"
            )
        return {Language(row[0]): int(row[1]) for row in rows}


def _identity(page: StagedPage, run_id: int) -> tuple[object, ...]:
    document = page.document
    return (document.document_id, document.source_id, document.language, document.content_hash, page.indexed_with, run_id)


__all__ = ["WHOLE", "Address", "Ledger", "PageState", "PublishedIndex", "RunRow", "RunStatus", "SourceState", "StoredEvent"]
