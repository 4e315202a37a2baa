"""A backup is whole, holds nothing of any patient, and is restored entirely or not at all."""

import asyncio
import fcntl
import gzip
import hashlib
import io
import json
import shutil
import sqlite3
import tarfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bot.app import build
from bot.backup import back_up, write_backup
from bot.errors import BackupFailed, StartRefused
from bot.process import at_home, home_lock
from bot.restore import restore_backup, restore_file
from bot.settings import load_settings
from ingest.ledger import Ledger
from ingest.ledger_database import SCHEMA_VERSION
from ingest.run import index_directory, ledger_path, run_ingest, run_lock
from locales.language import Language
from rag.store import IndexStore
from tests.fakes import HashEmbedder, RecordingChannel, ScriptedLanguageModel
from tests.integration.pages import Page, publish

EMBEDDER = HashEmbedder()
PAGE = "---\ntopic: {name}\nlanguage: it\ntitle: {name}\nreviewed_on: 2026-01-01\n---\n\n{name} è una parola di prova.\n"
SOURCES = '[[source]]\nid = "prova"\nkind = "folder"\npath = "pagine"\npublisher = "Prova"\nauthority = "publisher"\n'
CANARY = "parole-di-un-paziente"


class Kept:
    """A home with a few published pages, beside it the folder that they come from."""

    def __init__(self, folder: Path) -> None:
        self.home, self._sources, self._pages = folder / "home", folder / "sources.toml", folder / "pagine"
        self._pages.mkdir(parents=True, exist_ok=True)
        self._sources.write_text(SOURCES, encoding="utf-8")

    def ingest(self, *names: str) -> None:
        for old in self._pages.iterdir():
            old.unlink()
        for name in names:
            (self._pages / f"{name}.md").write_text(PAGE.format(name=name), encoding="utf-8")
        report = asyncio.run(run_ingest(self.home, EMBEDDER, own_sources=self._sources))
        assert report.problems == ()


def titles(home: Path) -> set[str]:
    """What is published."""
    reader = IndexStore(index_directory(home)).open(Language.ITALIAN, EMBEDDER.fingerprint)
    return {page.title for page in reader.pages()}


def ledgered(home: Path) -> int:
    """How many pages the ledger knows."""

    async def count() -> int:
        async with Ledger.open(ledger_path(home)) as ledger:
            return len(await ledger.page_states())

    return asyncio.run(count())


def archive(home: Path) -> bytes:
    out = io.BytesIO()
    write_backup(home, out, compress=False)
    return out.getvalue()


def members(written: bytes) -> dict[str, bytes]:
    with tarfile.open(fileobj=io.BytesIO(written)) as tar:
        return {member.name: tar.extractfile(member).read() for member in tar}  # type: ignore[union-attr]


