"""Whatever breaks, in whatever stage: no word, name, number, place or secret is found on disk, in the log or in figures (H41).

Every stage of both messengers is made to fail with an exception that quotes the patient and the secrets, at level DEBUG.
"""

import inspect
import logging
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import pytest

from bot.telemetry import configure
from rag.models.protocols import Embedder
from tests.doubles.bot_api import TOKEN
from tests.doubles.twilio_api import AUTH_TOKEN, post_signed_form, whatsapp_form
from tests.e2e.conftest import PUBLIC, SECRET, Launch, Running
from tests.fakes import HashEmbedder, ScriptedLanguageModel
from tests.logging_state import restored_logging
from tests.small_corpus import publish_small_corpus

WORD, PLACE = "zanzibarella", "quetzaltenango"
QUESTION = f"Ho la tosse da quando sono stata a {PLACE} con la {WORD}, che cosa posso fare?"
FIRST_NAME, LAST_NAME, USER_NAME = "Ermenegilda", "Bevilacqua", "ermebevi"
NUMBER = "33376543"  # begins the number of each patient, and ends nowhere
TELEGRAM_IDS, ADMIN = 3337654300, 9182736455
LATITUDE, LONGITUDE = "45.4642713", "9.1895148"
MEDIA, FILE = "MEdeadbeef0123456789", "AgACAgQAAxkBAAcanary"
HASH_KEY, QUERY_TOKEN = "a-key-for-the-hashes", "a-token-that-may-ask"
ADMIN_TOKEN, METRICS_TOKEN = "a-token-that-may-look", "a-token-that-may-count"
CANARIES = (
    *(WORD, PLACE, FIRST_NAME, LAST_NAME, USER_NAME, NUMBER, str(ADMIN), LATITUDE, LONGITUDE, MEDIA, FILE),
    *(TOKEN, AUTH_TOKEN, SECRET, HASH_KEY, QUERY_TOKEN, ADMIN_TOKEN, METRICS_TOKEN),
)
STAGES = {
    "gate": "bot.safety.SafetyGate.read",
    "reread": "bot.second_reading.SecondReader.read",
    "claim": "bot.registry.ClaimRegistry.record",
    "gather": "bot.gathering.Gathering.settle",
    "consent": "bot.consent.ConsentDesk.admit",
    "intake": "bot.intake.IntakeDesk.answer",
    "queue": "bot.inference_worker.InferenceWorker.run",
    "interpret": "rag.interpreter.Interpreter.interpret",
    "expand": "rag.expander.Expander.expand",
    "embed": "tests.fakes.HashEmbedder.embed_queries",
    "retrieve": "rag.retriever.Retriever.retrieve",
    "rerank": "rag.reranker.Reranker.rerank",
    "evidence": "rag.evidence.EvidenceSelector.select",
    "write": "tests.fakes.ScriptedLanguageModel.complete",
    "align": "rag.aligner.Aligner.align",
    "quote": "rag.composer.Composer.fill",
    "stream": "bot.streaming.AnswerStream.take",
    "count": "bot.metrics.Metrics.note",
    "render": "bot.renderer.Renderer.render",
    "finish": "bot.streaming.AnswerStream.finish",
    "type (Telegram)": "channels.telegram_channel.TelegramChannel.show_typing",
    "send (Telegram)": "channels.telegram_sender.TelegramSender._send_text",
    "send (WhatsApp)": "channels.whatsapp_sender.WhatsAppSender._create",
    "read (Telegram)": "channels.telegram_channel.TelegramChannel._read",
    "read (WhatsApp)": "channels.whatsapp_channel.WhatsAppChannel._with_choice",
}


# What breaks there is worth no line in the log: the answer goes on without it.
UNTOLD = {"type (Telegram)"}


@pytest.fixture(scope="module")
def published_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("published")
    publish_small_corpus(home, cast(Embedder, HashEmbedder(dimension=256)))
    return home


@pytest.fixture
def debug_log() -> Iterator[None]:
    server = logging.getLogger("uvicorn.error")
    level = server.level
    with restored_logging():
        configure("DEBUG")
        yield
    server.setLevel(level)


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    monkeypatch.setenv("TMPDIR", str(folder))
    return folder


