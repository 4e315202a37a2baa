"""What a patient writes, and every secret, must be found nowhere afterwards (H41)."""

import asyncio
import json
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from bot.telemetry import configure
from rag.models.protocols import Vectors
from tests.doubles.bot_api import TOKEN
from tests.doubles.cms import signed_headers
from tests.doubles.twilio_api import AUTH_TOKEN
from tests.e2e.conftest import SECRET, Launch, Running
from tests.fakes import HashEmbedder
from tests.logging_state import restored_logging

CMS_SECRET, QUERY_TOKEN, REINDEX_TOKEN = "a-secret-of-the-cms", "a-token-that-may-ask", "a-token-that-may-run"
ADMIN, ADMIN_NUMBER = "9182736455", "3339182736"
CANARIES = (
    *("zanzibar", "petto", "3337654321", "Mario", TOKEN, AUTH_TOKEN, SECRET),
    *(CMS_SECRET, QUERY_TOKEN, REINDEX_TOKEN, ADMIN, ADMIN_NUMBER),
)
CMS_SOURCE = '[[source]]\nid = "portale"\nkind = "cms"\npublisher = "ASL"\nlanguage = "it"\n'


def files(folder: Path) -> list[Path]:
    return [file for file in folder.rglob("*") if file.is_file()]


class _BreakingEmbedder(HashEmbedder):
    """Breaks at one word, with the patient's words in the exception, as libraries do."""

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        if any("zanzibar" in text.lower() for text in texts):
            raise ValueError(f"cannot embed {texts!r}")
        return super().embed_queries(texts)


@pytest.fixture
def debug_log() -> Iterator[None]:
    with restored_logging():
        configure("DEBUG")
        yield


async def programs_call(bot: Running) -> list[int]:
    """Programs ask, also in vain, and send events that are forged or wrong; gives the statuses."""
    replies = []
    for path, token, fields in (
        ("query", QUERY_TOKEN, {"question": "Mi piace zanzibar, che fare per la tosse?", "language": "it"}),
        ("query", QUERY_TOKEN, {"question": "Ho un forte dolore al petto e sudo"}),
        ("query", QUERY_TOKEN, {"question": "zanzibar", "zanzibar": "petto"}),
        ("query", QUERY_TOKEN, {"question": "Quanto dura l'influenza?", "language": "it"}),
        ("query", REINDEX_TOKEN, {"question": "zanzibar"}),
        ("query", "zanzibar", {"question": "zanzibar"}),
        ("reindex", REINDEX_TOKEN, {"source": "zanzibar"}),
    ):
        headers = {"Authorization": f"Bearer {token}"}
        replies.append(await bot.http.post(f"{bot.url}/chatbot/{path}", json=fields, headers=headers))
    body = json.dumps({"id": "1", "event": "content.zanzibar", "content": {"contentId": "petto"}}).encode()
    for secret in (CMS_SECRET, "zanzibar"):
        headers = signed_headers(body, secret, time.time())
        replies.append(await bot.http.post(f"{bot.url}/cms/events", content=body, headers=headers))
    assert [reply.text for reply in replies[:1] + replies[2:] if "petto" in reply.text] == []
    return [reply.status_code for reply in replies]


async def test_no_word_and_no_secret_is_left_on_disk_or_in_the_log_h41(
    launch: Launch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], debug_log: None
) -> None:
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    monkeypatch.setenv("TMPDIR", str(temporary))
    (tmp_path / "sources.toml").write_text(CMS_SOURCE, encoding="utf-8")
    bot = await launch(
        embedder=_BreakingEmbedder(dimension=256),
        sources=tmp_path / "sources.toml",
        nightly=False,
        cms_secret=CMS_SECRET,
        api_tokens=(f"query:{QUERY_TOKEN}", f"reindex:{REINDEX_TOKEN}"),
        admin_ids=(ADMIN, f"+39{ADMIN_NUMBER}", "not-an-id"),
    )
    number = "+393337654321"
    for text in ("Mi piace zanzibar, che fare per la tosse?", "ho un dolore al petto che va al braccio e sudo", "/zanzibar"):
        await bot.telegram_says(text, chat=3337654321)
        await bot.whatsapp_says(text, number)
        await bot.idle()  # what an emergency overtakes is not answered
    bot.telegram.fail_next("sendMessage", 400, "Bad Request: zanzibar")
    await bot.telegram_says("e per la febbre, zanzibar?", chat=3337654321)
    await bot.idle()  # or somebody else's reply would be the one that fails
    for text in ("/status", "/reindex zanzibar", "/cancel", "/stats"):
        await bot.telegram_says(text, chat=int(ADMIN))
        await bot.whatsapp_says(text, f"+39{ADMIN_NUMBER}")
    assert await programs_call(bot) == [500, 200, 422, 200, 403, 401, 404, 400, 401]
    await bot.idle()
    assert "Stato di Salus" in bot.telegram_texts(int(ADMIN))[0]
    asyncio.get_running_loop().call_exception_handler({"message": "zanzibar", "exception": ValueError("zanzibar")})
    assert any("Mi scusi" in text for text in bot.whatsapp_texts(number))
    await bot.app.stop()

    out, err = capfd.readouterr()
    assert '"event": "turn_failed"' in err
    assert '"error": "ValueError"' in err
    assert [canary for canary in CANARIES if canary in out + err] == []
    assert "claims.sqlite" in {file.name for file in files(tmp_path)}
    assert [(file.name, canary) for file in files(tmp_path) for canary in CANARIES if canary.encode() in file.read_bytes()] == []
