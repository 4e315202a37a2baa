import asyncio

import pytest

from bot.streaming import Pace
from channels.messages import Platform
from tests.e2e.conftest import Launch
from tests.fakes import ScriptedLanguageModel


async def test_a_question_gets_sentences_sources_and_a_disclaimer(launch: Launch) -> None:
    bot = await launch()
    await bot.whatsapp_says("¿Cuáles son los síntomas del dengue?", "+5215512345678")
    await bot.idle()
    texts = bot.whatsapp_texts("+5215512345678")
    assert "sistema autom" in texts[0]
    assert "Los síntomas del dengue suelen empezar entre 4 y 10 días después de la picadura." in texts[1]
    assert "https://bot.esempio.it/sources/starter-es-dengue" in texts[1]
    assert "911" in texts[1]
    assert bot.twilio.violations == []


async def test_the_webhook_is_acknowledged_long_before_the_answer_h07(launch: Launch) -> None:
    bot = await launch(model=ScriptedLanguageModel("", delay_s=1.0))
    form = await asyncio.wait_for(bot.whatsapp_says("Quanto dura l'influenza?"), 0.8)
    await bot.whatsapp_form(form)
    await bot.idle()
    await bot.whatsapp_form(form)
    await bot.idle()
    assert len(bot.whatsapp_texts()) == 2


async def test_an_emergency_is_answered_with_the_country_of_the_phone_h40(launch: Launch) -> None:
    bot = await launch()
    await bot.whatsapp_says("no puedo respirar", "+573001234567")
    await bot.idle()
    assert "123" in bot.whatsapp_texts("+573001234567")[0].split("\n")[0]


async def test_a_voice_note_gets_only_text_h15(launch: Launch) -> None:
    bot = await launch()
    await bot.whatsapp_says("", NumMedia="1", MediaContentType0="audio/ogg")
    await bot.idle()
    assert "leggo solo testo" in bot.whatsapp_texts()[-1]


async def test_a_numbered_choice_is_understood(launch: Launch) -> None:
    bot = await launch()
    await bot.whatsapp_says("/lingua")
    await bot.idle()
    await bot.whatsapp_says("2")
    await bot.idle()
    assert "español" in bot.whatsapp_texts()[-1]


async def test_eight_patients_on_both_messengers_get_their_own_answer_h22(launch: Launch) -> None:
    bot = await launch(model=ScriptedLanguageModel("", delay_s=0.05))
    topics = {"febbre": "fever", "tosse": "cough", "asma": "asthma", "influenza": "flu"}
    questions = {f"Che cos'è {word}?": page for word, page in topics.items()}
    loop = asyncio.get_running_loop()
    begun = loop.time()
    for number, text in enumerate(questions):
        await bot.telegram_says(text, chat=number + 1)
        await bot.whatsapp_says(text, f"+39333000000{number}")
    assert loop.time() - begun < 4.0
    await bot.idle(20)
    assert bot.model.most_at_once == 1
    for number, page in enumerate(questions.values()):
        for texts in (bot.telegram_texts(number + 1), bot.whatsapp_texts(f"+39333000000{number}")):
            assert "sistema automatico" in texts[0]
        assert page in bot.whatsapp_texts(f"+39333000000{number}")[-1]
        assert len(bot.telegram_texts(number + 1)[-1]) > 80


async def test_an_answer_that_takes_long_begins_with_a_part_and_ends_with_the_rest(
    launch: Launch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.app.PACES", {Platform.WHATSAPP: Pace(first_s=0.2, next_s=5.0, most=2)})
    bot = await launch(model=ScriptedLanguageModel("", delay_s=1.0))
    await bot.whatsapp_says("¿Cuáles son los síntomas del dengue?", "+5215512345678")
    await bot.idle()
    _, first, rest = bot.whatsapp_texts("+5215512345678")
    assert first == "Los síntomas del dengue suelen empezar entre 4 y 10 días después de la picadura."
    assert first not in rest
    assert "Fuentes" in rest
    assert "911" in rest


async def test_an_answer_that_is_quick_is_one_message(launch: Launch) -> None:
    bot = await launch(model=ScriptedLanguageModel("", delay_s=1.0))
    await bot.whatsapp_says("¿Cuáles son los síntomas del dengue?", "+5215512345678")
    await bot.idle()
    assert len(bot.whatsapp_texts("+5215512345678")) == 2


@pytest.mark.parametrize("asked", ["1", "¿Por qué?", "por que", "/fuentes"])
async def test_the_proof_is_shown_for_the_number_and_for_the_word(launch: Launch, asked: str) -> None:
    bot = await launch()
    number = "+5215512345678"
    await bot.whatsapp_says("¿Cuáles son los síntomas del dengue?", number)
    await bot.idle()
    assert "1. ¿Por qué?" in bot.whatsapp_texts(number)[-1]
    await bot.whatsapp_says(asked, number)
    await bot.idle()
    proof = "\n".join(bot.whatsapp_texts(number)[2:])
    assert "De aquí viene cada frase" in proof
    assert "«Los síntomas del dengue suelen empezar entre 4 y 10 días después de la picadura.»" in proof
    assert "https://bot.esempio.it/sources/starter-es-dengue, página leída el " in proof
    assert bot.twilio.violations == []
