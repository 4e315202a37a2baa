import asyncio
import json
import sqlite3
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest
from pydantic import SecretStr
from starlette.applications import Starlette
from structlog.testing import capture_logs

from bot.events_api import PATH, EventsApi
from bot.telemetry import Telemetry, configure
from ingest.importers.cms import event_document, read_event
from ingest.ledger import Ledger, StoredEvent
from ingest.run import ledger_path
from ingest.sources import SourceKind, SourceRow
from locales.language import Language
from tests.doubles.cms import signed_headers
from tests.logging_state import restored_logging

SECRET = SecretStr("a secret of the CMS, ñ")
NOW = 1_790_000_000.0


def event(event_id: str = "e-1", kind: str = "published", **content: Any) -> dict[str, Any]:
    fields = {"contentId": "dengue-1", "title": "La dengue", "body": "<p>Dà febbre alta.</p>", "language": "it"}
    return {"id": event_id, "event": f"content.{kind}", "content": fields | content}


class Bench:
    """The address, a CMS that signs, and the ledger behind."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.now = NOW
        self.woken = 0
        api = EventsApi(SECRET, home, self.wake, Telemetry(), lambda: self.now)
        self.http = httpx.AsyncClient(transport=httpx.ASGITransport(Starlette(routes=api.routes())), base_url="http://bot")

    def wake(self) -> None:
        self.woken += 1

    async def send(self, content: Any, *, sent_at: float | None = None, **headers: str) -> httpx.Response:
        body = content if isinstance(content, bytes) else json.dumps(content).encode()
        signs = signed_headers(body, SECRET.get_secret_value(), self.now if sent_at is None else sent_at)
        return await self.http.post(PATH, content=body, headers=signs | headers)

    async def waiting(self) -> list[StoredEvent]:
        async with Ledger.open(ledger_path(self.home)) as ledger:
            return await ledger.pending_events()


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    bench = Bench(tmp_path)
    yield bench
    await bench.http.aclose()


async def test_signed_event_is_kept_before_it_is_acknowledged(bench: Bench) -> None:
    reply = await bench.send(event())
    assert (reply.status_code, reply.json()) == (202, {"accepted": True, "duplicate": False})
    assert [waiting.event_id for waiting in await bench.waiting()] == ["e-1"]
    assert bench.woken == 1


async def test_event_that_comes_again_is_acknowledged_again_and_kept_once(bench: Bench) -> None:
    await bench.send(event())
    reply = await bench.send(event(title="Un altro titolo"))
    assert (reply.status_code, reply.json()) == (202, {"accepted": True, "duplicate": True})
    (waiting,) = await bench.waiting()
    assert "La dengue" in waiting.payload


async def test_what_is_kept_gives_the_same_document(bench: Bench) -> None:
    sent = event(
        contentType="faq",
        url="https://asl.esempio.it/dengue?a=è",
        aliases=["febbre rompiossa"],
        category="Infezioni",
        reviewedOn="2026-01-31",
        date="2026-02-01T10:00:00+01:00",
        author="canary",
    )
    await bench.send(sent | {"extra": "canary"})
    (waiting,) = await bench.waiting()
    row = SourceRow(id="portale", kind=SourceKind.CMS, publisher="ASL", language=Language.ITALIAN)
    kept, told = event_document(read_event(waiting.payload), row), event_document(read_event(json.dumps(sent)), row)
    assert kept.content_hash == told.content_hash
    assert (kept.title, kept.url, kept.category, kept.published_on) == (told.title, told.url, told.category, told.published_on)
    assert "canary" not in waiting.payload


@pytest.mark.parametrize("kind", ["archived", "deleted"])
async def test_of_a_withdrawal_only_the_id_is_kept(bench: Bench, kind: str) -> None:
    assert (await bench.send(event(kind=kind))).status_code == 202
    (waiting,) = await bench.waiting()
    assert json.loads(waiting.payload) == {"id": "e-1", "event": f"content.{kind}", "content": {"contentId": "dengue-1"}}
    assert read_event(waiting.payload).kind.is_withdrawal


async def test_forged_event_changes_nothing_and_says_what_time_it_is_here(bench: Bench) -> None:
    forged = await bench.send(event(), **{"X-Salus-Signature": "sha256=" + "0" * 64})
    unsigned = await bench.http.post(PATH, json=event())
    for reply in (forged, unsigned):
        assert reply.status_code == 401
        assert reply.json()["now"] == int(NOW)
    assert not ledger_path(bench.home).exists()
    assert bench.woken == 0


async def test_old_event_cannot_be_replayed(bench: Bench) -> None:
    assert (await bench.send(event(), sent_at=NOW - 301)).status_code == 401


async def test_clock_that_jumps_loses_no_event(bench: Bench) -> None:
    await bench.send(event("before"))
    bench.now = NOW + 40 * 86_400
    assert (await bench.send(event("from a sender with the right time"), sent_at=NOW)).status_code == 401
    await bench.send(event("meanwhile"))
    bench.now = NOW
    assert (await bench.send(event("from a sender with the right time"), sent_at=NOW)).status_code == 202
    assert len(await bench.waiting()) == 3


@pytest.mark.parametrize(
    ("content", "key"),
    [
        (b"{canary", "event"),
        (b"[" * 50_000, "event"),
        (b'"canary"', "event"),
        (b"\xff\xfe", "event"),
        ({"event": "content.published", "content": event()["content"]}, "id"),
        (event() | {"event": "content.canary"}, "event"),
        (event() | {"content": None}, "content"),
        (event(contentId="../canary"), "content.contentId"),
        (event(language="canary"), "content.language"),
        (event(url="javascript:canary"), "content.url"),
        (event(date="canary"), "content.date"),
        (event(title=["canary"]), "content.title"),
        (event(body=" "), "event"),
    ],
)
async def test_malformed_event_is_refused_by_the_name_of_its_key(bench: Bench, content: Any, key: str) -> None:
    reply = await bench.send(content)
    assert reply.status_code == 400
    assert reply.json()["error"].startswith(f"{key}: ")
    assert "canary" not in reply.text
    assert not ledger_path(bench.home).exists()


async def test_event_beyond_all_measure_is_refused(bench: Bench) -> None:
    assert (await bench.send(b"x" * 3_000_001)).status_code == 413


async def test_text_of_two_million_characters_does_not_stop_the_loop(bench: Bench) -> None:
    longest, is_over = 0.0, False

    async def watch() -> None:
        nonlocal longest
        loop = asyncio.get_running_loop()
        while not is_over:
            begun = loop.time()
            await asyncio.sleep(0.005)
            longest = max(longest, loop.time() - begun)

    watching = asyncio.create_task(watch())
    reply = await bench.send(event(body="<p>" + "parola " * 285_000 + "</p>"))
    is_over = True
    await watching
    assert reply.status_code == 202
    assert longest < 0.5


@pytest.mark.parametrize("damage", ["folder", "no ledger", "full"])
async def test_event_that_cannot_be_kept_is_to_be_sent_again(bench: Bench, damage: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async def is_full(*_: object) -> bool:
        raise sqlite3.OperationalError("database or disk is full")

    if damage == "folder":
        ledger_path(bench.home).mkdir()
    elif damage == "no ledger":
        ledger_path(bench.home).write_bytes(b"no database at all, but long enough to look at")
    else:
        monkeypatch.setattr(Ledger, "add_event", is_full)
    reply = await bench.send(event())
    assert reply.status_code == 503
    assert int(reply.headers["retry-after"]) > 0
    assert bench.woken == 0


async def test_events_that_arrive_at_once_are_all_kept(bench: Bench) -> None:
    replies = await asyncio.gather(*(bench.send(event(f"e-{number}")) for number in range(20)))
    assert {reply.status_code for reply in replies} == {202}
    assert len(await bench.waiting()) == 20


async def test_other_methods_are_not_allowed(bench: Bench) -> None:
    assert (await bench.http.get(PATH)).status_code == 405


async def test_log_tells_what_happened_and_nothing_of_the_content(bench: Bench, capfd: pytest.CaptureFixture[str]) -> None:
    with restored_logging():
        configure("DEBUG")
        await bench.send(event("canary-id", title="canary-title", contentId="canary-content"))
        await bench.send(event() | {"event": "canary-event"})
        await bench.send(event("canary-id"), **{"X-Salus-Signature": "canary-signature"})
    out, err = capfd.readouterr()
    assert err.count('"event": "event_refused"') == 2
    assert "canary" not in out + err
    assert SECRET.get_secret_value() not in out + err


async def test_log_names_the_kind_of_event(bench: Bench) -> None:
    with capture_logs() as events:
        await bench.send(event())
        await bench.send(event())
    assert [entry["outcome"] for entry in events if entry["event"] == "event_kept"] == ["content.published", "duplicate"]


async def test_ledger_knows_when_the_event_arrived(bench: Bench) -> None:
    await bench.send(event())
    with sqlite3.connect(ledger_path(bench.home)) as connection:
        ((received_at,),) = connection.execute("SELECT received_at FROM events")
    connection.close()
    assert datetime.fromisoformat(received_at) == datetime.fromtimestamp(NOW, UTC)
