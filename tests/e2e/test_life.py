"""Starting, refusing to start, and stopping."""

import asyncio
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from bot.app import build
from bot.errors import StartRefused
from bot.evaluation.acknowledgement import measure_acknowledgements
from bot.settings import load_settings
from channels.errors import ChannelMisconfigured
from rag.errors import IndexMismatch
from tests.doubles import BotApiDouble
from tests.e2e.conftest import SECRET, Launch
from tests.fakes import HashEmbedder, ScriptedLanguageModel

TELEGRAM = {"telegram_token": "123456:a-real-looking-token", "public_base_url": "https://bot.esempio.it"}
TWILIO = {
    "twilio_account_sid": "AC" + "0" * 32,
    "twilio_auth_token": "token",
    "whatsapp_from": "+390200000000",
    "public_base_url": "https://bot.esempio.it",
    "human_contact": "+390200000001",
    "hash_key": "a key for hashes, long enough",
}


TWILIO_ONLY = {name: value for name, value in TWILIO.items() if name != "public_base_url"}


def assemble(home: Path, embedder: HashEmbedder | None = None, **settings: Any) -> Any:
    model = ScriptedLanguageModel("")
    return build(load_settings(home=home, **settings), language_model=model, embedder=embedder or HashEmbedder(dimension=256))


@pytest.mark.parametrize("account", [TELEGRAM, TWILIO])
def test_unreviewed_pages_are_not_served_to_a_real_account(published_home: Path, account: dict[str, str]) -> None:
    with pytest.raises(StartRefused, match="SALUS_ALLOW_UNREVIEWED") as caught:
        assemble(published_home, **account)
    assert not any(value in str(caught.value) for value in account.values())
    assert assemble(published_home, **account, allow_unreviewed=True)


def test_unreviewed_pages_are_not_served_to_programs_on_other_machines(published_home: Path) -> None:
    local: dict[str, Any] = {"telegram_token": "1:test", "telegram_api_base_url": "http://127.0.0.1:1/bot"}
    programs: dict[str, Any] = {"api_tokens": "query:a-token-of-more-than-16", "host": "0.0.0.0"}
    with pytest.raises(StartRefused, match=r"SALUS_API_TOKENS .*SALUS_ALLOW_UNREVIEWED"):
        assemble(published_home, **local, **programs)
    assert assemble(published_home, **local, **programs | {"host": "127.0.0.1"})


def test_a_real_whatsapp_account_without_a_person_to_turn_to_is_refused(published_home: Path) -> None:
    lonely = {name: value for name, value in TWILIO.items() if name != "human_contact"}
    with pytest.raises(StartRefused, match="SALUS_HUMAN_CONTACT"):
        assemble(published_home, **lonely, allow_unreviewed=True)
    assert assemble(published_home, **lonely, allow_unreviewed=True, twilio_api_base_url="http://127.0.0.1:1")


def test_a_real_whatsapp_account_that_a_restart_would_make_forget_a_stop_is_refused(published_home: Path) -> None:
    forgetful = {name: value for name, value in TWILIO.items() if name != "hash_key"}
    with pytest.raises(StartRefused, match="SALUS_HASH_KEY"):
        assemble(published_home, **forgetful, allow_unreviewed=True)


def test_an_address_that_only_looks_like_this_machine_is_a_real_account(published_home: Path) -> None:
    with pytest.raises(StartRefused, match="SALUS_ALLOW_UNREVIEWED"):
        assemble(published_home, **TELEGRAM, telegram_api_base_url="https://localhost.esempio.it/bot")


def test_without_a_published_index_it_starts(tmp_path: Path) -> None:
    assert assemble(tmp_path, **TELEGRAM)


def test_an_index_of_another_embedder_is_refused(published_home: Path) -> None:
    with pytest.raises(IndexMismatch):
        assemble(published_home, HashEmbedder(dimension=256, fingerprint="hash-2"), **TELEGRAM)


