"""A server that speaks OpenAI's protocol as llama-server does, and every way in which one can go wrong."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any, Self

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route

from rag.models.server_address import GeneratorServer
from tests.doubles.local_server import LocalServer

MODEL, KEY = "un-modello", "a-key-of-the-generator"
_EVENT_STREAM = "text/event-stream"

Reply = Callable[["OpenAIServerDouble"], Response]


class OpenAIServerDouble:
    """`async with OpenAIServerDouble(writes("La tosse ", "passa.")) as server:` then give the model `server.address`.

    `server.requests` has the bodies of completions, `server.headers` their headers. `server.hung_up` is set once a client has
    closed its connection before the end. `server.reply` may be set to another one at any time.
    """

    def __init__(self, reply: Reply, *, owned_by: str = "llamacpp", context_tokens: int = 3000) -> None:
        self.reply = reply
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.hung_up = asyncio.Event()
        self._model = {"id": MODEL, "object": "model", "owned_by": owned_by}
        self._context_tokens = context_tokens
        routes = [
            Route("/v1/models", self._models),
            Route("/props", self._properties),
            Route("/v1/chat/completions", self._complete, methods=["POST"]),
        ]
        self._server = LocalServer(Starlette(routes=routes))

    async def __aenter__(self) -> Self:
        await self._server.__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._server.__aexit__()

    @property
    def url(self) -> str:
        return f"{self._server.url}/v1"

    @property
    def address(self) -> GeneratorServer:
        return GeneratorServer(url=self.url, key=KEY)

    async def _models(self, _: Request) -> Response:
        return JSONResponse({"object": "list", "data": [self._model]})

    async def _properties(self, _: Request) -> Response:
        return JSONResponse({"default_generation_settings": {"n_ctx": self._context_tokens}})

    async def _complete(self, request: Request) -> Response:
        self.requests.append(await request.json())
        self.headers.append(dict(request.headers))
        return self.reply(self)

    async def watched(self, lines: AsyncIterator[str]) -> AsyncIterator[str]:
        try:
            async for line in lines:
                yield line
        except asyncio.CancelledError:
            self.hung_up.set()
            raise


def event(text: str = "", finish: str | None = None, **fields: Any) -> str:
    choice = {"index": 0, "delta": {"content": text}, "finish_reason": finish}
    return f"data: {json.dumps({'object': 'chat.completion.chunk', 'choices': [choice], **fields})}\n\n"


def _stream(lines: Callable[[], AsyncIterator[str]]) -> Reply:
    return lambda server: StreamingResponse(server.watched(lines()), media_type=_EVENT_STREAM)


def writes(*pieces: str, pause_s: float = 0.0) -> Reply:
    """A completion from its first piece to its end, with figures."""

    async def lines() -> AsyncIterator[str]:
        for piece in pieces:
            yield event(piece)
            await asyncio.sleep(pause_s)
        yield event(finish="stop")
        figures = {"prompt_tokens": 50, "completion_tokens": len(pieces), "prompt_tokens_details": {"cached_tokens": 40}}
        yield f"data: {json.dumps({'choices': [], 'usage': figures})}\n\n"
        yield "data: [DONE]\n\n"

    return _stream(lines)


def sends(lines: Sequence[str]) -> Reply:
    """These lines and nothing more."""

    async def given() -> AsyncIterator[str]:
        for line in lines:
            yield line

    return _stream(given)


def writes_without_end(piece: str = "ancora ") -> Reply:
    async def lines() -> AsyncIterator[str]:
        while True:
            yield event(piece)
            await asyncio.sleep(0)

    return _stream(lines)


def writes_then_hangs(*pieces: str) -> Reply:
    async def lines() -> AsyncIterator[str]:
        for piece in pieces:
            yield event(piece)
        await asyncio.sleep(60)

    return _stream(lines)


def refuses(status: int) -> Reply:
    """An error whose text repeats what was asked, as servers do."""
    return lambda server: PlainTextResponse(json.dumps(server.requests[-1]), status)


def redirects(url: str) -> Reply:
    return lambda _: RedirectResponse(url, 307)


def says(text: str) -> Reply:
    """Something that is no stream."""
    return lambda _: PlainTextResponse(text)
