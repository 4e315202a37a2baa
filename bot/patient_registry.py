"""What outlives a restart of a patient's word to the bot itself: consent, and the wish to be left alone, as keyed hashes."""

import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import aiosqlite

from bot.hashed_file import HashedFile
from channels.messages import Patient

_IN_MEMORY = 100_000
_DAY_S = 86_400
_TABLES = (
    "CREATE TABLE IF NOT EXISTS consents (digest BLOB PRIMARY KEY, day INTEGER NOT NULL, terms INTEGER NOT NULL) WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS opt_outs (digest BLOB PRIMARY KEY) WITHOUT ROWID",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """What a patient has said: yes to the terms, or that the bot must not write any more."""

    has_consented: bool = False
    has_opted_out: bool = False


class PatientRegistry:
    """Consents and opt-outs. A row tells a keyed hash, the day, and which terms were accepted; nothing else.

    Args:
        path: The file; None remembers in memory only.
        key: The operator's `SALUS_HASH_KEY`; without one nothing is written, and everybody is asked again after a restart.
        terms: The number of the terms that are asked for now: a yes to others is none.
        on_trouble: Told of an error of the file.
        clock: Seconds since the epoch.
    """

    def __init__(
        self,
        path: Path | None,
        key: bytes | None,
        *,
        terms: int = 1,
        on_trouble: Callable[[BaseException], None] = lambda _: None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._file = HashedFile(path, key, _TABLES, on_trouble=on_trouble)
        self._terms = terms
        self._clock = clock
        self._known: OrderedDict[bytes, Standing] = OrderedDict()

    async def open(self) -> None:
        """Open the file, if there is one to be."""
        await self._file.open()

    async def close(self) -> None:
        """Close the file."""
        await self._file.close()

    async def standing(self, patient: Patient) -> Standing:
        """What the patient has said; that of a stranger where the file cannot be read, until it can be again."""
        digest = self._digest(patient)
        if digest not in self._known:
            stored = await self._file.run(lambda database: self._read(database, digest), otherwise=None)
            if stored is None:
                return Standing()
            self._keep(digest, stored)
        return self._known[digest]

    async def note_consent(self, patient: Patient) -> None:
        """The patient accepts the terms."""
        digest = self._digest(patient)
        self._keep(digest, replace(await self.standing(patient), has_consented=True))
        day = int(self._clock() // _DAY_S)
        await self._file.write("INSERT OR REPLACE INTO consents VALUES (?, ?, ?)", (digest, day, self._terms))

    async def note_opt_out(self, patient: Patient) -> None:
        """The patient wants to hear nothing more."""
        digest = self._digest(patient)
        self._keep(digest, replace(await self.standing(patient), has_opted_out=True))
        await self._file.write("INSERT OR IGNORE INTO opt_outs VALUES (?)", (digest,))

    async def note_return(self, patient: Patient) -> None:
        """The patient writes again."""
        digest = self._digest(patient)
        self._keep(digest, replace(await self.standing(patient), has_opted_out=False))
        await self._file.write("DELETE FROM opt_outs WHERE digest = ?", (digest,))

    async def forget(self, patient: Patient) -> None:
        """Erase everything but an opt-out."""
        digest = self._digest(patient)
        self._keep(digest, replace(await self.standing(patient), has_consented=False))
        await self._file.write("DELETE FROM consents WHERE digest = ?", (digest,))

    def _digest(self, patient: Patient) -> bytes:
        return self._file.digest("patient", patient.platform.value, patient.identity)

    def _keep(self, digest: bytes, standing: Standing) -> None:
        self._known[digest] = standing
        self._known.move_to_end(digest)
        if len(self._known) > _IN_MEMORY:
            self._known.popitem(last=False)

    async def _read(self, database: aiosqlite.Connection, digest: bytes) -> Standing:
        consents = "SELECT 1 FROM consents WHERE digest = ? AND terms = ?"
        async with database.execute(consents, (digest, self._terms)) as cursor:
            has_consented = await cursor.fetchone() is not None
        async with database.execute("SELECT 1 FROM opt_outs WHERE digest = ?", (digest,)) as cursor:
            has_opted_out = await cursor.fetchone() is not None
        return Standing(has_consented=has_consented, has_opted_out=has_opted_out)
