import asyncio
import itertools
import sqlite3
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from bot.admin import Admin, AdminParts
from bot.admin_texts import AdminTexts
from bot.admins import Admins
from bot.errors import RunNotStarted
from bot.metrics import Metrics
from bot.outcomes import Notice, Topic
from bot.run_follower import RunFollower
from bot.run_texts import RunTexts
from bot.telemetry import Telemetry
from channels.errors import DeliveryFailed, MessageGone, RecipientGone, TryLater
from channels.messages import InboundMessage, MessageKind, Patient, Platform
from ingest.errors import LedgerUnusable, SourceUnreadable
from ingest.ledger import PublishedIndex, RunStatus, SourceState
from ingest.report import Step
from locales.catalog import Catalog
from locales.language import Language
from tests.builders import answer, inbound, patient
from tests.fakes import RecordingChannel
from tests.ingestion_fakes import NOON, FakeIngestion, FakeTime, progress, run_row

IT, ES = Language
ROME = ZoneInfo("Europe/Rome")
WHATSAPP = patient("393331234567", Platform.WHATSAPP)


class FakeSchedule:
    next_run: datetime | None = datetime(2026, 7, 22, 1, 30, tzinfo=UTC)
    missed: datetime | None = None


class Bench:
    """The administrators' side among fakes; 42 and 43 are administrators on Telegram, +39 333 1234567 on WhatsApp."""

    def __init__(self, **parts: Any) -> None:
        self.time = FakeTime()
        self.telegram, self.whatsapp = RecordingChannel(), RecordingChannel(Platform.WHATSAPP)
        self.ingestion = FakeIngestion()
        self.texts = AdminTexts(Catalog.load(), ROME)
        self.metrics = Metrics()
        self.schedule = FakeSchedule()
        follower = RunFollower(
            self.ingestion, self.ingestion, RunTexts(self.texts), Telemetry(), clock=self.time, sleep=self.time.sleep
        )
        values: dict[str, Any] = {
            "admins": Admins(["42", "43", "+39 333 1234567"]),
            "channels": {Platform.TELEGRAM: self.telegram, Platform.WHATSAPP: self.whatsapp},
            "runner": self.ingestion,
            "view": self.ingestion,
            "texts": self.texts,
            "metrics": self.metrics,
            "telemetry": Telemetry(),
            "queue_length": lambda: 3,
            "schedule": self.schedule,
            "follower": follower,
            "clock": self.time,
            "now": self.time.now,
        }
        self.admin = Admin(AdminParts(**(values | parts)))

    async def hear(self, line: str | InboundMessage, language: Language | None = IT, **changes: Any) -> list[str]:
        """An administrator writes; gives what they read for it at once."""
        message = line if isinstance(line, InboundMessage) else command(line, **changes)
        channel = self.telegram if message.sender.platform is Platform.TELEGRAM else self.whatsapp
        before = len(channel.sent)
        assert self.admin.takes(message)
        await self.admin.respond(message, language)
        return channel.texts()[before:]

    async def tap(self, label: str, **changes: Any) -> list[str]:
        """The latest message's button of this name is tapped."""
        payload = next(button.payload for button in self.telegram.sent[-1][1].buttons if button.label == label)
        return await self.hear(inbound(payload, kind=MessageKind.BUTTON, **changes))

    def edits(self) -> list[str]:
        return ["\n".join(message.paragraphs) for _, _, message in self.telegram.edits]

    async def until_followed(self) -> None:
        await asyncio.wait_for(self.admin.idle(), 5)


@pytest.fixture
def bench() -> Bench:
    return Bench()


def command(line: str, **changes: Any) -> InboundMessage:
    return inbound(line, kind=MessageKind.COMMAND, **changes)


def steps(bench: Bench, *actions: tuple[float, Callable[[FakeIngestion], Any]]) -> None:
    """What the run does at which second."""
    for second, action in actions:
        bench.time.at[second] = lambda action=action: action(bench.ingestion)  # type: ignore[misc]


# Who is an administrator.


@pytest.mark.parametrize(
    "line", ["/reindex", "/reindex full", "/cancel", "/status", "/sources", "/stats", "/admin", "/Reindex@SalusBot"]
)
def test_an_administrators_command_is_taken_from_administrators_alone_and_counted(bench: Bench, line: str) -> None:
    assert bench.admin.takes(command(line))
    assert bench.metrics.admin_attempts == 0
    assert not bench.admin.takes(command(line, identity="7"))
    assert bench.metrics.admin_attempts == 1


