"""Content events at a running bot while a real run embeds everything anew and patients keep asking."""

import asyncio
import json
import shutil
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from ingest.ledger import Ledger, RunRow, RunStatus
from ingest.run import ledger_path, run_ingest
from ingest.sources import SHIPPED_SOURCES
from rag.models.protocols import Embedder
from tests.doubles.cms import signed_headers
from tests.e2e.conftest import Launch, Running

pytestmark = pytest.mark.model

CMS_SECRET, TOKEN = "a-secret-of-the-cms", "a-token-of-the-portal"
LIMIT_S = 60.0
PAGES_OF_THE_RUN = 18
STARTER = SHIPPED_SOURCES.parent / "starter" / "it"
SOURCES = """
[[source]]
id = "portale"
kind = "cms"
publisher = "ASL di Prova"
language = "it"

[[source]]
id = "schede"
kind = "folder"
path = "pages"
publisher = "ASL di Prova"
language = "it"
"""
XEROSTOMIA = "La xerostomia è la sensazione di bocca secca. La xerostomia può dipendere da farmaci o da poca acqua bevuta."
PELLAGRA = "La pellagra è una malattia causata dalla mancanza di vitamina B3. La pellagra colpisce pelle, intestino e umore."


def event(event_id: str, kind: str, name: str, text: str = "") -> bytes:
    content = {"contentId": name, "title": name.capitalize(), "body": f"<h2>Che cos'è</h2><p>{text}</p>" if text else ""}
    return json.dumps({"id": event_id, "event": f"content.{kind}", "content": content}).encode()


class Portal:
    """The CMS and the portal that talk to a bot."""

    def __init__(self, bot: Running) -> None:
        self._bot = bot

    async def sends(self, body: bytes, *, secret: str = CMS_SECRET, at: float | None = None) -> httpx.Response:
        headers = signed_headers(body, secret, time.time() if at is None else at)
        return await self._bot.http.post(f"{self._bot.url}/cms/events", content=body, headers=headers)

    async def cites(self, name: str) -> bool:
        """Whether the answer to "what is it?" rests on that content."""
        reply = await self._bot.http.post(
            f"{self._bot.url}/chatbot/query",
            json={"question": f"Che cos'è la {name}?", "language": "it"},
            headers={"Authorization": f"Bearer {TOKEN}"},
            timeout=LIMIT_S,
        )
        assert reply.status_code == 200, reply.text
        return name in [source["contentId"] for source in reply.json()["sources"]]

    async def until_cited(self, name: str, *, is_cited: bool = True) -> float:
        """Seconds until the answer rests on that content, or no longer does; the caller holds them to the limit."""
        begun = time.monotonic()
        while await self.cites(name) is not is_cited and time.monotonic() - begun < LIMIT_S:
            await asyncio.sleep(1.2)  # one token may ask sixty times a minute
        return time.monotonic() - begun


class Patient:
    """Asks on Telegram without a pause, each time as somebody new."""

    def __init__(self, bot: Running) -> None:
        self._bot = bot
        self.answered = 0
        self.failed: list[str] = []
        self.slowest_s = 0.0

    async def ask_forever(self) -> None:
        while True:
            chat = 1000 + self.answered + len(self.failed)
            begun = time.monotonic()
            await self._bot.telegram_says("Quanto dura l'influenza?", chat=chat)
            await self._bot.until(lambda chat=chat: len(self._bot.telegram_texts(chat)) > 1, 60)  # type: ignore[misc]
            self.slowest_s = max(self.slowest_s, time.monotonic() - begun)
            reply = self._bot.telegram_texts(chat)[-1]
            if "guarisce in circa una settimana" in reply:
                self.answered += 1
            else:
                self.failed.append(reply)
            await asyncio.sleep(0.2)


@asynccontextmanager
async def asking(bot: Running) -> AsyncIterator[Patient]:
    patient = Patient(bot)
    task = asyncio.create_task(patient.ask_forever())
    try:
        yield patient
    finally:
        task.cancel()
        ended = await asyncio.gather(task, return_exceptions=True)
    assert isinstance(ended[0], asyncio.CancelledError), ended


@asynccontextmanager
async def full_run(home: Path) -> AsyncIterator[asyncio.subprocess.Process]:
    """A run as the command line starts it, which is embedding when the block begins."""
    command = [sys.executable, "-m", "bot.cli", "ingest", "--full", "--background"]
    with (home / "run.log").open("wb") as log:
        child = await asyncio.create_subprocess_exec(*command, stdout=log, stderr=log)
    try:
        async with asyncio.timeout(60):
            while not is_embedding(await latest_run(home)):
                assert child.returncode is None
                await asyncio.sleep(0.1)
        yield child
    finally:
        if child.returncode is None:
            child.kill()
            await child.wait()


