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


FLU = "Quanto dura l'influenza?"
FLU_ANSWER = "Nella maggior parte delle persone l'influenza guarisce in circa una settimana."


async def answer_growing(bot: Running, question: str = FLU) -> None:
    """Meet the bot, ask, and wait until the first sentence of the answer stands in the chat."""
    await bot.telegram_says("/start")
    await bot.telegram_says(question)
    await bot.telegram.wait_sent(2)


async def test_the_first_sentence_stands_in_the_chat_while_the_model_works(launch: Launch) -> None:
    bot = await launch(model=ScriptedLanguageModel("", delay_s=1.5))
    await answer_growing(bot)
    begun = bot.telegram.sent[1]
    assert begun.visible == FLU_ANSWER
    assert (begun.buttons, begun.targets) == ([], {})
    await bot.idle()
    assert len(bot.telegram.sent) == 2
    assert {number for number, _ in bot.telegram.edits} == {max(bot.telegram.numbers)}
    _, whole = bot.telegram.edits[-1]
    assert whole.visible.startswith(FLU_ANSWER)
    assert "112" in whole.visible.split("Fonti")[1]
    assert whole.buttons[0][0] == "Perché?"


async def test_switched_off_nothing_is_shown_before_the_answer_is_complete(launch: Launch) -> None:
    bot = await launch(model=ScriptedLanguageModel("", delay_s=1.0), streaming=False)
    await answer_growing(bot)
    await bot.idle()
    assert bot.telegram.edits == []
    assert "Fonti" in bot.telegram_texts()[1]


async def test_a_preface_stands_before_the_first_sentence_that_is_shown(launch: Launch) -> None:
    bot = await launch(model=ScriptedLanguageModel("", delay_s=1.0))
    await answer_growing(bot, "Quanta tachipirina posso prendere per la febbre?")
    begun = bot.telegram_texts()[1]
    await bot.idle()
    assert begun.startswith("Non posso indicare una dose per Lei")
    assert bot.telegram.edits[-1][1].visible.startswith(begun)


async def test_a_growing_answer_that_its_reader_deletes_is_finished_in_one_message(launch: Launch) -> None:
    bot = await launch(model=ScriptedLanguageModel("", delay_s=1.5))
    await answer_growing(bot)
    bot.telegram.forget(max(bot.telegram.numbers))
    await bot.idle()
    first, rest = bot.telegram_texts()[1:]
    assert first == FLU_ANSWER
    assert FLU_ANSWER not in rest
    assert "Fonti" in rest


async def test_flood_waits_while_an_answer_grows_cost_no_sentence_and_no_second_post(launch: Launch) -> None:
    bot = await launch(model=ScriptedLanguageModel("", delay_s=1.0))
    await answer_growing(bot)
    bot.telegram.fail_next("editMessageText", 429, "Too Many Requests: retry after 1", retry_after=1)
    await bot.idle()
    assert len(bot.telegram.sent) == 2
    assert bot.telegram.edits[-1][1].visible.startswith(FLU_ANSWER)


async def test_a_stop_while_an_answer_grows_leaves_a_sane_message(launch: Launch) -> None:
    bot = await launch(model=ScriptedLanguageModel("", delay_s=30.0), shutdown_grace_s=0.1)
    await answer_growing(bot)
    await bot.app.stop()
    assert len(bot.telegram.sent) == 2
    whole = bot.telegram.edits[-1][1]
    assert whole.visible.startswith(f"{FLU_ANSWER}\n\nMi scusi")
    assert "https://bot.esempio.it/sources/starter-it-flu" in whole.targets.values()


@pytest.mark.parametrize("asked", ["tap", "perché?", "/fonti"])
async def test_the_proof_shows_quote_publisher_date_and_link(launch: Launch, asked: str) -> None:
    bot = await launch()
    await bot.telegram_says("/start")
    await bot.telegram_says(FLU)
    await bot.idle()
    (_, payload), *_ = bot.telegram.sent[-1].buttons
    searched = len(bot.embedder.queries)
    await (bot.telegram_taps(payload) if asked == "tap" else bot.telegram_says(asked))
    await bot.idle()
    proof = bot.telegram.sent[-1]
    assert f"«{FLU_ANSWER}»" in proof.visible
    assert "Influenza — Salus (testo dimostrativo), pagina " in proof.visible
    assert "https://bot.esempio.it/sources/starter-it-flu" in proof.targets.values()
    assert len(bot.embedder.queries) == searched


async def test_the_button_of_an_answer_that_grew_shows_its_proof(launch: Launch) -> None:
    bot = await launch(model=ScriptedLanguageModel("", delay_s=1.0))
    await answer_growing(bot)
    await bot.idle()
    (_, payload), *_ = bot.telegram.edits[-1][1].buttons
    await bot.telegram_taps(payload)
    await bot.idle()
    assert f"«{FLU_ANSWER}»" in bot.telegram_texts()[-1]


async def test_an_old_or_forged_button_is_answered_without_the_model(launch: Launch) -> None:
    bot = await launch()
    await bot.telegram_says("¿Cuáles son los síntomas del dengue?")
    await bot.idle()
    searched, prompted = len(bot.embedder.queries), len(bot.model.prompts)
    for payload in ("proof:123", "proof:¿Qué es el dengue?", "¿Qué es el dengue?"):
        await bot.telegram_taps(payload)
        await bot.idle()
    assert "Ya no tengo esa respuesta en memoria" in bot.telegram_texts()[-3]
    assert (len(bot.embedder.queries), len(bot.model.prompts)) == (searched, prompted)
