"""Stand-ins for the models and messengers, which record what they were asked."""

import asyncio
import hashlib
import math
import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
from starlette.routing import BaseRoute

from bot.safety import GateReading, RedFlag
from channels.base import Receive
from channels.messages import OutboundMessage, Patient, Platform
from rag.errors import Cancelled, DeadlineExceeded, ModelError
from rag.models.protocols import Budget, Prompt, Usage, Vectors
from rag.replies import Answer, AnsweringRun, Reply
from rag.types import Hit, Intent, Interpretation, Question, SupportedSentence


class HashEmbedder:
    """Embeds a text as the bag of its words' hashes: texts that share words are near, and the same text is always the same."""

    def __init__(self, dimension: int = 64, fingerprint: str = "hash-1", max_tokens: int = 512) -> None:
        self.dimension = dimension
        self.fingerprint = fingerprint
        self.max_tokens = max_tokens
        self.queries: list[str] = []
        self.passages: list[str] = []

    def count_tokens(self, text: str) -> int:
        return int(len(text.split()) * 1.5)

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        self.queries.extend(texts)
        return self._embed(texts)

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        self.passages.extend(texts)
        return self._embed(texts)

    def _embed(self, texts: Sequence[str]) -> Vectors:
        vectors = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for row, text in enumerate(texts):
            for word in re.findall(r"\w+", text.lower()) or [text]:
                digest = hashlib.blake2b(word.encode(), digest_size=8).digest()
                vectors[row, int.from_bytes(digest[:4], "big") % self.dimension] += 1.0 if digest[4] % 2 else -1.0
            if not vectors[row].any():
                vectors[row, 0] = 1.0
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        return vectors


class ScriptedLanguageModel:
    """Gives prepared completions one after the other, and the last one ever after; remembers its prompts.

    With `delay_s` it takes that long before the first piece, and heeds deadline and cancel meanwhile.
    """

    name = "scripted"
    context_tokens = 2048

    def __init__(self, *completions: str, delay_s: float = 0.0) -> None:
        self.completions = list(completions) or [""]
        self.delay_s = delay_s
        self.prompts: list[Prompt] = []
        self.grammars: list[str | None] = []
        self.warmed: list[str] = []
        self.held = 0
        self.most_at_once = 0
        self.cancelled = 0
        self._running = 0

    def count_tokens(self, text: str) -> int:
        return len(text.split()) * 2

    def chat_prompt(
        self, system: str, examples: Sequence[tuple[str, str]], message: str, *, before: Sequence[tuple[str, str]] = ()
    ) -> Prompt:
        turns = "".join(f"\n{asked}\n{answered}" for asked, answered in examples)
        earlier = "".join(f"{asked}\n{answered}\n" for asked, answered in before)
        return Prompt(prefix=system + turns, body=earlier + message)

    def warm(self, prefix: str) -> None:
        self.warmed.append(prefix)

    @contextmanager
    def holding(self) -> Iterator[None]:
        self.held += 1
        yield

    def complete(
        self,
        prompt: Prompt,
        *,
        budget: Budget,
        temperature: float,
        stop: Sequence[str] = (),
        usage: Usage | None = None,
        grammar: str | None = None,
    ) -> Iterator[str]:
        self.prompts.append(prompt)
        self.grammars.append(grammar)
        text = self.completions[min(len(self.prompts), len(self.completions)) - 1]
        if self._running:
            raise ModelError("This model is busy with another completion.")
        self._running += 1
        self.most_at_once = max(self.most_at_once, self._running)
        try:
            self._wait(budget)
            yield from re.findall(r"\S+\s*", text)
        finally:
            self._running -= 1

    def _wait(self, budget: Budget) -> None:
        until = time.monotonic() + self.delay_s
        while time.monotonic() < until:
            if budget.cancelled():
                self.cancelled += 1
                raise Cancelled("cancelled")
            if budget.expired():
                raise DeadlineExceeded("too late")
            time.sleep(0.005)


