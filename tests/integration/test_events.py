import asyncio
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from ingest.errors import SourceUnreadable
from ingest.events import apply_events
from ingest.ledger import Ledger
from ingest.pipeline import RunOptions, ingest
from ingest.run import index_directory, ledger_path, run_lock
from ingest.sources import load_sources
from locales.language import Language
from rag.store import IndexReader, IndexStore
from rag.text import lexical_text
from tests.fakes import HashEmbedder

SOURCES = """
[[source]]
id = "portale"
kind = "cms"
publisher = "ASL"
language = "it"

[[source]]
id = "schede"
kind = "folder"
path = "schede"
publisher = "ASL"
language = "it"
"""


def event(event_id: str, kind: str = "published", content_id: str = "dengue-1", **content: Any) -> dict[str, Any]:
    body = "<h2>Che cos'è</h2><p>La dengue è una malattia con febbre xantocroma.</p><ul><li>usi il repellente</li></ul>"
    fields = {"contentId": content_id, "title": "La dengue", "body": body, "language": "it", **content}
    return {"id": event_id, "event": f"content.{kind}", "content": fields}


class Home:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.embedder = HashEmbedder()
        (path / "schede").mkdir()
        for number in range(3):
            page = f"---\ntitle: Scheda {number}\nlanguage: it\n---\n## Sintomi\n\nIl disturbo numero {number} passa da solo.\n"
            (path / f"schede/{number}.md").write_text(page, encoding="utf-8")
        self.sources = path / "sources.toml"
        self.sources.write_text(SOURCES, encoding="utf-8")

    async def receive(self, *events: dict[str, Any]) -> list[bool]:
        async with Ledger.open(ledger_path(self.path)) as ledger:
            return [await ledger.add_event(e["id"], datetime.now(UTC), json.dumps(e)) for e in events]

    async def apply(self) -> list[str]:
        return await apply_events(self.path, self.embedder, own_sources=self.sources)

    async def night(self) -> None:
        rows = load_sources(self.sources)
        async with Ledger.open(ledger_path(self.path)) as ledger:
            await ingest(
                rows,
                IndexStore(index_directory(self.path)),
                self.embedder,
                ledger,
                lock=run_lock(self.path),
                options=RunOptions(configured=[row.id for row in rows]),
            )

    def reader(self) -> IndexReader:
        return IndexStore(index_directory(self.path)).open(Language.ITALIAN, self.embedder.fingerprint)

    def found(self, words: str) -> list[str]:
        return [hit.chunk.document_id for hit in self.reader().lexical(lexical_text(words, Language.ITALIAN), 5)]

    async def waiting(self) -> int:
        async with Ledger.open(ledger_path(self.path)) as ledger:
            return len(await ledger.pending_events())


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


async def test_published_content_is_found_and_archived_content_is_not(home: Home) -> None:
    await home.night()

    await home.receive(event("1"))
    assert await home.apply() == []
    assert home.found("xantocroma") == ["portale-dengue-1"]
    assert home.found("disturbo")

    await home.receive(event("2", "archived"))
    assert await home.apply() == []
    assert home.found("xantocroma") == []
    assert home.found("disturbo")


async def test_event_that_comes_twice_is_carried_out_once(home: Home) -> None:
    assert await home.receive(event("1"), event("1")) == [True, False]
    await home.apply()

    assert await home.receive(event("1", body="<p>Altro testo intero.</p>")) == [False]
    assert await home.waiting() == 0


async def test_update_embeds_only_what_is_new(home: Home) -> None:
    await home.receive(event("1"))
    await home.apply()
    home.embedder.passages.clear()

    body = "<h2>Che cos'è</h2><p>La dengue è una malattia con febbre xantocroma.</p><p>Dura una settimana intera.</p>"
    await home.receive(event("2", "updated", body=body))
    await home.apply()

    assert "La dengue. Dura una settimana intera." in home.embedder.passages
    assert "La dengue. La dengue è una malattia con febbre xantocroma." not in home.embedder.passages


async def test_deleted_text_is_gone_from_the_disk(home: Home) -> None:
    await home.night()
    await home.receive(event("1"))
    await home.apply()
    await home.receive(event("2", "deleted", body=""))
    await home.apply()

    everything = b"".join(path.read_bytes() for path in home.path.rglob("*") if path.is_file())
    assert b"xantocroma" not in everything


async def test_night_leaves_content_of_events_alone(home: Home) -> None:
    await home.receive(event("1"))
    await home.apply()
    await home.night()

    assert home.found("xantocroma") == ["portale-dengue-1"]


