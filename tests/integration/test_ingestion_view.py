from pathlib import Path

import pytest

from bot.ingestion_view import LedgerView
from ingest.errors import LedgerUnusable, SourceUnreadable
from ingest.ledger import Ledger, RunStatus
from ingest.report import RunProgress
from locales.language import Language


async def test_what_another_process_writes_is_seen_at_the_next_look(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    view = LedgerView(path)
    assert await view.latest_run() is None
    progress = RunProgress(source="humanitas", step="fetch", done=3, total=9)
    async with Ledger.open(path) as ledger:
        run_id = await ledger.begin_run("admin")
        await ledger.note_progress(run_id, progress)
        (run,) = await view.runs(5)
        assert (run.status, run.trigger, run.progress) == (RunStatus.RUNNING, "admin", progress)
        await ledger.end_run(run_id, RunStatus.COMPLETE, {"problems": []})
        await ledger.note_publication(Language.SPANISH, indexed_with="x", version=4)
    latest = await view.latest_run()
    assert latest is not None
    assert latest.status is RunStatus.COMPLETE
    assert (await view.publications())[Language.SPANISH].version == 4
    assert await view.page_counts() == {}


async def test_a_choice_is_kept_for_the_next_run(tmp_path: Path) -> None:
    view = LedgerView(tmp_path / "ledger.sqlite")
    await view.choose_source("humanitas", enabled=False)
    assert (await view.source_states())["humanitas"].enabled is False


async def test_the_sources_are_those_of_the_operators_file_as_it_is_now(tmp_path: Path) -> None:
    own = tmp_path / "sources.toml"
    view = LedgerView(tmp_path / "ledger.sqlite", own)
    with pytest.raises(SourceUnreadable):
        await view.configured()
    own.write_text('[[source]]\nid = "mine"\nkind = "folder"\npublisher = "P"\npath = "pages"\n', encoding="utf-8")
    assert [row.id for row in await view.configured()] == ["mine"]
    assert len(await LedgerView(tmp_path / "ledger.sqlite").configured()) > 1


async def test_a_file_that_is_no_ledger_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    path.write_bytes(b"no database " * 1000)
    with pytest.raises(LedgerUnusable):
        await LedgerView(path).latest_run()
