import asyncio
import sqlite3
import threading
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ingest.errors import LedgerUnusable
from ingest.ledger import Ledger, PageState, RunStatus
from ingest.ledger_database import _STEPS, SCHEMA_VERSION
from ingest.report import RunProgress
from ingest.staging import StagedPage
from locales.language import Language
from rag.documents import Authority, Chunk, Document, Link, Sentence, Surface, SurfaceKind


def page(
    document_id: str = "d'1",
    source_id: str = "asl",
    language: Language = Language.ITALIAN,
    content_hash: str = "h1",
    with_sentences: bool = True,
) -> StagedPage:
    shared: dict[str, Any] = {
        "document_id": document_id,
        "source_id": source_id,
        "url": None,
        "title": "L'influenza",
        "publisher": "ASL",
        "authority": Authority.PUBLISHER,
        "language": language,
        "further_reading": (Link(title="t", publisher="p", url="https://esempio.it"),),
    }
    fetched: dict[str, Any] = {"reviewed_on": None, "fetched_at": datetime(2025, 1, 1, tzinfo=UTC), "content_hash": content_hash}
    sentences = (Sentence(text="Dà febbre.", start=0, end=10), Sentence(text="Dà tosse.", start=11, end=20))
    chunk = Chunk(**shared, chunk_id="c", heading_path=("Sintomi",), text="Dà febbre. Dà tosse.", sentences=sentences, position=0)
    rows = 3 if with_sentences else 1
    return StagedPage(
        document=Document(**shared, **fetched, text="## Sintomi\n\nDà febbre. Dà tosse."),
        chunks=(chunk,),
        surfaces=(Surface(kind=SurfaceKind.PASSAGE, text="x", chunk_id="c"),),
        vectors=np.arange(rows * 4, dtype=np.float32).reshape(rows, 4),
        indexed_with="hash-1",
    )


async def test_staged_page_comes_back_as_it_was(tmp_path: Path) -> None:
    async with Ledger.open(tmp_path / "ledger.sqlite") as ledger:
        await ledger.stage(await ledger.begin_run(), [page()])

    async with Ledger.open(tmp_path / "ledger.sqlite") as ledger:
        (found,) = await ledger.pages(["d'1", "' OR '1'='1"])

    assert (found.document, found.chunks, found.surfaces) == (page().document, page().chunks, page().surfaces)
    assert found.surface_vectors.tolist() == [[0, 1, 2, 3]]
    assert found.sentence_vectors()["c"].tolist() == [[4, 5, 6, 7], [8, 9, 10, 11]]


async def test_page_without_sentence_vectors_has_none(tmp_path: Path) -> None:
    async with Ledger.open(tmp_path / "ledger.sqlite") as ledger:
        await ledger.stage(await ledger.begin_run(), [page(with_sentences=False)])
        (found,) = await ledger.pages(["d'1"])

    assert found.sentence_vectors() == {}


