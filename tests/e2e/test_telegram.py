import pytest

from tests.e2e.conftest import SECRET, Launch, Running
from tests.fakes import ScriptedLanguageModel


async def inject(bot: Running, text: str) -> None:
    await bot.telegram.inject(message=bot.telegram.message(text))


@pytest.mark.parametrize("mode", ["webhook", "polling"])
async def test_a_question_gets_sentences_sources_and_a_disclaimer(launch: Launch, mode: str) -> None:
    bot = await launch(telegram_mode=mode)
    if mode == "webhook":
        await bot.telegram_says("Quanto dura l'influenza?")
    else:
        await inject(bot, "Quanto dura l'influenza?")
    await bot.telegram.wait_sent(2)
    await bot.idle()
    hello, reply = bot.telegram_texts()
    assert "sistema automatico" in hello
    assert "Nella maggior parte delle persone l'influenza guarisce in circa una settimana." in reply
    assert "Fonti" in reply
    assert "112" in reply.split("Fonti")[1]
    assert "non ancora rivisto da un medico" in reply
    assert "https://bot.esempio.it/sources/starter-it-flu" in bot.telegram.sent[1].targets.values()


async def test_the_source_page_behind_the_link_opens(launch: Launch) -> None:
    bot = await launch()
    page = await bot.http.get(f"{bot.url}/sources/starter-it-flu")
    assert page.status_code == 200
    assert "Influenza" in page.text
    assert 'class="banner"' in page.text
    assert (await bot.http.get(f"{bot.url}/sources/none")).status_code == 404
    assert (await bot.http.get(f"{bot.url}/readyz")).json()["ready"] is True


async def test_a_follow_up_is_understood_and_a_new_topic_is_not_polluted_h38(launch: Launch) -> None:
    bot = await launch()
    for text in ("Quanto dura l'influenza?", "e per i bambini?", "Che cosa fare per una scottatura?"):
        await bot.telegram_says(text)
        await bot.idle()
    searched = bot.embedder.queries
    assert any("bambini" in query and "influenza" in query for query in searched)
    assert not any("scottatura" in query and "influenza" in query for query in searched)


async def test_an_off_topic_question_is_refused_without_a_source_h36(launch: Launch) -> None:
    bot = await launch(model=ScriptedLanguageModel("Ha vinto Pantani [7] https://inventato.it"))
    await bot.telegram_says("Chi ha vinto il Giro 1998?")
    await bot.idle()
    reply = bot.telegram_texts()[-1]
    assert "solo a domande sulla salute" in reply
    assert "Pantani" not in reply
    assert bot.telegram.sent[-1].targets == {}


async def test_what_the_generator_invents_is_not_shown_h36(launch: Launch) -> None:
    invented = "L'influenza si cura sempre con l'antibiotico. [7] https://inventato.it"
    bot = await launch(model=ScriptedLanguageModel(invented))
    await bot.telegram_says("Quanto dura l'influenza?")
    await bot.idle()
    assert bot.model.prompts
    everything = " ".join(bot.telegram_texts()) + str([sent.targets for sent in bot.telegram.sent])
    assert "antibiotico" not in everything
    assert "inventato" not in everything


async def test_the_reply_is_in_the_patients_language_h37(launch: Launch) -> None:
    bot = await launch()
    await bot.telegram_says("¿Cuáles son los síntomas del dengue?")
    await bot.idle()
    hello, reply = bot.telegram_texts()
    assert "sistema automático" in hello
    assert "Los síntomas del dengue suelen empezar entre 4 y 10 días después de la picadura." in reply
    assert "Fuentes" in reply


async def test_an_emergency_is_answered_at_once_while_the_model_is_busy_h40(launch: Launch) -> None:
    bot = await launch(model=ScriptedLanguageModel("", delay_s=3.0))
    await bot.telegram_says("Quanto dura l'influenza?", chat=1)
    await bot.until(lambda: bool(bot.model.prompts))
    await bot.telegram_says("ho un dolore al petto che va al braccio e sudo", chat=2)
    seconds = await bot.until(lambda: bool(bot.telegram_texts(2)))
    assert seconds < 1.0
    assert "112" in bot.telegram_texts(2)[0].split("\n")[0]
    assert len(bot.telegram_texts(1)) == 1


async def test_not_an_emergency_answers_the_question_after_all(launch: Launch) -> None:
    bot = await launch()
    await bot.telegram_says("ho un dolore al petto che va al braccio e sudo")
    await bot.idle()
    ((label, payload),) = bot.telegram.sent[0].buttons
    assert "Non è un'emergenza" in label
    person = {"id": 77, "is_bot": False, "first_name": "M", "language_code": "it"}
    tap = {"id": "1", "from": person, "chat_instance": "1", "data": payload, "message": bot.telegram.message("x")}
    await bot.telegram_update(bot.telegram.update(callback_query=tap))
    await bot.idle()
    assert len(bot.telegram_texts()) == 3
    assert bot.embedder.queries


async def test_a_redelivered_update_is_acknowledged_and_answered_once_h07(launch: Launch) -> None:
    bot = await launch(model=ScriptedLanguageModel("", delay_s=0.3))
    update = await bot.telegram_says("Quanto dura l'influenza?")
    assert (await bot.telegram_update(update)).status_code == 200
    await bot.idle()
    assert (await bot.telegram_update(update)).status_code == 200
    await bot.idle()
    assert len(bot.telegram_texts()) == 2
    assert len(bot.model.prompts) == 1


async def test_a_redelivery_after_a_restart_is_not_answered_again_h07(launch: Launch) -> None:
    first = await launch()
    update = await first.telegram_says("Quanto dura l'influenza?")
    await first.idle()
    await first.app.stop()
    second = await launch()
    assert (await second.telegram_update(update)).status_code == 200
    await second.idle()
    assert second.telegram_texts() == []


@pytest.mark.parametrize("secret", [None, "", "wrong", SECRET[:-1], "sécret"])
async def test_an_update_without_the_secret_is_refused_and_not_processed_h08(launch: Launch, secret: str | None) -> None:
    bot = await launch()
    update = bot.telegram.update(message=bot.telegram.message("Quanto dura l'influenza?"))
    value = secret if secret is None else secret.encode("latin-1").decode("latin-1")
    headers = {} if value is None else {"X-Telegram-Bot-Api-Secret-Token": value.encode("latin-1")}
    reply = await bot.http.post(f"{bot.url}/telegram/webhook", json=update, headers=headers)
    assert reply.status_code in {401, 403}
    await bot.idle()
    assert bot.telegram.sent == []


async def test_commands_change_language_and_country(launch: Launch) -> None:
    bot = await launch()
    await bot.telegram_says("/start")
    await bot.telegram_says("/idioma español")
    await bot.telegram_says("/país Colombia")
    await bot.idle()
    texts = bot.telegram_texts()
    assert len(texts) == 3
    assert "Colombia" in texts[-1]
    assert "123" in texts[-1]


async def test_who_blocked_the_bot_does_not_keep_others_from_their_answer_h06(launch: Launch) -> None:
    bot = await launch()
    bot.telegram.fail_next("sendMessage", 403, "Forbidden: bot was blocked by the user")
    await bot.telegram_says("Quanto dura l'influenza?", chat=1)
    await bot.idle()
    await bot.telegram_says("Quanto dura l'influenza?", chat=2)
    await bot.idle()
    assert bot.telegram_texts(1) == []
    assert len(bot.telegram_texts(2)) == 2
