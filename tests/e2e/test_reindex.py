"""Administrators steer real runs: real child processes with the starter embedder, told and shown over both messengers."""

import asyncio
import re
import shutil
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from ingest.ledger import Ledger, RunStatus
from ingest.run import ledger_path, run_ingest
from ingest.sources import SHIPPED_SOURCES
from rag.models.protocols import Embedder
from tests.e2e.conftest import Launch, Running

pytestmark = pytest.mark.model

ADA, EVA, STRANGER = 101, 102, 77
NUMBER = "+393331234567"
STARTER = SHIPPED_SOURCES.parent / "starter" / "it"
SOURCES = '[[source]]\nid = "schede"\nkind = "folder"\npath = "pages"\npublisher = "ASL di Prova"\nlanguage = "it"\n'
PELLAGRA, XEROSTOMIA = "Che cos'è la pellagra?", "Che cos'è la xerostomia?"
TEXTS = {
    "pellagra": "La pellagra è una malattia causata dalla mancanza di vitamina B3. La pellagra colpisce pelle e intestino.",
    "xerostomia": "La xerostomia è la sensazione di bocca secca. La xerostomia può dipendere da farmaci o da poca acqua bevuta.",
    "labirintite": "La labirintite è un'infiammazione dell'orecchio interno. La labirintite dà vertigini e nausea.",
    "epistassi": "L'epistassi è la perdita di sangue dal naso. L'epistassi di solito si ferma premendo le narici.",
    "cheilite": "La cheilite è un'infiammazione delle labbra. La cheilite dà labbra secche e screpolate.",
}


def write_page(home: Path, name: str) -> None:
    text = f"---\ntopic: {name}\ntitle: {name.capitalize()}\nlanguage: it\n---\n## Che cos'è\n\n{TEXTS[name]}\n"
    (home / "pages" / f"{name}.md").write_text(text, encoding="utf-8")


def copy_starter_pages(home: Path, *topics: str) -> None:
    for topic in topics:
        shutil.copy(STARTER / f"{topic}.md", home / "pages")


def address(name: str) -> str:
    return f"https://bot.esempio.it/sources/schede-{name}"


@pytest.fixture(scope="module")
def embedder() -> Embedder:
    from rag.models.e5 import E5Embedder

    return E5Embedder(threads=1)


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory, embedder: Embedder) -> Path:
    """A home whose six pages are published: five rare words, without xerostomia, and two everyday topics."""
    home = tmp_path_factory.mktemp("published")
    (home / "pages").mkdir()
    (home / "sources.toml").write_text(SOURCES, encoding="utf-8")
    for name in TEXTS.keys() - {"xerostomia"}:
        write_page(home, name)
    copy_starter_pages(home, "flu", "nosebleed")
    report = asyncio.run(run_ingest(home, embedder, own_sources=home / "sources.toml"))
    assert not report.problems
    return home


Open = Callable[..., Awaitable[Running]]


@pytest.fixture
def bot_at(launch: Launch, embedder: Embedder, monkeypatch: pytest.MonkeyPatch) -> Open:
    """Starts a bot whose administrators are Ada and Eva on Telegram, and somebody on WhatsApp."""

    async def start(home: Path, **settings: Any) -> Running:
        monkeypatch.setenv("SALUS_SOURCES", str(home / "sources.toml"))
        values = {"admin_ids": (str(ADA), str(EVA), NUMBER), "nightly": False}
        return await launch(home=home, embedder=embedder, **(values | settings))

    return start


@pytest.fixture
async def bot(bot_at: Open, published: Path, tmp_path: Path) -> Running:
    shutil.copytree(published, tmp_path / "home")
    return await bot_at(tmp_path / "home")


async def links_of(bot: Running, question: str, chat: int = 500) -> list[str]:
    """The addresses below the answer to a question."""
    await bot.telegram_says(question, chat=chat)
    await bot.idle(60)
    return list([sent for sent in bot.telegram.sent if sent.chat == chat][-1].targets.values())


async def says(bot: Running, text: str, chat: int = ADA) -> str:
    await bot.telegram_says(text, chat=chat)
    await bot.idle()
    return bot.telegram_texts(chat)[-1]


async def statuses(home: Path) -> list[RunStatus]:
    """How each run ended, newest first."""
    async with Ledger.open(ledger_path(home)) as ledger:
        return [run.status for run in await ledger.runs(10)]


async def until_embedding(home: Path) -> None:
    async with asyncio.timeout(60):
        while True:
            async with Ledger.open(ledger_path(home)) as ledger:
                run = await ledger.latest_run()
            if run and run.status is RunStatus.RUNNING and run.progress and run.progress.step == "embed":
                return
            await asyncio.sleep(0.1)


def version_in(text: str) -> int:
    found = re.search(r"Indice Italiano: versione (\d+)", text)
    assert found
    return int(found[1])


