"""The index: one LanceDB table a language, written in one batch, visible at once when its tag `live` moves."""

import os
import shutil
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from locales.language import Language
from rag import store_schema as schema
from rag.calibration import Calibration
from rag.documents import Chunk, Document, Surface
from rag.errors import IndexMismatch, IndexOutdated, PublicationRefused, StoreError
from rag.index_figures import describe
from rag.index_folder import REBUILD, IndexFolder, check_embedder, in_batches, move_live, snapshot_of
from rag.index_reader import IndexReader, Snapshot, read_rows
from rag.models.protocols import Embedder, Vectors
from rag.table_indexes import build_indexes

# Zero age draws a warning of LanceDB's own; a millisecond means the same.
_AT_ONCE = timedelta(milliseconds=1)


class IndexStore:
    """The published indexes in one directory, for reading by any process and writing by one at a time."""

    def __init__(self, directory: Path) -> None:
        self._folder = IndexFolder(directory)
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
        with self._folder.usable(), self._folder.writing():
            calibration = self._live_calibration(language, embedder)
            table = self._folder.new_table(language, added) if full else self._changed(language, added, gone, embedder)
            build_indexes(table)
            metadata = describe(table, embedder)
            metadata = replace(metadata, calibration=calibration)
            path = self._folder.metadata_path(language, table.version)
            path.write_text(schema.encode_metadata(metadata), encoding="utf-8")
            if check is not None:
                new = snapshot_of(language, table, metadata)
                problem = check(IndexReader(new, lambda: new))
                if problem:
                    raise PublicationRefused(problem)
            move_live(table)
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
            if not self._folder.is_live(known):
                return False  # it was cleaned away while it was read
            raise
        with self._folder.usable(), self._folder.writing():
            if not self._folder.is_live(known):
                return False
            if calibration is None and known.metadata.calibration is None:
                return True
            path = self._folder.metadata_path(language, known.version)
            unfinished = path.with_suffix(".unfinished")
            unfinished.write_text(schema.encode_metadata(replace(known.metadata, calibration=calibration)), encoding="utf-8")
            unfinished.replace(path)
            return True

    def copy_to(self, folder: Path) -> None:
        """Copy all files of the index to a folder that does not exist; whoever wants to publish meanwhile waits, readers do not.

        Raises:
            StoreError: If another process keeps publishing, or the disk is full.
        """
        with self._folder.usable(), self._folder.writing():
            shutil.copytree(self._folder.path, folder, copy_function=_linked, ignore=shutil.ignore_patterns("*.lock"))

    def content_hashes(self, language: Language) -> dict[str, str]:
        """Hashes of the live documents by id, so that an unchanged page need not be embedded again; empty without an index."""
        with self._folder.usable():
            table = self._folder.live_table(language)
            if table is None:
                return {}
            rows = read_rows(table, ["document_id", "document"], ["document IS NOT NULL"])
        return {row["document_id"]: schema.decode_document(row["document"]).content_hash for row in rows}

    def _snapshot(self, language: Language, fingerprint: str, *, fresh: bool = False) -> Snapshot:
        with self._lock:
            known = None if fresh else self._readers.get(language)
            if known is None or not self._folder.is_live(known):
                with self._folder.usable():
                    known = self._folder.read_live(language)
                self._readers[language] = known
        check_embedder(known.metadata, fingerprint, language)
        return known

    def _live_calibration(self, language: Language, embedder: Embedder) -> Calibration | None:
        table = self._folder.live_table(language)
        try:
            live = None if table is None else self._folder.metadata(language, table.version)
        except (IndexMismatch, FileNotFoundError):
            return None
        return live.calibration if live and live.embedder == embedder.fingerprint else None

    def _changed(self, language: Language, added: Any, gone: Collection[str], embedder: Embedder) -> Any:  # noqa: ANN401
        table = self._folder.live_table(language)
        if table is None:
            return self._folder.new_table(language, added)
        try:
            check_embedder(self._folder.metadata(language, table.version), embedder.fingerprint, language)
        except FileNotFoundError as error:
            raise IndexOutdated(f"The index is not whole: {REBUILD}.") from error
        table.restore()  # what a killed run may have left after the live version goes
        for condition in schema.is_in("document_id", sorted(gone)):
            table.delete(condition)
        if added.num_rows:
            table.add(in_batches(added))
        return table

    def _clean(self, language: Language, table: Any) -> None:  # noqa: ANN401
        """Erase old versions from the disk, deleted text with them."""
        table.optimize(cleanup_older_than=_AT_ONCE)
        self._folder.forget_others(language, table.version)


def _linked(source: str, target: str) -> None:
    """A hard link of a file of LanceDB's, which is never written to once it is there, and a copy of any other."""
    try:
        if source.endswith(".lance"):
            os.link(source, target)
            return
    except OSError:  # a file system without links
        pass
    shutil.copyfile(source, target)


__all__ = ["IndexReader", "IndexStore"]
