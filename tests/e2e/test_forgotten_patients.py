"""After /dimentica, /olvidar, or thirty minutes without a message, no live object of the bot holds what a patient wrote (H41)."""

import asyncio
import secrets
from pathlib import Path
from typing import Any, cast

import pytest

from rag.models.protocols import Embedder
from tests.e2e.conftest import Launch, Running
from tests.fakes import HashEmbedder, ScriptedLanguageModel
from tests.live_objects import holders_of
from tests.small_corpus import publish_small_corpus


@pytest.fixture(scope="module")
def published_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("published")
    publish_small_corpus(home, cast(Embedder, HashEmbedder(dimension=256)))
    return home


def made_up_word() -> str:
    """The beginning of a word that stands nowhere else; its end may be stemmed away."""
    return "".join(secrets.choice("bcdfglmnprstvz") + secrets.choice("aeiou") for _ in range(6))


async def launched(launch: Launch, **settings: Any) -> Running:
    model = ScriptedLanguageModel("La tosse passa in tre settimane. Con la tosse beva spesso acqua.")
    return await launch(model=model, nightly=False, consent=True, debounce_s=0.0, **settings)


async def both(bot: Running, text: str) -> None:
    await bot.telegram_says(text)
    await bot.whatsapp_says(text)
    await bot.idle()


async def talk(bot: Running, word: str) -> None:
    """A question that waits for consent, a follow-up, the proof, a complaint that is asked back about, an emergency, an edit."""
    await both(bot, f"Ho la tosse da quando mangio {word}ella, che cosa posso fare?")
    await both(bot, "accetto")
    for text in (
        f"e per la {word}ella?",
        "perché?",
        f"ho la {word}ella e mi fa male la gola da tre giorni",
        f"tengo tos por la {word}ella",
        f"ho un dolore al petto che va al braccio, {word}ella",
        f"/{word}ella",
    ):
        await both(bot, text)
    edited = bot.telegram.message(f"ho la tosse e la {word}ella", edit_date=1_790_000_100)
    await bot.telegram_update(bot.telegram.update(edited_message=edited))
    await bot.idle()


async def forget_what_the_test_itself_kept(bot: Running) -> None:
    """What stands for messengers and models remembers what it was told, and a connection its last request."""
    bot.model.prompts.clear()
    bot.embedder.queries.clear()
    bot.telegram.calls.clear()
    bot.telegram.sent.clear()
    bot.telegram.edits.clear()
    bot.telegram._shown.clear()
    bot.twilio.requests.clear()
    bot.twilio.sent.clear()
    await asyncio.sleep(0.1)


async def test_nothing_is_left_of_a_patient_who_asked_to_be_forgotten_h41(launch: Launch) -> None:
    bot, word = await launched(launch), made_up_word()
    await talk(bot, word)
    assert holders_of(word) != []

    await both(bot, "/dimentica")
    await forget_what_the_test_itself_kept(bot)
    assert holders_of(word) == []


async def test_nothing_is_left_of_a_patient_whose_session_has_run_out_h41(launch: Launch) -> None:
    bot, word = await launched(launch, session_idle_s=1.0), made_up_word()
    await talk(bot, word)
    await bot.until(lambda: len(bot.app.conversation._parts.sessions) == 0, within_s=5.0)
    await forget_what_the_test_itself_kept(bot)

    assert holders_of(word) == []
