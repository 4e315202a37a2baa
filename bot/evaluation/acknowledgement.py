"""Measures how soon a webhook is acknowledged while the generator works: a messenger that waits too long delivers again."""

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import httpx
import numpy as np
from twilio.request_validator import RequestValidator

from bot.app import App, build
from bot.settings import Settings
from channels.messages import OutboundMessage, Patient
from channels.whatsapp_channel import WEBHOOK_PATH, WhatsAppChannel
from rag.models.protocols import Embedder, LanguageModel

_ADDRESS = "https://acknowledgement.invalid"
_TOKEN = "measured-here-only"  # noqa: S105 - signs the measurement's own requests
_PAUSE_S = 0.05


class _SilentWhatsApp(WhatsAppChannel):
    """The real webhook of WhatsApp, with nobody to reply to."""

    async def send(self, to: Patient, message: OutboundMessage) -> None:
        pass


async def measure_acknowledgements(
    settings: Settings,
    questions: Sequence[str],
    *,
    count: int = 200,
    language_model: LanguageModel | None = None,
    embedder: Embedder | None = None,
) -> dict[str, float]:
    """Post signed messages to the bot's own web server while it answers others.

    Args:
        settings: As the bot runs; host and port are replaced, no messenger is contacted.
        questions: Asked over and over, each by a patient of its own.
        count: Messages posted.
        language_model: Stands in for the configured generator.
        embedder: Stands in for the configured embedder.

    Returns:
        `n`, and `p50_ms`, `p99_ms` and `max_ms` from the request to its acknowledgement.
    """
    channel = _SilentWhatsApp("AC" + "0" * 32, _TOKEN, "+390000000000", _ADDRESS)
    changes = {"host": "127.0.0.1", "port": 0, "hash_key": None, "allow_unreviewed": True, "shutdown_grace_s": 0.0}
    here = settings.model_copy(update=changes)
    app = build(here, channels=[channel], language_model=language_model, embedder=embedder)
    async with _running(app), httpx.AsyncClient(base_url=f"http://127.0.0.1:{app.port}") as client:
        seconds = [await _acknowledge(client, number, questions[number % len(questions)]) for number in range(count)]
    p50, p99, longest = np.percentile(np.array(seconds) * 1000.0, [50, 99, 100])
    return {"n": count, "p50_ms": round(float(p50), 1), "p99_ms": round(float(p99), 1), "max_ms": round(float(longest), 1)}


@asynccontextmanager
async def _running(app: App) -> AsyncIterator[None]:
    await app.start()
    try:
        yield
    finally:
        await app.stop()


async def _acknowledge(client: httpx.AsyncClient, number: int, text: str) -> float:
    form = {
        "MessageSid": f"SM{number:032x}",
        "From": f"whatsapp:+39{number:010d}",
        "WaId": f"39{number:010d}",
        "Body": text,
        "NumMedia": "0",
    }
    signature = RequestValidator(_TOKEN).compute_signature(_ADDRESS + WEBHOOK_PATH, form)
    await asyncio.sleep(_PAUSE_S)
    begun = time.monotonic()
    reply = await client.post(WEBHOOK_PATH, data=form, headers={"X-Twilio-Signature": signature})
    seconds = time.monotonic() - begun
    reply.raise_for_status()
    return seconds
