"""The sign that an answer is being worked on."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

from channels.base import Channel
from channels.messages import Patient

SHOWN_S = 4.0  # a messenger shows the sign for about five seconds


@contextlib.asynccontextmanager
async def typing_sign(channel: Channel, to: Patient) -> AsyncIterator[None]:
    """Show the sign again and again while the block runs."""

    async def keep_showing() -> None:
        while True:
            with contextlib.suppress(Exception):
                await channel.show_typing(to)
            await asyncio.sleep(SHOWN_S)

    task = asyncio.create_task(keep_showing())
    try:
        yield
    finally:
        task.cancel()