@dataclass
class RecordingChannel:
    """A messenger that keeps what it was told to send; `failure` is raised instead, if set.

    As Telegram it can change messages: each of `edit_failures` is raised once, by the next edits.
    """

    platform: Platform = Platform.TELEGRAM
    failure: Exception | None = None
    sent: list[tuple[Patient, OutboundMessage]] = field(default_factory=list)
    typing: int = 0
    edits: list[tuple[Patient, str, OutboundMessage]] = field(default_factory=list)
    edit_failures: list[Exception] = field(default_factory=list)
    receive: Receive | None = None
    started: bool = False
    shows_typing: bool = True
    deleted: list[str] = field(default_factory=list)

    def routes(self) -> list[BaseRoute]:
        return []

    async def start(self, receive: Receive) -> None:
        self.receive, self.started = receive, True

    async def stop(self) -> None:
        self.started = False

    async def send(self, to: Patient, message: OutboundMessage) -> None:
        if self.failure is not None:
            raise self.failure
        self.sent.append((to, message))

    async def post(self, to: Patient, message: OutboundMessage) -> str | None:
        await self.send(to, message)
        return str(len(self.sent)) if self.platform is Platform.TELEGRAM else None

    async def edit(self, to: Patient, handle: str, message: OutboundMessage) -> None:
        if self.edit_failures:
            raise self.edit_failures.pop(0)
        self.edits.append((to, handle, message))

    async def send_rest(self, to: Patient, message: OutboundMessage) -> None:
        """Everything fits one message here."""

    def heard(self, identity: str) -> list[OutboundMessage]:
        """What a patient has before them: each message as it was changed last."""
        last = {handle: message for _, handle, message in self.edits}
        shown = [(to, last.get(str(number), message)) for number, (to, message) in enumerate(self.sent, start=1)]
        return [message for to, message in shown if to.identity == identity]

    async def delete(self, to: Patient, handles: Sequence[str]) -> bool:
        if self.platform is not Platform.TELEGRAM:
            return False
        self.deleted.extend(handles)
        return True

    async def show_typing(self, to: Patient) -> bool:
        self.typing += 1
        return self.shows_typing

    async def wait_sent(self, count: int, within_s: float = 5.0) -> None:
        """Wait until so many messages have been sent."""
        async with asyncio.timeout(within_s):
            while len(self.sent) < count:
                await asyncio.sleep(0.005)

    def texts(self, identity: str | None = None) -> list[str]:
        """What each message says, of one patient or of all."""
        return ["\n".join(message.paragraphs) for to, message in self.sent if identity in (None, to.identity)]


class ScriptedAnswerer:
    """An answering line that gives prepared replies, or raises prepared errors, and remembers its questions."""

    is_extractive = False

    def __init__(self, *replies: Reply | Exception, delay_s: float = 0.0) -> None:
        self.embedder = HashEmbedder()
        self.replies = list(replies)
        self.delay_s = delay_s
        self.questions: list[Question] = []
        self.wishes: list[dict[str, object]] = []  # mode, and whether only to quote
        self.hits: list[Hit] = []
        self.most_at_once = 0
        self._running = 0

    def answer(
        self,
        question: Question,
        *,
        deadline: float = math.inf,
        cancelled: Callable[[], bool] = lambda: False,
        on_sentence: Callable[[SupportedSentence], None] = lambda _: None,
        **wish: object,
    ) -> AnsweringRun:
        self.questions.append(question)
        self.wishes.append(wish)
        self._running += 1
        self.most_at_once = max(self.most_at_once, self._running)
        try:
            until = time.monotonic() + self.delay_s
            while time.monotonic() < until:
                if cancelled():
                    raise Cancelled("cancelled")
                time.sleep(0.005)
            reply = self.replies[min(len(self.questions), len(self.replies)) - 1]
        finally:
            self._running -= 1
        if isinstance(reply, Exception):
            raise reply
        for sentence in reply.sentences if isinstance(reply, Answer) else ():
            on_sentence(sentence)
        interpretation = Interpretation(language=reply.language, intent=Intent.QUESTION, self_contained=question.text)
        return AnsweringRun(reply=reply, interpretation=interpretation, timings_s={"total": 0.1})

    def find(self, question: Question) -> list[Hit]:
        return self.hits


class ScriptedGate:
    """A safety gate that flags the messages holding one of its words; the real one has tests of its own."""

    def __init__(self, flags: dict[str, RedFlag] | None = None, about: Sequence[str] = ()) -> None:
        self.flags = flags or {}
        self.about = about
        self.read_texts: list[str] = []

    def read(self, text: str, earlier: Sequence[str] = ()) -> GateReading:
        self.read_texts.append(text)
        for word, red_flag in self.flags.items():
            if word in text:
                return GateReading(red_flag=red_flag)
        return GateReading(about="heart" if any(word in text for word in self.about) else None)

    def reread(self, text: str, earlier: Sequence[str] = (), first: GateReading | None = None) -> GateReading:
        return first or GateReading()
