"""What a hundred thousand patients who have fallen silent cost: `python -m tests.load.sessions [--sessions N] [--whole]`.

Each kind of session is opened in a process of its own: one that has only met the bot, one that has also asked, one whose last
answer is kept too. `--whole` takes every patient through a conversation instead, and so counts all that is kept by patient.
Exit status 1 if memory grows more than asked, or the limit of sessions does not hold.
"""

import asyncio
import pickle
import subprocess
import sys
import time
import tracemalloc
from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import track

from bot.app import build
from bot.conversation import Conversation
from bot.safety import GateReading
from bot.session import Session
from bot.sessions import Sessions
from bot.settings import Settings, load_settings
from channels.messages import InboundMessage, MessageKind, OutboundMessage, Patient, Platform
from locales.language import Language
from rag.build import build_answerer
from rag.replies import Answer, AnsweringRun
from rag.settings import RagSettings
from rag.types import Question
from tests.fakes import RecordingChannel, ScriptedAnswerer, ScriptedGate, ScriptedLanguageModel
from tests.load.home import own_home

ASKED_BYTES = 300 * 1_000_000
ASKED_SESSIONS = 100_000
LEVELS = {"met": "met, wrote a greeting", "asked": "and asked a question", "answered": "and its answer is kept"}
_QUESTION = "Buongiorno, da due giorni ho un po' di febbre e mal di gola, quando devo chiamare il medico? Ho quarant'anni, grazie"
_PROFILED = 2_000
_AT_ONCE = 200

OUT = Console(soft_wrap=True)


def open_one(sessions: Sessions, number: int, level: str, answer: bytes) -> None:
    """Open a session as a patient's first minutes leave it; every text is the patient's own copy."""
    identity = f"39333{number:07d}"
    key = (Platform.WHATSAPP, f"whatsapp:+{identity}", identity)
    session = sessions.touch(key)
    session.met, session.country = True, "IT"
    now = time.monotonic()
    session.remember(f"Buongiorno {number}", now)
    if level == "met":
        return
    session.remember(f"{_QUESTION} {number}", now)
    session.language_prior = Language.ITALIAN
    if level == "answered":
        _keep(session, pickle.loads(answer), now)  # noqa: S301 - made above, in this very process
        sessions.note_kept(key)


def _keep(session: Session, answer: Answer, now: float) -> None:
    session.keep_answer(answer, now)
    session.just_answered = True


def an_answer() -> Answer:
    """A real answer, quoted from the published index."""
    with own_home() as home:
        answerer = build_answerer(RagSettings(home=home, generator="none"))
        reply = answerer.answer(Question(text="Quanto dura l'influenza e come si cura?", language=Language.ITALIAN)).reply
    if not isinstance(reply, Answer):
        raise SystemExit("The index does not answer the question about influenza: run `make index` first.")
    return reply


def measure(level: str, count: int) -> None:
    """Print how many bytes of memory `count` sessions take."""
    answer = pickle.dumps(an_answer()) if level == "answered" else b""
    sessions = Sessions(limit=count)
    _warm(level, answer)
    with _grown() as grown:
        for number in range(count):
            open_one(sessions, number, level, answer)
    assert len(sessions) == count
    print(grown[0])  # noqa: T201 - read by the parent


def _warm(level: str, answer: bytes) -> None:
    for number in range(100):
        open_one(Sessions(limit=1), number, level, answer)


def profile(level: str) -> list[str]:
    """The lines of code that hold most, in bytes a session."""
    answer = pickle.dumps(an_answer()) if level == "answered" else b""
    sessions = Sessions(limit=_PROFILED)
    _warm(level, answer)
    tracemalloc.start()
    for number in range(_PROFILED):
        open_one(sessions, number, level, answer)
    taken = tracemalloc.take_snapshot()
    tracemalloc.stop()
    root = f"{Path.cwd()}/"
    lines = [
        (statistic.size / _PROFILED, str(statistic.traceback[0]).removeprefix(root)) for statistic in taken.statistics("lineno")
    ]
    return [f"{size:7.0f}  {where}" for size, where in lines[:8]]


class _Nobody(RecordingChannel):
    """Sends nothing and keeps nothing."""

    async def send(self, to: Patient, message: OutboundMessage) -> None:
        pass

    async def post(self, to: Patient, message: OutboundMessage) -> str | None:
        return "1"

    async def edit(self, to: Patient, handle: str, message: OutboundMessage) -> None:
        pass


class _Copies(ScriptedAnswerer):
    """Gives each patient a copy of one answer, as if it had been read from the index anew."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(answer)
        self._answer = pickle.dumps(answer)

    def answer(self, question: Question, **wishes: Any) -> AnsweringRun:
        self.replies = [pickle.loads(self._answer)]  # noqa: S301
        self.questions.clear()
        self.wishes.clear()
        return super().answer(question, **wishes)


class _Harmless(ScriptedGate):
    """Finds nothing and remembers nothing: the real gate's second reading takes too long for so many."""

    def read(self, text: str, earlier: Sequence[str] = ()) -> GateReading:
        self.read_texts.clear()
        return super().read(text)