async def launched(launch: Launch) -> Running:
    bot = await launch(
        model=ScriptedLanguageModel(f"La tosse con la {WORD} passa in tre settimane. Con la tosse beva {WORD}."),
        hash_key=HASH_KEY,
        api_tokens=(f"query:{QUERY_TOKEN}", f"admin:{ADMIN_TOKEN}", f"metrics:{METRICS_TOKEN}"),
        admin_ids=(str(ADMIN),),
        nightly=False,
        debounce_s=0.0,
        consent=True,
    )
    logging.getLogger("uvicorn.error").setLevel(logging.DEBUG)  # the doubles, which are served by the same library, silence it
    return bot


class Patient:
    """Somebody who writes on both messengers, and has consented on both."""

    def __init__(self, bot: Running, number: int) -> None:
        self._bot = bot
        self.chat = TELEGRAM_IDS + number
        self.phone = f"+39{TELEGRAM_IDS + number}"

    async def telegram(self, text: str | None = None, kind: str = "message", **content: Any) -> None:
        person = {"id": self.chat, "is_bot": False, "first_name": FIRST_NAME, "last_name": LAST_NAME, "username": USER_NAME}
        message = self._bot.telegram.message(text, chat=self.chat, **content) | {"from": person | {"language_code": "it"}}
        await self._bot.telegram_update(self._bot.telegram.update(**{kind: message}))

    async def whatsapp(self, text: str = "", **fields: str) -> None:
        form = whatsapp_form(text, self.phone, ProfileName=f"{FIRST_NAME} {LAST_NAME}", **fields)
        await post_signed_form(
            f"{self._bot.url}/whatsapp/webhook", AUTH_TOKEN, form, signed_url=f"{PUBLIC}/whatsapp/webhook", client=self._bot.http
        )

    async def says(self, text: str) -> None:
        await self.telegram(text)
        await self.whatsapp(text)
        await self._bot.idle()

    async def consents(self) -> None:
        for text in ("Buongiorno", "accetto"):
            await self.says(text)


@contextmanager
def broken(target: str) -> Iterator[list[int]]:
    """The named function raises, quoting patient and secrets; gives how often it did."""
    calls: list[int] = []

    def fail() -> None:
        calls.append(1)
        raise ValueError(f"{QUESTION} {FIRST_NAME} {LAST_NAME} {NUMBER} {ADMIN} {TOKEN} {AUTH_TOKEN} {SECRET} {HASH_KEY}")

    owner_name, _, name = target.rpartition(".")
    module, _, class_name = owner_name.rpartition(".")
    owner = getattr(__import__(module, fromlist=[class_name]), class_name)
    replacement: Callable[..., Any]
    if inspect.iscoroutinefunction(getattr(owner, name)):

        async def replacement(*_: Any, **__: Any) -> None:
            fail()

    else:

        def replacement(*_: Any, **__: Any) -> None:
            fail()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(owner, name, replacement)
        yield calls


def found_in(text: str) -> list[str]:
    return [canary for canary in CANARIES if canary in text]


def found_on_disk(*folders: Path) -> list[tuple[str, str]]:
    files = [file for folder in folders for file in folder.rglob("*") if file.is_file()]
    return [(file.name, canary) for file in files for canary in CANARIES if canary.encode() in file.read_bytes()]