async def latest_run(home: Path) -> RunRow | None:
    async with Ledger.open(ledger_path(home)) as ledger:
        return await ledger.latest_run()


def is_embedding(run: RunRow | None) -> bool:
    return run is not None and run.status is RunStatus.RUNNING and run.progress is not None and run.progress.step == "embed"


@pytest.fixture(scope="module")
def embedder() -> Embedder:
    from rag.models.e5 import E5Embedder

    return E5Embedder(threads=1)


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory, embedder: Embedder) -> Path:
    home = tmp_path_factory.mktemp("published")
    (home / "pages").mkdir()
    (home / "sources.toml").write_text(SOURCES, encoding="utf-8")
    for topic in ("flu", "nosebleed"):
        shutil.copy(STARTER / f"{topic}.md", home / "pages")
    assert not asyncio.run(run_ingest(home, embedder, own_sources=home / "sources.toml")).problems
    return home


Start = Callable[[], Awaitable[Running]]


@pytest.fixture
def start(launch: Launch, published: Path, embedder: Embedder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Start:
    """Starts a bot on the test's own home; called again, another one on the same."""
    home = tmp_path / "home"
    shutil.copytree(published, home)
    monkeypatch.setenv("SALUS_HOME", str(home))
    monkeypatch.setenv("SALUS_SOURCES", str(home / "sources.toml"))
    values: dict[str, Any] = {"nightly": False, "cms_secret": CMS_SECRET, "api_tokens": (f"query:{TOKEN}",)}
    return lambda: launch(home=home, embedder=embedder, **values)


async def test_content_is_live_and_gone_within_a_minute_in_the_middle_of_a_run(start: Start, tmp_path: Path) -> None:
    home = tmp_path / "home"
    for file in sorted(STARTER.glob("*.md"))[:PAGES_OF_THE_RUN]:
        shutil.copy(file, home / "pages")
    bot = await start()
    portal = Portal(bot)
    async with full_run(home) as child, asking(bot) as patient:
        assert not await portal.cites("xerostomia")
        assert (await portal.sends(event("1", "published", "xerostomia", XEROSTOMIA))).status_code == 202
        live_s = await portal.until_cited("xerostomia")
        assert (await portal.sends(event("2", "published", "pellagra", PELLAGRA))).status_code == 202
        assert (await portal.sends(event("3", "archived", "xerostomia"))).status_code == 202
        gone_s = await portal.until_cited("xerostomia", is_cited=False)
        assert child.returncode is None
        assert is_embedding(await latest_run(home))
        assert await asyncio.wait_for(child.wait(), 300) == 0, (home / "run.log").read_text()
        assert [await portal.cites(name) for name in ("xerostomia", "pellagra")] == [False, True]
    run = await latest_run(home)
    answers = f"{patient.answered} answers, the slowest after {patient.slowest_s:.1f} s"
    print(f"live after {live_s:.1f} s, gone after {gone_s:.1f} s; {answers}")  # noqa: T201
    assert live_s < LIMIT_S
    assert gone_s < LIMIT_S
    assert (run is not None and run.status) is RunStatus.COMPLETE
    assert patient.failed == []
    assert patient.answered > 20


async def test_forged_and_repeated_events_change_nothing(start: Start) -> None:
    portal = Portal(await start())
    published = event("1", "published", "xerostomia", XEROSTOMIA)
    assert (await portal.sends(published, secret="another-secret")).status_code == 401
    assert (await portal.sends(published, at=time.time() - 301)).status_code == 401
    assert (await portal.sends(published)).json() == {"accepted": True, "duplicate": False}
    assert await portal.until_cited("xerostomia") < LIMIT_S
    await portal.sends(event("2", "deleted", "xerostomia"))
    assert await portal.until_cited("xerostomia", is_cited=False) < LIMIT_S
    assert (await portal.sends(published)).json() == {"accepted": True, "duplicate": True}
    await portal.sends(event("3", "published", "pellagra", PELLAGRA))
    assert await portal.until_cited("pellagra") < LIMIT_S
    assert not await portal.cites("xerostomia")


async def test_events_that_waited_at_the_end_are_carried_out_after_the_start(start: Start) -> None:
    first = await start()
    assert (await Portal(first).sends(event("1", "published", "xerostomia", XEROSTOMIA))).status_code == 202
    await first.app.stop()
    assert await _waiting(first) == 1
    assert await Portal(await start()).until_cited("xerostomia") < LIMIT_S


async def _waiting(bot: Running) -> int:
    async with Ledger.open(ledger_path(bot.app._settings.home)) as ledger:
        return len(await ledger.pending_events())