def forged(files: dict[str, bytes], *extra: tarfile.TarInfo, kinds: dict[str, bytes] | None = None, **changes: Any) -> io.BytesIO:
    """An archive whose manifest is in order, as far as sizes and sums go; `kinds` are of members that are no regular files."""
    named = {name: {"size": len(data), "sha256": hashlib.sha256(data).hexdigest()} for name, data in files.items()}
    manifest = {"format": 1, "release": "0.1.0", "made_at": "2026-01-01", "ledger_schema": SCHEMA_VERSION, "files": named}
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for name, data in {"manifest.json": json.dumps(manifest | changes).encode(), **files}.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            member.type, member.linkname = (kinds or {}).get(name, tarfile.REGTYPE), "/etc/passwd"
            tar.addfile(member, io.BytesIO(data))
        for member in extra:
            tar.addfile(member)
    return io.BytesIO(out.getvalue())


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two homes, published once for all tests."""
    folder = tmp_path_factory.mktemp("published")
    Kept(folder / "kept").ingest("pellagra", "scorbuto")
    Kept(folder / "target").ingest("beriberi")
    return folder


@pytest.fixture
def kept(published: Path, tmp_path: Path) -> Kept:
    shutil.copytree(published / "kept", tmp_path / "kept")
    return Kept(tmp_path / "kept")


@pytest.fixture
def target(published: Path, tmp_path: Path) -> Path:
    """A home that holds something else, by which one sees that it was left alone."""
    shutil.copytree(published / "target", tmp_path / "target")
    return tmp_path / "target" / "home"


def left_alone(home: Path) -> bool:
    return titles(home) == {"beriberi"} and ledgered(home) == 1 and not (home / "restore.unfinished").exists()


def test_what_was_published_answers_again_on_another_machine(kept: Kept, tmp_path: Path) -> None:
    back_up(kept.home, tmp_path / "salus.tar.gz")
    restore_file(tmp_path / "new", tmp_path / "salus.tar.gz")
    assert titles(tmp_path / "new") == {"pellagra", "scorbuto"}
    assert ledgered(tmp_path / "new") == 2


def test_what_was_published_after_the_backup_is_gone_with_a_restore(kept: Kept, tmp_path: Path) -> None:
    back_up(kept.home, tmp_path / "salus.tar")
    kept.ingest("pellagra", "scorbuto", "beriberi")
    restore_file(kept.home, tmp_path / "salus.tar")
    assert titles(kept.home) == {"pellagra", "scorbuto"}
    assert ledgered(kept.home) == 2


def test_a_run_after_a_restore_goes_on_as_if_nothing_had_been(kept: Kept) -> None:
    written = archive(kept.home)
    kept.ingest("beriberi")
    restore_backup(kept.home, io.BytesIO(written))
    kept.ingest("pellagra", "xerostomia")
    assert titles(kept.home) == {"pellagra", "xerostomia"}


def test_a_backup_holds_index_and_ledger_and_nothing_of_patients_or_models(kept: Kept) -> None:
    for name in ("claims.sqlite", "claims.sqlite-wal", "patients.sqlite", "models/a.gguf", "eval/a", "crawl/a.sqlite"):
        (kept.home / name).parent.mkdir(exist_ok=True)
        (kept.home / name).write_text(CANARY, encoding="utf-8")
    written = archive(kept.home)
    assert {name.split("/")[0] for name in members(written)} == {"manifest.json", "ledger.sqlite", "index"}
    assert CANARY.encode() not in written


def test_a_backup_is_for_its_owner_only_and_tells_nothing_of_the_machine(kept: Kept, tmp_path: Path) -> None:
    back_up(kept.home, tmp_path / "salus.tar.gz")
    assert (tmp_path / "salus.tar.gz").stat().st_mode & 0o777 == 0o600
    with tarfile.open(tmp_path / "salus.tar.gz") as tar:
        assert {(member.uid, member.uname, member.mtime) for member in tar} == {(0, "", 0)}


def test_a_backup_made_while_pages_are_published_is_whole_each_time(kept: Kept, tmp_path: Path) -> None:
    store, stop, published = IndexStore(index_directory(kept.home)), threading.Event(), []

    def keep_publishing() -> None:
        while not stop.is_set():
            number = len(published)
            published.append(publish(store, Page("a", f"Febbre {number}", f"La febbre numero {number}."), embedder=EMBEDDER))

    publisher = threading.Thread(target=keep_publishing)
    publisher.start()
    try:
        backups = [archive(kept.home) for _ in range(4)]
    finally:
        stop.set()
        publisher.join()
    assert len(published) > 2
    for number, written in enumerate(backups):
        home = tmp_path / f"restored{number}"
        restore_backup(home, io.BytesIO(written))
        assert {"pellagra", "scorbuto"} <= titles(home)
        assert len(titles(home)) <= 3


def test_a_ledger_that_is_being_written_is_copied_as_it_was_at_one_moment(kept: Kept) -> None:
    writer = sqlite3.connect(ledger_path(kept.home))
    writer.execute("DELETE FROM pages")  # not committed
    written = archive(kept.home)
    writer.rollback()
    writer.close()
    copy = kept.home.parent / "copy.sqlite"
    copy.write_bytes(members(written)["ledger.sqlite"])
    with sqlite3.connect(copy) as ledger:
        assert ledger.execute("SELECT count(*) FROM pages").fetchone() == (2,)
    ledger.close()


def test_nothing_is_left_beside_what_was_copied(kept: Kept, tmp_path: Path) -> None:
    before = {path.name for path in kept.home.iterdir()}
    back_up(kept.home, tmp_path / "salus.tar")
    assert {path.name for path in kept.home.iterdir()} - before == {"backup.lock"}


def test_a_file_that_exists_is_not_written_over(kept: Kept, tmp_path: Path) -> None:
    (tmp_path / "salus.tar").write_text("the last one")
    with pytest.raises(BackupFailed, match="exists already"):
        back_up(kept.home, tmp_path / "salus.tar")
    assert (tmp_path / "salus.tar").read_text() == "the last one"


@pytest.mark.parametrize("name", ["salus.zip", "no-such-folder/salus.tar"])
def test_a_file_that_cannot_be_a_backup_is_refused_and_leaves_nothing(kept: Kept, tmp_path: Path, name: str) -> None:
    with pytest.raises(BackupFailed, match="salus"):
        back_up(kept.home, tmp_path / name)
    assert not list(tmp_path.rglob("*unfinished*"))


def test_an_empty_home_has_nothing_to_back_up(tmp_path: Path) -> None:
    with pytest.raises(BackupFailed, match="nothing to back up"):
        back_up(tmp_path, tmp_path / "salus.tar")


@pytest.mark.parametrize("name", ["ledger.sqlite", "data/"], ids=["ledger", "index"])
def test_a_single_wrong_byte_is_found(kept: Kept, target: Path, name: str) -> None:
    written = bytearray(archive(kept.home))
    found = next(data for path, data in members(bytes(written)).items() if name in path)
    at = bytes(written).index(found) + len(found) // 2
    written[at] ^= 1
    with pytest.raises(BackupFailed, match="damaged"):
        restore_backup(target, io.BytesIO(bytes(written)))
    assert left_alone(target)


@pytest.mark.parametrize(
    "spoil",
    [lambda data: data[: len(data) // 2], lambda data: data[:700], lambda _: b"", lambda _: b"x" * 20_000],
    ids=["half", "manifest alone", "nothing", "rubbish"],
)
@pytest.mark.parametrize("is_zipped", [True, False])
def test_a_file_that_is_cut_short_or_no_backup_is_refused(
    kept: Kept, target: Path, spoil: Callable[[bytes], bytes], is_zipped: bool
) -> None:
    written = archive(kept.home)
    with pytest.raises(BackupFailed):
        restore_backup(target, io.BytesIO(spoil(gzip.compress(written) if is_zipped else written)))
    assert left_alone(target)


@pytest.mark.parametrize(
    "name",
    ["../evil", "/evil", "index/../../evil", "index/../evil", "index//evil", "./index/evil", "models/evil", "claims.sqlite"],
)
def test_a_path_that_leads_elsewhere_is_refused(kept: Kept, target: Path, name: str) -> None:
    files = members(archive(kept.home))
    del files["manifest.json"]
    with pytest.raises(BackupFailed, match="belong to neither"):
        restore_backup(target, forged(files | {name: b"evil"}))
    assert left_alone(target)
    assert not list(target.parent.rglob("evil"))


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.DIRTYPE, tarfile.FIFOTYPE, tarfile.REGTYPE])
def test_what_the_manifest_does_not_name_is_refused(kept: Kept, target: Path, kind: bytes) -> None:
    files = members(archive(kept.home))
    del files["manifest.json"]
    stranger = tarfile.TarInfo("index/stranger")
    stranger.type, stranger.linkname = kind, "/etc/passwd"
    with pytest.raises(BackupFailed, match="does not name"):
        restore_backup(target, forged(files, stranger))
    assert left_alone(target)


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.DIRTYPE, tarfile.FIFOTYPE])
def test_what_is_no_regular_file_is_refused_though_the_manifest_names_it(kept: Kept, target: Path, kind: bytes) -> None:
    files = members(archive(kept.home))
    del files["manifest.json"]
    with pytest.raises(BackupFailed, match="does not name"):
        restore_backup(target, forged(files | {"index/link": b""}, kinds={"index/link": kind}))
    assert left_alone(target)


def test_a_file_that_is_missing_is_noticed(kept: Kept, target: Path, tmp_path: Path) -> None:
    files = members(archive(kept.home))
    del files["manifest.json"]
    written = forged(files)
    with tarfile.open(fileobj=written) as tar, tarfile.open(tmp_path / "lost.tar", "w") as lost:
        for member in tar.getmembers()[:-1]:
            lost.addfile(member, tar.extractfile(member))
    with pytest.raises(BackupFailed, match="cut short: 1 files"):
        restore_file(target, tmp_path / "lost.tar")
    assert left_alone(target)


@pytest.mark.parametrize("changes", [{"format": 2}, {"ledger_schema": SCHEMA_VERSION + 1}])
def test_a_backup_of_a_newer_release_is_left_to_that_release(kept: Kept, target: Path, changes: dict[str, int]) -> None:
    files = members(archive(kept.home))
    del files["manifest.json"]
    with pytest.raises(BackupFailed, match=r"newer release of Salus \(0\.1\.0\)"):
        restore_backup(target, forged(files, **changes))
    assert left_alone(target)


def test_a_ledger_that_is_none_is_refused(kept: Kept, target: Path) -> None:
    files = members(archive(kept.home))
    del files["manifest.json"]
    with pytest.raises(BackupFailed, match="ledger of the backup is damaged"):
        restore_backup(target, forged(files | {"ledger.sqlite": b"no ledger" * 1000}))
    assert left_alone(target)


@pytest.mark.parametrize("place", ["bot.lock", "scheduler.lock", "ingest.lock", "events.lock", "backup.lock"])
def test_nothing_is_restored_under_a_bot_or_a_run(kept: Kept, target: Path, place: str) -> None:
    written = archive(kept.home)
    with (target / place).open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_SH if place == "bot.lock" else fcntl.LOCK_EX)
        with pytest.raises(BackupFailed, match=str(target)):
            restore_backup(target, io.BytesIO(written))
    assert left_alone(target)


def test_where_the_new_ledger_cannot_be_put_the_old_index_is_put_back(kept: Kept, target: Path) -> None:
    written = archive(kept.home)
    ledger_path(target).unlink()
    (ledger_path(target) / "in the way").mkdir(parents=True)
    with pytest.raises(BackupFailed, match="what was there still is"):
        restore_backup(target, io.BytesIO(written))
    assert titles(target) == {"beriberi"}


def test_what_an_interrupted_restore_left_is_cleared_away(kept: Kept, target: Path) -> None:
    (target / "restore.unfinished" / "index").mkdir(parents=True)
    (target / "restore.unfinished" / "index" / "rest").write_text("rest")
    restore_backup(target, io.BytesIO(archive(kept.home)))
    assert titles(target) == {"pellagra", "scorbuto"}
    assert not (target / "restore.unfinished").exists()


def test_no_bot_starts_while_a_backup_is_restored(tmp_path: Path) -> None:
    with home_lock(tmp_path).open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(StartRefused, match="being restored"), at_home(tmp_path):
            pass


async def test_a_running_bot_is_noticed_and_two_bots_do_not_mind_each_other(kept: Kept) -> None:
    written = archive(kept.home)
    settings = load_settings(home=kept.home, nightly=False)
    bots = [
        build(settings, language_model=ScriptedLanguageModel(""), embedder=EMBEDDER, channels=[RecordingChannel()])
        for _ in range(2)
    ]
    for bot in bots:
        await bot.start(with_web=False)
    try:
        with pytest.raises(BackupFailed, match="stop the bot first"):
            await asyncio.to_thread(restore_backup, kept.home, io.BytesIO(written))
    finally:
        for bot in bots:
            await bot.stop()
    await asyncio.to_thread(restore_backup, kept.home, io.BytesIO(written))


def test_a_run_may_go_on_while_a_backup_is_made(kept: Kept) -> None:
    with run_lock(kept.home).open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert "ledger.sqlite" in members(archive(kept.home))
