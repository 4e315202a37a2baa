"""An ASGI application on 127.0.0.1 and a free port, for as long as a `with` block lasts."""

import asyncio
import contextlib
import socket
from collections.abc import Iterator
from typing import Self

import uvicorn
from starlette.types import ASGIApp


class _PromptServer(uvicorn.Server):
    """Says when it is up and stops when told to, where uvicorn looks only ten times a second."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.up = asyncio.Event()
        self.stopping = asyncio.Event()

    async def main_loop(self) -> None:
        self.up.set()
        await self.stopping.wait()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield  # a test run keeps its own Ctrl-C


class LocalServer:
    """`async with LocalServer(app) as server:` serves `app` at `server.url` ("http://127.0.0.1:PORT", no slash at the end)."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self.url = ""

    async def __aenter__(self) -> Self:
        listener = socket.socket()
        listener.bind(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        config = uvicorn.Config(
            self._app, lifespan="off", log_config=None, log_level="critical", ws="none", timeout_graceful_shutdown=2
        )
        self._server = _PromptServer(config)
        self._task = asyncio.create_task(self._server.serve(sockets=[listener]))
        await self._server.up.wait()
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.stopping.set()
        await self._task