async def test_a_failure_in_any_stage_shows_nothing_in_the_log_h41(
    launch: Launch, debug_log: None, temporary: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    bot = await launched(launch)
    leaks, unbroken = {}, []
    for number, (stage, target) in enumerate(STAGES.items()):
        patient = Patient(bot, number)
        await patient.consents()
        with broken(target) as calls:
            await patient.says(QUESTION)
            await patient.says("/privacy")
        shown = "".join(capfd.readouterr())
        if hits := found_in(shown):
            leaks[stage] = hits
        if not calls or ("ValueError" in shown) is (stage in UNTOLD):
            unbroken.append(stage)

    assert leaks == {}
    assert unbroken == []


async def test_the_data_folder_and_the_figures_hold_nothing_while_the_bot_runs_and_after_h41(
    launch: Launch, debug_log: None, temporary: Path, tmp_path: Path, published_home: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    bot = await launched(launch)
    patient, admin = Patient(bot, 98), Patient(bot, ADMIN - TELEGRAM_IDS)
    await patient.consents()
    for text in (QUESTION, "perché?", f"e per {WORD}?", f"ho un dolore al petto che va al braccio, {WORD}", f"/{WORD}", "/fonti"):
        await patient.says(text)
    await everything_but_text(patient)
    await forged(bot)
    await admin.says("/status")
    await admin.says(f"/reindex {WORD}")
    await bot.idle()

    shown = [await page(bot, path) for path in ("/metrics", "/readyz", "/healthz", "/admin")]
    while_running = found_on_disk(tmp_path, published_home)
    await patient.says("/dimentica")
    await bot.app.stop()

    assert found_in("".join(shown)) == []
    assert "salus_" in shown[0]
    assert while_running == []
    assert found_on_disk(tmp_path, published_home) == []
    assert found_in("".join(capfd.readouterr())) == []


async def everything_but_text(patient: Patient) -> None:
    """What else people send: pictures, voices, places, contacts, edits, reactions."""
    picture = [{"file_id": FILE, "file_unique_id": FILE, "width": 90, "height": 90}]
    await patient.telegram(photo=picture, caption=QUESTION)
    await patient.telegram(voice={"file_id": FILE, "file_unique_id": FILE, "duration": 3})
    await patient.telegram(location={"latitude": float(LATITUDE), "longitude": float(LONGITUDE)})
    await patient.telegram(contact={"phone_number": patient.phone, "first_name": FIRST_NAME, "last_name": LAST_NAME})
    await patient.telegram(QUESTION, kind="edited_message", edit_date=1_790_000_100)
    await patient.telegram(document={"file_id": FILE, "file_unique_id": FILE, "file_name": f"{WORD}.pdf"})
    media = {"NumMedia": "1", "MediaUrl0": f"https://api.twilio.com/Media/{MEDIA}", "MediaContentType0": "image/jpeg"}
    await patient.whatsapp(QUESTION, **media)
    await patient.whatsapp(Latitude=LATITUDE, Longitude=LONGITUDE, Address=PLACE, Label=WORD)
    await patient.whatsapp(ButtonPayload=WORD, ButtonText=WORD)
    await patient.says("grazie")


async def forged(bot: Running) -> None:
    """Requests that are nobody's, or broken, with words and secrets in address, header and body."""
    secret = {"X-Telegram-Bot-Api-Secret-Token": SECRET}
    await bot.http.post(f"{bot.url}/telegram/webhook", content=f'{{"update_id": "{WORD}'.encode(), headers=secret)
    await bot.http.post(f"{bot.url}/telegram/webhook", json={"update_id": 1, "message": {"text": QUESTION}}, headers=secret)
    await bot.http.post(f"{bot.url}/telegram/webhook", json={"message": QUESTION}, headers={secret.popitem()[0]: WORD})
    await bot.http.post(f"{bot.url}/whatsapp/webhook", data={"Body": QUESTION, "From": f"whatsapp:+39{NUMBER}"})
    await bot.http.get(f"{bot.url}/sources/{WORD}?name={FIRST_NAME}", headers={"Authorization": f"Bearer {QUERY_TOKEN}"})
    await bot.http.post(
        f"{bot.url}/chatbot/query", json={"question": QUESTION}, headers={"Authorization": f"Bearer {QUERY_TOKEN}"}
    )
    await bot.http.post(f"{bot.url}/admin", data={"token": WORD})


async def page(bot: Running, path: str) -> str:
    token = {"/admin": ADMIN_TOKEN, "/metrics": METRICS_TOKEN}.get(path, "")
    reply = await bot.http.get(bot.url + path, headers={"Authorization": f"Bearer {token}"} if token else {})
    assert reply.status_code in {200, 503}, path
    return reply.text
