"""Puts a backup in the place of index and ledger, once every byte of it has been checked."""

import fcntl
import hashlib
import json
import shutil
import sqlite3
import tarfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path, PurePosixPath
from typing import IO, Any

from bot.backup import FORMAT, INDEX, LEDGER, MANIFEST, Entry, Manifest, backup_lock
from bot.errors import BackupFailed
from bot.process import home_lock
from ingest.ledger_database import SCHEMA_VERSION
from ingest.run import index_directory, ledger_path, run_lock

_LARGEST_MANIFEST = 64_000_000
_BLOCK = 1 << 20
_UNREADABLE = (tarfile.TarError, zlib.error, EOFError, OSError)


def restore_file(home: Path, file: Path) -> Manifest:
    """Restore a backup from a file; see `restore_backup`."""
    try:
        with file.open("rb") as source:
            return restore_backup(home, source)
    except OSError as error:
        raise BackupFailed(f"{file}: {error.strerror}.") from error


def restore_backup(home: Path, source: IO[bytes]) -> Manifest:
    """Replace index and ledger by those of a backup; all else in the home stays.

    The backup is unpacked beside them and takes their place only when it is whole: until then, and after any error, what was
    there still is.

    Args:
        home: Directory of index and ledger, made if it is missing.
        source: What `salus backup` wrote; is read from beginning to end, so that it may be a pipe.

    Raises:
        BackupFailed: If a bot or a run uses the home, or the backup is damaged, of a newer release, or no backup at all.
    """
    with _alone_at(home):
        folder = home / "restore.unfinished"
        shutil.rmtree(folder, ignore_errors=True)  # of one that was killed
        try:
            folder.mkdir(mode=0o700)
            manifest = _unpack(source, folder)
            _check_ledger(folder / LEDGER)
            _take_place(home, folder)
        except OSError as error:
            raise BackupFailed(f"{home} cannot be written: {error.strerror}; what was there still is.") from error
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    return manifest


@contextmanager
def _alone_at(home: Path) -> Iterator[None]:
    """Keep bots, runs, content events and other backups out of a home."""
    stop = "stop the bot first (`docker compose stop bot`, `systemctl stop salus`)"
    holders = {
        home_lock(home): f"A bot uses {home}: {stop}.",
        home / "scheduler.lock": f"A bot uses {home}: {stop}.",
        run_lock(home): f"A run of ingestion is going on in {home}; wait for its end, or stop it.",
        home / "events.lock": f"Content events are being carried out in {home}; wait a moment.",
        backup_lock(home): f"Another backup is being made or restored in {home}.",
    }
    with ExitStack() as locks:
        try:
            home.mkdir(parents=True, exist_ok=True)
            for path, complaint in holders.items():
                lock = locks.enter_context(path.open("a"))
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    raise BackupFailed(complaint) from None
        except OSError as error:
            raise BackupFailed(f"{home}: {error.strerror}.") from error
        yield


def _unpack(source: IO[bytes], folder: Path) -> Manifest:
    """Unpack exactly the files that the manifest names, each of them as it says."""
    try:
        with tarfile.open(fileobj=source, mode="r|*") as archive:
            manifest = _manifest(archive)
            needed = sum(entry.size for entry in manifest.files.values())
            if needed > shutil.disk_usage(folder).free:
                raise BackupFailed(f"The backup needs {needed / 1e9:.1f} GB, and the disk has less.")
            missing = dict(manifest.files)
            while (member := archive.next()) is not None:
                entry = missing.pop(member.name, None)
                if entry is None or not member.isreg() or member.size != entry.size:
                    raise BackupFailed("The backup holds what its manifest does not name; nothing was restored.")
                _write(archive, member, folder / member.name, entry)
    except _UNREADABLE as error:
        raise BackupFailed(f"The backup is damaged or none at all ({type(error).__name__}); nothing was restored.") from error
    if missing:
        raise BackupFailed(f"The backup is cut short: {len(missing)} files are missing; nothing was restored.")
    return manifest


def _manifest(archive: tarfile.TarFile) -> Manifest:
    member = archive.next()
    if member is None or member.name != MANIFEST or not member.isreg() or member.size > _LARGEST_MANIFEST:
        raise BackupFailed("This is no backup of Salus: it does not begin with its manifest.")
    file = archive.extractfile(member)
    try:
        fields = json.loads(file.read() if file else b"")
        release, schema = (fields["format"], fields["release"]), fields["ledger_schema"]
        if release[0] > FORMAT or schema > SCHEMA_VERSION:
            raise BackupFailed(f"The backup was made by a newer release of Salus ({release[1]}): restore it with that one.")
        return Manifest(**(fields | {"files": _entries(fields["files"])}))
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise BackupFailed("The backup's manifest cannot be read; nothing was restored.") from error


def _entries(files: Mapping[str, Any]) -> dict[str, Entry]:
    """The files that a manifest names, if it names nothing but a ledger and what lies in an index."""
    entries = {name: Entry(size=int(entry["size"]), sha256=str(entry["sha256"])) for name, entry in files.items()}
    if LEDGER not in entries or not any(_is_of_index(name) for name in entries):
        raise BackupFailed("The backup lacks the ledger or the index; nothing was restored.")
    if any(entry.size < 0 or not (name == LEDGER or _is_of_index(name)) for name, entry in entries.items()):
        raise BackupFailed("The backup names files that belong to neither ledger nor index; nothing was restored.")
    return entries


def _is_of_index(name: str) -> bool:
    """Whether a path leads into the index, and not out of it again."""
    path = PurePosixPath(name)
    return len(path.parts) > 1 and path.parts[0] == INDEX and ".." not in path.parts and str(path) == name and "\0" not in name


def _write(archive: tarfile.TarFile, member: tarfile.TarInfo, target: Path, entry: Entry) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    file, digest = archive.extractfile(member), hashlib.sha256()
    with target.open("xb") as out:
        while file is not None and (block := file.read(_BLOCK)):
            digest.update(block)
            out.write(block)
    if digest.hexdigest() != entry.sha256:
        raise BackupFailed(f"The backup is damaged: {member.name} is not what was written; nothing was restored.")


def _check_ledger(path: Path) -> None:
    try:
        with closing(sqlite3.connect(path)) as ledger:
            verdict = ledger.execute("PRAGMA quick_check(1)").fetchone()
    except sqlite3.DatabaseError as error:
        raise BackupFailed("The ledger of the backup is damaged; nothing was restored.") from error
    if verdict != ("ok",):
        raise BackupFailed("The ledger of the backup is damaged; nothing was restored.")


def _take_place(home: Path, folder: Path) -> None:
    """Put index and ledger where they belong. Should the machine stop in between, the next run brings the two together."""
    index, before, ledger = index_directory(home), folder / "before", ledger_path(home)
    _fold_log(ledger)
    if index.exists():
        index.rename(before)
    try:
        (folder / INDEX).rename(index)
        # The old ledger's write-ahead log, empty by now, must never meet the new ledger.
        for suffix in ("-wal", "-shm"):
            ledger.with_name(ledger.name + suffix).unlink(missing_ok=True)
        (folder / LEDGER).replace(ledger)
    except OSError:
        with suppress(OSError):
            if index.exists():
                index.rename(folder / "not_taken")
            before.rename(index)
        raise


def _fold_log(ledger: Path) -> None:
    """Leave nothing of the old ledger in its log; one that is damaged may be the reason for restoring."""
    if ledger.is_file():
        with suppress(sqlite3.DatabaseError), closing(sqlite3.connect(ledger)) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