@pytest.mark.parametrize("line", ["/help", "/nuovo", "/reindexing", "/"])
def test_a_patients_command_is_left_to_the_conversation(bench: Bench, line: str) -> None:
    assert not bench.admin.takes(command(line))
    assert not bench.admin.takes(command(line, identity="7"))
    assert bench.metrics.admin_attempts == 0


def test_words_without_a_slash_are_no_command(bench: Bench) -> None:
    assert not bench.admin.takes(inbound("/reindex"))
    assert not bench.admin.takes(inbound("admin:confirm:x"))


def test_in_a_group_an_administrator_is_like_everybody_else(bench: Bench) -> None:
    assert not bench.admin.takes(command("/reindex", chat="-100123"))
    assert bench.metrics.admin_attempts == 1


def test_a_strangers_tap_is_refused_and_counted(bench: Bench) -> None:
    assert not bench.admin.takes(inbound("admin:confirm:x", kind=MessageKind.BUTTON, identity="7"))
    assert bench.metrics.admin_attempts == 1


@pytest.mark.parametrize("setting", ["+393331234567", "whatsapp:+393331234567", "+39 333 123-4567"])
def test_a_whatsapp_number_is_known_in_every_spelling(setting: str) -> None:
    message = inbound("/status", kind=MessageKind.COMMAND, sender=WHATSAPP)
    assert Admins([setting]).includes(message)


def test_a_number_that_hides_behind_an_id_is_still_known_by_its_address() -> None:
    sender = type(WHATSAPP)(platform=Platform.WHATSAPP, identity="IT.abc", address="whatsapp:+393331234567")
    assert Admins(["+393331234567"]).includes(inbound("/status", sender=sender))


def test_the_same_digits_on_the_other_messenger_are_somebody_else() -> None:
    assert not Admins(["393331234567"]).includes(inbound("/status", sender=WHATSAPP))
    assert not Admins(["+393331234567"]).includes(inbound("/status", identity="393331234567"))


def test_mexican_numbers_are_one_in_both_spellings() -> None:
    sender = patient("525512345678", Platform.WHATSAPP)
    assert Admins(["+5215512345678"]).includes(inbound("/status", sender=sender))


def test_what_is_no_id_is_left_out_and_counted() -> None:
    admins = Admins(["@mario", "-100123", "0", "42", ""])
    assert admins.unreadable == 4
    assert [admin.identity for admin, _ in admins.everyone()] == ["42"]


def test_nobody_is_an_administrator_by_default() -> None:
    assert not Admins(()).includes(inbound("/status"))


# Runs.


async def test_a_run_is_started_and_followed_in_one_message_that_changes(bench: Bench) -> None:
    steps(
        bench,
        (1, lambda run: run.begin(1)),
        (3, lambda run: run.note(progress=progress(10))),
        (7, lambda run: run.note(progress=progress(50, new=4, changed=3, gone=2, failed=1))),
        (19, lambda run: run.end(languages=[{"language": "it", "new": 1234, "pages": 5678, "published_version": 8}])),
    )
    assert await bench.hear("/reindex") == ["Ho avviato l'aggiornamento di tutte le fonti."]
    await bench.until_followed()
    assert bench.ingestion.started == [{"source_id": None, "full": False, "trigger": "admin"}]
    assert len(bench.telegram.sent) == 1
    assert {handle for _, handle, _ in bench.telegram.edits} == {"1"}
    edits = bench.edits()
    assert "Fonte: humanitas\nPagine scaricate: 10 di 100" in edits[0]
    assert "Nuove: 4 · modificate: 3 · non più presenti: 2 · non riuscite: 1" in edits[1]
    assert edits[-1].startswith("Aggiornamento completato.")
    assert "Italiano: nuove 1.234" in edits[-1]
    assert "Durata: 5 minuti" in edits[-1]


