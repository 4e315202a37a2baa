"""Prints the answer to one question line by line, as its sentences are verified."""

from rich.console import Console
from rich.status import Status

from bot.growing_message import continued, unshown
from channels.console_channel import print_message
from channels.messages import OutboundMessage


class TerminalAnswer:
    """An answer in the terminal; `status` shows meanwhile that something goes on."""

    def __init__(self, console: Console, status: Status) -> None:
        self._console = console
        self._status = status
        self._shown: OutboundMessage | None = None

    def grow(self, message: OutboundMessage) -> None:
        """Print what the message says beyond what has been printed."""
        self._status.stop()  # two consoles write to one terminal
        self._print(message)
        self._status.start()

    def finish(self, message: OutboundMessage) -> None:
        """Print the rest of the whole message."""
        self._status.stop()
        self._print(message)

    def _print(self, message: OutboundMessage) -> None:
        whole = message if self._shown is None else continued(self._shown, message)
        print_message(self._console, whole if self._shown is None else unshown(self._shown, whole))
        self._shown = whole