async def test_the_first_run_is_shown_in_one_message_that_changes(bot_at: Open, tmp_path: Path) -> None:
    home = tmp_path / "home"
    (home / "pages").mkdir(parents=True)
    (home / "sources.toml").write_text(SOURCES, encoding="utf-8")
    copy_starter_pages(home, "cough", "asthma", "flu", "dengue", "fever_adults")
    write_page(home, "pellagra")
    bot = await bot_at(home)
    assert address("pellagra") not in await links_of(bot, PELLAGRA)
    assert await says(bot, "/reindex") == "Ho avviato l'aggiornamento di tutte le fonti."
    await bot.no_run_followed()
    shown = [edit.visible for _, edit in bot.telegram.edits]
    assert len(bot.telegram_texts(ADA)) == 1
    assert {(edit.chat, number) for number, edit in bot.telegram.edits} == {(ADA, bot.telegram.edits[0][0])}
    assert any(re.search(r"Fonte: schede\nPagine elaborate: \d+ di \d+\nNuove: 6", text) for text in shown[:-1])
    assert shown[-1].startswith("Aggiornamento completato.")
    assert "Italiano: nuove 6, modificate 0, spostate 0, ritirate 0; pagine in tutto: 6" in shown[-1]
    assert address("pellagra") in await links_of(bot, PELLAGRA)


async def test_a_removed_page_is_not_cited_and_an_added_one_is_h21_h29(bot: Running, tmp_path: Path) -> None:
    home = tmp_path / "home"
    assert address("pellagra") in await links_of(bot, PELLAGRA)
    assert address("xerostomia") not in await links_of(bot, XEROSTOMIA)
    (home / "pages" / "pellagra.md").unlink()
    write_page(home, "xerostomia")
    copy_starter_pages(home, "cough")
    await says(bot, "/reindex")
    while_it_runs = 0
    while bot.app._operations.runner.is_running:
        while_it_runs += 1
        assert address("flu") in await links_of(bot, "Quanto dura l'influenza?", chat=600 + while_it_runs)
    await bot.no_run_followed()
    assert while_it_runs > 1
    assert "Italiano: nuove 2, modificate 0, spostate 0, ritirate 1" in bot.telegram.edits[-1][1].visible
    assert address("pellagra") not in await links_of(bot, PELLAGRA)
    assert address("xerostomia") in await links_of(bot, XEROSTOMIA)
    assert (await bot.http.get(f"{bot.url}/sources/schede-pellagra")).status_code == 404


async def test_two_administrators_at_once_start_one_run_and_the_second_is_told_h20(bot: Running, tmp_path: Path) -> None:
    await asyncio.gather(bot.telegram_says("/reindex", ADA), bot.telegram_says("/reindex", EVA))
    await bot.no_run_followed()
    told = [text.split(":")[0] for text in bot.telegram_texts(ADA) + bot.telegram_texts(EVA)]
    assert sorted(told) == ["Ho avviato l'aggiornamento di tutte le fonti.", "Un aggiornamento è già in corso"]
    assert await statuses(tmp_path / "home") == [RunStatus.COMPLETE] * 2  # with the one that published the home


async def test_a_full_rebuild_runs_only_after_its_confirmation(bot: Running, tmp_path: Path) -> None:
    before = version_in(await says(bot, "/status"))
    await says(bot, "/reindex full")
    (_, confirm), _ = bot.telegram.sent[-1].buttons
    await asyncio.sleep(1.0)
    assert len(await statuses(tmp_path / "home")) == 1
    await bot.telegram_taps(confirm, ADA)
    await bot.no_run_followed()
    assert "pagine in tutto: 6" in bot.telegram.edits[-1][1].visible
    assert version_in(await says(bot, "/status")) > before
    assert address("pellagra") in await links_of(bot, PELLAGRA)


async def test_a_cancelled_run_stops_and_what_was_published_stays(bot: Running, tmp_path: Path) -> None:
    home = tmp_path / "home"
    (home / "pages" / "cheilite.md").unlink()
    copy_starter_pages(home, *(file.stem for file in sorted(STARTER.glob("*.md"))[:20]))
    before = version_in(await says(bot, "/status"))
    await says(bot, "/reindex")
    await until_embedding(home)
    assert (await says(bot, "/cancel")).startswith("Ho chiesto all'aggiornamento di fermarsi")
    await asyncio.wait_for(bot.app._operations.runner.wait(), 30)
    await bot.no_run_followed()
    assert bot.telegram.edits[-1][1].visible.startswith("Aggiornamento annullato.")
    assert (await statuses(home))[0] is RunStatus.CANCELLED
    assert await says(bot, "/cancel") == "Non c'è nessun aggiornamento in corso."
    status = await says(bot, "/status")
    assert version_in(status) == before
    assert "avviato da chi amministra: annullato" in status
    assert address("cheilite") in await links_of(bot, "Che cos'è la cheilite?")


