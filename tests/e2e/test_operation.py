"""What a running bot tells its operator, over the wire."""

from typing import Any

import httpx

from tests.doubles import post_signed_form
from tests.doubles.twilio_api import AUTH_TOKEN
from tests.e2e.conftest import PUBLIC, Launch, Running
from tests.fakes import ScriptedLanguageModel

WATCHES, ADMINISTERS = "watches-figures-0123", "administers-it-01234"
TOKENS = f"metrics:{WATCHES},admin:{ADMINISTERS}"
QUESTION = "Quanto dura l'influenza di mia zia Canaria?"


async def shown(bot: Running, path: str, token: str | None = None) -> httpx.Response:
    return await bot.http.get(f"{bot.url}{path}", headers={"Authorization": f"Bearer {token}"} if token else {})


async def test_a_running_bot_is_alive_and_ready(launch: Launch) -> None:
    bot = await launch()
    assert (await shown(bot, "/healthz")).json() == {"alive": True}
    ready = await shown(bot, "/readyz")
    checks: Any = ready.json()["checks"]
    assert (ready.status_code, ready.json()["problems"]) == (200, [])
    assert checks["models"] == {"loaded": True}
    assert all(checks["index"][language]["version"] for language in ("it", "es"))


async def test_a_stopped_model_makes_the_bot_unready_and_leaves_it_alive(launch: Launch) -> None:
    bot = await launch()
    await bot.app._parts.worker.stop()
    ready = await shown(bot, "/readyz")
    assert (ready.status_code, ready.json()["problems"]) == (503, ["inference_stopped"])
    assert (await shown(bot, "/healthz")).status_code == 200


async def test_figures_tell_of_turns_and_nothing_of_patients(launch: Launch) -> None:
    bot = await launch(model=ScriptedLanguageModel(""), api_tokens=TOKENS)
    await bot.telegram_says(QUESTION, chat=770077)
    await bot.whatsapp_says("Mi padre tiene un dolor fuerte en el pecho y no puede respirar", number="+34600111222")
    form = {"MessageSid": "SM" + "1" * 32, "MessageStatus": "undelivered", "ErrorCode": "63016", "To": "whatsapp:+34600111222"}
    await bot.idle()
    await post_signed_form(
        f"{bot.url}/whatsapp/status", AUTH_TOKEN, form, signed_url=f"{PUBLIC}/whatsapp/status", client=bot.http
    )
    figures = (await shown(bot, "/metrics", WATCHES)).text
    assert 'salus_escalations_total{channel="whatsapp",language="es"} 1.0' in figures
    assert 'salus_delivery_statuses_total{channel="whatsapp",error="63xxx",status="undelivered"} 1.0' in figures
    page = (await shown(bot, "/admin?lang=es", ADMINISTERS)).text
    assert "Estado de Salus" in page
    for told in (figures, page, (await shown(bot, "/readyz")).text):
        assert not any(canary in told for canary in ("Canaria", "770077", "600111222", "pecho", ADMINISTERS, WATCHES))


async def test_behind_a_public_address_figures_need_a_token(launch: Launch) -> None:
    bot = await launch()
    assert (await shown(bot, "/metrics")).status_code == 401
    assert (await shown(bot, "/admin")).status_code == 404