async def test_event_during_a_run_is_live_before_the_run_ends(home: Home) -> None:
    await home.night()
    embedding, go_on = asyncio.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()
    plain = home.embedder.embed_passages

    def slowly(texts: list[str]) -> Any:
        loop.call_soon_threadsafe(embedding.set)
        asyncio.run_coroutine_threadsafe(go_on.wait(), loop).result(timeout=30)
        return plain(texts)

    home.embedder.embed_passages = slowly  # type: ignore[assignment,method-assign]
    (home.path / "schede/neu.md").write_text(
        "---\ntitle: Nuova\nlanguage: it\n---\n## Sintomi\n\nTosse nuova.\n", encoding="utf-8"
    )
    run = asyncio.create_task(home.night())
    await embedding.wait()
    await home.receive(event("1"))
    other = HashEmbedder()
    began = datetime.now(UTC)
    assert await apply_events(home.path, other, own_sources=home.sources) == []
    assert datetime.now(UTC) - began < timedelta(seconds=60)
    assert not run.done()
    assert home.found("xantocroma") == ["portale-dengue-1"]
    assert home.found("nuova") == []

    go_on.set()
    await run
    assert home.found("xantocroma") == ["portale-dengue-1"]
    assert home.found("nuova") == ["schede-neu"]


@pytest.mark.parametrize(
    ("wrong", "key"),
    [
        ({"id": "1", "event": "content.eaten", "content": {"contentId": "a"}}, "event"),
        (
            {"id": "1", "event": "content.published", "content": {"contentId": "../a", "title": "T", "body": "<p>b</p>"}},
            "contentId",
        ),
        ({"id": "1", "event": "content.published", "content": {"contentId": "a", "body": "<p>b</p>"}}, "title"),
        ({"id": "1", "event": "content.published", "content": {"contentId": "a", "title": "T", "body": "<hr>"}}, "body"),
        (
            {"id": "1", "event": "content.published", "content": {"contentId": "a", "title": "T", "body": "x", "language": "es"}},
            "language",
        ),
    ],
)
async def test_wrong_event_is_settled_with_its_reason_and_the_next_one_is_carried_out(home: Home, wrong: dict, key: str) -> None:
    await home.receive(wrong, event("2"))
    problems = await home.apply()

    assert len(problems) == 1
    assert key in problems[0]
    assert await home.waiting() == 0
    assert home.found("xantocroma") == ["portale-dengue-1"]


async def test_refusal_is_shown_where_the_problems_of_sources_are_until_an_event_succeeds(home: Home) -> None:
    await home.receive(event("1", body="<hr>"))
    await home.apply()
    async with Ledger.open(ledger_path(home.path)) as ledger:
        state = (await ledger.source_states())["portale"]
        assert state.problem is not None
        assert "body: holds no text" in state.problem
        assert await ledger.settled_since(datetime(2020, 1, 1, tzinfo=UTC)) == (0, 1)

    await home.receive(event("2"))
    await home.apply()
    async with Ledger.open(ledger_path(home.path)) as ledger:
        state = (await ledger.source_states())["portale"]
        assert (state.problem, state.pages) == (None, 1)
        assert await ledger.settled_since(datetime(2020, 1, 1, tzinfo=UTC)) == (1, 1)


async def test_cms_that_names_no_language_takes_events_in_both(home: Home) -> None:
    home.sources.write_text(SOURCES.replace('publisher = "ASL"\nlanguage = "it"', 'publisher = "ASL"', 1), encoding="utf-8")
    await home.receive(event("1"), event("2", content_id="dengue-2", language="es"), event("3", content_id="c", language=None))
    problems = await home.apply()

    assert len(problems) == 1
    assert "event 3: content.language: is missing" in problems[0]
    for language in Language:
        reader = IndexStore(index_directory(home.path)).open(language, home.embedder.fingerprint)
        assert len(reader.lexical(lexical_text("xantocroma", language), 5)) == 1


async def test_event_after_an_upgrade_does_not_keep_the_next_night_from_building_all_pages_anew(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    await home.night()
    monkeypatch.setattr("ingest.page_builder.CHUNKER_VERSION", "next")
    await home.receive(event("1"))
    assert await home.apply() == []
    with_event = home.reader().version

    await home.night()

    assert home.reader().version > with_event
    async with Ledger.open(ledger_path(home.path)) as ledger:
        assert "chunker next" in (await ledger.published_with(Language.ITALIAN) or "")


async def test_event_without_a_source_that_takes_it_stays(home: Home) -> None:
    await home.receive(event("1"))
    home.sources.write_text(
        SOURCES.partition('[[source]]\nid = "schede"')[2].join(['[[source]]\nid = "schede"', ""]), encoding="utf-8"
    )

    with pytest.raises(SourceUnreadable, match="cms"):
        await home.apply()
    assert await home.waiting() == 1