async def test_an_administrator_hears_that_a_run_ended_with_the_bot(bot: Running, tmp_path: Path) -> None:
    home = tmp_path / "home"
    copy_starter_pages(home, *(file.stem for file in sorted(STARTER.glob("*.md"))[:20]))
    await says(bot, "/reindex")
    await until_embedding(home)
    await bot.app.stop()
    assert bot.telegram.edits[-1][1].visible.startswith("Aggiornamento interrotto prima della fine.")
    assert (await statuses(home))[0] is RunStatus.INTERRUPTED


async def test_a_run_of_the_command_line_is_respected_and_can_be_cancelled_h20(
    bot: Running, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    copy_starter_pages(home, *(file.stem for file in sorted(STARTER.glob("*.md"))[:20]))
    monkeypatch.setenv("SALUS_HOME", str(home))
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "bot.cli", "ingest", "--background", stderr=subprocess.PIPE
    )
    try:
        await until_embedding(home)
        assert (await says(bot, "/reindex")).startswith("Un aggiornamento è già in corso: non ne avvio un altro.")
        assert "in corso in un altro processo" in await says(bot, "/status")
        assert (await says(bot, "/cancel")).startswith("Ho chiesto all'aggiornamento di fermarsi")
        _, complaint = await asyncio.wait_for(child.communicate(), 30)
    finally:
        if child.returncode is None:
            child.kill()
    assert child.returncode == 2
    assert b"the run was cancelled" in complaint
    assert await statuses(home) == [RunStatus.CANCELLED, RunStatus.COMPLETE]


async def test_a_program_starts_a_run_with_its_token(bot_at: Open, published: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    shutil.copytree(published, home)
    write_page(home, "xerostomia")
    bot = await bot_at(home, api_tokens=("reindex:a-token-of-the-portal",))
    headers = {"Authorization": "Bearer a-token-of-the-portal"}
    replies = [await bot.http.post(f"{bot.url}/chatbot/reindex", headers=headers) for _ in range(2)]
    assert [reply.status_code for reply in replies] == [202, 409]
    await asyncio.wait_for(bot.app._operations.runner.wait(), 60)
    assert "avviato da un altro sistema: completato" in await says(bot, "/status")
    assert address("xerostomia") in await links_of(bot, XEROSTOMIA)


async def test_a_stranger_starts_nothing(bot: Running, tmp_path: Path) -> None:
    for text in ("/reindex", "/reindex full", "/cancel"):
        assert await says(bot, text, STRANGER) == "Non conosco questo comando. Per vedere quelli disponibili: /aiuto."
    await bot.whatsapp_says("/reindex", "+393339999999")
    await bot.idle()
    assert "Non conosco questo comando" in bot.whatsapp_texts("+393339999999")[-1]
    assert not bot.app._operations.runner.is_running
    assert len(await statuses(tmp_path / "home")) == 1


async def test_the_status_tells_version_counts_and_the_last_run(bot: Running) -> None:
    await says(bot, "/reindex schede")
    await bot.no_run_followed()
    assert "Nessuna novità da pubblicare." in bot.telegram.edits[-1][1].visible
    status = await says(bot, "/status")
    assert version_in(status) > 0
    assert "Indice Español: nulla di pubblicato" in status
    assert re.search(r"Pagine, Italiano: 6\n\W schede: 6", status)
    assert "avviato da chi amministra: completato" in status


async def test_the_same_on_whatsapp_tells_beginning_and_end(bot: Running, tmp_path: Path) -> None:
    write_page(tmp_path / "home", "xerostomia")
    await bot.whatsapp_says("/reindex", NUMBER)
    await bot.no_run_followed()
    begun, ended = bot.whatsapp_texts(NUMBER)
    assert begun == "Ho avviato l'aggiornamento di tutte le fonti."
    assert ended.startswith("Aggiornamento completato.")
    assert "Italiano: nuove 1, modificate 0, spostate 0, ritirate 0; pagine in tutto: 7" in ended
    assert bot.twilio.violations == []
    await bot.whatsapp_says(XEROSTOMIA, "+393338888888")
    await bot.idle(60)
    assert address("xerostomia") in bot.whatsapp_texts("+393338888888")[-1]


async def test_a_run_that_cannot_read_its_source_is_told_and_alerted(bot: Running, tmp_path: Path) -> None:
    shutil.rmtree(tmp_path / "home" / "pages")
    await says(bot, "/reindex")
    await bot.no_run_followed()
    assert bot.telegram.edits[-1][1].visible.startswith("Aggiornamento non riuscito.")
    await bot.until(lambda: bool(bot.telegram_texts(EVA)))
    assert "schede" in bot.telegram_texts(EVA)[-1]
    assert address("pellagra") in await links_of(bot, PELLAGRA)
