"""Runs that do not come to their end, meet each other, or would publish something worse."""

import asyncio
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ingest.documents import web_document_id
from ingest.errors import RunCancelled, RunRefused
from ingest.events import apply_events
from ingest.ledger import Ledger
from ingest.report import Progress, RunStatus, Step
from ingest.run import ledger_path, run_ingest
from ingest.source_log import Address
from ingest.source_reader import SourceReader
from locales.language import Language
from rag.calibration import Calibration
from rag.coverage import WEIGHTS
from rag.errors import ModelError
from rag.index_reader import IndexReader
from rag.models.protocols import Embedder
from rag.question_bank import AnsweredBank
from rag.store import IndexStore
from tests.fakes import HashEmbedder
from tests.integration.written_web import (
    BASE,
    GONE,
    Home,
    Web,
    counts,
    html,
    sources,
)


async def test_run_that_is_killed_after_a_source_was_withdrawn_is_made_good_by_the_next(
    large: Home, web: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    large.sources.write_text(sources("a", "b"), encoding="utf-8")
    web.of["b"] = {"/b/uno": html("beriberi")}
    await large.night()
    large.sources.write_text(sources("b"), encoding="utf-8")

    async def killed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("ingest.publisher.Publisher.publish", killed)
        with pytest.raises(KeyboardInterrupt):
            await large.night()
    assert large.found("pellagra") == ["/pellagra"]
    report = await large.night()

    assert (report.refused_publications, report.problems) == ((), ())
    assert (large.found("pellagra"), large.found("beriberi")) == ([], ["/b/uno"])


async def test_cancel_during_the_crawl_ends_the_run_as_cancelled_and_refuses_no_source(large: Home, web: Web) -> None:
    await large.night()

    async def cancelling(cancelled: Callable[[], bool]) -> bool:
        async with Ledger.open(ledger_path(large.path)) as ledger:
            assert await ledger.request_cancel()
        async with asyncio.timeout(5):
            while not cancelled():
                await asyncio.sleep(0.02)
        return True

    web.during = cancelling
    with pytest.raises(RunCancelled):
        await large.night()
    async with Ledger.open(ledger_path(large.path)) as ledger:
        latest = await ledger.latest_run()
        states = await ledger.source_states()
    assert latest is not None
    assert latest.status is RunStatus.CANCELLED
    assert states["a"].problem is None
    web.during = None
    assert counts(await large.night()) == {"unchanged": 20}


async def test_cancel_while_embedding_stops_at_the_next_batch_and_publishes_nothing(
    large: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ingest.run_progress._NOTE_EVERY_S", 0.01)
    loop, batches = asyncio.get_running_loop(), 0
    plain = large.embedder.embed_passages

    async def cancel() -> None:
        async with Ledger.open(ledger_path(large.path)) as ledger:
            await ledger.request_cancel()

    def embed(texts: Any) -> Any:
        nonlocal batches
        batches += 1
        asyncio.run_coroutine_threadsafe(cancel(), loop).result(timeout=10)
        asyncio.run_coroutine_threadsafe(asyncio.sleep(0.1), loop).result(timeout=10)
        return plain(texts)

    monkeypatch.setattr(large.embedder, "embed_passages", embed)
    with pytest.raises(RunCancelled):
        await large.night()
    assert batches < 3  # of five
    async with Ledger.open(ledger_path(large.path)) as ledger:
        assert not await ledger.request_cancel()
        assert await ledger.publications() == {}


async def test_two_runs_at_once_are_one_run_and_a_refusal(home: Home, web: Web) -> None:
    """H20"""
    begun, go_on = asyncio.Event(), asyncio.Event()

    async def waiting(_: Callable[[], bool]) -> bool:
        begun.set()
        await go_on.wait()
        return False

    web.during = waiting
    first = asyncio.create_task(home.night())
    await begun.wait()
    with pytest.raises(RunRefused, match="already running"):
        await home.night()
    go_on.set()

    assert (await first).status is RunStatus.COMPLETE
    async with Ledger.open(ledger_path(home.path)) as ledger:
        assert [run.status for run in await ledger.runs(9)] == [RunStatus.COMPLETE]


async def test_crawl_that_broke_off_is_not_used(home: Home, web: Web) -> None:
    await home.night()

    async def broken(_: Callable[[], bool]) -> bool:
        await asyncio.sleep(0)
        return True

    web.during = broken
    report = await home.night()
    assert (report.failed_sources, report.problems) == (("a",), ("a: the crawl broke off; what is published stays",))
    assert home.found("pellagra") == ["/pellagra"]


async def test_dry_run_tells_and_changes_nothing(home: Home, web: Web) -> None:
    await home.night()
    web.pages |= {"/pellagra": GONE, "/scorbuto": html("scorbuto", "Manca la vitamina C."), "/nuova": html("beriberi")}
    before, addresses = home.version(), await home.addresses()
    for _ in range(3):
        assert counts(await home.night(dry_run=True)) == {"new": 1, "changed": 1, "unchanged": 1}

    assert (home.version(), await home.addresses(), home.embedder.passages) == (before, addresses, [])


# What is published is checked.


async def test_golden_question_that_no_longer_finds_its_page_keeps_the_old_version_live(
    home: Home, web: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = web_document_id("a", f"{BASE}/pellagra")
    golden = f'\n[[golden]]\nlanguage = "it"\nquestion = "Scheda pellagra"\ndocument = "{document}"\n'
    home.sources.write_text(sources("a") + golden, encoding="utf-8")
    web.pages |= {f"/{n}": html(f"quaz{chr(97 + n)}rk") for n in range(8)}
    assert (await home.night()).problems == ()
    before = home.version()

    web.pages["/nuova"] = html("beriberi")
    plain = home.embedder.embed_queries
    monkeypatch.setattr(home.embedder, "embed_queries", lambda texts: -plain(texts))  # a model that was swapped unnoticed
    report = await home.night()
    assert report.refused_publications == (Language.ITALIAN,)
    assert report.status is RunStatus.PARTIAL
    assert report.problems == (f"it: 1 of 1 golden questions no longer find their page ({document}); what is published stays",)
    assert (home.version(), home.found("beriberi"), home.found("pellagra")) == (before, [], ["/pellagra"])

    monkeypatch.undo()
    monkeypatch.setattr("ingest.crawler.crawl.crawl", web.crawl)
    report = await home.night()
    assert (report.refused_publications, home.found("beriberi")) == ((), ["/nuova"])
    assert home.embedder.passages == []  # what was staged for the version that was refused is still there


async def test_golden_page_that_its_publisher_took_down_breaks_nothing(home: Home, web: Web) -> None:
    document = web_document_id("a", f"{BASE}/pellagra")
    golden = f'\n[[golden]]\nlanguage = "it"\nquestion = "Scheda pellagra"\ndocument = "{document}"\n'
    home.sources.write_text(sources("a") + golden, encoding="utf-8")
    await home.night()
    del web.pages["/pellagra"]
    for _ in range(2):
        report = await home.night()

    assert (report.refused_publications, home.found("pellagra")) == ((), [])


async def test_event_that_is_published_while_a_run_publishes_is_kept(home: Home, web: Web) -> None:
    cms = '[[source]]\nid = "portale"\nkind = "cms"\npublisher = "ASL"\nlanguage = "it"\n'
    home.sources.write_text(sources("a") + cms, encoding="utf-8")
    await home.night()
    web.pages["/nuova"] = html("beriberi")
    arrived: list[list[str]] = []

    async def arrive() -> None:
        content = '{"contentId": "dengue", "title": "La dengue", "body": "<p>Febbre xantocroma.</p>", "language": "it"}'
        async with Ledger.open(ledger_path(home.path)) as ledger:
            event = f'{{"id": "1", "event": "content.published", "content": {content}}}'
            await ledger.add_event("1", datetime.now(UTC), event)
        arrived.append(await apply_events(home.path, HashEmbedder(), own_sources=home.sources, cms_source="portale"))

    tasks: list[asyncio.Task[None]] = []

    def told(progress: Progress) -> None:
        if progress.step is Step.PUBLISH and not tasks:  # the run has compared ledger and index, and not yet written
            tasks.append(asyncio.create_task(arrive()))

    report = await run_ingest(home.path, home.embedder, own_sources=home.sources, contact="prova@esempio.it", on_progress=told)
    await tasks[0]
    assert (report.problems, arrived) == ((), [[]])
    assert (home.found("xantocroma"), home.found("beriberi")) == (["portale-dengue"], ["/nuova"])


async def test_full_run_reads_and_publishes_all_and_finds_the_same_documents(home: Home, web: Web) -> None:
    web.pages["/stampa/pellagra"] = html("pellagra")
    await home.night()
    report = await home.night(full=True)

    assert report.refusals == {"a": {"duplicate": 1}}
    assert home.found("scheda") == ["/pellagra", "/scorbuto", "/xerostomia"]
    assert home.embedder.passages


async def test_another_extractor_reads_again_and_embeds_nothing(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    await home.night()
    monkeypatch.setattr("ingest.crawled_pages.EXTRACTOR_VERSION", "next")
    report = await home.night()

    assert (counts(report), home.embedder.passages) == ({"unchanged": 3}, [])
    assert {address.extracted_with.partition(":")[0] for address in (await home.addresses()).values()} == {"next"}


@dataclass
class ScriptedCalibrator:
    """Stands for the calibrator of a release; the real one is tested over the bank."""

    release: str
    fits: list[str] = field(default_factory=list)
    meanwhile: Callable[[], None] = lambda: None

    def __call__(self, _: Embedder) -> "ScriptedCalibrator":
        return self

    def is_current(self, _: Language, reader: IndexReader) -> bool:
        return reader.calibration is not None and reader.calibration.digest == self.release

    def calibrate(self, _: Language, reader: IndexReader) -> Calibration:
        self.fits.append(self.release)
        self.meanwhile()
        bank = AnsweredBank(vectors=np.zeros((1, reader.dimension), np.float32), labels=np.ones(1, np.int8))
        return Calibration(weights=WEIGHTS, threshold=0.4, bank=bank, digest=self.release)


@pytest.fixture
def calibrator(monkeypatch: pytest.MonkeyPatch) -> ScriptedCalibrator:
    """Calibrates indexes of any size."""
    scripted = ScriptedCalibrator("first")
    monkeypatch.setattr("ingest.publisher.Calibrator", scripted)
    monkeypatch.setattr("ingest.publisher.FEWEST_PAGES", 1)
    return scripted


def calibrated_with(home: Home) -> str | None:
    known = IndexStore(home.path / "index").open(Language.ITALIAN, home.embedder.fingerprint).calibration
    return known and known.digest


async def test_index_is_calibrated_once_for_each_version_and_release(
    home: Home, web: Web, calibrator: ScriptedCalibrator
) -> None:
    await home.night()
    await home.night()
    assert (calibrator.fits, calibrated_with(home)) == (["first"], "first")

    calibrator.release = "second"
    report = await home.night()
    assert (calibrator.fits, calibrated_with(home)) == (["first", "second"], "second")
    assert report.problems == ()

    web.pages["/nuova"] = html("beriberi")
    await home.night()
    assert calibrator.fits == ["first", "second", "second"]


async def test_version_that_was_overtaken_while_it_was_calibrated_is_calibrated_again(
    home: Home, calibrator: ScriptedCalibrator
) -> None:
    def overtake() -> None:
        calibrator.meanwhile = lambda: None
        store = IndexStore(home.path / "index")
        store.calibrate(Language.ITALIAN, home.embedder, lambda reader: calibrator.calibrate(Language.ITALIAN, reader))

    calibrator.meanwhile = overtake
    report = await home.night()

    assert (report.problems, calibrated_with(home)) == ((), "first")
    assert len(calibrator.fits) == 3


async def test_unchanged_index_that_cannot_be_calibrated_is_a_problem_that_the_report_names(
    home: Home, calibrator: ScriptedCalibrator
) -> None:
    await home.night()

    def fail() -> None:
        raise ModelError("the embedder broke")

    calibrator.release, calibrator.meanwhile = "second", fail
    report = await home.night()

    assert report.problems == ("it: published, but not calibrated: the embedder broke",)
    assert calibrated_with(home) == "first"


async def test_progress_that_is_noted_meanwhile_does_not_break_what_is_noted_as_one(tmp_path: Path) -> None:
    good = Address(url="https://esempio.it/a", document_ids=("d",), body_hash="h", extracted_with="1")
    broken = Address(url="https://esempio.it/a", document_ids=("d", "d"), body_hash="h", extracted_with="1")
    async with Ledger.open(tmp_path / "ledger.sqlite") as ledger:
        await ledger.note_addresses("a", [good])
        run_id = await ledger.begin_run()
        results = await asyncio.gather(
            ledger.note_addresses("a", [broken]), ledger.mark_seen(run_id, ["d"]), return_exceptions=True
        )
        assert isinstance(results[0], sqlite3.IntegrityError)
        assert await ledger.addresses("a") == {good.url: good}


async def test_reader_without_a_home_crawls_nothing(home: Home, web: Web) -> None:
    report = await run_ingest(home.path, home.embedder, own_sources=home.sources, reader=SourceReader())

    assert (report.status, report.failed_sources, web.asked) == (RunStatus.FAILED, ("a",), [])
