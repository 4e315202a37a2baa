"""The index: one LanceDB table a language, written in one batch, visible at once when its tag `live` moves."""

import fcntl
import os
import shutil
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import lancedb

from locales.language import Language
from rag import store_schema as schema
from rag.calibration import Calibration
from rag.documents import Chunk, Document, Surface
from rag.errors import IndexMismatch, IndexMissing, IndexOutdated, PublicationRefused, StoreError
from rag.index_figures import describe
from rag.index_reader import IndexReader, Snapshot, read_passages, read_rows
from rag.models.protocols import Embedder, Vectors
from rag.table_indexes import build_indexes, searched_parts

_LIVE = "live"
_REBUILD = "run `salus ingest --full`"

_WRITER_PATIENCE_S = 60.0  # a publication takes seconds; at 385,000 surfaces two or three minutes, and an event tries again
_WRITER_PAUSE_S = 0.1

_WRITTEN_AT_ONCE = 8192  # rows
_READ_ROUNDS = 5  # a publication may fall into one reading; five in a row are no accident

# Zero age draws a warning of LanceDB's own; a millisecond means the same.
_AT_ONCE = timedelta(milliseconds=1)


class IndexStore:
    """The published indexes in one directory, for reading by any process and writing by one at a time."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._readers: dict[Language, Snapshot] = {}
        self._lock = threading.Lock()

    def open(self, language: Language, embedder_fingerprint: str) -> IndexReader:
        """Open what is live now in a language: half a millisecond, so that each question opens it again.

        Raises:
            IndexMissing: If nothing has been published in this language.
            IndexOutdated: If another release wrote the index.
            IndexMismatch: If the index was built with another embedder.
            StoreError: If the index is damaged.
        """
        return IndexReader(
            self._snapshot(language, embedder_fingerprint), lambda: self._snapshot(language, embedder_fingerprint, fresh=True)
        )

    def publish(
        self,
        language: Language,
        *,
        documents: Sequence[Document],
        chunks: Sequence[Chunk],
        surfaces: Sequence[Surface],
        vectors: Vectors,
        embedder: Embedder,
        sentence_vectors: Mapping[str, Vectors] | None = None,
        retired: Collection[str] = (),
        full: bool = False,
        check: Callable[[IndexReader], str | None] | None = None,
    ) -> int:
        """Make documents visible, all at once: readers see the index before or after, never in between.

        Rows of other documents stay as they are. A run that is killed leaves what is live untouched.

        Args:
            language: The index to change.
            documents: New or changed documents; what was stored of them before is replaced. One without chunks is removed.
            chunks: All chunks of `documents`.
            surfaces: All surfaces of `chunks`, exactly one of them a chunk's passage.
            vectors: Embedded `surfaces`, shape ``(len(surfaces), dimension)``, unit rows.
            embedder: What embedded them; measures the background cosine too.
            sentence_vectors: Vectors of the sentences by chunk id, if evidence need not embed them at question time.
            retired: Ids of documents to withdraw.
            full: Replace the whole index; needed for another embedder.
            check: Looks at the new version before anybody else does, and says why it must not go live, if it must not.

        Returns:
            The published version.

        Raises:
            IndexMismatch: If the index was built with another embedder or by another release and `full` is false.
            PublicationRefused: If `check` finds fault with the new version; what was live before still is.
            StoreError: If `vectors` do not fit `surfaces`, another process keeps publishing, or the index cannot be written.
        """
        if vectors.shape != (len(surfaces), embedder.dimension):
            raise StoreError(f"{vectors.shape} vectors for {len(surfaces)} surfaces of dimension {embedder.dimension}")
        added = schema.rows(
            documents={document.document_id: document for document in documents},
            chunks={chunk.chunk_id: chunk for chunk in chunks},
            surfaces=surfaces,
            vectors=vectors,
            sentence_vectors=sentence_vectors or {},
        )
        gone = {*retired, *(document.document_id for document in documents), *(chunk.document_id for chunk in chunks)}
        with self._usable(), self._writing():
            calibration = self._live_calibration(language, embedder)
            table = self._replaced(language, added) if full else self._changed(language, added, gone, embedder)
            build_indexes(table)
            metadata = describe(table, embedder)
            metadata = replace(metadata, calibration=calibration)
            path = self._metadata_path(language, table.version)
            path.write_text(schema.encode_metadata(metadata), encoding="utf-8")
            if check is not None:
                new = _snapshot_of(language, table, metadata)
                problem = check(IndexReader(new, lambda: new))
                if problem:
                    raise PublicationRefused(problem)
            _move_live(table)
            self._clean(language, table)
            return int(table.version)

    def calibrate(self, language: Language, embedder: Embedder, fit: Callable[[IndexReader], Calibration | None]) -> bool:
        """Fit the coverage decision to what is live, while others may read and publish; until then, the last one holds on.

        Returns:
            Whether what was fitted is live now; not so where another version went live in the meantime.

        Raises:
            IndexMissing: If nothing has been published in this language.
            IndexMismatch: If the index was built with another embedder or by another release.
            StoreError: If the index cannot be read or written.
            ModelError: If the embedder fails.
        """
        known = self._snapshot(language, embedder.fingerprint)
        try:
            calibration = fit(IndexReader(known, lambda: self._snapshot(language, embedder.fingerprint, fresh=True)))
        except StoreError:
            if not self._is_live(known):
                return False  # it was cleaned away while it was read
            raise
        with self._usable(), self._writing():
            if not self._is_live(known):
                return False
            if calibration is None and known.metadata.calibration is None:
                return True
            path = self._metadata_path(language, known.version)
            unfinished = path.with_suffix(".unfinished")
            unfinished.write_text(schema.encode_metadata(replace(known.metadata, calibration=calibration)), encoding="utf-8")
            unfinished.replace(path)
            return True

    def copy_to(self, folder: Path) -> None:
        """Copy all files of the index to a folder that does not exist; whoever wants to publish meanwhile waits, readers do not.

        Raises:
            StoreError: If another process keeps publishing, or the disk is full.
        """
        with self._usable(), self._writing():
            shutil.copytree(self._directory, folder, copy_function=_linked, ignore=shutil.ignore_patterns("*.lock"))

    def content_hashes(self, language: Language) -> dict[str, str]:
        """Hashes of the live documents by id, so that an unchanged page need not be embedded again; empty without an index."""
        with self._usable():
            table = self._live_table(language)
            if table is None:
                return {}
            rows = read_rows(table, ["document_id", "document"], ["document IS NOT NULL"])
        return {row["document_id"]: schema.decode_document(row["document"]).content_hash for row in rows}

    def _snapshot(self, language: Language, fingerprint: str, *, fresh: bool = False) -> Snapshot:
        with self._lock:
            known = None if fresh else self._readers.get(language)
            if known is None or not self._is_live(known):
                with self._usable():
                    known = self._read_live(language)
                self._readers[language] = known
        _check(known.metadata, fingerprint, language)
        return known

    def _read_live(self, language: Language) -> Snapshot:
        """Read what is live; again when another version goes live, and this one away, in the middle of it."""
        for _ in range(_READ_ROUNDS - 1):
            try:
                return self._read_once(language)
            except (RuntimeError, OSError, ValueError) as error:
                if not (isinstance(error, FileNotFoundError) or "not found" in str(error).lower()):
                    raise
        try:
            return self._read_once(language)
        except FileNotFoundError as error:
            raise IndexOutdated(f"The index is not whole or of another release of Salus: {_REBUILD}.") from error

    def _read_once(self, language: Language) -> Snapshot:
        table = self._live_table(language)
        if table is None:
            raise IndexMissing(f"Nothing has been published in {language.name.capitalize()} yet: {_REBUILD}.")
        written = self._metadata_path(language, table.version).stat().st_mtime_ns
        metadata = self._metadata(language, table.version)  # first: rows of another release may not even have our columns
        return _snapshot_of(language, table, metadata, written)

    def _is_live(self, snapshot: Snapshot) -> bool:
        """Whether a version is live still, and what is known of it the latest."""
        try:
            path = self._metadata_path(snapshot.language, snapshot.version)
            is_latest = path.stat().st_mtime_ns == snapshot.described_ns
            return is_latest and bool(snapshot.table.tags.get_version(_LIVE) == snapshot.version)
        except (RuntimeError, OSError, ValueError):  # the folder went away under the handle
            return False

    def _live_table(self, language: Language) -> Any:  # noqa: ANN401 - LanceDB is untyped
        """Open a handle of its own on the live version; None when nothing was ever published."""
        if not self._directory.is_dir():
            return None
        database = lancedb.connect(str(self._directory))
        name = _table_name(language)
        if name not in _table_names(database):
            return None
        table = database.open_table(name)
        if _LIVE not in table.tags.list():
            return None
        table.checkout(_LIVE)
        return table

    def _metadata_path(self, language: Language, version: int) -> Path:
        return self._directory / f"{_table_name(language)}.{version}.json"

    def _metadata(self, language: Language, version: int) -> schema.Metadata:
        written = self._metadata_path(language, version).read_text(encoding="utf-8")
        try:
            metadata = schema.decode_metadata(written)
        except (ValueError, TypeError, KeyError) as error:
            raise IndexOutdated(f"The index was written by another release of Salus: {_REBUILD}.") from error
        if metadata.schema_version != schema.SCHEMA_VERSION:
            raise IndexOutdated(f"The {language.name.capitalize()} index was written by another release of Salus: {_REBUILD}.")
        return metadata

    def _live_calibration(self, language: Language, embedder: Embedder) -> Calibration | None:
        table = self._live_table(language)
        try:
            live = None if table is None else self._metadata(language, table.version)
        except (IndexMismatch, FileNotFoundError):
            return None
        return live.calibration if live and live.embedder == embedder.fingerprint else None

    def _replaced(self, language: Language, added: Any) -> Any:  # noqa: ANN401
        database, name = lancedb.connect(str(self._directory)), _table_name(language)
        # Never drop and create: a handle left over from before would destroy the new table without a word.
        return database.create_table(name, _in_batches(added), mode="overwrite" if name in _table_names(database) else "create")

    def _changed(self, language: Language, added: Any, gone: Collection[str], embedder: Embedder) -> Any:  # noqa: ANN401
        table = self._live_table(language)
        if table is None:
            return self._replaced(language, added)
        try:
            _check(self._metadata(language, table.version), embedder.fingerprint, language)
        except FileNotFoundError as error:
            raise IndexOutdated(f"The index is not whole: {_REBUILD}.") from error
        table.restore()  # what a killed run may have left after the live version goes
        for condition in schema.is_in("document_id", sorted(gone)):
            table.delete(condition)
        if added.num_rows:
            table.add(_in_batches(added))
        return table

    def _clean(self, language: Language, table: Any) -> None:  # noqa: ANN401
        """Erase old versions from the disk, deleted text with them."""
        table.optimize(cleanup_older_than=_AT_ONCE)
        current = self._metadata_path(language, table.version)
        for path in self._directory.glob(f"{_table_name(language)}.*.json"):
            if path != current:
                path.unlink(missing_ok=True)

    @contextmanager
    def _usable(self) -> Iterator[None]:
        """LanceDB has no errors of its own: whatever it meets in a damaged folder or on a full disk is said in one sentence."""
        try:
            yield
        except (RuntimeError, OSError, ValueError) as error:
            raise StoreError(
                f"The index in {self._directory} cannot be used ({type(error).__name__}): see that the disk has room; if it has, "
                "delete that folder and run `salus ingest`, which publishes it again."
            ) from error

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Hold the writer lock of the directory: of a run and a content event that publish at once, one waits for the other."""
        self._directory.mkdir(parents=True, exist_ok=True)
        with (self._directory / "writer.lock").open("w") as lock:
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