async def test_how_long_it_still_takes_is_told_once_it_can_be(bench: Bench) -> None:
    steps(bench, (1, lambda run: run.begin(1, progress=progress(0))))
    bench.ingestion.look = lambda run: run.note(progress=progress(int(bench.time.seconds))) if run.history else None
    bench.time.at[60] = lambda: bench.ingestion.end()
    await bench.hear("/reindex")
    await bench.until_followed()
    edits = bench.edits()
    assert "Tempo stimato" not in edits[0]
    assert "Tempo stimato per questa fase: circa" in edits[-2]
    assert "circa 44 secondi" in edits[-2]


async def test_edits_are_at_least_three_seconds_apart(bench: Bench) -> None:
    moments: list[float] = []
    steps(bench, (1, lambda run: run.begin(1)), (30, lambda run: run.end()))

    def look(run: FakeIngestion) -> None:
        if run.history and run.history[-1].ended is None:
            run.note(progress=progress(int(bench.time.seconds)))
        moments.extend([bench.time.seconds] if len(bench.telegram.edits) > len(moments) else [])

    bench.ingestion.look = look
    await bench.hear("/reindex")
    await bench.until_followed()
    assert len(bench.telegram.edits) <= 30 / 3 + 1
    assert len(bench.telegram.edits) >= 6
    assert all(later - earlier >= 3 for earlier, later in itertools.pairwise(moments))


async def test_nothing_is_edited_while_nothing_changes(bench: Bench) -> None:
    steps(bench, (1, lambda run: run.begin(1, progress=progress())), (60, lambda run: run.end()))
    await bench.hear("/reindex")
    await bench.until_followed()
    assert len(bench.telegram.edits) == 2


async def test_a_flood_wait_is_honoured_and_the_end_still_told_by_an_edit(bench: Bench) -> None:
    bench.telegram.edit_failures = [TryLater(40), TryLater(25)]
    steps(bench, (1, lambda run: run.begin(1, progress=progress())), (10, lambda run: run.end()))
    await bench.hear("/reindex")
    await bench.until_followed()
    assert len(bench.telegram.edits) == 1
    assert bench.edits()[0].startswith("Aggiornamento completato.")
    assert len(bench.telegram.sent) == 1
    assert bench.time.seconds >= 4 + 40 + 25


async def test_an_edit_that_fails_sends_no_second_message(bench: Bench) -> None:
    bench.telegram.edit_failures = [DeliveryFailed("broken"), DeliveryFailed("broken")]
    steps(
        bench,
        (1, lambda run: run.begin(1, progress=progress())),
        (6, lambda run: run.note(progress=progress(20))),
        (12, lambda run: run.end()),
    )
    await bench.hear("/reindex")
    await bench.until_followed()
    assert len(bench.telegram.sent) == 1
    assert bench.edits()[-1].startswith("Aggiornamento completato.")


async def test_the_last_word_is_sent_once_when_the_message_is_gone(bench: Bench) -> None:
    bench.telegram.edit_failures = [MessageGone("deleted")]
    steps(
        bench,
        (1, lambda run: run.begin(1, progress=progress())),
        (6, lambda run: run.note(progress=progress(20))),
        (12, lambda run: run.end()),
    )
    await bench.hear("/reindex")
    await bench.until_followed()
    assert bench.telegram.edits == []
    assert len(bench.telegram.sent) == 2
    assert bench.telegram.texts()[-1].startswith("Aggiornamento completato.")


async def test_the_last_edit_is_given_up_after_some_tries_without_a_second_message(bench: Bench) -> None:
    bench.telegram.edit_failures = [DeliveryFailed("broken")] * 20
    steps(bench, (1, lambda run: run.begin(1)), (3, lambda run: run.end()))
    await bench.hear("/reindex")
    await bench.until_followed()
    assert len(bench.telegram.sent) == 1
    assert bench.telegram.edits == []


async def test_who_blocks_the_bot_is_not_followed_any_more(bench: Bench) -> None:
    bench.telegram.edit_failures = [RecipientGone("blocked")]
    steps(bench, (1, lambda run: run.begin(1, progress=progress())))
    await bench.hear("/reindex")
    await bench.until_followed()
    assert bench.ingestion.is_running


