"""The file of the ledger: its tables, how an older one is brought up to date, and transactions."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

import aiosqlite

from ingest.errors import LedgerUnusable

# Raised whenever a table changes, together with a step that brings an older ledger there.
SCHEMA_VERSION = 3

_FIRST = """
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
) STRICT
"""

_SECOND = """
ALTER TABLE runs ADD COLUMN cause TEXT NOT NULL DEFAULT 'command_line';
ALTER TABLE runs ADD COLUMN progress TEXT;
ALTER TABLE runs ADD COLUMN is_cancelled INTEGER NOT NULL DEFAULT 0;
CREATE TABLE choices (source_id TEXT PRIMARY KEY, enabled INTEGER NOT NULL) STRICT;
CREATE TABLE addresses (
    source_id TEXT NOT NULL, url TEXT NOT NULL, document_id TEXT NOT NULL, body_hash TEXT NOT NULL, extracted_with TEXT NOT NULL,
    refusal TEXT, misses INTEGER NOT NULL, PRIMARY KEY (source_id, url, document_id)
) STRICT;
CREATE INDEX addresses_by_document ON addresses (document_id);
CREATE TABLE fingerprints (
    document_id TEXT PRIMARY KEY, language TEXT NOT NULL, fingerprint TEXT NOT NULL
) STRICT;
CREATE TABLE generated (document_id TEXT PRIMARY KEY, content_key TEXT NOT NULL, texts TEXT NOT NULL) STRICT;
CREATE TABLE events (
    event_id TEXT PRIMARY KEY, received_at TEXT NOT NULL, payload TEXT, settled_at TEXT, problem TEXT
) STRICT
"""

_THIRD = "ALTER TABLE runs ADD COLUMN scope TEXT NOT NULL DEFAULT 'all'"

_STEPS = {1: _FIRST, 2: _SECOND, 3: _THIRD}


@asynccontextmanager
async def connected(path: Path) -> AsyncIterator[aiosqlite.Connection]:
    """Connect to the ledger at `path`, made or brought up to date where needed; its thread is gone when the block ends.

    Raises:
        LedgerUnusable: If the file is not a ledger, a newer release wrote it, or it cannot be written, also later in the block.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise LedgerUnusable(f"{path}: {error.strerror}; set SALUS_HOME to a folder that can be written") from error
    try:
        # An unclosed connection keeps a thread that is no daemon, and the process would never end: hence the block.
        async with aiosqlite.connect(path, timeout=30) as connection:
            await _prepare(connection, path)
            yield connection
    except sqlite3.IntegrityError:  # the file is in order; what was to be written is not
        raise
    except sqlite3.DatabaseError as error:
        raise LedgerUnusable(f"{path}: {error}; {_way_out(error)}") from error


class Book:
    """One part of the ledger: what all parts need of the file."""

    def __init__(self, connection: aiosqlite.Connection) -> None:
        self._db = connection
        self._writing = asyncio.Lock()  # progress is noted while pages are: neither may commit or roll back the other's half

    @asynccontextmanager
    async def _transaction(self) -> AsyncIterator[None]:
        async with self._writing:
            try:
                yield
            except BaseException:
                await self._db.rollback()
                raise
            await self._db.commit()


def now() -> str:
    """The present as the ledger writes it."""
    return datetime.now(UTC).isoformat()


def _way_out(error: sqlite3.DatabaseError) -> str:
    """What an operator does about a file that cannot be used."""
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_IOERR) & 0xFF  # the low byte: an error of any kind of its family
    if code in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}:
        return "another process holds it; try again when that has ended"
    if code in {sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}:
        return "delete the file and ingest again"
    return "see that the disk has room and can be written, and try again"


async def _prepare(connection: aiosqlite.Connection, path: Path) -> None:
    await _switch_to_wal(connection)
    for pragma in ("synchronous = NORMAL", "secure_delete = ON"):  # a retired text is gone, not unlinked
        await connection.execute_fetchall(f"PRAGMA {pragma}")
    if await _version(connection, path) == SCHEMA_VERSION:
        return
    await connection.execute("BEGIN IMMEDIATE")
    version = await _version(connection, path)  # another process may have been quicker
    for step in range(version + 1, SCHEMA_VERSION + 1):
        for statement in (*_STEPS[step].split(";"), f"PRAGMA user_version = {step}"):
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
