import asyncio
import os
import shutil
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from bot import doctor
from bot.settings import Settings, load_settings
from ingest.ledger import Ledger, RunStatus
from ingest.lock import writer_lock
from ingest.run import ledger_path, run_lock
from tests.doubles.openai_server import MODEL, OpenAIServerDouble, writes


@pytest.fixture(autouse=True)
def bare_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("SALUS_")]:
        monkeypatch.delenv(name)


def found(subject: str, settings: Settings) -> doctor.Finding:
    findings = [*doctor._messengers(settings), doctor._generator(settings), doctor._python(), doctor._disk(settings.home)]
    return next(finding for finding in findings if finding.subject == subject)


def test_a_supported_python_is_ok(tmp_path: Path) -> None:
    assert found("Python", load_settings(home=tmp_path)).is_ok


def test_an_old_python_is_named_with_what_to_use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Version(NamedTuple):
        major: int = 3
        minor: int = 9

    monkeypatch.setattr(sys, "version_info", Version())
    finding = doctor._python()
    assert not finding.is_ok
    assert "3.11 to 3.13" in finding.text


def test_too_little_room_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=1000))
    finding = found("disk", load_settings(home=tmp_path / "not" / "there" / "yet"))
    assert not finding.is_ok
    assert "SALUS_HOME" in finding.text


def test_a_home_that_cannot_be_written_is_a_sentence_and_the_models_in_it_are_not_looked_for(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    findings = {finding.subject: finding for finding in doctor.examine(load_settings(home=file / "salus"))}
    assert not findings["disk"].is_ok
    assert "cannot be written" in findings["disk"].text
    assert findings.keys().isdisjoint({"generator", "embedder", "ingestion"})
    assert "messengers" in findings


def test_a_folder_of_somebody_else_is_not_called_ready(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.access", lambda _, mode: not mode & os.W_OK)  # root may write everywhere
    finding = doctor._disk(tmp_path)
    assert not finding.is_ok
    assert "cannot be written" in finding.text


def test_a_missing_generator_is_advice_with_the_command(tmp_path: Path) -> None:
    finding = found("generator", load_settings(home=tmp_path))
    assert (finding.is_ok, finding.is_advice) == (False, True)
    assert "salus models pull" in finding.text


def test_a_cut_model_file_is_found(tmp_path: Path) -> None:
    file = tmp_path / "models" / "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf"
    file.parent.mkdir()
    file.write_bytes(b"GGUF")
    finding = found("generator", load_settings(home=tmp_path, generator="qwen2.5-coder-0.5b"))
    assert (finding.is_ok, finding.is_advice) == (False, False)
    assert "wrong size" in finding.text


def test_no_generator_on_purpose_is_ok(tmp_path: Path) -> None:
    assert found("generator", load_settings(home=tmp_path, generator="none")).is_ok


def test_no_messenger_is_advice(tmp_path: Path) -> None:
    assert found("messengers", load_settings(home=tmp_path)).is_advice


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({}, "SALUS_TELEGRAM_WEBHOOK_SECRET is missing; SALUS_PUBLIC_BASE_URL is missing"),
        ({"telegram_webhook_secret": "s", "public_base_url": "http://bot.example.org"}, "https://"),
    ],
)
def test_what_a_webhook_lacks_is_named(tmp_path: Path, changes: dict[str, str], fault: str) -> None:
    finding = found("Telegram", load_settings(home=tmp_path, telegram_token="1:t", telegram_mode="webhook", **changes))
    assert not finding.is_ok
    assert fault in finding.text


def test_a_complete_webhook_is_ok(tmp_path: Path) -> None:
    complete = {"telegram_webhook_secret": "s", "public_base_url": "https://bot.example.org"}
    assert found("Telegram", load_settings(home=tmp_path, telegram_token="1:t", telegram_mode="webhook", **complete)).is_ok


def test_what_whatsapp_lacks_is_named(tmp_path: Path) -> None:
    finding = found("WhatsApp", load_settings(home=tmp_path, whatsapp_from="+390200000000"))
    assert "SALUS_TWILIO_ACCOUNT_SID is missing" in finding.text
    assert "SALUS_TWILIO_AUTH_TOKEN is missing" in finding.text
    assert "SALUS_HUMAN_CONTACT is missing" in finding.text
    assert "390200000000" not in finding.text


def test_unrung_numbers_are_listed() -> None:
    findings = {finding.subject: finding for finding in doctor._safety_data()}
    assert findings["safety data"].is_ok
    assert findings["numbers"].is_advice
    assert "IT 118" in findings["numbers"].text


def test_a_missing_index_says_what_to_run(tmp_path: Path) -> None:
    from locales.language import Language

    (finding,) = doctor._index(load_settings(home=tmp_path), Language.ITALIAN, "hash-1")
    assert not finding.is_ok
    assert "salus ingest" in finding.text
    assert not doctor._last_run(load_settings(home=tmp_path)).is_ok


def test_a_ledger_without_a_run_says_that_there_was_none(tmp_path: Path) -> None:
    async def choose() -> None:
        async with Ledger.open(ledger_path(tmp_path)) as ledger:
            await ledger.choose_source("asl", False)

    asyncio.run(choose())
    assert "has never run" in doctor._last_run(load_settings(home=tmp_path)).text


def test_a_run_that_goes_on_is_told_from_one_that_was_cut_off(tmp_path: Path) -> None:
    async def begin() -> None:
        async with Ledger.open(ledger_path(tmp_path)) as ledger:
            await ledger.begin_run()

    asyncio.run(begin())
    assert not doctor._last_run(load_settings(home=tmp_path)).is_ok
    with writer_lock(run_lock(tmp_path)):
        assert doctor._last_run(load_settings(home=tmp_path)).is_ok


@pytest.mark.parametrize("status", [RunStatus.FAILED, RunStatus.INTERRUPTED])
def test_a_run_that_failed_is_not_ok(tmp_path: Path, status: RunStatus) -> None:
    async def run() -> None:
        async with Ledger.open(ledger_path(tmp_path)) as ledger:
            await ledger.end_run(await ledger.begin_run(), status, {})

    asyncio.run(run())
    finding = doctor._last_run(load_settings(home=tmp_path))
    assert (finding.is_ok, finding.is_advice) == (False, False)
    assert "salus ingest" in finding.text


def served(tmp_path: Path, url: str, **changes: object) -> doctor.Finding:
    return found(
        "generator", load_settings(**({"home": tmp_path, "generator": f"openai:{MODEL}", "generator_url": url} | changes))
    )


async def test_a_generator_on_a_server_is_asked(tmp_path: Path) -> None:
    async with OpenAIServerDouble(writes("x"), context_tokens=1234) as server:
        finding = await asyncio.to_thread(served, tmp_path, server.url)
    assert finding.is_ok
    assert "on a server of your own network, room for 1234 tokens" in finding.text


async def test_a_server_without_the_model_is_pointed_out(tmp_path: Path) -> None:
    async with OpenAIServerDouble(writes("x")) as server:
        finding = await asyncio.to_thread(served, tmp_path, server.url, generator="openai:another")
    assert not finding.is_ok
    assert "no model of this name" in finding.text


def test_a_server_that_is_down_means_quotes(tmp_path: Path) -> None:
    finding = served(tmp_path, "http://127.0.0.1:1/v1")
    assert not finding.is_ok
    assert "cannot be reached. Answers are quotes." in finding.text


def test_a_server_beyond_the_own_network_is_no_start(tmp_path: Path) -> None:
    assert "SALUS_REMOTE_GENERATOR=true" in served(tmp_path, "https://8.8.8.8/v1").text
