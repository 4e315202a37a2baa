import asyncio
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import pytest
from prometheus_client import generate_latest

from bot.gauges import HealthGauges
from bot.health import PROBLEMS, HealthCheck
from bot.telemetry import Telemetry
from channels.messages import Platform
from ingest.errors import LedgerUnusable
from ingest.ledger import PublishedIndex, RunStatus
from locales.language import Language
from rag.errors import IndexMissing, StoreError
from tests.ingestion_fakes import NOON, FakeIngestion, FakeTime, run_row

IT, ES = Language
HOUR = timedelta(hours=1)


@dataclass
class Worker:
    is_alive: bool = True
    depth: int = 0


@dataclass
class Polled:
    seconds_since_poll: float | None = None


@dataclass
class Bench:
    """A bot in order, an hour after its indexes were published."""

    live: dict[Language, int | Exception] = field(default_factory=lambda: {IT: 3, ES: 5})
    worker: Worker = field(default_factory=Worker)
    ingestion: FakeIngestion = field(default_factory=FakeIngestion)
    time: FakeTime = field(default_factory=FakeTime)
    telegram: Polled = field(default_factory=Polled)
    looks: int = 0

    def __post_init__(self) -> None:
        self.ingestion.indexes = {of: PublishedIndex(version=1, published_at=NOON - HOUR) for of in Language}

    def version(self, language: Language) -> int:
        self.looks += 1
        found = self.live[language]
        if isinstance(found, Exception):
            raise found
        return found

    def check(self, **changes: Any) -> HealthCheck:
        values: dict[str, Any] = {
            "worker": self.worker,
            "channels": {Platform.TELEGRAM: self.telegram},
            "live_version": self.version,
            "view": self.ingestion,
            "telemetry": Telemetry(),
            "clock": self.time,
            "now": self.time.now,
            "models_loaded": True,
        }
        return HealthCheck(**(values | changes))


async def problems(bench: Bench, **changes: Any) -> tuple[str, ...]:
    return (await bench.check(**changes).look()).problems


async def test_a_bot_in_order_is_ready_and_tells_version_and_age() -> None:
    told = (await Bench().check().look()).as_dict()
    assert told["ready"] is True
    checks: Any = told["checks"]
    assert checks["index"]["it"] == {"published": True, "version": 3, "published_at": "2026-07-21T11:00:00+00:00", "age_s": 3600}
    assert checks["models"] == {"loaded": True}


async def test_models_that_are_not_loaded_are_a_problem() -> None:
    assert await problems(Bench(), models_loaded=False) == ("models_not_loaded",)


async def test_a_stopped_model_is_a_problem() -> None:
    assert await problems(Bench(worker=Worker(is_alive=False))) == ("inference_stopped",)


async def test_a_messenger_that_is_not_polled_is_a_problem() -> None:
    assert await problems(Bench(telegram=Polled(181.0))) == ("telegram_not_polled",)


async def test_one_language_may_be_missing_and_not_both() -> None:
    assert await problems(Bench(live={IT: 3, ES: IndexMissing()})) == ()
    assert await problems(Bench(live={IT: IndexMissing(), ES: IndexMissing()})) == ("index_missing",)


async def test_a_damaged_index_is_a_problem() -> None:
    assert await problems(Bench(live={IT: 3, ES: StoreError("damaged")})) == ("index_unusable_es",)


async def test_an_index_may_be_as_old_as_it_is_unless_the_operator_says_how_old() -> None:
    bench = Bench()
    bench.ingestion.indexes[ES] = PublishedIndex(version=1, published_at=NOON - 49 * HOUR)
    assert await problems(bench) == ()
    assert await problems(bench, max_index_age_h=48) == ("index_too_old_es",)


async def test_a_run_that_found_nothing_new_makes_the_index_young_again() -> None:
    bench = Bench()
    bench.ingestion.indexes[ES] = PublishedIndex(version=1, published_at=NOON - 99 * HOUR)
    bench.ingestion.history = [run_row(1, RunStatus.COMPLETE), run_row(2, RunStatus.FAILED)]
    assert await problems(bench, max_index_age_h=48) == ()


@pytest.mark.parametrize(
    "run",
    [
        run_row(1, RunStatus.FAILED),
        run_row(1, RunStatus.COMPLETE, scope="humanitas"),
        run_row(1, RunStatus.PARTIAL, report={"refused_publications": ["es"]}),
    ],
)
async def test_a_run_that_did_not_see_all_of_it_does_not(run: Any) -> None:
    bench = Bench()
    bench.ingestion.indexes[ES] = PublishedIndex(version=1, published_at=NOON - 99 * HOUR)
    bench.ingestion.history = [run]
    assert await problems(bench, max_index_age_h=48) == ("index_too_old_es",)


async def test_an_age_that_nobody_knows_counts_only_where_age_counts() -> None:
    bench = Bench()
    bench.ingestion.failure = LedgerUnusable("no")
    told = await bench.check().look()
    assert (told.problems, told.ledger_usable) == ((), False)
    assert await problems(bench, max_index_age_h=48) == ("index_age_unknown_it", "index_age_unknown_es")


async def test_a_registry_in_trouble_is_a_problem_for_five_minutes() -> None:
    bench = Bench()
    check = bench.check()
    check.note_registry_failure()
    assert (await check.look()).problems == ("registry_unusable",)
    await bench.time.sleep(301)
    assert (await check.look()).problems == ()


async def test_many_who_ask_at_once_cause_one_look() -> None:
    bench = Bench()
    check = bench.check()
    await asyncio.gather(*(check.look() for _ in range(50)))
    assert bench.looks == len(Language)
    await bench.time.sleep(5)
    await check.look()
    assert bench.looks == 2 * len(Language)


async def test_every_problem_has_a_known_name() -> None:
    bench = Bench(worker=Worker(is_alive=False), telegram=Polled(999), live={IT: StoreError("x"), ES: IndexMissing()})
    check = bench.check(models_loaded=False)
    check.note_registry_failure()
    found = (await check.look()).problems
    assert set(found) <= set(PROBLEMS)
    assert len(found) == 6


async def test_the_gauges_tell_the_same_to_prometheus() -> None:
    bench = Bench(worker=Worker(depth=4), telegram=Polled(2.5))
    long_ago = NOON - 30 * 24 * HOUR
    bench.ingestion.history = [run_row(1, RunStatus.COMPLETE, started=long_ago, ended=long_ago), run_row(2, RunStatus.FAILED)]
    told = generate_latest(HealthGauges(await bench.check(max_index_age_h=0.5, sessions=lambda: 7).look())).decode()
    lines = set(told.splitlines())
    assert {
        "salus_ready 0.0",
        "salus_queue_depth 4.0",
        "salus_sessions 7.0",
        'salus_problem{problem="index_too_old_es"} 1.0',
        'salus_problem{problem="inference_stopped"} 0.0',
        'salus_poll_age_seconds{channel="telegram"} 2.5',
        'salus_index_version{language="it"} 3.0',
        'salus_runs{status="failed"} 1.0',
        'salus_runs{status="complete"} 0.0',
        'salus_last_run{status="failed"} 1.0',
    } <= lines
