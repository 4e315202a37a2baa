"""What a patient writes, and every secret, must be found nowhere afterwards (H41)."""

import asyncio
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from bot.telemetry import configure
from rag.models.protocols import Vectors
from tests.doubles.bot_api import TOKEN
from tests.doubles.twilio_api import AUTH_TOKEN
from tests.e2e.conftest import SECRET, Launch
from tests.fakes import HashEmbedder
from tests.logging_state import restored_logging

CANARIES = ("zanzibar", "petto", "3337654321", "Mario", TOKEN, AUTH_TOKEN, SECRET)


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


async def test_no_word_and_no_secret_is_left_on_disk_or_in_the_log_h41(
    launch: Launch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], debug_log: None
) -> None:
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    monkeypatch.setenv("TMPDIR", str(temporary))
    bot = await launch(embedder=_BreakingEmbedder(dimension=256))
    number = "+393337654321"
    for text in ("Mi piace zanzibar, che fare per la tosse?", "ho un dolore al petto che va al braccio e sudo", "/zanzibar"):
        await bot.telegram_says(text, chat=3337654321)
        await bot.whatsapp_says(text, number)
    bot.telegram.fail_next("sendMessage", 400, "Bad Request: zanzibar")
    await bot.telegram_says("e per la febbre, zanzibar?", chat=3337654321)
    await bot.idle()
    asyncio.get_running_loop().call_exception_handler({"message": "zanzibar", "exception": ValueError("zanzibar")})
    assert any("Mi scusi" in text for text in bot.whatsapp_texts(number))
    await bot.app.stop()

    out, err = capfd.readouterr()
    assert '"event": "turn_failed"' in err
    assert '"error": "ValueError"' in err
    assert [canary for canary in CANARIES if canary in out + err] == []
    assert "claims.sqlite" in {file.name for file in files(tmp_path)}
    assert [(file.name, canary) for file in files(tmp_path) for canary in CANARIES if canary.encode() in file.read_bytes()] == []
