"""What both webhooks need: a body of bounded size, and waiting for replies that are still being sent."""

import asyncio
from types import TracebackType

from starlette.requests import Request


async def read_body(request: Request, limit: int) -> bytes | None:
    """The body, or None as soon as it turns out longer than `limit` bytes, whatever length was announced."""
    body = bytearray()
    async for piece in request.stream():
        body += piece
        if len(body) > limit:
            return None
    return bytes(body)


class InFlight:
    """Counts replies being sent, so that a stop can let them finish."""

    def __init__(self) -> None:
        self._count = 0
        self._idle = asyncio.Event()
        self._idle.set()

    def __enter__(self) -> None:
        self._count += 1
        self._idle.clear()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._count -= 1
        if self._count == 0:
            self._idle.set()

    async def finish(self, within_s: float) -> bool:
        """Wait until nothing is being sent; False if the time ran out first."""
        try:
            await asyncio.wait_for(self._idle.wait(), within_s)
        except TimeoutError:
            return False
        return True
