"""The terminal as a messenger, for `salus chat`: one patient, nothing kept."""

import asyncio
import codecs
import itertools
import os
import select
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator, Sequence
from datetime import UTC, datetime
from typing import TextIO

from rich.console import Console
from rich.status import Status
from rich.text import Text
from starlette.routing import BaseRoute

from channels import markup
from channels.base import Receive
from channels.command_line import command_line
from channels.errors import DeliveryFailed
from channels.messages import InboundMessage, MessageKind, OutboundMessage, Patient, Platform
from channels.numbered_replies import NumberedReplies, numbered_lines

_PATIENT = Patient(platform=Platform.CONSOLE, identity="console", address="console")
_LOOK_UP_S = 0.2  # how often the reading thread sees whether it should end
_REPLY_WITHIN_S = 120.0  # then the prompt returns even without a reply


class ConsoleChannel:
    """A conversation in the terminal.

    Lines are read in a thread that can be told to end, so that Ctrl-C and Ctrl-D leave at once; there is no history file.

    Args:
        console: Where replies go.
        source: Where lines come from.
        prompt: Shown before each line.
        when_idle: Waits until no answer is being worked on; the prompt returns after it. Without it, after the first reply.
    """

    def __init__(
        self,
        console: Console | None = None,
        source: TextIO | None = None,
        *,
        prompt: str = "> ",
        when_idle: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        self._console = console or Console()
        self._source = source or sys.stdin
        self._prompt = prompt
        self._when_idle = when_idle
        self._replies = NumberedReplies()
        self._numbers = itertools.count(1)
        self._replied = asyncio.Event()
        self._ended = asyncio.Event()
        self._leave = threading.Event()
        self._spinner: Status | None = None
        self._conversation: asyncio.Task[None] | None = None

    @property
    def platform(self) -> Platform:
        """Which messenger this is."""
        return Platform.CONSOLE

    def routes(self) -> list[BaseRoute]:
        """None: nothing comes over HTTP."""
        return []

    async def start(self, receive: Receive) -> None:
        """Begin to read lines and deliver each to `receive`."""
        self._conversation = asyncio.create_task(self._converse(receive))

    async def wait_closed(self) -> None:
        """Wait until the patient ends the conversation (Ctrl-D, or the end of the input)."""
        await self._ended.wait()

    async def stop(self) -> None:
        """Stop reading."""
        self._leave.set()
        self._stop_spinner()
        if self._conversation:
            self._conversation.cancel()
            await asyncio.gather(self._conversation, return_exceptions=True)

    async def send(self, to: Patient, message: OutboundMessage) -> None:
        """Print a reply; buttons become numbered lines, and the number or the label chooses one."""
        self._stop_spinner()
        self._replies.offer(to.address, message.buttons)
        print_message(self._console, message)
        self._replied.set()

    async def post(self, to: Patient, message: OutboundMessage) -> str | None:
        """Print a message; what is printed cannot be changed."""
        await self.send(to, message)
        return None

    async def edit(self, to: Patient, handle: str, message: OutboundMessage) -> None:  # noqa: ARG002 - the protocol's signature
        """Refuse: `post` gave no handle."""
        raise DeliveryFailed("a terminal cannot change a message")

    async def send_rest(self, to: Patient, message: OutboundMessage) -> None:
        """Nothing: no message was changed."""

    async def delete(self, to: Patient, handles: Sequence[str]) -> bool:  # noqa: ARG002 - the protocol's signature
        """Nothing: what is printed stays."""
        return False

    async def show_typing(self, to: Patient) -> bool:  # noqa: ARG002 - there is only one patient
        """Show a spinner until the reply."""
        if self._spinner is None and self._console.is_terminal:
            self._spinner = self._console.status("…", spinner="dots")
            self._spinner.start()
        return True

    async def _converse(self, receive: Receive) -> None:
        lines: asyncio.Queue[str | None] = asyncio.Queue()
        turn = threading.Event()
        loop = asyncio.get_running_loop()

        def deliver(line: str | None) -> None:
            loop.call_soon_threadsafe(lines.put_nowait, line)

        # A thread of its own: the loop's executor would be waited for at exit, and a read cannot be interrupted.
        threading.Thread(target=_read_lines, args=(self._source, self._leave, turn, deliver), daemon=True).start()
        try:
            while not self._ended.is_set():
                self._console.print(Text(self._prompt, style="bold"), end="")
                turn.set()
                line = await lines.get()
                if line is None:
                    self._ended.set()
                elif line.strip():
                    await self._take(line.strip(), receive)
        finally:
            self._leave.set()
            self._ended.set()

    async def _take(self, line: str, receive: Receive) -> None:
        self._replied.clear()
        await receive(self._message(line))
        try:
            async with asyncio.timeout(_REPLY_WITHIN_S):
                await self._replied.wait()
                if self._when_idle:
                    await self._when_idle()
        except TimeoutError:
            self._stop_spinner()

    def _message(self, line: str) -> InboundMessage:
        payload = self._replies.payload(_PATIENT.address, line)
        command = command_line(line)
        kind = MessageKind.BUTTON if payload else MessageKind.COMMAND if command else MessageKind.TEXT
        return InboundMessage(
            message_id=f"console:{os.getpid()}:{next(self._numbers)}",
            sender=_PATIENT,
            chat=_PATIENT.address,
            text=payload or command or line,
            kind=kind,
            received_at=datetime.now(UTC),
        )

    def _stop_spinner(self) -> None:
        if self._spinner:
            self._spinner.stop()
            self._spinner = None


def print_message(console: Console, message: OutboundMessage) -> None:
    """Print a reply, an empty line after each paragraph; buttons become numbered lines."""
    for block in markup.blocks(message, numbered_lines(message.buttons_hint, message.buttons)):
        console.print(_styled(block))
        console.print()


def _read_lines(source: TextIO, leave: threading.Event, turn: threading.Event, deliver: Callable[[str | None], None]) -> None:
    """Hand over one line a turn, and None at the end of the input."""
    lines = _terminal_lines(source, leave) if _is_selectable(source) else iter(source.readline, "")
    while not leave.is_set():
        if not turn.wait(_LOOK_UP_S):
            continue
        turn.clear()
        line = next(lines, None)
        if leave.is_set():
            return
        deliver(line)
        if line is None:
            return


def _terminal_lines(source: TextIO, leave: threading.Event) -> Iterator[str]:
    decoder = codecs.getincrementaldecoder(source.encoding or "utf-8")(errors="replace")
    text = ""
    while not leave.is_set():
        if not select.select([source], [], [], _LOOK_UP_S)[0]:
            continue
        received = os.read(source.fileno(), 4096)
        text += decoder.decode(received, final=not received)
        *lines, text = text.split("\n")
        yield from lines
        if not received:
            if text:
                yield text
            return


def _is_selectable(source: TextIO) -> bool:
    try:
        select.select([source], [], [], 0)
    except (OSError, ValueError, TypeError):
        return False
    return True


def _styled(block: markup.Block) -> Text:
    """Plain words with their styles; square brackets in them are no instructions to the terminal."""
    text = Text()
    for span in block:
        text.append(markup.plain((span,)), style="bold" if span.bold else "")
    return text
