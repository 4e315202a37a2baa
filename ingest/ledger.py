"""What ingestion remembers between runs: sources, pages with their vectors, runs, and what was published. No patient data.

A page is staged here as soon as it is embedded, so that a killed run goes on where it stopped and the live index is written from
one place, once, at the end.
"""

import asyncio
import json
import sqlite3
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path

import aiosqlite

from ingest.errors import LedgerUnusable
from ingest.staging import StagedPage, decode_page, encode_page
from locales.language import Language
from rag.documents import Document
from rag.store_schema import decode_document

# Raised whenever a table changes. An older ledger is built anew: all that it holds can be read and embedded again.
SCHEMA_VERSION = 1

_SCHEMA = """
CREATE TABLE sources (
    source_id TEXT PRIMARY KEY, publisher TEXT NOT NULL, read_at TEXT NOT NULL, pages INTEGER NOT NULL, problem TEXT
) STRICT;
CREATE TABLE pages (
    document_id TEXT PRIMARY KEY, source_id TEXT NOT NULL, language TEXT NOT NULL, content_hash TEXT NOT NULL,
    indexed_with TEXT NOT NULL, seen_in_run INTEGER NOT NULL, status TEXT NOT NULL, document TEXT, chunks TEXT, surfaces TEXT,
    vectors BLOB, dimension INTEGER NOT NULL
) STRICT;
CREATE INDEX pages_by_source ON pages (source_id, status);
CREATE TABLE runs (
    run_id INTEGER PRIMARY KEY AUTOINCREMENT, started TEXT NOT NULL, ended TEXT, status TEXT NOT NULL,
    done INTEGER NOT NULL DEFAULT 0, total INTEGER NOT NULL DEFAULT 0, report TEXT
) STRICT;
CREATE TABLE publications (
    language TEXT PRIMARY KEY, indexed_with TEXT NOT NULL, version INTEGER NOT NULL, published_at TEXT NOT NULL
) STRICT;
"""


class RunStatus(StrEnum):
    """How a run stands. `PARTIAL` published what it could while a source or a page failed."""

    RUNNING = "running"
    COMPLETE = "complete"
    PARTIAL = "partial"
    FAILED = "failed"
    INTERRUPTED = "interrupted"


@dataclass(frozen=True, slots=True, kw_only=True)
class PageState:
    """By what a page is recognised as unchanged."""

    source_id: str
    language: Language
    content_hash: str
    indexed_with: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRow:
    """A run as the bot may show it: `done` of `total` texts are embedded."""

    run_id: int
    started: datetime
    ended: datetime | None
    status: RunStatus
    done: int
    total: int
    report: Mapping[str, object] | None


