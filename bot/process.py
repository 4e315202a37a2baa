"""The web server as a part of the process, and how the process is asked to stop."""

import asyncio
import contextlib
import signal
from collections.abc import Iterator
from types import FrameType

import uvicorn


class Server(uvicorn.Server):
    """uvicorn without its own signal handlers: the app decides when to stop."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals alone."""
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
