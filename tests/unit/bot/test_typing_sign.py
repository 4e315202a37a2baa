import asyncio

import pytest

from bot.typing_sign import typing_sign
from channels.messages import Patient, Platform
from tests.fakes import RecordingChannel

ADA = Patient(platform=Platform.WHATSAPP, identity="39333", address="whatsapp:+39333")


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bot.typing_sign.SHOWN_S", 0.05)
    monkeypatch.setattr("bot.typing_sign.SAID_AFTER_S", 0.1)


class Words:
    """Counts how often something was said; takes a while to say it."""

    def __init__(self) -> None:
        self.begun = 0
        self.said = 0

    async def say(self) -> None:
        self.begun += 1
        await asyncio.sleep(0.05)
        self.said += 1


async def test_the_sign_is_shown_again_and_again_and_nothing_is_said_beside_it() -> None:
    channel, words = RecordingChannel(), Words()
    async with typing_sign(channel, ADA, words.say):
        await asyncio.sleep(0.3)
    assert channel.typing >= 3
    assert words.begun == 0


async def test_where_no_sign_is_shown_it_is_said_once() -> None:
    words = Words()
    async with typing_sign(RecordingChannel(shows_typing=False), ADA, words.say):
        await asyncio.sleep(0.5)
    assert words.said == 1


async def test_a_quick_answer_is_not_announced() -> None:
    words = Words()
    async with typing_sign(RecordingChannel(shows_typing=False), ADA, words.say):
        await asyncio.sleep(0.05)
    await asyncio.sleep(0.15)
    assert words.begun == 0


async def test_what_is_being_said_is_said_before_the_answer_follows() -> None:
    words = Words()
    async with typing_sign(RecordingChannel(shows_typing=False), ADA, words.say):
        while not words.begun:
            await asyncio.sleep(0.005)
        assert words.said == 0
    assert words.said == 1


async def test_a_sign_that_hangs_or_fails_counts_as_not_shown() -> None:
    class Broken(RecordingChannel):
        async def show_typing(self, to: Patient) -> bool:
            self.typing += 1
            if self.typing > 1:
                raise OSError("no connection")
            await asyncio.sleep(60)
            return True

    words = Words()
    async with typing_sign(Broken(), ADA, words.say):
        await asyncio.sleep(0.4)
    assert words.said == 1


async def test_words_that_fail_do_not_disturb_the_answer() -> None:
    async def fail() -> None:
        raise OSError("no connection")

    async with typing_sign(RecordingChannel(shows_typing=False), ADA, fail):
        await asyncio.sleep(0.3)


async def test_without_words_nothing_but_the_sign_happens() -> None:
    channel = RecordingChannel(shows_typing=False)
    async with typing_sign(channel, ADA):
        await asyncio.sleep(0.3)
    assert channel.typing >= 3