async def test_whatsapp_gets_one_message_at_the_start_and_one_at_the_end(bench: Bench) -> None:
    steps(bench, (1, lambda run: run.begin(1, progress=progress())), (9, lambda run: run.end(RunStatus.CANCELLED)))
    await bench.hear("/reindex humanitas", sender=WHATSAPP)
    await bench.until_followed()
    assert bench.whatsapp.edits == []
    started, ended = bench.whatsapp.texts()
    assert started == "Ho avviato l'aggiornamento della fonte humanitas."
    assert ended.startswith("Aggiornamento annullato.")
    assert bench.ingestion.started == [{"source_id": "humanitas", "full": False, "trigger": "admin"}]


async def test_two_administrators_at_once_start_one_run_and_the_second_is_told(bench: Bench) -> None:
    bench.ingestion.begin(1, progress=progress(30))
    texts = await asyncio.gather(bench.hear("/reindex"), bench.hear("/reindex", ES, identity="43"))
    assert len(bench.ingestion.started) == 1
    assert any("Ya hay una actualización en curso" in text for text in texts[1])
    assert any("Páginas descargadas: 30 de 100" in text for text in texts[1])
    await bench.admin.stop()


@pytest.mark.parametrize("sender", [patient(), WHATSAPP])
async def test_an_administrator_who_asks_twice_starts_one_run_and_hears_its_end_once(bench: Bench, sender: Patient) -> None:
    steps(bench, (1, lambda run: run.begin(1, progress=progress())), (9, lambda run: run.end()))
    await asyncio.gather(bench.hear("/reindex", sender=sender), bench.hear("/reindex", sender=sender))
    await bench.until_followed()
    assert len(bench.ingestion.started) == 1
    told = [*bench.telegram.texts(), *bench.whatsapp.texts()]
    assert sum("già in corso" in text for text in told) == 1
    assert sum(text.startswith("Aggiornamento completato.") for text in [*told, *bench.edits()]) == 1


async def test_a_run_that_begins_while_another_is_looked_for_is_not_mistaken_for_it(bench: Bench) -> None:
    steps(
        bench,
        (1, lambda run: run.begin(5, trigger="api", status=RunStatus.COMPLETE)),
        (3, lambda run: run.begin(6, progress=progress())),
        (9, lambda run: run.begin(7, trigger="api", status=RunStatus.FAILED)),
        (11, lambda run: setattr(run, "history", [run_row(6, RunStatus.PARTIAL), run.history[-1]])),
    )
    await bench.hear("/reindex")
    await bench.until_followed()
    assert bench.edits()[-1].startswith("Aggiornamento concluso, ma con problemi")


async def test_a_run_that_ends_with_the_bot_is_told_within_the_grace(bench: Bench) -> None:
    steps(bench, (1, lambda run: run.begin(1, progress=progress())), (5, lambda run: run.end(RunStatus.INTERRUPTED)))
    await bench.hear("/reindex")
    await bench.admin.stop(5.0)
    assert bench.edits()[-1].startswith("Aggiornamento interrotto")


async def test_a_run_whose_process_never_got_as_far_as_the_ledger_is_told(bench: Bench) -> None:
    steps(bench, (3, lambda run: setattr(run, "is_running", False)))
    await bench.hear("/reindex")
    await bench.until_followed()
    assert bench.edits()[-1].startswith("L'aggiornamento non è partito")


async def test_a_run_that_was_killed_is_told(bench: Bench) -> None:
    steps(bench, (1, lambda run: run.begin(1)), (5, lambda run: setattr(run, "is_running", False)))
    await bench.hear("/reindex")
    await bench.until_followed()
    assert bench.edits()[-1].startswith("L'aggiornamento si è chiuso senza dire come è andato")


async def test_a_ledger_that_fails_for_a_moment_does_not_end_the_following(bench: Bench) -> None:
    def mend(run: FakeIngestion) -> None:
        run.failure = None

    steps(
        bench,
        (1, lambda run: run.begin(1)),
        (3, lambda run: setattr(run, "failure", sqlite3.OperationalError("locked"))),
        (9, mend),
        (11, lambda run: run.end()),
    )
    await bench.hear("/reindex")
    await bench.until_followed()
    assert bench.edits()[-1].startswith("Aggiornamento completato.")


async def test_a_run_that_cannot_be_started_is_told(bench: Bench) -> None:
    bench.ingestion.start_failure = RunNotStarted("no process")
    (text,) = await bench.hear("/reindex")
    assert text.startswith("L'aggiornamento non è partito")


