"""The pages of one source as they came, and how each address answered in the latest crawl: one SQLite file."""

import hashlib
import json
import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Self

from ingest.errors import CrawlFailed
from ingest.fetching import Fetch, RawPage, Visit

_VERSION = 1
_SCHEMA = f"""
BEGIN;
CREATE TABLE body (hash TEXT PRIMARY KEY, bytes BLOB NOT NULL);
CREATE TABLE page (url TEXT PRIMARY KEY, hash TEXT NOT NULL, headers TEXT NOT NULL, fetched_at TEXT NOT NULL) WITHOUT ROWID;
CREATE INDEX page_hash ON page (hash);
CREATE TABLE visit (url TEXT PRIMARY KEY, fetch TEXT NOT NULL, reason TEXT, hash TEXT, moved_to TEXT) WITHOUT ROWID;
CREATE TABLE note (text TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE crawl (only_row INTEGER PRIMARY KEY CHECK (only_row = 1), started_at TEXT NOT NULL, is_whole INTEGER NOT NULL);
PRAGMA user_version = {_VERSION};
COMMIT;
"""
_VISITS = "SELECT url, fetch, reason, hash, moved_to FROM visit"
_UNUSABLE = {sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT}
_COMMIT_EVERY = 50
_MAX_HOPS = 5
# An eighth of the file, and at least 1 MiB of it, is worth writing it anew.
_WORTHWHILE_SHARE = 8
_WORTHWHILE_PAGES = 256


