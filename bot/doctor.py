"""Looks over everything the bot needs and says what to do about what is missing."""

import asyncio
import importlib.util
import os
import platform
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from bot.errors import BotError
from bot.loading import load_gate, load_texts
from bot.settings import Settings, is_loopback
from locales.language import Language
from rag.errors import RagError

_PYTHONS = ((3, 11), (3, 14))
_SPARE_BYTES = 1_000_000_000
_STALE_DAYS = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing looked at. An `is_advice` finding asks for attention but keeps nothing from working."""

    subject: str
    text: str
    is_ok: bool
    is_advice: bool = False


def examine(settings: Settings) -> Iterator[Finding]:
    """Look everything over, one finding after the other."""
    yield _python()
    yield _disk(settings.home)
    if _can_be_written(settings.home):
        yield _generator(settings)
        yield from _embedder_and_index(settings)
    yield from _safety_data()
    yield from _messengers(settings)


def _python() -> Finding:
    low, high = _PYTHONS
    is_ok = low <= sys.version_info[:2] < high
    advice = "" if is_ok else f"; Salus runs on {low[0]}.{low[1]} to {high[0]}.{high[1] - 1}"
    return Finding(subject="Python", text=platform.python_version() + advice, is_ok=is_ok)


def _disk(home: Path) -> Finding:
    if not _can_be_written(home):
        text = f"the folder {home} cannot be written; give it to the user that runs this, or set SALUS_HOME to another"
        return Finding(subject="disk", text=text, is_ok=False)
    free = shutil.disk_usage(_nearest(home)).free
    is_ok = free >= _SPARE_BYTES
    advice = "" if is_ok else "; make room or set SALUS_HOME to another disk"
    return Finding(subject="disk", text=f"{free / 1e9:.1f} GB free for {home}{advice}", is_ok=is_ok)


def _can_be_written(home: Path) -> bool:
    nearest = _nearest(home)
    return nearest.is_dir() and os.access(nearest, os.W_OK | os.X_OK)


def _nearest(home: Path) -> Path:
    """The folder itself, or the one in which it would be made."""
    return next(folder for folder in (home, *home.parents) if os.access(folder, os.F_OK))


def _generator(settings: Settings) -> Finding:
    from rag.models.load import NO_MODEL, is_local
    from rag.models.registry import find

    name = settings.generator
    if name.strip().lower() == NO_MODEL:
        return Finding(subject="generator", text="none: answers are quotes of the sources", is_ok=True)
    if settings.generator_server is not None:
        return _served_generator(name, settings)
    if importlib.util.find_spec("llama_cpp") is None:
        return Finding(subject="generator", text="llama-cpp-python is not installed: answers are quotes", is_ok=False)
    row = find(name)
    file = settings.home / "models" / row.file if row and row.file else None
    if row and file and row.size and file.exists() and file.stat().st_size != row.size:
        text = f"{file} has the wrong size; fetch it anew with `salus models pull {name}`"
        return Finding(subject="generator", text=text, is_ok=False)
    if not is_local(name, settings.home):
        text = f"{name} is not here, so answers are quotes; fetch it with `salus models pull {name}`"
        return Finding(subject="generator", text=text, is_ok=False, is_advice=True)
    return Finding(subject="generator", text=f"{name}, ready", is_ok=True)


def _served_generator(name: str, settings: Settings) -> Finding:
    from rag.models.load import load_generator
    from rag.models.openai_compatible import OpenAICompatibleModel

    try:
        model = load_generator(name, settings.home, server=settings.generator_server)
        assert isinstance(model, OpenAICompatibleModel)  # noqa: S101 - its server is known
        facts = model.ask()
    except RagError as error:
        return Finding(subject="generator", text=f"{name}: {error} Answers are quotes.", is_ok=False)
    if not facts.has_model:
        return Finding(subject="generator", text=f"{name}: the server has no model of this name", is_ok=False, is_advice=True)
    party = settings.remote_generator_party
    where = f"at {party}, which patients are told" if party else "on a server of your own network"
    return Finding(subject="generator", text=f"{name} {where}, room for {model.context_tokens} tokens", is_ok=True)


def _embedder_and_index(settings: Settings) -> Iterator[Finding]:
    from rag.models.load import load_embedder

    try:
        embedder = load_embedder(settings.embedder, settings.home, settings.threads)
    except RagError as error:
        yield Finding(subject="embedder", text=str(error), is_ok=False)
        return
    yield Finding(subject="embedder", text=f"{settings.embedder}, {embedder.dimension} dimensions", is_ok=True)
    for language in Language:
        yield from _index(settings, language, embedder.fingerprint)
    yield _last_run(settings)


def _index(settings: Settings, language: Language, fingerprint: str) -> Iterator[Finding]:
    from ingest.run import index_directory
    from rag.store import IndexStore

    subject = f"index {language.value}"
    try:
        reader = IndexStore(index_directory(settings.home)).open(language, fingerprint)
    except RagError as error:
        yield Finding(subject=subject, text=str(error), is_ok=False)
        return
    yield Finding(subject=subject, text=f"{reader.statistics.n} passages, version {reader.version}", is_ok=True)
    if reader.is_demonstration:
        text = "holds demonstration texts that no clinician has reviewed; not for real patients"
        yield Finding(subject=subject, text=text, is_ok=False, is_advice=True)


def _last_run(settings: Settings) -> Finding:
    from bot.ingestion import is_locked
    from ingest.errors import IngestError
    from ingest.ledger import Ledger, RunRow, RunStatus
    from ingest.run import ledger_path, run_lock

    path = ledger_path(settings.home)

    async def latest() -> RunRow | None:
        async with Ledger.open(path) as ledger:
            return await ledger.latest_run()

    if not path.exists():
        return Finding(subject="ingestion", text="has never run; run `salus ingest`", is_ok=False)
    try:
        run = asyncio.run(latest())
    except IngestError as error:
        return Finding(subject="ingestion", text=str(error), is_ok=False)
    if run is None:  # a choice of sources makes the ledger too
        return Finding(subject="ingestion", text="has never run; run `salus ingest`", is_ok=False)
    if run.ended is None and is_locked(run_lock(settings.home)):
        return Finding(subject="ingestion", text="a run is going on", is_ok=True)
    if run.ended is None:
        return Finding(subject="ingestion", text="did not end; run `salus ingest` again", is_ok=False)
    if run.status in (RunStatus.FAILED, RunStatus.INTERRUPTED):
        return Finding(subject="ingestion", text=f"the last run {run.status.value}; run `salus ingest` again", is_ok=False)
    age = (datetime.now(UTC) - run.ended).days
    is_fresh = age <= _STALE_DAYS
    advice = "" if is_fresh else "; the sources may have changed: run `salus ingest`"
    return Finding(
        subject="ingestion", text=f"{run.status.value}, {age} days ago{advice}", is_ok=is_fresh, is_advice=not is_fresh
    )


def _safety_data() -> Iterator[Finding]:
    try:
        load_gate()
        _, directory = load_texts()
    except BotError as error:
        yield Finding(subject="safety data", text=str(error), is_ok=False)
        return
    yield Finding(subject="safety data", text="red flags, texts and emergency numbers can be read", is_ok=True)
    lines = [(code, line) for code in directory.countries for line in directory.lines(code)]
    unrung = [line for _, line in lines if not line.reviewer]
    old = [f"{code} {line.number}" for code, line in lines if line.recheck]
    if unrung or old:
        text = f"{len(unrung)} of {len(lines)} have not been rung by a reviewer (locales/emergency_numbers.toml)"
        text += f"; seen only on pages older than 2023: {', '.join(old)}" if old else ""
        yield Finding(subject="numbers", text=text, is_ok=False, is_advice=True)


def _messengers(settings: Settings) -> Iterator[Finding]:
    if not (settings.has_telegram or settings.has_whatsapp):
        text = "none is configured; `salus chat` works, `salus serve` needs SALUS_TELEGRAM_TOKEN or the Twilio settings"
        yield Finding(subject="messengers", text=text, is_ok=False, is_advice=True)
    if settings.has_telegram:
        yield _finding("Telegram", _telegram_faults(settings))
    if settings.has_whatsapp:
        yield _finding("WhatsApp", _whatsapp_faults(settings))
    if settings.hash_key is None:
        text = "not set: after a restart a message that is delivered again is answered again"
        yield Finding(subject="SALUS_HASH_KEY", text=text, is_ok=False, is_advice=True)


def _telegram_faults(settings: Settings) -> list[str]:
    if settings.telegram_mode == "polling":
        return []
    faults = [] if settings.telegram_webhook_secret else ["SALUS_TELEGRAM_WEBHOOK_SECRET is missing"]
    return faults + _address_faults(settings, settings.telegram_api_base_url)


def _whatsapp_faults(settings: Settings) -> list[str]:
    needed = {
        "SALUS_TWILIO_ACCOUNT_SID": settings.twilio_account_sid,
        "SALUS_TWILIO_AUTH_TOKEN": settings.twilio_auth_token,
        "SALUS_WHATSAPP_FROM": settings.whatsapp_from,
    }
    if not is_loopback(settings.twilio_api_base_url):
        needed["SALUS_HUMAN_CONTACT"] = settings.human_contact
    faults = [f"{name} is missing" for name, value in needed.items() if not value]
    return faults + _address_faults(settings, settings.twilio_api_base_url)


def _address_faults(settings: Settings, api_base_url: str | None) -> list[str]:
    if settings.public_base_url is None:
        return ["SALUS_PUBLIC_BASE_URL is missing"]
    if not settings.public_base_url.startswith("https://") and not is_loopback(api_base_url):
        return ["SALUS_PUBLIC_BASE_URL must begin with https://"]
    return []


def _finding(subject: str, faults: list[str]) -> Finding:
    return Finding(subject=subject, text="; ".join(faults) or "configured", is_ok=not faults)
