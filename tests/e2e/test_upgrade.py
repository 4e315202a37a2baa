"""A bot over what another release left: it starts, knows emergencies, and makes good what it cannot read by a real run."""

import asyncio
import json
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import lancedb
import pytest

from ingest.ledger_database import SCHEMA_VERSION
from ingest.run import index_directory, ledger_path, run_ingest
from locales.language import Language
from rag.documents import Document
from rag.errors import IndexOutdated
from rag.models.protocols import Embedder
from rag.replies import Abstention, AbstentionKind, Answer
from rag.store import IndexStore
from rag.types import Question
from tests.e2e.conftest import Launch, Running

pytestmark = pytest.mark.model

SOURCES = '[[source]]\nid = "schede"\nkind = "folder"\npath = "pages"\npublisher = "ASL di Prova"\nlanguage = "it"\n'
PAGE = (
    "---\ntopic: pellagra\ntitle: Pellagra\nlanguage: it\n---\n## Che cos'è\n\n"
    "La pellagra è una malattia causata dalla mancanza di vitamina B3. La pellagra colpisce pelle e intestino.\n"
)
PELLAGRA = Question(text="Che cos'è la pellagra?", language=Language.ITALIAN)
CHEST_PAIN = "Ho un dolore fortissimo al petto che va al braccio sinistro e sudo freddo"


@pytest.fixture(scope="module")
def embedder() -> Embedder:
    from rag.models.e5 import E5Embedder

    return E5Embedder(threads=1)


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory, embedder: Embedder) -> Path:
    home = tmp_path_factory.mktemp("published")
    (home / "pages").mkdir()
    (home / "pages" / "pellagra.md").write_text(PAGE, encoding="utf-8")
    (home / "sources.toml").write_text(SOURCES, encoding="utf-8")
    report = asyncio.run(run_ingest(home, embedder, own_sources=home / "sources.toml"))
    assert not report.problems
    return home


@pytest.fixture
def home(published: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(published, tmp_path / "home")
    monkeypatch.setenv("SALUS_SOURCES", str(tmp_path / "home" / "sources.toml"))
    return tmp_path / "home"


def make_old(home: Path) -> None:
    """Make of an index one that an earlier release could have left: other columns, other figures beside them."""
    table: Any = lancedb.connect(str(index_directory(home))).open_table("surfaces_it")
    figures = index_directory(home) / f"surfaces_it.{table.version}.json"
    fields = json.loads(figures.read_text(encoding="utf-8"))
    table.drop_columns(["sentence_vectors", "document"])
    table.tags.update("live", table.version)
    kept = {"embedder": fields["embedder"], "dimension": fields["dimension"], "schema_version": 0}
    figures.with_name(f"surfaces_it.{table.version}.json").write_text(json.dumps(kept), encoding="utf-8")
    figures.unlink()


def ask(bot: Running) -> Any:
    return bot.app._answerer.answer(PELLAGRA).reply


def page(home: Path, embedder: Embedder) -> Document | None:
    return IndexStore(index_directory(home)).open(Language.ITALIAN, embedder.fingerprint).get_document("schede-pellagra")


def test_rows_of_another_release_are_not_even_read(home: Path, embedder: Embedder) -> None:
    make_old(home)
    with pytest.raises(IndexOutdated, match="another release"):
        page(home, embedder)


async def test_over_an_index_of_an_older_release_the_bot_starts_knows_emergencies_and_builds_it_anew(
    home: Path, embedder: Embedder, launch: Launch
) -> None:
    make_old(home)
    bot = await launch(home=home, embedder=embedder, nightly=False)
    reply = ask(bot)
    assert isinstance(reply, Abstention)
    assert reply.kind is AbstentionKind.NO_CONTENT
    await bot.telegram_says(CHEST_PAIN)
    await bot.idle()
    assert any("112" in text or "118" in text for text in bot.telegram_texts())
    await asyncio.wait_for(bot.app._operations.runner.wait(), 120)
    assert isinstance(ask(bot), Answer)


async def test_a_ledger_of_an_older_release_is_brought_up_to_date_by_the_first_run_and_nothing_is_lost(
    home: Path, embedder: Embedder
) -> None:
    ledger = sqlite3.connect(ledger_path(home))
    ledger.executescript("ALTER TABLE runs DROP COLUMN scope; PRAGMA user_version = 2;")
    ledger.close()
    report = await run_ingest(home, embedder, own_sources=home / "sources.toml")
    assert not report.problems
    assert [language.pages for language in report.languages if language.pages] == [1]
    assert page(home, embedder) is not None


async def test_a_ledger_of_a_newer_release_is_left_alone_and_answers_go_on(
    home: Path, embedder: Embedder, launch: Launch
) -> None:
    ledger = sqlite3.connect(ledger_path(home))
    ledger.execute(f"PRAGMA user_version = {SCHEMA_VERSION + 1}")
    ledger.close()
    bot = await launch(home=home, embedder=embedder, nightly=True)
    assert isinstance(ask(bot), Answer)
    ledger = sqlite3.connect(ledger_path(home))
    assert ledger.execute("PRAGMA user_version").fetchone() == (SCHEMA_VERSION + 1,)
    ledger.close()
