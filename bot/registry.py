"""Remembers for a day which messages have been taken, as keyed hashes, so that none is answered twice."""

import time
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path

import aiosqlite

from bot.hashed_file import HashedFile
from channels.messages import Platform

_KEPT_S = 24 * 3600
_IN_MEMORY = 100_000
_TABLE = "CREATE TABLE IF NOT EXISTS claims (digest BLOB PRIMARY KEY, at INTEGER NOT NULL, patient BLOB) WITHOUT ROWID"


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
        self._file = HashedFile(path, key, (_TABLE,), may_begin_anew=True, on_trouble=on_trouble)
        self._clock = clock
        self._claimed: OrderedDict[bytes, float] = OrderedDict()
        self._last_cleaning = 0.0

    async def open(self) -> None:
        """Open the file, if there is one to be."""
        await self._file.open()

    async def close(self) -> None:
        """Close the file."""
        await self._file.close()

    def claim(self, platform: Platform, message_id: str) -> bool:
        """Take a message: true for the first caller in this process."""
        return self._claim_in_memory(self._digest(platform, message_id), self._clock())

    async def record(self, platform: Platform, message_id: str, identity: str = "") -> bool:
        """Write a claim down; false if it stood there already, from before a restart.

        Args:
            platform: The messenger.
            message_id: Unique on it.
            identity: Whose message it is, so that `forget` finds it.
        """
        digest, patient, now = self._digest(platform, message_id), self._file.digest(platform.value, identity), self._clock()
        return await self._file.run(lambda database: self._claim_in_file(database, digest, patient, now), otherwise=True)

    async def forget(self, platform: Platform, identity: str) -> None:
        """Take a patient's claims out of the file; until the process ends they are still known in memory."""
        patient = self._file.digest(platform.value, identity)
        await self._file.write("DELETE FROM claims WHERE patient = ?", (patient,))

    def _digest(self, platform: Platform, message_id: str) -> bytes:
        return self._file.digest(platform.value, message_id)

    def _claim_in_memory(self, digest: bytes, now: float) -> bool:
        while self._claimed and (len(self._claimed) > _IN_MEMORY or next(iter(self._claimed.values())) < now - _KEPT_S):
            self._claimed.popitem(last=False)
        if digest in self._claimed:
            return False
        self._claimed[digest] = now
        return True

    async def _claim_in_file(self, database: aiosqlite.Connection, digest: bytes, patient: bytes, now: float) -> bool:
        if now - self._last_cleaning > _KEPT_S / 24:
            self._last_cleaning = now
            await database.execute("DELETE FROM claims WHERE at < ?", (int(now - _KEPT_S),))
        insert = "INSERT OR IGNORE INTO claims VALUES (?, ?, ?)"
        async with database.execute(insert, (digest, int(now), patient)) as cursor:
            is_first = cursor.rowcount == 1
        await database.commit()
        return is_first
