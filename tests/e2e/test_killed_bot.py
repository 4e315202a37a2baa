"""A bot in a process of its own that is killed, told to stop, or started twice, while somebody waits for an answer."""

import asyncio
import json
import signal
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.responses import JSONResponse, Response

from tests.doubles import BotApiDouble
from tests.load.bot_process import BotProcess, running_bot
from tests.load.patients import Delivery, Patient, asks_for_consent, kinds

QUESTION, NEXT = "Quanto dura l'influenza?", "Che cos'è l'asma?"
MARIO = Patient(0)


@pytest.fixture
def home(published_home: Path, tmp_path: Path) -> Path:
    (tmp_path / "index").symlink_to(published_home / "index")
    return tmp_path


@pytest.fixture
async def telegram() -> AsyncIterator[BotApiDouble]:
    async with BotApiDouble() as api:
        yield api


@asynccontextmanager
async def bot_in(home: Path, telegram: BotApiDouble, *, delay_s: float, **settings: object) -> AsyncIterator[BotProcess]:
    async with running_bot(home, telegram, stub_delay_s=delay_s, hashes=True, settings=settings) as bot:
        yield bot


async def deliver(bot: BotProcess, delivery: Delivery) -> int:
    async with httpx.AsyncClient() as http:
        reply = await http.post(bot.url + delivery.path, content=delivery.body, headers=delivery.headers)
        return reply.status_code


def files_in(home: Path) -> dict[str, bytes]:
    """What the bot has written; the index, which it only reads, is behind a link."""
    return {path.name: path.read_bytes() for path in home.rglob("*") if path.is_file() and "index" not in path.parts}


def texts(telegram: BotApiDouble, patient: Patient = MARIO) -> list[str]:
    return [shown.visible for shown in telegram._shown.values() if shown.chat == patient.chat]


def answers(telegram: BotApiDouble, patient: Patient = MARIO) -> list[str]:
    return [text for text in texts(telegram, patient) if kinds([text]) == ["answer"]]


async def until(condition: Callable[[], bool], within_s: float = 120.0) -> None:
    async with asyncio.timeout(within_s):
        while not condition():
            await asyncio.sleep(0.02)


async def meet(telegram: BotApiDouble, write: Callable[[Delivery], Any], patient: Patient = MARIO) -> None:
    """The first words, and the patient's consent if it is asked for."""
    await write(patient.writes("Buongiorno"))
    await until(lambda: bool(texts(telegram, patient)))
    if asks_for_consent(texts(telegram, patient)):
        told = len(texts(telegram, patient))
        await write(patient.accepts())
        await until(lambda: len(texts(telegram, patient)) > told)


def by_polling(telegram: BotApiDouble) -> Callable[[Delivery], Any]:
    """What a patient writes waits to be fetched."""
    return lambda delivery: telegram.inject(message=json.loads(delivery.body)["message"])


async def met(bot: BotProcess, telegram: BotApiDouble) -> None:
    turns = len(bot.of("turn"))
    await meet(telegram, lambda delivery: deliver(bot, delivery))
    await bot.until(lambda: len(bot.of("turn")) > turns, 30)


async def under_way(telegram: BotApiDouble) -> None:
    """Wait until an answer is being worked on: the typing sign is shown."""
    shown = len(telegram.called("sendChatAction"))
    await until(lambda: len(telegram.called("sendChatAction")) > shown)


async def test_after_a_kill_amid_an_answer_a_redelivery_gets_no_second_answer_and_the_next_question_one(
    home: Path, telegram: BotApiDouble
) -> None:
    question = MARIO.writes(QUESTION)
    async with bot_in(home, telegram, delay_s=0.0) as bot:
        await met(bot, telegram)
    async with bot_in(home, telegram, delay_s=60.0) as bot:
        working = asyncio.create_task(under_way(telegram))
        await deliver(bot, question)
        await working
        assert await bot.end(signal.SIGKILL) == -signal.SIGKILL
    left = files_in(home)

    async with bot_in(home, telegram, delay_s=0.0) as bot:
        assert await deliver(bot, question) == 200
        assert await deliver(bot, MARIO.writes(NEXT)) == 200
        await until(lambda: any("Asma" in text for text in answers(telegram)))
        assert await bot.end(signal.SIGTERM) == 0
    assert sum("Influenza" in text for text in answers(telegram)) <= 1
    assert sum("Asma" in text for text in answers(telegram)) == 1
    assert not any(name.endswith((".tmp", ".part")) for name in left)
    assert not any(b"influenza" in content.lower() for content in left.values())


