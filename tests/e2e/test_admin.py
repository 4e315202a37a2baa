"""Administrators steer ingestion from their chat; how a real run does is shown elsewhere."""

import asyncio
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from bot.admin import Admin, AdminParts
from bot.admin_texts import AdminTexts
from bot.admins import Admins
from bot.conversation import Conversation
from bot.parts import Parts
from bot.run_follower import RunFollower
from bot.run_texts import RunTexts
from channels.messages import Platform
from ingest.ledger import PublishedIndex, RunStatus
from locales.catalog import Catalog
from locales.language import Language
from tests.e2e.conftest import Launch, Running
from tests.ingestion_fakes import NOON, FakeIngestion, progress

IT, ES = Language
ADA, EVA, STRANGER, GROUP = 101, 102, 77, -100500
NUMBER = "+393331234567"


@dataclass
class Steered:
    """A bot whose administrators steer a scripted ingestion; a second of theirs passes in five thousandths of one."""

    bot: Running
    ingestion: FakeIngestion
    admin: Admin

    async def tap(self, payload: str, chat: int = ADA) -> None:
        person = {"id": chat, "is_bot": False, "first_name": "A", "language_code": "it"}
        message = self.bot.telegram.message("x", chat=chat)
        tap = {"id": f"{chat}{len(self.bot.telegram.calls)}", "from": person, "chat_instance": "1", "data": payload}
        await self.bot.telegram_update(self.bot.telegram.update(callback_query=tap | {"message": message}))
        await self.bot.idle()

    async def says(self, text: str, chat: int = ADA) -> str:
        await self.bot.telegram_says(text, chat=chat)
        await self.bot.idle()
        return self.bot.telegram_texts(chat)[-1]

    def edits(self) -> list[str]:
        return [shown.visible for _, shown in self.bot.telegram.edits]

    async def edited(self, words: str) -> None:
        await self.bot.until(lambda: any(words in text for text in self.edits()))


@pytest.fixture
async def steered(launch: Launch, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Steered]:
    ingestion = FakeIngestion()
    made: list[Admin] = []

    def clock() -> float:
        return asyncio.get_running_loop().time() * 200

    def conversation(parts: Parts) -> Conversation:
        texts = AdminTexts(Catalog.load(), ZoneInfo("Europe/Rome"))
        follower = RunFollower(
            ingestion, ingestion, RunTexts(texts), parts.telemetry, clock=clock, sleep=lambda s: asyncio.sleep(s / 200)
        )
        admin = Admin(
            AdminParts(
                admins=Admins([str(ADA), str(EVA), NUMBER]),
                channels=parts.channels,
                runner=ingestion,
                view=ingestion,
                texts=texts,
                metrics=parts.metrics,
                telemetry=parts.telemetry,
                queue_length=lambda: parts.worker.depth,
                follower=follower,
            )
        )
        made.append(admin)
        return Conversation(replace(parts, admin=admin))

    monkeypatch.setattr("bot.app.Conversation", conversation)
    bot = await launch()
    yield Steered(bot, ingestion, made[0])
    await made[0].stop()


async def test_a_run_is_followed_by_editing_one_message_on_telegram(steered: Steered) -> None:
    await steered.says("/reindex")
    steered.ingestion.begin(1, progress=progress(12, 340))
    await steered.edited("Pagine scaricate: 12 di 340")
    steered.ingestion.note(progress=progress(120, 340, new=9))
    await steered.edited("Nuove: 9")
    steered.ingestion.end(languages=[{"language": "it", "new": 9, "pages": 1234, "published_version": 3}])
    await asyncio.wait_for(steered.admin.idle(), 5)
    assert len(steered.bot.telegram_texts(ADA)) == 1
    assert {shown.chat for _, shown in steered.bot.telegram.edits} == {ADA}
    assert len({number for number, _ in steered.bot.telegram.edits}) == 1
    assert steered.edits()[-1].startswith("Aggiornamento completato.")
    assert "pagine in tutto: 1.234" in steered.edits()[-1]


async def test_a_flood_wait_delays_the_edit_and_nothing_is_sent_twice(steered: Steered) -> None:
    channel: Any = steered.bot.app._parts.channels[Platform.TELEGRAM]
    channel._sender._floods._clock = lambda: time.monotonic() * 200  # as fast as everything here
    steered.bot.telegram.fail_next("editMessageText", 429, "Too Many Requests: retry after 40", retry_after=40)
    steered.bot.telegram.fail_next("editMessageText", 502, "Bad Gateway")
    await steered.says("/reindex")
    steered.ingestion.begin(1, progress=progress())
    await steered.bot.until(lambda: len(steered.bot.telegram.called("editMessageText")) == 1)
    steered.ingestion.end()
    await asyncio.wait_for(steered.admin.idle(), 5)
    assert [text.split("\n")[0] for text in steered.edits()] == ["Aggiornamento completato."]
    assert len(steered.bot.telegram_texts(ADA)) == 1


async def test_an_unmodified_message_is_no_failure(steered: Steered) -> None:
    await steered.says("/reindex")
    steered.bot.telegram.fail_next("editMessageText", 400, "Bad Request: message is not modified: the same")
    steered.ingestion.begin(1, progress=progress())
    await steered.bot.until(lambda: len(steered.bot.telegram.called("editMessageText")) == 1)
    await asyncio.sleep(0.1)
    assert len(steered.bot.telegram.called("editMessageText")) == 1
    steered.ingestion.end()
    await asyncio.wait_for(steered.admin.idle(), 5)
    assert len(steered.edits()) == 1


