"""How the site answers: many hosts on as many ports of the loopback address, from one thread with a loop of its own."""

import asyncio
import contextlib
import gzip
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime

import uvicorn
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tests.doubles.health_site.pages import Host, Page


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenRequest:
    """One request as it was answered; `time` is monotonic, `path` has its query."""

    host: str
    method: str
    path: str
    time: float
    status: int
    user_agent: str
    is_conditional: bool


class HostsApp:
    """The ASGI application of all hosts, which tells them apart by port."""

    def __init__(self, hosts: Mapping[int, Host]) -> None:
        self._hosts = hosts
        self.seen: list[SeenRequest] = []
        self.failure: int | None = None
        self.fails_robots = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request, began = Request(scope), time.monotonic()
        host = self._hosts[scope["server"][1]]
        query = scope["query_string"].decode()
        path = scope["path"] + (f"?{query}" if query else "")
        conditional = "if-none-match" in request.headers or "if-modified-since" in request.headers
        logged = False

        async def send_and_log(message: Message) -> None:
            if message["type"] == "http.response.start":
                note(message["status"])
            await send(message)

        def note(status: int) -> None:
            nonlocal logged
            logged = True
            self.seen.append(
                SeenRequest(
                    host=host.name,
                    method=scope["method"],
                    path=path,
                    time=began,
                    status=status,
                    user_agent=request.headers.get("user-agent", ""),
                    is_conditional=conditional,
                )
            )

        try:
            await self._answer(host, path, request)(scope, receive, send_and_log)
        finally:
            if not logged:
                note(0)  # asked, and never answered

    def _answer(self, host: Host, path: str, request: Request) -> ASGIApp:
        bare = request.scope["path"]
        if bare == "/robots.txt":
            return self._robots(host)
        if self.failure:
            return Response("", status_code=self.failure)
        if bare in host.removed:
            return Response("<h1>404</h1>", status_code=host.removed[bare], media_type="text/html")
        page = host.pages.get(path) or host.pages.get(bare)
        answer = page.answer if page else next((a for prefix, a in host.prefixes.items() if bare.startswith(prefix)), None)
        if answer:
            return _bound(answer, host)
        return _page_response(host, page, request) if page else Response("<h1>404</h1>", status_code=404, media_type="text/html")

    def _robots(self, host: Host) -> Response:
        if self.failure and self.fails_robots:
            return Response("", status_code=self.failure)
        if isinstance(host.robots, bytes):
            return Response(host.robots, media_type="text/plain")
        return Response("", status_code=host.robots or 404)


def _bound(answer: object, host: Host) -> ASGIApp:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await answer(host, scope, receive, send)  # type: ignore[operator]

    return app


def _page_response(host: Host, page: Page, request: Request) -> Response:
    if page.status != 200:
        return Response(page.body, status_code=page.status, media_type="text/html")
    validators = page.validators(host.base)
    if _is_unchanged(request, validators):
        return Response(status_code=304, headers=validators)
    body, headers = page.rendered(host.base), {"content-type": page.content_type, **validators, **page.headers}
    if page.flavour == 2 and "gzip" in request.headers.get("accept-encoding", ""):
        body, headers["content-encoding"] = gzip.compress(body, mtime=0), "gzip"
    return Response(body, headers=headers)


def _is_unchanged(request: Request, validators: Mapping[str, str]) -> bool:
    if asked := request.headers.get("if-none-match"):
        return "etag" in validators and validators["etag"].removeprefix("W/") in asked.replace("W/", "").split(", ")
    since = request.headers.get("if-modified-since")
    if not since or "last-modified" not in validators:
        return False
    return parsedate_to_datetime(since) >= parsedate_to_datetime(validators["last-modified"])


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.up = threading.Event()

    async def main_loop(self) -> None:
        self.loop, self.stopping = asyncio.get_running_loop(), asyncio.Event()
        self.up.set()
        await self.stopping.wait()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield  # signals belong to whoever runs the thread


class ServingThread:
    """Serves an application on sockets that are bound already, until `stop`."""

    def __init__(self, app: ASGIApp, listeners: list[socket.socket]) -> None:
        config = uvicorn.Config(
            app, lifespan="off", log_config=None, log_level="critical", ws="none", backlog=256, timeout_graceful_shutdown=1
        )
        self._server = _Server(config)
        self._thread = threading.Thread(target=lambda: asyncio.run(self._server.serve(sockets=listeners)), daemon=True)

    def start(self) -> None:
        self._thread.start()
        if not self._server.up.wait(timeout=10):
            raise RuntimeError("the site did not start")

    def stop(self) -> None:
        self._server.loop.call_soon_threadsafe(self._server.stopping.set)
        self._thread.join(timeout=10)
