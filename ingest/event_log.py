"""Content events that arrived, until each is carried out; and texts that the generator wrote, by what they were written from."""

import json
from dataclasses import dataclass
from datetime import datetime, timedelta

from ingest.ledger_database import Book, now

# How long the number of a settled event is known: a sender that repeats one later than this has lost its own count.
_REMEMBERED = timedelta(days=30)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredEvent:
    """An event that waits to be carried out."""

    event_id: str
    payload: str


class EventLog(Book):
    """The part of the ledger that keeps events and generated texts."""

    async def add_event(self, event_id: str, received_at: datetime, payload: str) -> bool:
        """Keep an event; False when one of that id has arrived before."""
        async with self._transaction():
            await self._db.execute("DELETE FROM events WHERE settled_at < ?", ((received_at - _REMEMBERED).isoformat(),))
            cursor = await self._db.execute(
                "INSERT OR IGNORE INTO events (event_id, received_at, payload) VALUES (?, ?, ?)",
                (event_id, received_at.isoformat(), payload),
            )
            count = cursor.rowcount
            await cursor.close()
        return count > 0

    async def pending_events(self) -> list[StoredEvent]:
        """Events not carried out yet, oldest first."""
        rows = await self._db.execute_fetchall("SELECT event_id, payload FROM events WHERE settled_at IS NULL ORDER BY rowid")
        return [StoredEvent(event_id=row[0], payload=row[1]) for row in rows]

    async def settle_event(self, event_id: str, problem: str | None) -> None:
        """Note that an event was carried out, or why it cannot be; its text is erased."""
        async with self._transaction():
            await self._db.execute(
                "UPDATE events SET payload = NULL, settled_at = ?, problem = ? WHERE event_id = ?", (now(), problem, event_id)
            )

    async def event_problem(self, event_id: str) -> str | None:
        """Why a settled event could not be carried out; None when it was, or is not settled."""
        rows = await self._db.execute_fetchall("SELECT problem FROM events WHERE event_id = ?", (event_id,))
        return next((row[0] for row in rows), None)

    async def settled_since(self, moment: datetime) -> tuple[int, int]:
        """How many events were carried out since `moment`, and how many were refused for good."""
        rows = await self._db.execute_fetchall(
            "SELECT count(*) - count(problem), count(problem) FROM events WHERE settled_at >= ?", (moment.isoformat(),)
        )
        return next((int(row[0]), int(row[1])) for row in rows)

    async def generated(self, document_id: str, content_key: str) -> dict[str, list[str]] | None:
        """Texts that were generated for this page from the same content before, by kind."""
        rows = await self._db.execute_fetchall(
            "SELECT texts FROM generated WHERE document_id = ? AND content_key = ?", (document_id, content_key)
        )
        return next((json.loads(row[0]) for row in rows), None)

    async def keep_generated(self, document_id: str, content_key: str, texts: dict[str, list[str]]) -> None:
        """Keep generated texts of a page, so that a killed run does not write them again."""
        async with self._transaction():
            await self._db.execute(
                "INSERT OR REPLACE INTO generated VALUES (?, ?, ?)",
                (document_id, content_key, json.dumps(texts, ensure_ascii=False)),
            )