async def test_the_end_is_told_even_if_the_beginning_could_not_be(bench: Bench) -> None:
    bench.telegram.failure = DeliveryFailed("broken")
    steps(
        bench,
        (1, lambda run: run.begin(1)),
        (3, lambda _: setattr(bench.telegram, "failure", None)),
        (5, lambda run: run.end()),
    )
    await bench.hear("/reindex")
    await bench.until_followed()
    assert [text.split("\n")[0] for text in bench.telegram.texts()] == ["Aggiornamento completato."]


async def test_the_summary_names_what_was_refused_and_the_first_problems(bench: Bench) -> None:
    report = {
        "languages": [{"language": "es", "new": 0, "pages": 9, "published_version": None}],
        "refused_sources": ["humanitas"],
        "refused_publications": ["es"],
        "problems": ["x" * 500, *(f"problem {number}" for number in range(9))],
    }
    steps(bench, (1, lambda run: run.begin(1)), (3, lambda run: run.end(RunStatus.PARTIAL, **report)))
    await bench.hear("/reindex")
    await bench.until_followed()
    text = bench.edits()[-1]
    assert "avrebbero perso troppe pagine: humanitas" in text
    assert "non hanno superato i controlli: Español" in text
    assert "problem 3" in text
    assert "problem 4" not in text
    assert "Altri problemi: 5" in text
    assert len(text) < 4096


# What is asked for.


async def test_an_unknown_source_is_refused_with_those_there_are(bench: Bench) -> None:
    (text,) = await bench.hear("/reindex nulla")
    assert "humanitas, forum" in text
    assert bench.ingestion.started == []


async def test_a_source_that_is_excluded_is_not_read(bench: Bench) -> None:
    (text,) = await bench.hear("/reindex forum")
    assert "/sources enable forum" in text
    assert bench.ingestion.started == []


async def test_too_many_words_get_the_usage(bench: Bench) -> None:
    (text,) = await bench.hear("/reindex humanitas forum")
    assert "/reindex FONTE full" in text


@pytest.mark.parametrize(
    ("line", "source_id"),
    [("/reindex full", None), ("/reindex humanitas full", "humanitas"), ("/reindex FULL humanitas", "humanitas")],
)
async def test_a_full_rebuild_starts_only_when_confirmed(bench: Bench, line: str, source_id: str | None) -> None:
    await bench.hear(line)
    assert bench.ingestion.started == []
    message = bench.telegram.sent[-1][1]
    assert [button.label for button in message.buttons] == ["Conferma", "Annulla"]
    assert message.buttons_hint
    assert all(len(button.payload.encode()) <= 64 for button in message.buttons)
    await bench.tap("Conferma")
    assert bench.ingestion.started == [{"source_id": source_id, "full": True, "trigger": "admin"}]
    await bench.admin.stop()


async def test_a_confirmation_counts_once(bench: Bench) -> None:
    await bench.hear("/reindex full", ES)
    question = bench.telegram.sent[-1]
    await bench.tap("Confirmar")
    bench.ingestion.is_running = False
    bench.telegram.sent.append(question)
    (text,) = await bench.tap("Confirmar")
    assert "non è più valida" in text
    assert len(bench.ingestion.started) == 1
    await bench.admin.stop()


async def test_a_rebuild_can_be_dismissed(bench: Bench) -> None:
    await bench.hear("/reindex full", ES)
    assert await bench.tap("Cancelar") == ["Va bene, non ricostruisco nulla."]
    assert bench.ingestion.started == []


async def test_a_confirmation_expires_after_five_minutes(bench: Bench) -> None:
    await bench.hear("/reindex full")
    bench.time.seconds += 301
    (text,) = await bench.tap("Conferma")
    assert "non è più valida" in text
    assert bench.ingestion.started == []


async def test_only_who_asked_can_confirm(bench: Bench) -> None:
    await bench.hear("/reindex full")
    question = bench.telegram.sent[-1]
    (text,) = await bench.tap("Conferma", identity="43")
    assert "non è più valida" in text
    assert bench.ingestion.started == []
    bench.telegram.sent.append(question)
    await bench.tap("Conferma")
    assert len(bench.ingestion.started) == 1
    await bench.admin.stop()