class Ledger:
    """The ledger of one home, open in one event loop. Several processes may read; one run at a time writes."""

    def __init__(self, connection: aiosqlite.Connection) -> None:
        self._db = connection

    @classmethod
    @asynccontextmanager
    async def open(cls, path: Path) -> AsyncIterator["Ledger"]:
        """Open the ledger, made or built anew where needed; it is closed and its thread gone when the block ends.

        Raises:
            LedgerUnusable: If the file is not a ledger, a newer release wrote it, or it cannot be written.
        """
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise LedgerUnusable(f"{path}: {error.strerror}; set SALUS_HOME to a folder that can be written") from error
        # An unclosed connection keeps a thread that is no daemon, and the process would never end: hence the block.
        async with aiosqlite.connect(path, timeout=30) as connection:
            try:
                await _prepare(connection, path)
            except sqlite3.OperationalError as error:
                raise LedgerUnusable(f"{path}: {error}; see that the disk has room and can be written") from error
            except sqlite3.DatabaseError as error:
                raise LedgerUnusable(f"{path}: {error}; delete the file and ingest again") from error
            yield cls(connection)

    async def begin_run(self) -> int:
        """Note a new run. Runs that still count as running were killed: the writer lock lets no two run at once."""
        async with self._transaction():
            await self._db.execute("UPDATE runs SET status = ? WHERE status = ?", (RunStatus.INTERRUPTED, RunStatus.RUNNING))
            cursor = await self._db.execute("INSERT INTO runs (started, status) VALUES (?, ?)", (_now(), RunStatus.RUNNING))
            run_id = cursor.lastrowid
            await cursor.close()
        if run_id is None:
            raise LedgerUnusable("the ledger gave the run no number")
        return run_id

    async def note_progress(self, run_id: int, *, done: int, total: int) -> None:
        """Note how many of a run's texts are embedded."""
        async with self._transaction():
            await self._db.execute("UPDATE runs SET done = ?, total = ? WHERE run_id = ?", (done, total, run_id))

    async def end_run(self, run_id: int, status: RunStatus, report: Mapping[str, object]) -> None:
        """Note how a run ended."""
        async with self._transaction():
            await self._db.execute(
                "UPDATE runs SET ended = ?, status = ?, report = ? WHERE run_id = ?",
                (_now(), status, json.dumps(report, ensure_ascii=False), run_id),
            )

    async def latest_run(self) -> RunRow | None:
        """The run that began last."""
        rows = await self._db.execute_fetchall("SELECT * FROM runs ORDER BY run_id DESC LIMIT 1")
        return next((_run_row(row) for row in rows), None)

    async def note_source(self, source_id: str, publisher: str, *, pages: int, problem: str | None) -> None:
        """Note when a source was read, how many pages it gave and its first problem."""
        async with self._transaction():
            await self._db.execute(
                "INSERT OR REPLACE INTO sources VALUES (?, ?, ?, ?, ?)", (source_id, publisher, _now(), pages, problem)
            )

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

    async def retire_withdrawn(self, configured: Sequence[str]) -> dict[Language, int]:
        """Retire the pages of all sources that are no longer configured. Returns how many."""
        return await self._retire("source_id NOT IN (SELECT value FROM json_each(?))", (json.dumps(list(configured)),))

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
                "INSERT OR REPLACE INTO publications VALUES (?, ?, ?, ?)", (language, indexed_with, version, _now())
            )

    async def compact(self) -> None:
        """Fold the write-ahead log into the ledger, so that retired text is gone from it too."""
        await self._db.execute_fetchall("PRAGMA wal_checkpoint(TRUNCATE)")

    async def _retire(self, condition: str, parameters: tuple[object, ...]) -> dict[Language, int]:
        select = f"SELECT language, count(*) FROM pages WHERE status = 'current' AND {condition} GROUP BY language"  # noqa: S608
        empty = "document = NULL, chunks = NULL, surfaces = NULL, vectors = NULL"
        update = f"UPDATE pages SET status = 'retired', {empty} WHERE status = 'current' AND {condition}"  # noqa: S608
        async with self._transaction():
            rows = await self._db.execute_fetchall(select, parameters)
            await self._db.execute(update, parameters)
        return {Language(row[0]): int(row[1]) for row in rows}

    @asynccontextmanager
    async def _transaction(self) -> AsyncIterator[None]:
        try:
            yield
        except BaseException:
            await self._db.rollback()
            raise
        await self._db.commit()


async def _prepare(connection: aiosqlite.Connection, path: Path) -> None:
    await _switch_to_wal(connection)
    for pragma in ("synchronous = NORMAL", "secure_delete = ON"):  # a retired text is gone, not unlinked
        await connection.execute_fetchall(f"PRAGMA {pragma}")
    if await _version(connection, path) == SCHEMA_VERSION:
        return
    await connection.execute("BEGIN IMMEDIATE")
    if await _version(connection, path) != SCHEMA_VERSION:  # another process may have been quicker
        rows = await connection.execute_fetchall(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
        )
        drops = [f'DROP TABLE "{row[0]}"' for row in rows]
        for statement in (*drops, *_SCHEMA.split(";"), f"PRAGMA user_version = {SCHEMA_VERSION}"):
            await connection.execute(statement)
    await connection.commit()


async def _switch_to_wal(connection: aiosqlite.Connection) -> None:
    """Let readers read while a run writes. SQLite does not wait here for another process that makes the same switch: we do."""
    for pause_s in (*[0.05] * 100, None):
        try:
            await connection.execute_fetchall("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or pause_s is None:  # the low byte: BUSY of any kind
                raise
            await asyncio.sleep(pause_s)
        else:
            return


async def _version(connection: aiosqlite.Connection, path: Path) -> int:
    rows = await connection.execute_fetchall("PRAGMA user_version")
    version = next(int(row[0]) for row in rows)
    if version > SCHEMA_VERSION:
        raise LedgerUnusable(f"{path}: was written by a newer release (schema {version}, known is {SCHEMA_VERSION})")
    return version


def _identity(page: StagedPage, run_id: int) -> tuple[object, ...]:
    document = page.document
    return (document.document_id, document.source_id, document.language, document.content_hash, page.indexed_with, run_id)


def _run_row(row: sqlite3.Row | tuple[object, ...]) -> RunRow:
    run_id, started, ended, status, done, total, report = row
    return RunRow(
        run_id=int(str(run_id)),
        started=datetime.fromisoformat(str(started)),
        ended=datetime.fromisoformat(str(ended)) if ended else None,
        status=RunStatus(str(status)),
        done=int(str(done)),
        total=int(str(total)),
        report=json.loads(str(report)) if report else None,
    )


def _now() -> str:
    return datetime.now(UTC).isoformat()