async def test_page_that_a_run_did_not_see_is_retired_and_its_text_is_gone_from_the_disk(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    async with Ledger.open(path) as ledger:
        first = await ledger.begin_run()
        await ledger.stage(first, [page("gone"), page("stays"), page("other", source_id="usl")])
        second = await ledger.begin_run()
        await ledger.mark_seen(second, ["stays"])
        retired = await ledger.retire_unseen(second, "asl")
        await ledger.compact()

        assert retired == {Language.ITALIAN: 1}
        assert set(await ledger.page_states()) == {"stays", "other"}
        assert await ledger.pages(["gone"]) == []
    assert path.read_bytes().count("Sintomi\\n\\nDà febbre".encode()) == 2


async def test_pages_of_a_source_that_is_no_longer_configured_are_retired(tmp_path: Path) -> None:
    async with Ledger.open(tmp_path / "ledger.sqlite") as ledger:
        await ledger.stage(await ledger.begin_run(), [page("a"), page("b", source_id="usl", language=Language.SPANISH)])

        assert await ledger.retire_withdrawn(["asl"]) == {Language.SPANISH: 1}
        assert set(await ledger.page_states()) == {"a"}


async def test_run_that_was_killed_counts_as_interrupted_once_another_begins(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    async with Ledger.open(path) as ledger:
        await ledger.begin_run()
        run_id = await ledger.begin_run()
        await ledger.note_progress(run_id, RunProgress(source="asl", step="embed", done=3, total=9, new=2))
        await ledger.end_run(run_id, RunStatus.COMPLETE, {"pages": 1})
        latest = await ledger.latest_run()

    assert latest is not None
    assert latest.progress == RunProgress(source="asl", step="embed", done=3, total=9, new=2)
    assert (latest.run_id, latest.status, latest.done, latest.total, latest.report) == (2, RunStatus.COMPLETE, 3, 9, {"pages": 1})
    with sqlite3.connect(path) as db:
        assert db.execute("SELECT status FROM runs ORDER BY run_id").fetchall() == [("interrupted",), ("complete",)]
    db.close()


async def test_ledger_of_an_earlier_release_is_brought_up_to_date_and_keeps_its_pages(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    db = sqlite3.connect(path)
    db.executescript(f"{_STEPS[1]}; PRAGMA user_version = 1;")
    db.execute("INSERT INTO pages VALUES ('a', 'asl', 'it', 'h', 'with', 1, 'current', '{}', '[]', '[]', x'', 64)")
    db.execute("INSERT INTO runs (started, status) VALUES ('2026-01-01T00:00:00+00:00', 'complete')")
    db.commit()
    db.close()

    async with Ledger.open(path) as ledger:
        assert set(await ledger.page_states()) == {"a"}
        latest = await ledger.latest_run()
        assert latest is not None
        assert (latest.trigger, latest.progress) == ("command_line", None)
        assert await ledger.addresses("asl") == {}


async def test_newer_ledger_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    db = sqlite3.connect(path)
    db.execute(f"PRAGMA user_version = {SCHEMA_VERSION + 1}")
    db.close()

    with pytest.raises(LedgerUnusable, match="newer release"):
        async with Ledger.open(path):
            pass


async def test_file_that_is_no_ledger_is_named(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    path.write_bytes(b"not a database at all, but long enough to be read as one" * 20)

    with pytest.raises(LedgerUnusable, match=r"ledger\.sqlite"):
        async with Ledger.open(path):
            pass


async def test_a_home_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")

    with pytest.raises(LedgerUnusable, match="SALUS_HOME"):
        async with Ledger.open(tmp_path / "file" / "ledger.sqlite"):
            pass


async def test_a_ledger_on_a_full_disk_is_not_to_be_deleted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def failing(*_: object) -> None:
        raise sqlite3.OperationalError("disk I/O error")

    monkeypatch.setattr("ingest.ledger_database._prepare", failing)

    with pytest.raises(LedgerUnusable, match="has room"):
        async with Ledger.open(tmp_path / "ledger.sqlite"):
            pass


async def test_a_ledger_whose_tables_are_gone_is_named_when_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    async with Ledger.open(path):
        pass
    db = sqlite3.connect(path)
    db.execute("DROP TABLE runs")
    db.commit()
    db.close()

    with pytest.raises(LedgerUnusable, match=r"ledger\.sqlite: no such table: runs; delete the file"):
        async with Ledger.open(path) as ledger:
            await ledger.latest_run()


async def test_a_folder_in_the_place_of_the_ledger_is_named(tmp_path: Path) -> None:
    with pytest.raises(LedgerUnusable, match=r"cannot be used|unable to open"):
        async with Ledger.open(tmp_path):
            pass


async def test_a_ledger_that_another_process_holds_is_not_to_be_deleted(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    async with Ledger.open(path):
        pass
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("BEGIN IMMEDIATE")

    async def choose() -> None:
        async with Ledger.open(path) as ledger:
            await ledger._db.execute_fetchall("PRAGMA busy_timeout = 0")
            await ledger.choose_source("asl", False)

    with pytest.raises(LedgerUnusable, match="another process holds it"):
        await choose()
    db.close()


async def test_two_first_openings_at_once_make_one_ledger(tmp_path: Path) -> None:
    async def opened() -> dict[str, PageState]:
        async with Ledger.open(tmp_path / "ledger.sqlite") as ledger:
            return await ledger.page_states()

    assert await asyncio.gather(*(opened() for _ in range(4))) == [{}] * 4


async def test_failed_write_leaves_nothing_behind(tmp_path: Path) -> None:
    async with Ledger.open(tmp_path / "ledger.sqlite") as ledger:
        run_id = await ledger.begin_run()
        broken = page("b")
        object.__setattr__(broken, "indexed_with", None)
        with pytest.raises(sqlite3.IntegrityError):
            await ledger.stage(run_id, [page("a"), broken])

        assert await ledger.page_states() == {}


async def test_closed_ledger_leaves_no_thread(tmp_path: Path) -> None:
    before = threading.active_count()
    with pytest.raises(ValueError, match="broken"):
        async with Ledger.open(tmp_path / "ledger.sqlite"):
            raise ValueError("broken")

    for _ in range(50):
        if threading.active_count() <= before:
            break
        await asyncio.sleep(0.01)
    assert threading.active_count() <= before
