"""Hundreds of answers in a row with the small real generator: `python -m tests.load.answers [--answers N]`.

Questions come in over the webhooks and answers go out to doubles. After each answer the bot's resident memory is read. Ctrl-C
ends it early and shows what there is. Exit status 1 if a question went without a reply or memory grew more than asked.
"""

import asyncio
import itertools
import json
import signal
import sys
import time
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import numpy as np
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from locales.language import Language
from tests.doubles import BotApiDouble, TwilioDouble
from tests.load.bot_process import BotProcess, running_bot
from tests.load.home import own_home
from tests.load.patients import Delivery, Inbox, Patient, asks_for_consent

ASKED_GROWTH = 0.05
_SETTLED_AFTER = 50
_PATIENTS = 20
_QUESTIONS = Path(__file__).resolve().parents[1] / "data" / "questions"
_WITHIN_S = 120.0
_MEAN_OF = 10  # readings that stand for the memory at one moment
# Nobody asks hundreds of questions, or is made to wait for more words: only answering is measured.
_SETTINGS: dict[str, object] = {"whatsapp_pace_s": 0, "debounce_s": 0, "patient_limit": 10_000, "total_limit": 1_000_000}

OUT = Console(soft_wrap=True)


@dataclass
class Figures:
    """What has been measured so far."""

    resident: list[int] = field(default_factory=list)  # bytes after each answer
    anonymous: list[int] = field(default_factory=list)  # of these, what no file stands behind
    seconds: list[float] = field(default_factory=list)
    outcomes: Counter[str] = field(default_factory=Counter)
    silent: int = 0

    @property
    def growth(self) -> float:
        """How much more memory is resident at the end than after the first fifty answers, as a share."""
        return _growth(self.resident)

    def tell(self, asked: int) -> bool:
        """Print the figures; true when all is as it should be."""
        if not self.seconds:
            return False
        p50, p95 = np.percentile(self.seconds, [50, 95])
        OUT.print(f"answers: {len(self.seconds)} of {asked}; without a reply: {self.silent}; outcomes: {dict(self.outcomes)}")
        OUT.print(f"seconds from question to end of answer: p50 {p50:.1f}, p95 {p95:.1f}, longest {max(self.seconds):.1f}")
        for at in range(0, len(self.resident), max(1, _SETTLED_AFTER)):
            OUT.print(f"after {at + 1:4d}: {_mb(self.resident[at])} resident, {_mb(self.anonymous[at])} of it anonymous")
        OUT.print(f"at the end: {_mb(self.resident[-1])} resident, {_mb(self.anonymous[-1])} of it anonymous")
        if len(self.resident) <= _SETTLED_AFTER + _MEAN_OF:
            OUT.print(f"too few answers to speak of growth after the first {_SETTLED_AFTER}")
            return self.silent == 0
        OUT.print(
            f"growth after the first {_SETTLED_AFTER}: {self.growth:+.1%} resident, {_growth(self.anonymous):+.1%} anonymous "
            f"(asked: at most {ASKED_GROWTH:.0%})"
        )
        return self.silent == 0 and self.growth <= ASKED_GROWTH


async def soak(count: int, figures: Figures) -> None:
    """Ask `count` questions one after the other, each once the one before has been answered."""
    async with BotApiDouble() as telegram, TwilioDouble() as twilio, httpx.AsyncClient() as http:
        with own_home() as home:
            async with running_bot(home, telegram, twilio, settings=_SETTINGS) as bot:
                questions, inbox = _questions(), Inbox(telegram, twilio)
                patients = [Patient(number) for number in range(_PATIENTS)]
                for patient in patients:
                    await _meet(patient, bot, inbox, http)
                for patient in _progress(patients, count, figures):
                    await _ask(patient, next(questions[patient.language]), bot, inbox, http, figures)


async def _meet(patient: Patient, bot: BotProcess, inbox: Inbox, http: httpx.AsyncClient) -> None:
    greeting = {Language.ITALIAN: "Buongiorno", Language.SPANISH: "Buenos días"}[patient.language]
    await _post(patient.writes(greeting), bot, http)
    await _until(lambda: bool(inbox.texts(patient)))
    if asks_for_consent(inbox.texts(patient)):
        await _post(patient.accepts(), bot, http)
    await asyncio.sleep(0.5)


async def _ask(patient: Patient, question: str, bot: BotProcess, inbox: Inbox, http: httpx.AsyncClient, figures: Figures) -> None:
    turns, texts = len(_turns(bot)), len(inbox.texts(patient))
    begun = time.monotonic()
    await _post(patient.writes(question), bot, http)
    await bot.until(lambda: len(_turns(bot)) > turns, _WITHIN_S)
    figures.seconds.append(time.monotonic() - begun)
    last = _turns(bot)[-1]
    figures.outcomes[str(last.get("outcome") or last["event"])] += 1
    figures.silent += len(inbox.texts(patient)) == texts
    figures.resident.append(bot.memory_bytes())
    figures.anonymous.append(bot.memory_bytes("RssAnon"))


async def _post(delivery: Delivery, bot: BotProcess, http: httpx.AsyncClient) -> None:
    reply = await http.post(bot.url + delivery.path, content=delivery.body, headers=delivery.headers)
    reply.raise_for_status()


async def _until(is_so: Callable[[], bool]) -> None:
    async with asyncio.timeout(_WITHIN_S):
        while not is_so():
            await asyncio.sleep(0.05)


def _turns(bot: BotProcess) -> list[dict[str, object]]:
    return bot.of("turn", "turn_failed", "turn_cancelled")


def _questions() -> dict[Language, Iterator[str]]:
    """The everyday questions of the shipped sets, over and over."""
    lines = [line for name in ("bench", "starter_dev") for line in _lines(name)]
    return {
        language: itertools.cycle([line["text"] for line in lines if line["lang"] == language.value]) for language in Language
    }


def _lines(name: str) -> list[dict[str, str]]:
    path = next(_QUESTIONS.glob(f"{name}*.jsonl"))
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line]


def _progress(patients: list[Patient], count: int, figures: Figures) -> Iterator[Patient]:
    columns = (TextColumn("answers"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    with Progress(*columns, TextColumn("{task.fields[memory]}"), console=OUT) as progress:
        task = progress.add_task("", total=count, memory="")
        for patient in itertools.islice(itertools.cycle(patients), count):
            yield patient
            memory = f"{_mb(figures.resident[-1])}, {figures.seconds[-1]:.1f} s"
            progress.update(task, advance=1, memory=memory)
            if not OUT.is_terminal and len(figures.seconds) % _SETTLED_AFTER == 0:
                OUT.print(f"{len(figures.seconds)} answers: {memory}")


def _growth(readings: list[int]) -> float:
    begun = np.mean(readings[_SETTLED_AFTER : _SETTLED_AFTER + _MEAN_OF])
    return float(np.mean(readings[-_MEAN_OF:]) / begun - 1.0)


def _mb(size: int) -> str:
    return f"{size / 2**20:.0f} MB"


def main() -> None:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--answers", type=int, default=500)
    count = parser.parse_args().answers
    figures = Figures()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell that starts it in the background has it ignored
    try:
        asyncio.run(soak(count, figures))
    except KeyboardInterrupt:
        OUT.print("Ended early.")
    sys.exit(0 if figures.tell(count) else 1)


if __name__ == "__main__":
    main()