async def test_an_older_question_does_not_spoil_the_newer(bench: Bench) -> None:
    await bench.hear("/reindex full")
    older = bench.telegram.sent[-1]
    await bench.hear("/reindex humanitas full")
    newer = bench.telegram.sent[-1]
    bench.telegram.sent.append(older)
    assert "non è più valida" in (await bench.tap("Conferma"))[0]
    bench.telegram.sent.append(newer)
    await bench.tap("Conferma")
    assert bench.ingestion.started[0]["source_id"] == "humanitas"
    await bench.admin.stop()


async def test_no_rebuild_is_offered_while_a_run_goes_on(bench: Bench) -> None:
    bench.ingestion.is_running = True
    (text,) = await bench.hear("/reindex full")
    assert "già in corso" in text
    assert bench.telegram.sent[-1][1].buttons == ()


@pytest.mark.parametrize(("running", "words"), [(True, "di fermarsi"), (False, "nessun aggiornamento in corso")])
async def test_a_run_is_cancelled(bench: Bench, running: bool, words: str) -> None:
    bench.ingestion.is_running = running
    (text,) = await bench.hear("/cancel")
    assert words in text
    assert bench.ingestion.cancelled == 1


# What is shown.


async def test_the_status_shows_everything_in_italian(bench: Bench) -> None:
    bench.time.seconds = 3 * 86_400
    bench.ingestion.indexes = {IT: PublishedIndex(version=12, published_at=NOON + timedelta(days=2, hours=19))}
    bench.ingestion.counts = {("humanitas", IT): 1200, ("starter-it", IT): 34, ("cdc", ES): 5}
    bench.ingestion.begin(1, status=RunStatus.COMPLETE, trigger="schedule")
    bench.schedule.missed = datetime(2026, 7, 20, 1, 30, tzinfo=UTC)
    (text,) = await bench.hear("/status")
    assert "Indice Italiano: versione 12, pubblicata il 24 luglio 2026, ore 09:00 (da 5 ore)" in text
    assert "Indice Español: nulla di pubblicato" in text
    assert "Pagine, Italiano: 1.234\n* humanitas: 1.200\n* starter-it: 34" in text
    assert "Pagine, Español: 5\n* cdc: 5" in text
    assert "Ultimo aggiornamento: 21 luglio 2026, ore 14:00, avviato dal calendario: completato" in text
    assert "Prossimo aggiornamento: 22 luglio 2026, ore 03:30" in text
    assert "previsto per il 20 luglio 2026, ore 03:30 non è partito" in text
    assert "Domande in coda: 3\nIn funzione da: 3 giorni" in text


async def test_the_status_shows_everything_in_spanish(bench: Bench) -> None:
    bench.schedule.next_run = None
    bench.ingestion.begin(1, status=RunStatus.RUNNING, progress=progress(7, 0, source="es", step="publish"))
    bench.ingestion.is_running = True
    (text,) = await bench.hear("/status", ES)
    assert "Índice Italiano: nada publicado" in text
    assert "Última actualización: 21 de julio de 2026, 14:00 h, iniciada por quien administra: en curso" in text
    assert "Próxima actualización: ninguna prevista" in text
    assert "Índice: Español\nPáginas publicadas: 7\n" in text
    assert "Preguntas en cola: 3" in text


async def test_a_run_of_which_only_the_ledger_knows_is_not_said_to_go_on(bench: Bench) -> None:
    bench.ingestion.begin(1, trigger="something new")
    (text,) = await bench.hear("/status")
    assert "avviato in altro modo: in corso in un altro processo, oppure interrotto" in text


async def test_the_status_of_an_empty_home(bench: Bench) -> None:
    bench.admin = Admin(AdminParts(**{**vars_of(bench), "schedule": None}))
    (text,) = await bench.hear("/status")
    assert "nessuno finora" in text
    assert "nessuno in programma" in text


def vars_of(bench: Bench) -> dict[str, Any]:
    parts = bench.admin._parts
    return {name: getattr(parts, name) for name in AdminParts.__dataclass_fields__}


async def test_the_sources_are_listed_with_what_the_next_run_does(bench: Bench) -> None:
    bench.ingestion.counts = {("humanitas", IT): 3, ("humanitas", ES): 4}
    bench.ingestion.states = {
        "humanitas": SourceState(
            source_id="humanitas", publisher="Editore", read_at=NOON, pages=7, problem="HTTP 503", enabled=None
        )
    }
    (text,) = await bench.hear("/sources")
    assert "* humanitas (Editore): inclusa, pagine: 7, letta il 21 luglio 2026, ore 14:00\nProblema: HTTP 503" in text
    assert "* forum (Editore): esclusa, pagine: 0" in text