async def test_the_end_is_told_anew_when_the_message_was_deleted(steered: Steered) -> None:
    await steered.says("/reindex")
    steered.ingestion.begin(1, progress=progress())
    await steered.edited("10 di 100")
    steered.bot.telegram.forget(steered.bot.telegram.edits[0][0])
    steered.ingestion.note(progress=progress(20))
    await steered.bot.until(lambda: len(steered.bot.telegram.called("editMessageText")) == 2)
    steered.ingestion.end(RunStatus.FAILED, problems=["StoreError: <the disk> is full"])
    await asyncio.wait_for(steered.admin.idle(), 5)
    assert len(steered.bot.telegram_texts(ADA)) == 2
    assert "<the disk> is full" in steered.bot.telegram_texts(ADA)[-1]


async def test_two_administrators_at_once_start_one_run(steered: Steered) -> None:
    await asyncio.gather(steered.bot.telegram_says("/reindex", ADA), steered.bot.whatsapp_says("/reindex", NUMBER))
    await steered.bot.idle()
    assert len(steered.ingestion.started) == 1
    told = steered.bot.telegram_texts(ADA) + steered.bot.whatsapp_texts(NUMBER)
    assert sorted(text.split(":")[0] for text in told) == [
        "Ho avviato l'aggiornamento di tutte le fonti.",
        "Un aggiornamento è già in corso",
    ]


async def test_a_stranger_gets_unknown_command_and_is_counted(steered: Steered) -> None:
    for line in ("/reindex", "/status", "/sources disable humanitas"):
        assert (await steered.says(line, STRANGER)).startswith("Non conosco questo comando")
    await steered.tap("admin:confirm:x", STRANGER)
    assert steered.ingestion.started == []
    assert steered.ingestion.states == {}
    stats = await steered.says("/stats")
    assert "Comandi sconosciuti: 3\nComandi riservati usati da altri: 4" in stats


async def test_an_administrator_in_a_group_is_like_everybody_else(steered: Steered) -> None:
    content = {"chat": {"id": GROUP, "type": "supergroup", "title": "G"}}
    update = steered.bot.telegram.update(message=steered.bot.telegram.message("/reindex@SalusProvaBot", chat=ADA) | content)
    await steered.bot.telegram_update(update)
    await steered.bot.idle()
    assert steered.bot.telegram_texts(GROUP)[-1].startswith("Non conosco questo comando")
    assert steered.ingestion.started == []


async def test_a_full_rebuild_is_confirmed_with_a_button(steered: Steered) -> None:
    await steered.says("/reindex full")
    (confirm, yes), (dismiss, _) = steered.bot.telegram.sent[-1].buttons
    assert (confirm, dismiss) == ("Conferma", "Annulla")
    assert steered.ingestion.started == []
    await steered.tap(yes, EVA)
    assert steered.ingestion.started == []
    await steered.tap(yes)
    await steered.tap(yes)
    assert steered.ingestion.started == [{"source_id": None, "full": True, "trigger": "admin"}]


async def test_a_redelivered_reindex_starts_nothing_new_h07(steered: Steered) -> None:
    update = await steered.bot.telegram_says("/reindex", ADA)
    await steered.bot.idle()
    steered.ingestion.is_running = False
    await steered.bot.telegram_update(update)
    await steered.bot.idle()
    assert len(steered.ingestion.started) == 1


async def test_the_same_words_work_on_whatsapp_with_numbers_for_buttons(steered: Steered) -> None:
    await steered.bot.whatsapp_says("/reindex humanitas full", NUMBER)
    await steered.bot.idle()
    assert "1. Conferma\n2. Annulla" in steered.bot.whatsapp_texts(NUMBER)[-1]
    await steered.bot.whatsapp_says("1", NUMBER)
    await steered.bot.idle()
    steered.ingestion.begin(1, progress=progress())
    await asyncio.sleep(0.05)
    steered.ingestion.end()
    await asyncio.wait_for(steered.admin.idle(), 5)
    texts = [text.split("\n")[0] for text in steered.bot.whatsapp_texts(NUMBER)[1:]]
    assert texts == ["Ho avviato la rielaborazione completa della fonte humanitas.", "Aggiornamento completato."]
    assert steered.bot.twilio.violations == []


async def test_a_rebuild_is_dismissed_on_whatsapp(steered: Steered) -> None:
    await steered.bot.whatsapp_says("/reindex full", NUMBER)
    await steered.bot.idle()
    await steered.bot.whatsapp_says("2", NUMBER)
    await steered.bot.idle()
    assert steered.bot.whatsapp_texts(NUMBER)[-1] == "Va bene, non ricostruisco nulla."
    assert steered.ingestion.started == []


async def test_the_status_is_told_in_the_language_of_the_session(steered: Steered) -> None:
    steered.ingestion.indexes = {IT: PublishedIndex(version=7, published_at=NOON)}
    assert "Indice Italiano: versione 7, pubblicata il 21 luglio 2026, ore 14:00" in await steered.says("/status")
    await steered.says("/idioma español")
    assert "Índice Italiano: versión 7, publicada el 21 de julio de 2026, 14:00 h" in await steered.says("/status")


async def test_a_source_is_disabled_for_the_next_run(steered: Steered) -> None:
    assert "non leggo più la fonte humanitas" in await steered.says("/sources disable humanitas")
    assert "humanitas (Editore): esclusa" in await steered.says("/sources")
    assert "humanitas" in await steered.says("/reindex humanitas")
    assert steered.ingestion.started == []


async def test_an_emergency_of_an_administrator_is_one(steered: Steered) -> None:
    assert "112" in (await steered.says("ho un dolore al petto che va al braccio e sudo")).split("\n")[0]


async def test_administrators_commands_are_in_no_menu(steered: Steered) -> None:
    menus = str(steered.bot.telegram.called("setMyCommands"))
    assert "reindex" not in menus
    assert "stats" not in menus
