"""What surrounds an answer, over the wire: consent, bursts, opting out, limits, buttons, erasing."""

import asyncio
from pathlib import Path
from typing import Any

from bot.consent import ACCEPT_PAYLOAD
from rag.models.protocols import Embedder
from tests.e2e.conftest import Launch, Running, running

QUESTION = "Che cosa posso fare per la febbre?"
MANNERS: dict[str, Any] = {"consent": True, "debounce_s": 0.4, "patient_limit": 20, "streaming": False}
_NONE: Embedder | None = None


def buttons(bot: Running) -> dict[str, str]:
    """The payloads under the last message, by what they ask for."""
    return {payload.partition(":")[0]: payload for _, payload in bot.telegram.sent[-1].buttons}


async def test_the_first_question_waits_for_consent_and_is_then_answered(launch: Launch) -> None:
    bot = await launch(**MANNERS)
    await bot.telegram_says(QUESTION)
    await bot.idle()
    (asked,) = bot.telegram_texts()
    assert "Non sono un medico" in asked
    assert "Telegram ne conserva una copia" in asked
    await bot.telegram_taps(ACCEPT_PAYLOAD)
    await bot.idle()
    assert "Fonti" in bot.telegram_texts()[-1]


async def test_on_whatsapp_consent_is_a_number_or_a_word(launch: Launch) -> None:
    bot = await launch(**MANNERS)
    await bot.whatsapp_says("¿Qué hago con la fiebre?", "+34611222333")
    await bot.idle()
    (asked,) = bot.whatsapp_texts("+34611222333")
    assert "Twilio" in asked
    await bot.whatsapp_says("1", "+34611222333")
    await bot.idle()
    assert "Fuentes" in "".join(bot.whatsapp_texts("+34611222333"))


async def test_three_quick_messages_get_one_answer(launch: Launch) -> None:
    bot = await launch(**(MANNERS | {"consent": False}))
    await bot.telegram_says("/start")
    await bot.idle()
    for text in ("ho la febbre", "da due giorni", "che cosa posso fare?"):
        await bot.telegram_says(text)
    await bot.idle()
    assert len(bot.telegram_texts()) == 2


async def test_a_restart_forgets_neither_a_consent_nor_a_stop(published_home: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "index").symlink_to(published_home / "index")
    async with running(home, None, _NONE, MANNERS) as bot:
        await bot.telegram_says(QUESTION)
        await bot.idle()
        await bot.telegram_taps(ACCEPT_PAYLOAD)
        await bot.whatsapp_says("stop")
        await bot.idle()
    async with running(home, None, _NONE, MANNERS) as bot:
        next(bot.telegram._numbers), next(bot.telegram._numbers)  # those numbers have been answered
        await bot.telegram_says(QUESTION)
        await bot.idle()
        assert "Fonti" in bot.telegram_texts()[-1]
    stored = b"".join(path.read_bytes() for path in home.iterdir() if path.name.startswith("patients.sqlite"))
    assert stored
    assert b"77" not in stored
    assert b"3331234567" not in stored


async def test_taps_below_an_answer_are_counted_and_answered(launch: Launch) -> None:
    bot = await launch(**(MANNERS | {"consent": False}))
    await bot.telegram_says(QUESTION)
    await bot.idle()
    below = buttons(bot)
    assert set(below) == {"proof", "plainer", "more", "useful", "useless"}
    for kind in ("useful", "more", "plainer"):
        await bot.telegram_taps(below[kind])
        await bot.idle()
    assert any("senza il Suo nome" in text for text in bot.telegram_texts())
    assert sum(useful for useful, _ in bot.app._parts.metrics.feedback.values()) >= 1


async def test_everything_is_erased_at_once(launch: Launch) -> None:
    bot = await launch(**MANNERS)
    await bot.telegram_says(QUESTION)
    await bot.idle()
    await bot.telegram_taps(ACCEPT_PAYLOAD)
    await bot.idle()
    await bot.telegram_says("/dimentica")
    await bot.telegram_says(QUESTION)
    await bot.idle()
    *_, erased, asked = bot.telegram_texts()
    assert "consenso" in erased
    assert "Non sono un medico" in asked


async def test_a_flood_of_one_is_limited_and_others_are_answered(launch: Launch) -> None:
    bot = await launch(**(MANNERS | {"consent": False, "patient_limit": 3, "debounce_s": 0.0}))
    for number in range(8):
        await bot.telegram_says(f"domanda {number} sulla febbre?", chat=5)
        await asyncio.sleep(0)
    await bot.telegram_says(QUESTION, chat=6)
    await bot.idle()
    assert sum("Aspetti un minuto" in text for text in bot.telegram_texts(5)) == 1
    assert any("Fonti" in text for text in bot.telegram_texts(6))


async def test_emergency_numbers_are_told_without_consent(launch: Launch) -> None:
    bot = await launch(**MANNERS)
    await bot.telegram_says("/emergenza")
    await bot.idle()
    (told,) = bot.telegram_texts()
    assert told.startswith("In emergenza chiami il 112")