def _snapshot_of(language: Language, table: Any, metadata: schema.Metadata, described_ns: int = 0) -> Snapshot:  # noqa: ANN401
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


def _linked(source: str, target: str) -> None:
    """A hard link of a file of LanceDB's, which is never written to once it is there, and a copy of any other."""
    try:
        if source.endswith(".lance"):
            os.link(source, target)
            return
    except OSError:  # a file system without links
        pass
    shutil.copyfile(source, target)


def _in_batches(added: Any) -> Any:  # noqa: ANN401
    """Rows as a stream: a table in one piece is copied while it is written, 2 GB more at 385,000 surfaces."""
    return added.to_reader(max_chunksize=_WRITTEN_AT_ONCE)


def _table_name(language: Language) -> str:
    return f"surfaces_{language.value}"


def _table_names(database: Any) -> list[str]:  # noqa: ANN401
    names: list[str] = database.list_tables().tables
    return names


def _check(metadata: schema.Metadata, fingerprint: str, language: Language) -> None:
    if metadata.embedder != fingerprint:
        raise IndexMismatch(
            f"The {language.name.capitalize()} index was built with the embedder {metadata.embedder}, not with {fingerprint}: "
            f"{_REBUILD}."
        )


def _move_live(table: Any) -> None:  # noqa: ANN401
    move = table.tags.update if _LIVE in table.tags.list() else table.tags.create
    move(_LIVE, table.version)


__all__ = ["IndexReader", "IndexStore"]
