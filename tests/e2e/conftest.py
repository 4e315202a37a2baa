"""A whole bot over the wire: real index, real libraries of the messengers, doubles for their servers."""

import asyncio
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from bot.app import App, build
from bot.settings import load_settings
from ingest.run import run_ingest
from rag.models.protocols import Embedder
from tests.doubles import BotApiDouble, TwilioDouble, post_signed_form
from tests.doubles.twilio_api import ACCOUNT_SID, AUTH_TOKEN, SENDER, whatsapp_form
from tests.fakes import HashEmbedder, ScriptedLanguageModel

PUBLIC = "https://bot.esempio.it"
SECRET = "a-secret-of-the-webhook"


@pytest.fixture(autouse=True)
def bare_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("SALUS_")]:
        monkeypatch.delenv(name)


@pytest.fixture(scope="session")
def published_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home in which the starter corpus has been published, with the embedder that hashes words."""
    home = tmp_path_factory.mktemp("home")
    report = asyncio.run(run_ingest(home, HashEmbedder(dimension=256)))
    assert not report.problems
    return home


@dataclass
class Running:
    """A bot that is up, with everything around it."""

    app: App
    model: ScriptedLanguageModel
    embedder: Any  # a HashEmbedder, unless the test brings another
    telegram: BotApiDouble
    twilio: TwilioDouble
    http: httpx.AsyncClient

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.app.port}"

    async def telegram_update(self, update: dict[str, Any], secret: str | None = SECRET) -> httpx.Response:
        headers = {} if secret is None else {"X-Telegram-Bot-Api-Secret-Token": secret}
        return await self.http.post(f"{self.url}/telegram/webhook", json=update, headers=headers)

    async def telegram_says(self, text: str, chat: int = 77) -> dict[str, Any]:
        """A patient writes; gives the update, so that it can be delivered again."""
        update = self.telegram.update(message=self.telegram.message(text, chat=chat))
        reply = await self.telegram_update(update)
        assert reply.status_code == 200
        return update

    async def telegram_taps(self, payload: str, chat: int = 77) -> None:
        """A button is tapped."""
        person = {"id": chat, "is_bot": False, "first_name": "A", "language_code": "it"}
        tap = {"id": f"{chat}{len(self.telegram.calls)}", "from": person, "chat_instance": "1", "data": payload}
        message = self.telegram.message("x", chat=chat)
        await self.telegram_update(self.telegram.update(callback_query=tap | {"message": message}))

    async def whatsapp_says(self, text: str, number: str = "+393331234567", **fields: str) -> dict[str, str]:
        form = whatsapp_form(text, number, **fields)
        await self.whatsapp_form(form)
        return form

    async def whatsapp_form(self, form: dict[str, str]) -> None:
        reply = await post_signed_form(
            f"{self.url}/whatsapp/webhook", AUTH_TOKEN, form, signed_url=f"{PUBLIC}/whatsapp/webhook", client=self.http
        )
        assert reply.status_code == 200

    def telegram_texts(self, chat: int = 77) -> list[str]:
        return [sent.visible for sent in self.telegram.sent if sent.chat == chat]

    def whatsapp_texts(self, number: str = "+393331234567") -> list[str]:
        return [sent["Body"] for sent in self.twilio.sent if sent["To"] == f"whatsapp:{number}"]

    async def idle(self, within_s: float = 10.0) -> None:
        await asyncio.wait_for(self.app.conversation.idle(), within_s)

    async def no_run_followed(self, within_s: float = 120.0) -> None:
        """Wait until every turn has ended, and every run that an administrator began here has been told to its end."""
        await self.idle()
        await asyncio.wait_for(self.app._operations.admin.idle(), within_s)

    async def until(self, condition: Callable[[], bool], within_s: float = 5.0) -> float:
        """Wait for something to become true; gives the seconds it took."""
        begun = time.monotonic()
        while not condition():
            assert time.monotonic() - begun < within_s, "it did not happen in time"
            await asyncio.sleep(0.005)
        return time.monotonic() - begun


Launch = Callable[..., Awaitable[Running]]


@pytest.fixture
async def launch(published_home: Path, tmp_path: Path) -> AsyncIterator[Launch]:
    """Starts bots, and stops them after the test."""
    stack: list[Any] = []

    async def start(
        *,
        model: ScriptedLanguageModel | None = None,
        embedder: Embedder | None = None,
        home: Path | None = None,
        **settings: Any,
    ) -> Running:
        context = running(home or _own_home(published_home, tmp_path), model, embedder, settings)
        bot = await context.__aenter__()
        stack.append(context)
        return bot

    yield start
    for context in reversed(stack):
        await context.__aexit__(None, None, None)


def _own_home(published: Path, tmp_path: Path) -> Path:
    """A home of the test's own that shares the published index."""
    home = tmp_path / "home"
    home.mkdir(exist_ok=True)
    if not (home / "index").exists():
        (home / "index").symlink_to(published / "index")
    return home


@asynccontextmanager
async def running(
    home: Path, model: ScriptedLanguageModel | None, embedder: Embedder | None, changes: dict[str, Any]
) -> AsyncIterator[Running]:
    model, embedder = model or ScriptedLanguageModel(""), embedder or HashEmbedder(dimension=256)
    async with BotApiDouble() as telegram, TwilioDouble() as twilio, httpx.AsyncClient() as http:
        values = {
            "home": home,
            "port": 0,
            "public_base_url": PUBLIC,
            "telegram_token": telegram.token,
            "telegram_mode": "webhook",
            "telegram_webhook_secret": SECRET,
            "telegram_api_base_url": telegram.base_url,
            "twilio_account_sid": ACCOUNT_SID,
            "twilio_auth_token": AUTH_TOKEN,
            "whatsapp_from": SENDER,
            "twilio_api_base_url": twilio.url,
            "hash_key": "a key for hashes, long enough",
            "shutdown_grace_s": 2.0,
            # Tests of these switch them on: tests/e2e/test_manners.py.
            "consent": False,
            "debounce_s": 0.0,
            "patient_limit": 10_000,
        }
        app = build(load_settings(**(values | changes)), language_model=model, embedder=embedder)
        await app.start()
        try:
            yield Running(app, model, embedder, telegram, twilio, http)
        finally:
            await app.stop()