async def test_a_source_is_enabled_and_disabled_for_the_next_run(bench: Bench) -> None:
    (text,) = await bench.hear("/sources enable forum", ES)
    assert "leo la fuente forum" in text
    assert bench.ingestion.states["forum"].enabled is True
    (text,) = await bench.hear("/sources disable humanitas", ES)
    assert "ya no leo la fuente humanitas" in text
    (text,) = await bench.hear("/sources")
    assert "humanitas (Editore): esclusa" in text
    assert "forum (Editore): inclusa" in text


@pytest.mark.parametrize("line", ["/sources enable", "/sources forum", "/sources enable a b"])
async def test_a_choice_that_is_not_understood_changes_nothing(bench: Bench, line: str) -> None:
    (text,) = await bench.hear(line)
    assert "/sources enable FONTE" in text
    assert bench.ingestion.states == {}


async def test_an_unknown_source_is_not_chosen(bench: Bench) -> None:
    (text,) = await bench.hear("/sources enable nulla")
    assert "humanitas, forum" in text
    assert bench.ingestion.states == {}


async def test_the_stats_are_sums_without_anybody_in_them(bench: Bench) -> None:
    for _ in range(3):
        bench.metrics.note(answer(), Platform.TELEGRAM)
    bench.metrics.note(Notice(topic=Topic.UNKNOWN_COMMAND, language=ES), Platform.WHATSAPP)
    bench.admin.takes(command("/stats", identity="7"))
    (text,) = await bench.hear("/stats")
    assert "Messaggi trattati: 4" in text
    assert "* Italiano, Telegram: 3, di cui risposte 3, astensioni 0, emergenze 0" in text
    assert "* Español, WhatsApp: 1, di cui risposte 0" in text
    assert "Comandi sconosciuti: 1\nComandi riservati usati da altri: 1" in text


async def test_the_help_names_every_command(bench: Bench) -> None:
    for language in Language:
        (text,) = await bench.hear("/admin", language)
        assert all(f"/{name}" in text for name in ("reindex", "cancel", "status", "sources", "stats"))


@pytest.mark.parametrize("line", ["/reindex", "/reindex humanitas", "/status", "/sources", "/sources enable forum"])
@pytest.mark.parametrize("failure", [LedgerUnusable("/srv/secret: broken"), sqlite3.OperationalError("disk"), OSError("full")])
async def test_a_ledger_that_cannot_be_read_is_one_clear_sentence(bench: Bench, line: str, failure: Exception) -> None:
    bench.ingestion.failure = failure
    (text,) = await bench.hear(line)
    assert text.startswith("Non riesco a leggere il registro degli aggiornamenti")
    assert "/srv" not in text


async def test_a_source_file_that_cannot_be_read_is_told_as_such(bench: Bench) -> None:
    bench.ingestion.failure = SourceUnreadable("sources.toml: is not TOML")
    (text,) = await bench.hear("/sources", ES)
    assert "«salus sources list»" in text


@pytest.mark.parametrize("language", list(Language))
@pytest.mark.parametrize("step", [*Step, "something new"])
@pytest.mark.parametrize("status", list(RunStatus))
def test_every_step_and_every_end_has_words_in_both_languages(language: Language, step: str, status: RunStatus) -> None:
    texts = RunTexts(AdminTexts(Catalog.load()))
    shown = texts.progress(language, run_row(progress=progress(step=step, source="earlier pages")), 90.0)
    assert "{" not in "".join((*shown.paragraphs, *texts.alert(language, run_row(1, status, report={})).paragraphs))


# In which language.


async def test_the_language_is_remembered_when_nothing_tells(bench: Bench) -> None:
    await bench.hear("/cancel", ES)
    assert (await bench.hear("/cancel", None))[0].startswith("No hay ninguna")


async def test_the_prefix_tells_the_language_of_who_never_wrote_before() -> None:
    admins = Admins(["+34600111222", "+39333111222", "+491701112223", "42"])
    assert [language for _, language in admins.everyone()] == [ES, IT, None, None]
