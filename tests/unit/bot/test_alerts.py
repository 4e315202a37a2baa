import asyncio
from datetime import timedelta
from typing import Any

import pytest

from bot.admin_texts import AdminTexts
from bot.admins import Admins
from bot.alerts import Alerts, needs_alert
from bot.telemetry import Telemetry
from channels.errors import DeliveryFailed, RecipientGone
from channels.messages import Platform
from ingest.errors import LedgerUnusable
from ingest.ledger import RunStatus
from locales.catalog import Catalog
from locales.language import Language
from tests.builders import patient
from tests.fakes import RecordingChannel
from tests.ingestion_fakes import NOON, FakeIngestion, FakeTime, run_row

IT, ES = Language
HOUR_S = 3600


class Bench:
    """Alerts to 42 on Telegram, who reads Italian, and to a Spanish number on WhatsApp."""

    def __init__(self, *ids: str, **options: Any) -> None:
        self.time = FakeTime()
        self.telegram, self.whatsapp = RecordingChannel(), RecordingChannel(Platform.WHATSAPP)
        self.ingestion = FakeIngestion()
        self.admins = Admins(ids or ("42", "+34600111222"))
        self.admins.speak_with(patient("42"), IT)
        values: dict[str, Any] = {"now": self.time.now, "sleep": self.time.sleep}
        self.alerts = Alerts(
            self.admins,
            {Platform.TELEGRAM: self.telegram, Platform.WHATSAPP: self.whatsapp},
            self.ingestion,
            AdminTexts(Catalog.load()),
            Telemetry(),
            **(values | options),
        )

    async def look(self) -> list[str]:
        """Look once; gives what the administrator on Telegram is told."""
        before = len(self.telegram.sent)
        await self.alerts.look()
        return self.telegram.texts()[before:]

    async def hours(self, count: int) -> list[str]:
        """Let so many hours pass, with a look each half hour."""
        told = []
        for _ in range(2 * count):
            self.time.seconds += HOUR_S / 2
            told += await self.look()
        return told


@pytest.fixture
def bench() -> Bench:
    return Bench()


@pytest.mark.parametrize("status", [RunStatus.FAILED, RunStatus.INTERRUPTED])
async def test_a_run_that_failed_is_told_once_to_everybody_in_their_language(bench: Bench, status: RunStatus) -> None:
    bench.ingestion.begin(1, trigger="schedule")
    assert await bench.look() == []
    bench.ingestion.end(status, problems=["ModelError: no model"])
    (text,) = await bench.look()
    assert text.startswith("Avviso: l'aggiornamento del 21 luglio 2026, ore 12:00, avviato dal calendario, richiede")
    assert "ModelError: no model" in text
    assert bench.whatsapp.texts()[0].startswith("Aviso: la actualización del 21 de julio de 2026")
    assert await bench.look() == []


@pytest.mark.parametrize("key", ["refused_sources", "failed_sources", "refused_publications"])
async def test_what_was_refused_in_a_run_is_told(bench: Bench, key: str) -> None:
    await bench.look()
    bench.ingestion.begin(1)
    bench.ingestion.end(RunStatus.PARTIAL, **{key: ["es"]})
    (text,) = await bench.look()
    assert "español" in text.lower()


@pytest.mark.parametrize("status", [RunStatus.COMPLETE, RunStatus.PARTIAL, RunStatus.CANCELLED])
def test_a_run_in_which_nothing_was_refused_is_no_alert(status: RunStatus) -> None:
    assert not needs_alert(run_row(1, status, report={"problems": ["one page"], "refused_sources": []}))
    assert not needs_alert(run_row(1, status))


async def test_what_had_ended_before_the_bot_started_is_old_news(bench: Bench) -> None:
    bench.ingestion.begin(1)
    bench.ingestion.end(RunStatus.FAILED)
    assert await bench.look() == []


async def test_a_run_that_began_and_failed_between_two_looks_is_told(bench: Bench) -> None:
    await bench.look()
    for number in (1, 2):
        bench.ingestion.begin(number)
        bench.ingestion.end(RunStatus.FAILED)
    assert len(await bench.look()) == 2


async def test_nothing_read_for_a_day_and_a_half_is_told_once_a_day(bench: Bench) -> None:
    bench.ingestion.begin(1)
    bench.ingestion.end(RunStatus.COMPLETE)
    assert await bench.hours(36) == []
    (text,) = await bench.hours(24)
    assert "da 36 ore nessun aggiornamento è andato a buon fine" in text or "da 37 ore" in text
    assert "21 luglio 2026, ore 12:05" in text
    assert len(await bench.hours(24)) == 1