@pytest.mark.parametrize("secret", [None, ""])
def test_a_webhook_without_a_secret_is_refused_h08(tmp_path: Path, secret: str | None) -> None:
    with pytest.raises(ChannelMisconfigured):
        assemble(tmp_path, **TELEGRAM, telegram_mode="webhook", telegram_webhook_secret=secret)


def test_without_a_messenger_nothing_is_served(tmp_path: Path) -> None:
    with pytest.raises(StartRefused, match="SALUS_TELEGRAM_TOKEN"):
        assemble(tmp_path)


def test_an_incomplete_whatsapp_account_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ChannelMisconfigured):
        assemble(tmp_path, **{**TWILIO, "twilio_auth_token": ""})


async def test_a_taken_port_is_one_clear_sentence(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        app = assemble(tmp_path, **TELEGRAM, **TWILIO_ONLY, port=taken.getsockname()[1])
        with pytest.raises(StartRefused, match="SALUS_PORT"):
            await app.start()


async def test_a_token_that_telegram_refuses_ends_the_start(tmp_path: Path) -> None:
    async with BotApiDouble() as telegram:
        app = assemble(tmp_path, telegram_token="1:wrong", telegram_api_base_url=telegram.base_url, port=0)
        with pytest.raises(ChannelMisconfigured):
            await app.start()


async def test_an_answer_in_progress_is_sent_before_the_bot_stops_h09(launch: Launch) -> None:
    bot = await launch(model=ScriptedLanguageModel("", delay_s=0.5))
    await bot.telegram_says("Quanto dura l'influenza?")
    await bot.until(lambda: bool(bot.model.prompts))
    await bot.app.stop()
    assert "influenza guarisce" in bot.telegram_texts()[-1]


async def test_an_answer_that_takes_too_long_becomes_an_apology_h09(launch: Launch) -> None:
    bot = await launch(model=ScriptedLanguageModel("", delay_s=30.0), shutdown_grace_s=0.2)
    await bot.telegram_says("Quanto dura l'influenza?")
    await bot.until(lambda: bool(bot.model.prompts))
    begun = time.monotonic()
    await bot.app.stop()
    assert time.monotonic() - begun < 8.0
    assert "Mi scusi" in bot.telegram_texts()[-1]
    assert bot.model.cancelled == 1


async def test_sigterm_ends_the_process_with_success_h09(tmp_path: Path) -> None:
    async with BotApiDouble() as telegram:
        environment = {
            "PATH": "/usr/bin:/bin",
            "SALUS_HOME": str(tmp_path / "home"),
            "SALUS_PORT": "0",
            "SALUS_GENERATOR": "none",
            "SALUS_CONSENT": "false",
            "SALUS_TELEGRAM_TOKEN": telegram.token,
            "SALUS_TELEGRAM_API_BASE_URL": telegram.base_url,
            "SALUS_TELEGRAM_WEBHOOK_SECRET": SECRET,
        }
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "bot.cli", "serve", env=environment, stderr=subprocess.PIPE, stdout=subprocess.PIPE
        )
        try:
            await telegram.inject(message=telegram.message("Quanto dura l'influenza?"))
            await telegram.wait_sent(2, within_s=60)
            process.send_signal(signal.SIGTERM)
            out, err = await asyncio.wait_for(process.communicate(), 20)
        finally:
            if process.returncode is None:
                process.kill()
    assert process.returncode == 0
    assert b'"event": "stopped"' in err
    assert b"influenza" not in out + err
    assert "non ho fonti" in telegram.sent[-1].visible


async def test_a_webhook_is_acknowledged_quickly_while_the_model_is_busy(published_home: Path) -> None:
    figures = await measure_acknowledgements(
        load_settings(home=published_home),
        ["Quanto dura l'influenza?", "Che cos'è l'asma?"],
        count=20,
        language_model=ScriptedLanguageModel("", delay_s=0.2),
        embedder=HashEmbedder(dimension=256),
    )
    assert figures["n"] == 20
    assert figures["p99_ms"] < 1000