class PageStore:
    """The crawl cache of one source. Use it in one thread, and as a context manager.

    A process that is killed loses at most its last addresses; the file stays usable.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._db = connection
        self._pending = 0

    @classmethod
    def open(cls, path: Path) -> Self:
        """Open the file or make it; one that is damaged or of another release is begun anew, since it only saves fetching.

        Raises:
            CrawlFailed: If the file cannot be made or read.
        """
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            try:
                return cls(_connected(path))
            except sqlite3.DatabaseError as error:
                if error.sqlite_errorcode & 0xFF not in _UNUSABLE:
                    raise
                erase(path)
                return cls(_connected(path))
        except (OSError, sqlite3.Error) as error:
            raise CrawlFailed(f"{path}: the crawl cache cannot be used ({error})") from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Write down what is pending and let go of the file."""
        self._db.commit()
        self._db.close()

    # What the pipeline asks.

    @property
    def is_whole(self) -> bool:
        """True when the latest crawl came to its end by itself, whether it was of the whole source or of some addresses."""
        row = self._db.execute("SELECT is_whole FROM crawl").fetchone()
        return bool(row and row[0])

    def visits(self) -> Iterator[Visit]:
        """How each address answered in the latest crawl, in address order; `moved_to` is where a chain of redirects ends."""
        for row in self._db.execute(f"{_VISITS} ORDER BY url"):
            visit = _visit(row)
            yield self._followed(visit) if visit.fetch is Fetch.MOVED else visit

    def notes(self) -> tuple[str, ...]:
        """What there is to say about the latest crawl as a whole."""
        return tuple(text for (text,) in self._db.execute("SELECT text FROM note ORDER BY text"))

    def page(self, url: str) -> RawPage | None:
        """The page as it last came; None when it was never stored, or was dropped."""
        row = self._db.execute(
            "SELECT body.bytes, page.headers, page.fetched_at FROM page JOIN body USING (hash) WHERE page.url = ?", (url,)
        ).fetchone()
        if row is None:
            return None
        body, headers, fetched_at = row
        return RawPage(
            url=url, body=zlib.decompress(body), headers=json.loads(headers), fetched_at=datetime.fromisoformat(fetched_at)
        )

    def keep_only(self, urls: Iterable[str]) -> None:
        """Drop what is stored of all other addresses, so that not even the file holds it any longer."""
        self._db.commit()
        self._db.execute("CREATE TEMP TABLE kept (url TEXT PRIMARY KEY) WITHOUT ROWID")
        self._db.executemany("INSERT OR IGNORE INTO kept VALUES (?)", ((url,) for url in urls))
        self._db.execute("DELETE FROM page WHERE url NOT IN (SELECT url FROM kept)")
        self._db.execute("DELETE FROM body WHERE hash NOT IN (SELECT hash FROM page)")
        self._db.commit()
        self._db.execute("DROP TABLE kept")
        self._db.commit()
        (free,), (pages,) = self._db.execute("PRAGMA freelist_count").fetchone(), self._db.execute("PRAGMA page_count").fetchone()
        if free >= _WORTHWHILE_PAGES and free * _WORTHWHILE_SHARE >= pages:
            self._db.execute("VACUUM")
        self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()

    # What the crawler writes.

    def begin(self) -> None:
        """Forget how the crawl before answered; the pages stay."""
        for table in ("visit", "note", "crawl"):
            self._db.execute(f"DELETE FROM {table}")  # noqa: S608 - names of this module
        self._db.execute("INSERT INTO crawl VALUES (1, ?, 0)", (datetime.now(UTC).isoformat(),))
        self._db.commit()

    def record(self, visit: Visit) -> None:
        """Note how an address answered."""
        row = (visit.url, visit.fetch.value, visit.reason, visit.body_hash, visit.moved_to)
        self._db.execute("INSERT OR REPLACE INTO visit VALUES (?, ?, ?, ?, ?)", row)
        self._pending += 1
        if self._pending >= _COMMIT_EVERY:
            self._db.commit()
            self._pending = 0

    def note(self, text: str) -> None:
        """Say something about the crawl as a whole."""
        self._db.execute("INSERT OR IGNORE INTO note VALUES (?)", (text,))

    def put(self, url: str, body: bytes, headers: Mapping[str, str], *, is_new: bool) -> str:
        """Keep a page; with `is_new` false only its headers are renewed, and the time of its fetching stays.

        Returns:
            The SHA-256 of the body.
        """
        digest = hashlib.sha256(body).hexdigest()
        if self._db.execute("SELECT 1 FROM body WHERE hash = ?", (digest,)).fetchone() is None:
            self._db.execute("INSERT INTO body VALUES (?, ?)", (digest, zlib.compress(body)))
        before = self._db.execute("SELECT hash, fetched_at FROM page WHERE url = ?", (url,)).fetchone()
        fetched_at = before[1] if before and not is_new else datetime.now(UTC).isoformat()
        self._db.execute("INSERT OR REPLACE INTO page VALUES (?, ?, ?, ?)", (url, digest, json.dumps(dict(headers)), fetched_at))
        if before and before[0] != digest:
            self._drop_unused(before[0])
        return digest

    def hash_of(self, url: str) -> str | None:
        """The SHA-256 of the stored body."""
        row = self._db.execute("SELECT hash FROM page WHERE url = ?", (url,)).fetchone()
        return str(row[0]) if row else None

    def forget(self, url: str) -> None:
        """Drop what is stored of an address."""
        digest = self.hash_of(url)
        if digest is not None:
            self._db.execute("DELETE FROM page WHERE url = ?", (url,))
            self._drop_unused(digest)

    def finish(self, *, is_whole: bool) -> None:
        """Say that the crawl has ended, and whether by itself."""
        self._db.execute("UPDATE crawl SET is_whole = ?", (is_whole,))
        self._db.commit()

    def _drop_unused(self, digest: str) -> None:
        self._db.execute(
            "DELETE FROM body WHERE hash = ? AND hash NOT IN (SELECT hash FROM page WHERE hash = ?)", (digest, digest)
        )

    def _followed(self, moved: Visit) -> Visit:
        """Where a redirect ends decides what it means: a permanent redirect to nothing is a page that is gone."""
        end: Visit | None = moved
        for _ in range(_MAX_HOPS + 1):
            if end is None or end.moved_to is None:
                break
            row = self._db.execute(f"{_VISITS} WHERE url = ?", (end.moved_to,)).fetchone()
            end = _visit(row) if row else None
        match end:
            case None:
                return Visit(url=moved.url, fetch=Fetch.FAILED, reason="redirect_unread")
            case Visit(fetch=Fetch.MOVED):
                return Visit(url=moved.url, fetch=Fetch.FAILED, reason="redirect_loop")
            case Visit(fetch=Fetch.FETCHED | Fetch.UNCHANGED):
                return Visit(url=moved.url, fetch=Fetch.MOVED, moved_to=end.url)
            case _:
                return Visit(url=moved.url, fetch=end.fetch, reason=end.reason)


def erase(path: Path) -> None:
    """Remove the file and what SQLite keeps beside it."""
    for suffix in ("", "-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)


def _connected(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=30)
    try:
        for pragma in ("secure_delete = ON", "journal_mode = WAL", "synchronous = NORMAL"):  # a dropped text is overwritten
            connection.execute(f"PRAGMA {pragma}").fetchone()
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if version == 0:
            connection.executescript(_SCHEMA)
        elif version != _VERSION:
            connection.close()
            erase(path)
            return _connected(path)
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def _visit(row: tuple[str, str, str | None, str | None, str | None]) -> Visit:
    url, fetch, reason, body_hash, moved_to = row
    return Visit(url=url, fetch=Fetch(fetch), reason=reason, body_hash=body_hash, moved_to=moved_to)
