"""The web server as a part of the process, and how the process is asked to stop."""

import asyncio
import contextlib
import fcntl
import signal
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

import uvicorn

from bot.errors import StartRefused


class Server(uvicorn.Server):
    """uvicorn without its own signal handlers: the app decides when to stop."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals alone."""
        yield


def home_lock(home: Path) -> Path:
    """The lock file that every bot of a home shares, and that a restore wants for itself alone."""
    return home / "bot.lock"


@contextlib.contextmanager
def at_home(home: Path) -> Iterator[None]:
    """Let it be known that a bot reads this home; any number of bots may.

    Raises:
        StartRefused: If a backup is being restored into it, or it cannot be written.
    """
    try:
        home.mkdir(parents=True, exist_ok=True)
        lock = home_lock(home).open("a")
    except OSError as error:
        raise StartRefused(f"{home}: {error.strerror}; set SALUS_HOME to a folder that can be written.") from error
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            raise StartRefused(f"A backup is being restored into {home}; start again when that is done.") from None
        yield


@contextlib.contextmanager
def stopped_by_signals(stop: asyncio.Event) -> Iterator[None]:
    """Set `stop` at SIGTERM or Ctrl-C; a second Ctrl-C ends the process as usual."""
    loop = asyncio.get_running_loop()

    def ask_to_stop(number: int, _: FrameType | None = None) -> None:
        signal.signal(number, signal.SIG_DFL)
        loop.call_soon_threadsafe(stop.set)

    before = {number: signal.signal(number, ask_to_stop) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
