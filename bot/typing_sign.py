"""The sign that an answer is being worked on."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable

from channels.base import Channel
from channels.messages import Patient

SHOWN_S = 4.0  # a messenger shows the sign for about five seconds
SAID_AFTER_S = 5.0


@contextlib.asynccontextmanager
async def typing_sign(channel: Channel, to: Patient, say: Callable[[], Awaitable[None]] | None = None) -> AsyncIterator[None]:
    """Show the sign again and again while the block runs.

    Args:
        channel: The messenger.
        to: Who waits.
        say: Says in words that an answer is being looked for. Called once, and only where the messenger shows no sign and the
            block takes longer than five seconds; the block's end waits for it, so that it never follows the answer.
    """
    saying: asyncio.Future[None] | None = None

    async def keep_showing() -> None:
        nonlocal saying
        begun = asyncio.get_running_loop().time()
        while True:
            shown = await _is_shown(channel, to)
            if not shown and say is not None and saying is None:
                await asyncio.sleep(begun + SAID_AFTER_S - asyncio.get_running_loop().time())
                saying = asyncio.ensure_future(say())
            await asyncio.sleep(SHOWN_S)

    task = asyncio.create_task(keep_showing())
    try:
        yield
    finally:
        task.cancel()
        if saying is not None:
            await asyncio.gather(saying, return_exceptions=True)


async def _is_shown(channel: Channel, to: Patient) -> bool:
    with contextlib.suppress(Exception):
        async with asyncio.timeout(SAID_AFTER_S):
            return await channel.show_typing(to)
    return False
