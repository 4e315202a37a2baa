"""Posts many requests at the same moment, from a process of its own, so that nothing but the bot is measured."""

import asyncio
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from typing import Self

import aiohttp
import numpy as np

from tests.load.patients import Delivery

_WITHIN_S = 60.0


@dataclass(frozen=True, slots=True)
class Acknowledgement:
    """What became of one request; the status is 0 where there was no reply."""

    status: int
    seconds: float


class Burst:
    """`with Burst() as burst:` keeps the other process."""

    def __enter__(self) -> Self:
        self._pool = ProcessPoolExecutor(1, mp_context=get_context("spawn"))
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown()

    async def post(self, url: str, deliveries: Sequence[Delivery]) -> list[Acknowledgement]:
        """Post everything at once, each over a connection of its own that has been opened before."""
        return await asyncio.get_running_loop().run_in_executor(self._pool, _post_all, url, tuple(deliveries))

    async def baseline(self, url: str, count: int) -> list[Acknowledgement]:
        """The same with as many requests for a page that does nothing."""
        return await asyncio.get_running_loop().run_in_executor(self._pool, _get_all, url, count)


def milliseconds(acknowledgements: Sequence[Acknowledgement]) -> dict[str, float]:
    """The p50, p99 and longest time, in milliseconds."""
    p50, p99, longest = np.percentile([each.seconds * 1000.0 for each in acknowledgements], [50, 99, 100])
    return {"p50": float(p50), "p99": float(p99), "max": float(longest)}


def _post_all(url: str, deliveries: Sequence[Delivery]) -> list[Acknowledgement]:
    return asyncio.run(_all(url, deliveries))


def _get_all(url: str, count: int) -> list[Acknowledgement]:
    return asyncio.run(_all(url, [None] * count))


async def _all(url: str, deliveries: Sequence[Delivery | None]) -> list[Acknowledgement]:
    connector, timeout = aiohttp.TCPConnector(limit=0), aiohttp.ClientTimeout(_WITHIN_S)
    async with aiohttp.ClientSession(url, connector=connector, timeout=timeout) as session:
        await asyncio.gather(*(_one(session, None) for _ in deliveries))  # opens the connections
        return await asyncio.gather(*(_one(session, delivery) for delivery in deliveries))


async def _one(session: aiohttp.ClientSession, delivery: Delivery | None) -> Acknowledgement:
    begun, status = time.perf_counter(), 0
    try:
        async with _request(session, delivery) as reply:
            status = reply.status
            await reply.read()
    except (aiohttp.ClientError, TimeoutError):
        pass
    return Acknowledgement(status, time.perf_counter() - begun)


def _request(session: aiohttp.ClientSession, delivery: Delivery | None) -> "aiohttp.client._RequestContextManager":
    if delivery is None:
        return session.get("/healthz")
    return session.post(delivery.path, data=delivery.body, headers=delivery.headers)
