"""The whole bot against Telemelya, an emulator of the Bot API that nobody of this project wrote (`make test-emulator`)."""

import asyncio
import os
import socket
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from bot.app import App, build
from bot.settings import load_settings
from tests.doubles.bot_api import TOKEN
from tests.doubles.local_server import LocalServer
from tests.fakes import HashEmbedder, ScriptedLanguageModel

PYTHON = os.environ.get("SALUS_EMULATOR", "")
LAUNCHER = Path(__file__).resolve().parents[1] / "doubles" / "emulator.py"
SECRET = "a-secret-of-the-webhook"
FLU = "Quanto dura l'influenza?"
FLU_ANSWER = "Nella maggior parte delle persone l'influenza guarisce in circa una settimana."

pytestmark = pytest.mark.skipif(not PYTHON, reason="make test-emulator runs it")


@dataclass
class Phone:
    """What a patient does and sees, through the emulator."""

    app: App
    http: httpx.AsyncClient
    chat: int
    tapped: set[int] = field(default_factory=set)

    async def does(self, **action: Any) -> None:
        """Write, command or tap; the emulator posts it to the bot's webhook."""
        reply = await self.http.post("/send_update", params={"bot_token": TOKEN}, json={"chat_id": self.chat} | action)
        delivery = reply.raise_for_status().json()["delivery"]
        assert delivery["status_code"] == 200, delivery
        await asyncio.wait_for(self.app.conversation.idle(), 20)

    async def calls(self, method: str = "") -> list[dict[str, Any]]:
        """What the bot called, in order."""
        responses = (await self.http.get("/responses")).raise_for_status().json()["responses"]
        return [call for call in responses if method in ("", call["method"])]

    async def texts(self) -> list[str]:
        """What each message says now, in the order in which they came."""
        shown: dict[int, str] = {}
        for call in await self.calls():
            if call["method"] in ("sendMessage", "editMessageText"):
                shown[call["message_id"]] = call["text"]
        return list(shown.values())

    async def buttons(self) -> list[tuple[int, str, str]]:
        """Message, label and payload of every button that stands in the chat."""
        found: dict[int, list[tuple[int, str, str]]] = {}
        for call in await self.calls():
            if call["method"] in ("sendMessage", "editMessageText"):
                keys = (call["reply_markup"] or {}).get("inline_keyboard", [])
                found[call["message_id"]] = [
                    (call["message_id"], key["text"], key["callback_data"]) for row in keys for key in row
                ]
        return [button for buttons in found.values() for button in buttons]

    async def taps(self, label: str) -> None:
        number, _, payload = next(button for button in await self.buttons() if button[1] == label)
        await self.does(callback_data=payload, callback_message_id=number)

    async def meets_the_bot(self) -> None:
        """Say hello, and agree where that is asked."""
        await self.does(command="/start")
        if any(label == "Accetto" for _, label, _ in await self.buttons()):
            await self.taps("Accetto")


@pytest.fixture
async def emulator() -> AsyncIterator[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = await asyncio.create_subprocess_exec(PYTHON, str(LAUNCHER), str(port))
    url = f"http://127.0.0.1:{port}"
    try:
        async with httpx.AsyncClient() as http, asyncio.timeout(60):
            while True:
                try:
                    await http.get(url)
                    break
                except httpx.TransportError:
                    assert process.returncode is None, "the emulator did not start"
                    await asyncio.sleep(0.1)
        yield url
    finally:
        process.terminate()
        await process.wait()


@pytest.fixture
async def phone(emulator: str, published_home: Path) -> AsyncIterator[Phone]:
    target = ""

    async def deliver(request: Request) -> Response:
        """Telegram shows the secret that setWebhook told it; the emulator does not, so it is added on the way."""
        headers = {"X-Telegram-Bot-Api-Secret-Token": SECRET}
        reply = await http.post(f"{target}/telegram/webhook", content=await request.body(), headers=headers)
        return Response(status_code=reply.status_code)

    way = LocalServer(Starlette(routes=[Route("/telegram/webhook", deliver, methods=["POST"])]))
    control = httpx.AsyncClient(
        base_url=f"{emulator}/api/v1/test", headers={"Authorization": "Bearer none", "X-Test-Session": "salus"}
    )
    async with way, control, httpx.AsyncClient() as http:
        settings = load_settings(
            home=published_home,
            port=0,
            public_base_url=way.url,
            telegram_token=TOKEN,
            telegram_mode="webhook",
            telegram_webhook_secret=SECRET,
            telegram_api_base_url=f"{emulator}/bot",
            shutdown_grace_s=2.0,
        )
        app = build(settings, language_model=ScriptedLanguageModel("", delay_s=1.0), embedder=HashEmbedder(dimension=256))
        await app.start()
        target = f"http://127.0.0.1:{app.port}"
        yield Phone(app, control, chat=77)
        await app.stop()


async def test_hello_a_question_and_the_button_below_its_answer(phone: Phone) -> None:
    await phone.meets_the_bot()
    assert "sistema automatico" in (await phone.texts())[0]
    await phone.does(text=FLU)
    answer = (await phone.texts())[-1]
    assert answer.startswith(FLU_ANSWER)
    assert "112" in answer
    assert await phone.calls("editMessageText")
    assert await phone.calls("sendChatAction")
    await phone.taps("Perché?")
    assert f"«{FLU_ANSWER}»" in (await phone.texts())[-1]
    assert await phone.calls("answerCallbackQuery")


async def test_an_emergency_is_answered_before_anything_else_is_said(phone: Phone) -> None:
    await phone.does(text="ho un dolore al petto che va al braccio e sudo")
    assert "112" in (await phone.texts())[0].split("\n")[0]


async def test_every_text_is_what_the_bot_api_takes(phone: Phone) -> None:
    await phone.meets_the_bot()
    await phone.does(text="¿Cuáles son los síntomas del dengue?")
    for call in await phone.calls("sendMessage"):
        assert call["raw"]["parse_mode"] == "HTML"
        assert call["raw"]["link_preview_options"] == {"is_disabled": True}
        assert 1 <= len(call["text"].encode("utf-16-le")) // 2 <= 4096