def measure_whole(count: int) -> None:
    """Print the same for `count` patients who say hello, agree and ask, in a whole conversation."""
    answer = an_answer()
    with own_home() as home:
        asyncio.run(_converse(count, answer, home))


async def _converse(count: int, answer: Answer, home: Path) -> None:
    channel = _Nobody(platform=Platform.WHATSAPP)
    settings = load_settings(**_settings(home, count))
    app = build(settings, language_model=ScriptedLanguageModel(""), channels=[channel])
    stand_ins: dict[str, Any] = {"gate": _Harmless(), "answerer": _Copies(answer), "intake": None}
    parts = replace(app._parts, **stand_ins)
    await parts.registry.open()
    parts.worker.start()
    conversation = Conversation(parts)
    await _talk(conversation, range(_AT_ONCE))
    with _grown() as grown:
        for begin in track(range(_AT_ONCE, count + _AT_ONCE, _AT_ONCE), console=Console(stderr=True)):
            await _talk(conversation, range(begin, min(begin + _AT_ONCE, count + _AT_ONCE)))
    print(grown[0])  # noqa: T201
    await parts.worker.stop()
    conversation.close()
    await parts.registry.close()


def _settings(home: Path, count: int) -> dict[str, object]:
    wanted: dict[str, object] = {
        "home": home,
        "session_limit": count,
        "queue_limit": 2 * _AT_ONCE,
        "allow_unreviewed": True,
        "debounce_s": 0,
        "patient_limit": 10_000,
        "total_limit": 1_000_000,
    }
    return {name: value for name, value in wanted.items() if name in Settings.model_fields}


async def _talk(conversation: Conversation, numbers: range) -> None:
    for text in ("Buongiorno", "Accetto", _QUESTION):
        for number in numbers:
            await conversation.receive(_message(number, f"{text} {number}" if text == _QUESTION else text))
        await conversation.idle()


def _message(number: int, text: str) -> InboundMessage:
    identity = f"39333{number:07d}"
    sender = Patient(platform=Platform.WHATSAPP, identity=identity, address=f"whatsapp:+{identity}")
    return InboundMessage(
        message_id=f"SM{number}{text[:8]}",
        sender=sender,
        chat=sender.address,
        text=text,
        kind=MessageKind.TEXT,
        received_at=datetime.now(UTC),
        country_hint="IT",
    )


@contextmanager
def _grown() -> Iterator[list[int]]:
    begun: list[int] = [_resident()]
    yield begun
    begun[0] = _resident() - begun[0]


def _resident() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096


def limit_holds() -> bool:
    """Whether no more sessions are kept than allowed, and the freshest of them."""
    sessions = Sessions(limit=1_000)
    for number in range(5_000):
        open_one(sessions, number, "met", b"")
    return len(sessions) == 1_000 and not sessions.touch((Platform.WHATSAPP, "whatsapp:+393330000000", "393330000000")).met


def in_own_process(level: str, count: int) -> int:
    """Bytes that the sessions take in a fresh process."""
    command = [sys.executable, "-m", "tests.load.sessions", "--sessions", str(count), "--level", level]
    run = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True)
    return int(run.stdout.strip().splitlines()[-1])


def main() -> None:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--sessions", type=int, default=ASKED_SESSIONS)
    parser.add_argument("--whole", action="store_true", help="through a conversation, which takes minutes")
    parser.add_argument("--level", choices=(*LEVELS, "whole"), help="one measurement, in this process")
    wanted = parser.parse_args()
    if wanted.level:
        measure_whole(wanted.sessions) if wanted.level == "whole" else measure(wanted.level, wanted.sessions)
        return
    sys.exit(0 if tell(wanted.sessions, whole=wanted.whole) else 1)


def tell(count: int, *, whole: bool) -> bool:
    """Print the figures; true when they are as asked."""
    asked, fits = ASKED_BYTES * count // ASKED_SESSIONS, True
    for level, words in {"whole": "a whole conversation of three messages"}.items() if whole else LEVELS.items():
        size = in_own_process(level, count)
        fits = fits and size <= asked
        OUT.print(f"{count} sessions, {words}: {size / 1e6:.0f} MB, {size / count:.0f} bytes each (asked: {asked / 1e6:.0f} MB)")
        for line in [] if whole else profile(level):
            OUT.print(f"    {line}")
    holds = limit_holds()
    OUT.print(f"the limit of sessions {'holds' if holds else 'does not hold'}")
    return fits and holds


if __name__ == "__main__":
    main()
