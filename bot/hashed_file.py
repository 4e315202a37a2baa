"""A small SQLite file that knows people and messages by keyed hashes only."""

import asyncio
import hashlib
import hmac
import secrets
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import aiosqlite

T = TypeVar("T")

_LIMIT_S = 2.0


class HashedFile:
    """The file, and the key that its hashes are made with.

    Args:
        path: The file; None writes nothing.
        key: The operator's `SALUS_HASH_KEY`. Without one a random key is drawn and nothing is written, since after a restart
            no hash could be recognised.
        tables: What makes the tables.
        may_begin_anew: Whether a table that another release made otherwise is thrown away; else it stays as it is.
        on_trouble: Told of an error of the file. A patient is answered all the same.
    """

    def __init__(
        self,
        path: Path | None,
        key: bytes | None,
        tables: Sequence[str],
        *,
        may_begin_anew: bool = False,
        on_trouble: Callable[[BaseException], None] = lambda _: None,
    ) -> None:
        self._path = path if key else None
        self._key = key or secrets.token_bytes(32)
        self._tables = tables
        self._may_begin_anew = may_begin_anew
        self._on_trouble = on_trouble
        self._database: aiosqlite.Connection | None = None

    async def open(self) -> None:
        """Open the file, if there is one to be."""
        if self._path is None:
            return
        self._path.parent.mkdir(parents=True, exist_ok=True)
        database = await aiosqlite.connect(self._path)
        try:
            await database.execute("PRAGMA secure_delete = ON")
            await database.execute("PRAGMA journal_mode = WAL")  # no wait for the disk at each message
            await database.execute("PRAGMA synchronous = NORMAL")
            for table in self._tables:
                if self._may_begin_anew:
                    await _drop_other(database, table)
                await database.execute(table)
            await database.commit()
        except BaseException:
            await database.close()
            raise
        self._database = database

    async def close(self) -> None:
        """Close the file."""
        if self._database is not None:
            await self._database.close()
            self._database = None

    def digest(self, *parts: str) -> bytes:
        """The keyed hash of what names a person or a message."""
        return hmac.digest(self._key, "\0".join(parts).encode("utf-8", "surrogatepass"), hashlib.sha256)

    async def run(self, work: Callable[[aiosqlite.Connection], Awaitable[T]], *, otherwise: T) -> T:
        """Do something with the open file; `otherwise` where there is none, or it is in trouble."""
        if self._database is None:
            return otherwise
        try:
            return await asyncio.wait_for(work(self._database), _LIMIT_S)
        except (aiosqlite.Error, OSError, ValueError, TimeoutError) as error:
            self._on_trouble(error)
            return otherwise

    async def write(self, statement: str, values: Sequence[Any]) -> None:
        """Carry out one statement."""

        async def carry_out(database: aiosqlite.Connection) -> None:
            await database.execute(statement, values)
            await database.commit()

        await self.run(carry_out, otherwise=None)


async def _drop_other(database: aiosqlite.Connection, table: str) -> None:
    """Drop a table that another release made otherwise."""
    name = table.split("(")[0].split()[-1]
    async with database.execute("SELECT sql FROM sqlite_master WHERE name = ?", (name,)) as cursor:
        row = await cursor.fetchone()
    if row is not None and row[0] != table.replace("IF NOT EXISTS ", ""):
        await database.execute(f"DROP TABLE {name}")