async def test_a_run_that_succeeds_ends_the_reminders(bench: Bench) -> None:
    assert len(await bench.hours(38)) == 1
    bench.ingestion.begin(2)
    bench.ingestion.note(status=RunStatus.PARTIAL, ended=bench.time.now(), report={})
    assert await bench.hours(35) == []
    assert len(await bench.hours(3)) == 1


async def test_failed_runs_do_not_count_as_success(bench: Bench) -> None:
    for number in (1, 2, 3):
        bench.ingestion.begin(number)
        bench.ingestion.note(status=RunStatus.FAILED, ended=NOON + timedelta(hours=10 * number))
    (text,) = await bench.hours(38)
    assert "nessun aggiornamento è ancora andato a buon fine" in text


@pytest.mark.parametrize("scope", ["asl", "dry run"])
async def test_a_run_that_was_not_over_all_sources_is_no_success(bench: Bench, scope: str) -> None:
    bench.ingestion.begin(1)
    bench.ingestion.note(status=RunStatus.COMPLETE, ended=bench.time.now(), report={}, scope=scope)
    (text,) = await bench.hours(38)
    assert "nessun aggiornamento è ancora andato a buon fine" in text


async def test_whether_anything_is_overdue_is_asked_once_an_hour(bench: Bench) -> None:
    for hours, told in ((35.9, 0), (36.5, 0), (36.9, 1)):
        bench.time.seconds = hours * HOUR_S
        assert len(await bench.look()) == told


async def test_a_clock_that_was_ahead_and_is_set_right_does_not_silence_the_reminders(bench: Bench) -> None:
    bench.time.seconds += 400 * 24 * HOUR_S
    assert len(await bench.look()) == 1
    bench.time.seconds -= 400 * 24 * HOUR_S
    assert len(await bench.hours(38)) == 1


async def test_where_nothing_runs_by_itself_nothing_is_overdue() -> None:
    assert await Bench(overdue_after=None).hours(100) == []


async def test_a_ledger_that_cannot_be_read_is_told_once_a_day(bench: Bench) -> None:
    bench.ingestion.failure = LedgerUnusable("broken")
    (text,) = await bench.hours(20)
    assert text.startswith("Avviso: non riesco a leggere il registro")
    assert len(await bench.hours(24)) == 1


async def test_an_administrator_who_cannot_be_reached_does_not_keep_the_others_from_it(bench: Bench) -> None:
    bench.whatsapp.failure = DeliveryFailed("outside the window")
    await bench.look()
    bench.ingestion.begin(1)
    bench.ingestion.end(RunStatus.FAILED)
    assert len(await bench.look()) == 1
    bench.telegram.failure = RecipientGone("blocked")
    bench.ingestion.begin(2)
    bench.ingestion.end(RunStatus.FAILED)
    assert await bench.look() == []


async def test_who_is_on_a_messenger_that_is_not_configured_is_skipped() -> None:
    bench = Bench("42", "console")
    await bench.look()
    bench.ingestion.begin(1)
    bench.ingestion.end(RunStatus.FAILED)
    assert len(await bench.look()) == 1


async def test_an_unknown_reader_is_told_in_both_languages() -> None:
    bench = Bench("99")
    await bench.look()
    bench.ingestion.begin(1)
    bench.ingestion.end(RunStatus.FAILED)
    (text,) = await bench.look()
    assert "Avviso" in text
    assert "Aviso" in text


async def test_only_the_process_on_duty_writes() -> None:
    bench = Bench(is_on_duty=lambda: False)
    await bench.look()
    bench.ingestion.begin(1)
    bench.ingestion.end(RunStatus.FAILED)
    assert await bench.look() == []


async def test_whatever_goes_wrong_the_watch_goes_on(bench: Bench) -> None:
    bench.ingestion.failure = RuntimeError("a mistake")
    task = asyncio.create_task(bench.alerts.watch())
    for _ in range(20):
        await asyncio.sleep(0)
    bench.ingestion.failure = None
    for _ in range(20):
        await asyncio.sleep(0)
    bench.ingestion.begin(1)
    bench.ingestion.end(RunStatus.FAILED)
    for _ in range(20):
        await asyncio.sleep(0)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert len([text for text in bench.telegram.texts() if "richiede la Sua attenzione" in text]) == 1
    assert set(bench.time.slept) == {60.0}
