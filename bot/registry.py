"""Remembers for a day which messages have been taken, as keyed hashes, so that none is answered twice."""

import asyncio
import hashlib
import hmac
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path

import aiosqlite

from channels.messages import Platform

_KEPT_S = 24 * 3600
_WRITE_LIMIT_S = 2.0
_IN_MEMORY = 100_000
_SCHEMA = "CREATE TABLE IF NOT EXISTS claims (digest BLOB PRIMARY KEY, at INTEGER NOT NULL) WITHOUT ROWID"


class ClaimRegistry:
    """Claimed message ids: in memory always, and in a SQLite file where a key makes their hashes worth keeping.

    Args:
        path: The file; None keeps claims in memory only.
        key: The operator's `SALUS_HASH_KEY`. Without one a random key is drawn and nothing is written, since after a restart
            no hash could be recognised.
        on_trouble: Told of an error of the file. A patient is answered all the same.
        clock: Seconds since the epoch.
    """

    def __init__(
        self,
        path: Path | None,
        key: bytes | None,
        *,
        on_trouble: Callable[[BaseException], None] = lambda _: None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._path = path if key else None
        self._key = key or secrets.token_bytes(32)
        self._on_trouble = on_trouble
        self._clock = clock
        self._claimed: OrderedDict[bytes, float] = OrderedDict()
        self._database: aiosqlite.Connection | None = None
        self._last_cleaning = 0.0

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
            await database.execute(_SCHEMA)
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

    def claim(self, platform: Platform, message_id: str) -> bool:
        """Take a message: true for the first caller in this process."""
        return self._claim_in_memory(self._digest(platform, message_id), self._clock())

    async def record(self, platform: Platform, message_id: str) -> bool:
        """Write a claim down; false if it stood there already, from before a restart."""
        if self._database is None:
            return True
        digest = self._digest(platform, message_id)
        try:
            return await asyncio.wait_for(self._claim_in_file(self._database, digest, self._clock()), _WRITE_LIMIT_S)
        except (aiosqlite.Error, OSError, ValueError, TimeoutError) as error:
            self._on_trouble(error)
            return True

    def _digest(self, platform: Platform, message_id: str) -> bytes:
        return hmac.digest(self._key, f"{platform.value}\0{message_id}".encode(), hashlib.sha256)

    def _claim_in_memory(self, digest: bytes, now: float) -> bool:
        while self._claimed and (len(self._claimed) > _IN_MEMORY or next(iter(self._claimed.values())) < now - _KEPT_S):
            self._claimed.popitem(last=False)
        if digest in self._claimed:
            return False
        self._claimed[digest] = now
        return True

    async def _claim_in_file(self, database: aiosqlite.Connection, digest: bytes, now: float) -> bool:
        if now - self._last_cleaning > _KEPT_S / 24:
            self._last_cleaning = now
            await database.execute("DELETE FROM claims WHERE at < ?", (int(now - _KEPT_S),))
        async with database.execute("INSERT OR IGNORE INTO claims VALUES (?, ?)", (digest, int(now))) as cursor:
            is_first = cursor.rowcount == 1
        await database.commit()
        return is_first