async def test_after_a_kill_an_answered_message_that_comes_again_is_not_answered_again(
    home: Path, telegram: BotApiDouble
) -> None:
    question = MARIO.writes(QUESTION)
    async with bot_in(home, telegram, delay_s=0.0) as bot:
        await met(bot, telegram)
        await deliver(bot, question)
        await until(lambda: len(answers(telegram)) == 1)
        await bot.end(signal.SIGKILL)
    async with bot_in(home, telegram, delay_s=0.0) as bot:
        assert await deliver(bot, question) == 200
        await deliver(bot, MARIO.writes(NEXT))
        await until(lambda: len(answers(telegram)) == 2)
        await bot.end(signal.SIGTERM)
    assert ["Influenza" in text for text in answers(telegram)] == [True, False]


@pytest.mark.parametrize(("delay_s", "grace_s"), [(1.5, 20.0), (60.0, 1.0)], ids=["answer", "apology"])
async def test_sigterm_amid_an_answer_ends_with_success_and_a_reply_h09(
    home: Path, telegram: BotApiDouble, delay_s: float, grace_s: float
) -> None:
    async with bot_in(home, telegram, delay_s=delay_s, shutdown_grace_s=grace_s) as bot:
        await met(bot, telegram)
        working = asyncio.create_task(under_way(telegram))
        await deliver(bot, MARIO.writes(QUESTION))
        await working
        begun = time.monotonic()
        assert await bot.end(signal.SIGTERM) == 0
        took_s = time.monotonic() - begun
    assert kinds(texts(telegram))[-1] == ("answer" if grace_s > delay_s else "apology")
    assert took_s < grace_s + 10.0
    assert bot.of("stopped")


async def test_a_backlog_does_not_outlast_the_grace_time_and_nobody_of_it_is_left_without_a_reply_h09(
    home: Path, telegram: BotApiDouble
) -> None:
    waiting = [Patient(number) for number in range(0, 48, 4)]
    async with bot_in(home, telegram, delay_s=3.0, telegram_mode="polling", shutdown_grace_s=1.0) as bot:
        write = by_polling(telegram)
        for patient in waiting:
            await meet(telegram, write, patient)
        told = {patient: len(texts(telegram, patient)) for patient in waiting}
        for patient in waiting:
            await write(patient.writes(QUESTION))
        await until(lambda: any(len(texts(telegram, patient)) > told[patient] for patient in waiting))
        begun = time.monotonic()
        assert await bot.end(signal.SIGTERM) == 0
        took_s = time.monotonic() - begun
    got = {patient.number: kinds(texts(telegram, patient)[told[patient] :]) for patient in waiting}
    assert took_s < 1.0 + 12.0
    assert [number for number, replies in got.items() if not set(replies) & {"answer", "apology", "busy"}] == []
    assert [number for number, replies in got.items() if replies.count("answer") + replies.count("apology") > 1] == []


class OnePollerAtATime(BotApiDouble):
    """Ends a poll with 409 as soon as another begins, as Telegram does."""

    def __init__(self) -> None:
        super().__init__()
        self.conflicts = 0
        self._poll = 0

    async def _getUpdates(self, parameters: dict[str, Any]) -> Response:
        self._poll += 1
        own = self._poll
        asked = asyncio.create_task(super()._getUpdates(parameters))
        while not asked.done():
            await asyncio.wait({asked}, timeout=0.02)
            if own != self._poll:
                asked.cancel()
                self.conflicts += 1
                words = "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running"
                return JSONResponse({"ok": False, "error_code": 409, "description": words}, status_code=409)
        return await asked


async def test_two_copies_that_poll_for_ten_seconds_back_off_and_say_so_once_h09(home: Path) -> None:
    async with (
        OnePollerAtATime() as telegram,
        bot_in(home, telegram, delay_s=0.0, telegram_mode="polling") as old,
        bot_in(home, telegram, delay_s=0.0, telegram_mode="polling") as new,
    ):
        before = len(telegram.called("getUpdates"))
        await asyncio.sleep(10.0)
        polls = len(telegram.called("getUpdates")) - before
        assert await old.end(signal.SIGTERM) == 0
        await meet(telegram, by_polling(telegram))
        assert await new.end(signal.SIGTERM) == 0
    assert telegram.conflicts > 1
    assert polls < 60
    for bot in (old, new):
        complaints = [event for event in bot.of("library") if "telegram" in event["logger"] and event["level"] == "error"]
        assert len(complaints) <= 1
