"""The folder of the indexes: which version of a language's table is live, what is known of it, and the lock of who writes."""

import fcntl
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import lancedb

from locales.language import Language
from rag import store_schema as schema
from rag.errors import IndexMismatch, IndexMissing, IndexOutdated, StoreError
from rag.index_reader import Snapshot, read_passages
from rag.table_indexes import searched_parts

REBUILD = "run `salus ingest --full`"

_LIVE = "live"

_WRITER_PATIENCE_S = 60.0  # a publication takes seconds; at 385,000 surfaces two or three minutes, and an event tries again
_WRITER_PAUSE_S = 0.1

_WRITTEN_AT_ONCE = 8192  # rows
_READ_ROUNDS = 5  # a publication may fall into one reading; five in a row are no accident


class IndexFolder:
    """One directory with a table a language, and a file about each version of it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def live_table(self, language: Language) -> Any:  # noqa: ANN401 - LanceDB is untyped
        """Open a handle of its own on the live version; None when nothing was ever published."""
        if not self.path.is_dir():
            return None
        database = lancedb.connect(str(self.path))
        name = _table_name(language)
        if name not in _table_names(database):
            return None
        table = database.open_table(name)
        if _LIVE not in table.tags.list():
            return None
        table.checkout(_LIVE)
        return table

    def new_table(self, language: Language, added: Any) -> Any:  # noqa: ANN401
        """Write rows in the stead of all that a language had; what is live stays so until the tag moves."""
        database, name = lancedb.connect(str(self.path)), _table_name(language)
        # Never drop and create: a handle left over from before would destroy the new table without a word.
        return database.create_table(name, in_batches(added), mode="overwrite" if name in _table_names(database) else "create")

    def metadata_path(self, language: Language, version: int) -> Path:
        """The file about a version."""
        return self.path / f"{_table_name(language)}.{version}.json"

    def forget_others(self, language: Language, version: int) -> None:
        """Delete the files about all versions but one."""
        current = self.metadata_path(language, version)
        for path in self.path.glob(f"{_table_name(language)}.*.json"):
            if path != current:
                path.unlink(missing_ok=True)

    def metadata(self, language: Language, version: int) -> schema.Metadata:
        """Read what is known of a version.

        Raises:
            IndexOutdated: If another release wrote it.
            FileNotFoundError: If there is nothing about this version.
        """
        written = self.metadata_path(language, version).read_text(encoding="utf-8")
        try:
            metadata = schema.decode_metadata(written)
        except (ValueError, TypeError, KeyError) as error:
            raise IndexOutdated(f"The index was written by another release of Salus: {REBUILD}.") from error
        if metadata.schema_version != schema.SCHEMA_VERSION:
            raise IndexOutdated(f"The {language.name.capitalize()} index was written by another release of Salus: {REBUILD}.")
        return metadata

    def read_live(self, language: Language) -> Snapshot:
        """Read what is live; again when another version goes live, and this one away, in the middle of it.

        Raises:
            IndexMissing: If nothing has been published in this language.
            IndexOutdated: If another release wrote the index, or it is not whole.
        """
        for _ in range(_READ_ROUNDS - 1):
            try:
                return self._read_once(language)
            except (RuntimeError, OSError, ValueError) as error:
                if not (isinstance(error, FileNotFoundError) or "not found" in str(error).lower()):
                    raise
        try:
            return self._read_once(language)
        except FileNotFoundError as error:
            raise IndexOutdated(f"The index is not whole or of another release of Salus: {REBUILD}.") from error

    def is_live(self, snapshot: Snapshot) -> bool:
        """Whether a version is live still, and what is known of it the latest."""
        try:
            path = self.metadata_path(snapshot.language, snapshot.version)
            is_latest = path.stat().st_mtime_ns == snapshot.described_ns
            return is_latest and bool(snapshot.table.tags.get_version(_LIVE) == snapshot.version)
        except (RuntimeError, OSError, ValueError):  # the folder went away under the handle
            return False

    @contextmanager
    def usable(self) -> Iterator[None]:
        """LanceDB has no errors of its own: whatever it meets in a damaged folder or on a full disk is said in one sentence."""
        try:
            yield
        except (RuntimeError, OSError, ValueError) as error:
            raise StoreError(
                f"The index in {self.path} cannot be used ({type(error).__name__}): see that the disk has room; if it has, "
                "delete that folder and run `salus ingest`, which publishes it again."
            ) from error

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Hold the writer lock of the directory: of a run and a content event that publish at once, one waits for the other.

        Raises:
            StoreError: If another process keeps writing.
        """
        self.path.mkdir(parents=True, exist_ok=True)
        with (self.path / "writer.lock").open("w") as lock:
            until = time.monotonic() + _WRITER_PATIENCE_S
            while True:
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except OSError as error:
                    if time.monotonic() > until:
                        raise StoreError("The index is being written already.") from error
                    time.sleep(_WRITER_PAUSE_S)
            yield

    def _read_once(self, language: Language) -> Snapshot:
        table = self.live_table(language)
        if table is None:
            raise IndexMissing(f"Nothing has been published in {language.name.capitalize()} yet: {REBUILD}.")
        written = self.metadata_path(language, table.version).stat().st_mtime_ns
        metadata = self.metadata(language, table.version)  # first: rows of another release may not even have our columns
        return snapshot_of(language, table, metadata, written)


def snapshot_of(language: Language, table: Any, metadata: schema.Metadata, described_ns: int = 0) -> Snapshot:  # noqa: ANN401
    """What a reader needs of the version that a handle is at."""
    passages = read_passages(table)
    return Snapshot(
        language=language,
        described_ns=described_ns,
        table=table,
        version=table.version,
        metadata=metadata,
        passages=passages,
        has_questions=table.count_rows() > len(passages),
        searched_parts=searched_parts(table),
    )


def move_live(table: Any) -> None:  # noqa: ANN401
    """Make the version that a handle is at the live one."""
    move = table.tags.update if _LIVE in table.tags.list() else table.tags.create
    move(_LIVE, table.version)


def in_batches(added: Any) -> Any:  # noqa: ANN401
    """Rows as a stream: a table in one piece is copied while it is written, 2 GB more at 385,000 surfaces."""
    return added.to_reader(max_chunksize=_WRITTEN_AT_ONCE)


def check_embedder(metadata: schema.Metadata, fingerprint: str, language: Language) -> None:
    """Make sure that an index was built with an embedder.

    Raises:
        IndexMismatch: If it was built with another.
    """
    if metadata.embedder != fingerprint:
        raise IndexMismatch(
            f"The {language.name.capitalize()} index was built with the embedder {metadata.embedder}, not with {fingerprint}: "
            f"{REBUILD}."
        )


def _table_name(language: Language) -> str:
    return f"surfaces_{language.value}"


def _table_names(database: Any) -> list[str]:  # noqa: ANN401
    names: list[str] = database.list_tables().tables
    return names
