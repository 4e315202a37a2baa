"""Writes the index and the ledger to one file that proves itself whole. Nothing of a patient is in it."""

import gzip
import hashlib
import io
import json
import os
import shutil
import sqlite3
import tarfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import IO

from bot.errors import BackupFailed
from ingest.errors import RunRefused
from ingest.ledger_database import SCHEMA_VERSION
from ingest.lock import writer_lock
from ingest.run import index_directory, ledger_path
from rag.errors import StoreError
from rag.store import IndexStore

FORMAT = 1
"""Raised whenever an older release could not read what is written here."""

MANIFEST, LEDGER, INDEX = "manifest.json", "ledger.sqlite", "index"
_COMPRESSION = 3  # vectors, most of the file, hardly shrink at any level


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """By what a file of a backup is known: its bytes and their SHA-256."""

    size: int
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """What a backup holds, by path, and who wrote it when. It is the first thing in the file."""

    format: int
    release: str
    made_at: str
    ledger_schema: int
    files: Mapping[str, Entry]

    @property
    def told(self) -> str:
        """The backup in a few words."""
        size = sum(entry.size for entry in self.files.values())
        return f"{len(self.files)} files, {size / 1e6:,.1f} MB, of {self.made_at}"


def backup_lock(home: Path) -> Path:
    """The lock file that whoever writes or restores a backup holds."""
    return home / "backup.lock"


def back_up(home: Path, file: Path) -> Manifest:
    """Write a backup to a file that is there only once it is whole; only its owner may read it.

    Args:
        home: Directory of index and ledger.
        file: Ends in `.tar.gz`, `.tgz` or `.tar`, and does not exist.

    Raises:
        BackupFailed: If there is nothing to back up, `file` exists or has another ending, or the disk is full.
    """
    if not file.name.endswith((".tar.gz", ".tgz", ".tar")):
        raise BackupFailed(f"{file}: the name of a backup ends in .tar.gz, .tgz or .tar.")
    if file.exists():
        raise BackupFailed(f"{file} exists already; nothing was written.")
    unfinished = file.with_name(f"{file.name}.unfinished")
    try:
        with open(unfinished, "wb", opener=_for_owner_only) as out:
            manifest = write_backup(home, out, compress=not file.name.endswith(".tar"))
            out.flush()
            os.fsync(out.fileno())
        unfinished.rename(file)
    except OSError as error:
        raise BackupFailed(f"{file} cannot be written: {error.strerror}.") from error
    finally:
        unfinished.unlink(missing_ok=True)
    return manifest


def write_backup(home: Path, out: IO[bytes], *, compress: bool = True) -> Manifest:
    """Write a backup as a tar archive, also while the bot answers or a run goes on.

    Files are copied first, next to where they lie: publications wait for seconds, however long the writing takes. The ledger is
    copied after the index, so that it knows at least the pages of the index; what it knows beyond them the next run publishes.

    Args:
        home: Directory of index and ledger.
        out: Is written from beginning to end, so that it may be a pipe.
        compress: With gzip.

    Raises:
        BackupFailed: If there is nothing to back up, another backup is being made, or the disk is full.
    """
    with _copies(home) as folder:
        manifest = Manifest(
            format=FORMAT,
            release=version("salus"),
            made_at=datetime.now(UTC).isoformat(timespec="seconds"),
            ledger_schema=SCHEMA_VERSION,
            files={path.relative_to(folder).as_posix(): _entry(path) for path in sorted(folder.rglob("*")) if path.is_file()},
        )
        written = json.dumps(asdict(manifest), indent=1).encode()
        with _archive(out, compress=compress) as archive:
            archive.addfile(_member(MANIFEST, len(written)), io.BytesIO(written))
            for name, entry in manifest.files.items():
                with (folder / name).open("rb") as file:
                    archive.addfile(_member(name, entry.size), file)
    return manifest


@contextmanager
def _copies(home: Path) -> Iterator[Path]:
    """A folder with copies of index and ledger, as long as the block lasts."""
    if not index_directory(home).is_dir() or not ledger_path(home).is_file():
        raise BackupFailed(f"Nothing has been published in {home} yet: there is nothing to back up.")
    folder = home / "backup.unfinished"
    try:
        with writer_lock(backup_lock(home)):
            shutil.rmtree(folder, ignore_errors=True)  # of one that was killed
            folder.mkdir(mode=0o700)
            try:
                IndexStore(index_directory(home)).copy_to(folder / INDEX)
                _copy_ledger(ledger_path(home), folder / LEDGER)
                yield folder
            finally:
                shutil.rmtree(folder, ignore_errors=True)
    except RunRefused as error:
        raise BackupFailed(f"Another backup is being made or restored in {home}.") from error
    except (sqlite3.Error, StoreError) as error:
        raise BackupFailed(f"There is no backup: {error}") from error


def _copy_ledger(source: Path, target: Path) -> None:
    """Copy the ledger as SQLite itself does it: one moment of it, whatever is written meanwhile."""
    with closing(sqlite3.connect(source, timeout=30)) as ledger, closing(sqlite3.connect(target)) as copy:
        ledger.backup(copy)
        copy.execute("PRAGMA journal_mode = DELETE")  # one file


def _for_owner_only(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _entry(path: Path) -> Entry:
    with path.open("rb") as file:
        return Entry(size=path.stat().st_size, sha256=hashlib.file_digest(file, "sha256").hexdigest())


@contextmanager
def _archive(out: IO[bytes], *, compress: bool) -> Iterator[tarfile.TarFile]:
    with ExitStack() as layers:
        zipped = gzip.GzipFile(fileobj=out, mode="wb", compresslevel=_COMPRESSION, mtime=0) if compress else None
        target = out if zipped is None else layers.enter_context(zipped)
        yield layers.enter_context(tarfile.open(fileobj=target, mode="w|"))


def _member(name: str, size: int) -> tarfile.TarInfo:
    """A regular file that tells nothing of the machine it comes from."""
    member = tarfile.TarInfo(name)
    member.size, member.mode = size, 0o600
    return member
