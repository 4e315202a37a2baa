"""What the ledger knows of sources: when each was read, what an administrator chose, and every address with what it gave."""

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from ingest.ledger_database import Book, now

MISSES_TO_RETIRE = 2
"""A page is retired when its address was not found so many times in a row."""

_NEVER = 2**31


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceState:
    """A source as it was last read; `enabled` is what an administrator chose, None when the row of the source decides."""

    source_id: str
    publisher: str
    read_at: datetime | None
    pages: int
    problem: str | None
    enabled: bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """What an address gave when it was last read.

    `document_ids` are the documents of it, none where it was refused for the reason in `refusal`. `extracted_with` names all that
    shaped them beside the bytes. `misses` counts how many crawls in a row did not find it.
    """

    url: str
    document_ids: tuple[str, ...]
    body_hash: str
    extracted_with: str
    refusal: str | None = None
    misses: int = 0


class SourceLog(Book):
    """The part of the ledger that tells of sources."""

    async def note_source(self, source_id: str, publisher: str, *, pages: int, problem: str | None) -> None:
        """Note when a source was read, how many pages it gave and its first problem."""
        async with self._transaction():
            await self._db.execute(
                "INSERT OR REPLACE INTO sources VALUES (?, ?, ?, ?, ?)", (source_id, publisher, now(), pages, problem)
            )

    async def source_states(self) -> dict[str, SourceState]:
        """All sources that were ever read or chosen, by id."""
        rows = await self._db.execute_fetchall(
            "SELECT known.source_id, s.publisher, s.read_at, s.pages, s.problem, c.enabled"
            " FROM (SELECT source_id FROM sources UNION SELECT source_id FROM choices) known"
            " LEFT JOIN sources s USING (source_id) LEFT JOIN choices c USING (source_id) ORDER BY 1"
        )
        return {
            row[0]: SourceState(
                source_id=row[0],
                publisher=row[1] or "",
                read_at=datetime.fromisoformat(row[2]) if row[2] else None,
                pages=row[3] or 0,
                problem=row[4],
                enabled=None if row[5] is None else bool(row[5]),
            )
            for row in rows
        }

    async def choose_source(self, source_id: str, enabled: bool) -> None:
        """Note whether the next run reads a source, whatever its row says."""
        async with self._transaction():
            await self._db.execute("INSERT OR REPLACE INTO choices VALUES (?, ?)", (source_id, int(enabled)))

    async def addresses(self, source_id: str) -> dict[str, Address]:
        """All addresses of a source by their URL."""
        rows = await self._db.execute_fetchall(
            "SELECT url, json_group_array(document_id), body_hash, extracted_with, refusal, misses FROM addresses"
            " WHERE source_id = ? GROUP BY url",
            (source_id,),
        )
        return {
            row[0]: Address(
                url=row[0],
                document_ids=tuple(document_id for document_id in json.loads(row[1]) if document_id),
                body_hash=row[2],
                extracted_with=row[3],
                refusal=row[4],
                misses=row[5],
            )
            for row in rows
        }

    async def note_addresses(self, source_id: str, addresses: Iterable[Address]) -> None:
        """Replace what is known of addresses."""
        found = list(addresses)
        async with self._transaction():
            await self._db.executemany(
                "DELETE FROM addresses WHERE source_id = ? AND url = ?", [(source_id, address.url) for address in found]
            )
            await self._db.executemany(
                "INSERT INTO addresses VALUES (?, ?, ?, ?, ?, ?, ?)",
                [
                    (source_id, a.url, document_id, a.body_hash, a.extracted_with, a.refusal, a.misses)
                    for a in found
                    for document_id in a.document_ids or ("",)
                ],
            )

    async def note_misses(self, source_id: str, misses: Mapping[str, int]) -> None:
        """Note how many crawls in a row did not find an address; 0 when it was found."""
        async with self._transaction():
            await self._db.executemany(
                "UPDATE addresses SET misses = ? WHERE source_id = ? AND url = ?",
                [(count, source_id, url) for url, count in misses.items()],
            )

    async def unreachable(self, source_id: str, moved: Collection[str] = ()) -> set[str]:
        """Ids of documents all of whose addresses were missed too often or have moved, or now give something else."""
        rows = await self._db.execute_fetchall(
            "SELECT document_id FROM addresses JOIN pages USING (document_id) WHERE addresses.source_id = ? GROUP BY document_id"
            " HAVING sum(misses < ? AND url NOT IN (SELECT value FROM json_each(?))) = 0"
            " UNION SELECT document_id FROM pages WHERE source_id = ? AND document_id NOT IN"
            " (SELECT document_id FROM addresses WHERE source_id = ?)",
            (source_id, MISSES_TO_RETIRE, json.dumps(list(moved)), source_id, source_id),
        )
        return {str(row[0]) for row in rows}

    async def forget_addresses(self, source_id: str, moved: Collection[str] = (), *, missed: bool = True) -> None:
        """Drop addresses that have moved and, if they are `missed`, those that were not found too often."""
        fewest = MISSES_TO_RETIRE if missed else _NEVER
        async with self._transaction():
            await self._db.execute(
                "DELETE FROM addresses WHERE source_id = ? AND (misses >= ? OR url IN (SELECT value FROM json_each(?)))",
                (source_id, fewest, json.dumps(list(moved))),
            )
