"""Crawling a source from the side of the run: a process is started, listened to, and ended."""

import asyncio
import json
import logging
import sys
import time
from collections import Counter
from collections.abc import Callable, Collection
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path

from ingest.crawler.job import PRODUCT, CrawlJob, CrawlLimits, CrawlSummary
from ingest.crawler.page_store import PageStore
from ingest.crawler.site import Site
from ingest.errors import CrawlFailed
from ingest.fetching import Fetch
from ingest.sources import SourceRow

_LOOK_EVERY_S = 0.2
_LONGEST_LINE = 2**20
_log = logging.getLogger(__name__)


async def crawl(
    source: SourceRow,
    store: Path,
    *,
    known: Collection[str],
    contact: str | None,
    ignore_cache: bool = False,
    limits: CrawlLimits | None = None,
    only: Collection[str] = (),
    cancelled: Callable[[], bool],
    on_progress: Callable[[int, int], None],
) -> CrawlSummary:
    """Fetch the pages of a source into its store.

    Args:
        source: A row whose kind is crawled, or one whose file is fetched from its `url`.
        store: The source's page store; it is made when it is missing.
        known: Addresses that were read before: asked for again, and first, even when nothing links to them.
        contact: How the publisher reaches the operator; part of the user agent.
        ignore_cache: Fetch every page anew, without asking whether it has changed.
        limits: What no server can make the crawl exceed.
        only: Fetch just these, whatever the row's patterns say; addresses that are not among them have no visit.
        cancelled: Looked at several times a second; the process is killed when it turns true.
        on_progress: Told addresses done and addresses known so far.

    Raises:
        CrawlFailed: If no crawl was possible at all. A site that does not answer is no such case: its visits say so.
    """
    job = CrawlJob(
        source=source,
        store=str(store),
        known=tuple(sorted(set(known))),
        only=tuple(only),
        user_agent=_user_agent(source, contact),
        ignore_cache=ignore_cache,
        limits=limits or CrawlLimits(),
    )
    started = time.monotonic()
    with PageStore.open(store):  # fails here rather than in the process when the file cannot be used
        pass
    if not cancelled():
        await _run(job, cancelled, on_progress)
    return await asyncio.to_thread(_summary, store, time.monotonic() - started)


def _user_agent(source: SourceRow, contact: str | None) -> str:
    if not source.kind.is_crawled and source.url is None:
        raise CrawlFailed(f"{source.id}: a source of kind {source.kind} is not crawled")
    agent = f"{PRODUCT}/{version('salus')}"
    reachable_at = (contact or "").strip()
    if reachable_at and reachable_at.isprintable():
        return f"{agent} (+{reachable_at})"
    if Site.of(source).is_public or reachable_at:
        raise CrawlFailed(f"{source.id}: set SALUS_CRAWL_CONTACT to an address at which publishers can reach you")
    return agent


async def _run(job: CrawlJob, cancelled: Callable[[], bool], on_progress: Callable[[int, int], None]) -> None:
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "ingest.crawler"),
        stdin=pipe,
        stdout=pipe,
        stderr=pipe,
        limit=_LONGEST_LINE,
        start_new_session=True,  # Ctrl-C is for the run, which ends this process itself
    )
    faults: list[str] = []
    was_cancelled = False
    try:
        tasks = [_send(process, job), _listen(process, on_progress), _collect(process, faults)]
        work = asyncio.gather(*tasks, process.wait())
        while not work.done():
            await asyncio.wait([work], timeout=_LOOK_EVERY_S)
            if not was_cancelled and cancelled():
                was_cancelled = True
                _kill(process)
        await work
    finally:
        _kill(process)
        await process.wait()
        if process.stdin is not None:
            process.stdin.close()
    if process.returncode != 0 and not was_cancelled:
        raise CrawlFailed(f"{job.source.id}: the crawling process ended with {process.returncode}: {_last(faults)}")


async def _send(process: asyncio.subprocess.Process, job: CrawlJob) -> None:
    """Hand over the job; standard input stays open, since the process ends when it closes."""
    if process.stdin is not None:
        with suppress(ConnectionError):
            process.stdin.write(job.model_dump_json().encode() + b"\n")
            await process.stdin.drain()


async def _listen(process: asyncio.subprocess.Process, on_progress: Callable[[int, int], None]) -> None:
    if process.stdout is not None:
        async for line in process.stdout:
            counts = json.loads(line)
            on_progress(counts["done"], counts["known"])


async def _collect(process: asyncio.subprocess.Process, faults: list[str]) -> None:
    """Keep the last of what the process complains about."""
    if process.stderr is not None:
        async for line in process.stderr:
            faults[:] = [*faults[-20:], line.decode(errors="replace").rstrip()]
            _log.debug("crawling process: %s", faults[-1])


def _kill(process: asyncio.subprocess.Process) -> None:
    if process.returncode is None:
        with suppress(ProcessLookupError):
            process.kill()


def _last(faults: list[str]) -> str:
    return next((line for line in reversed(faults) if line.strip()), "it said nothing")


def _summary(store: Path, seconds: float) -> CrawlSummary:
    fetches: Counter[Fetch] = Counter()
    refused: Counter[str] = Counter()
    with PageStore.open(store) as pages:
        for visit in pages.visits():
            fetches[visit.fetch] += 1
            if visit.fetch is Fetch.REFUSED:
                refused[visit.reason or "unknown"] += 1
        return CrawlSummary(
            fetched=fetches[Fetch.FETCHED],
            unchanged=fetches[Fetch.UNCHANGED],
            gone=fetches[Fetch.GONE],
            moved=fetches[Fetch.MOVED],
            failed=fetches[Fetch.FAILED],
            refused=dict(refused),
            seconds=seconds,
            is_whole=pages.is_whole,
            notes=pages.notes(),
        )
