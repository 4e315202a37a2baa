"""What `salus ingest` does, apart from reading its options."""

import asyncio
import contextlib
import json
import signal
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from bot.ingest_request import Wanted
from bot.progress import ingest_progress
from bot.settings import Settings
from bot.tables import print_report
from bot.terminal import ERR, OUT, busy
from ingest.events import apply_events, find_cms_source
from ingest.pipeline import RunOptions
from ingest.pseudo_history import PseudoWriter
from ingest.report import RunReport
from ingest.run import run_ingest
from rag.models.load import load_embedder, load_generator
from rag.models.protocols import Embedder

_Value = TypeVar("_Value")


def run(settings: Settings, wanted: Wanted, *, as_json: bool) -> bool:
    """Read the sources and publish what changed; returns whether anything went wrong."""
    embedder = _embedder(settings, background=wanted.background, threads=1 if wanted.background else settings.threads)
    options = RunOptions(
        full=wanted.full,
        dry_run=wanted.dry_run,
        accept_smaller=wanted.accept_smaller,
        shrink_limit=settings.shrink_limit,
        trigger=wanted.trigger.value,
    )
    pseudo = _pseudo_writer(settings)
    with ingest_progress(ERR) as on_progress:
        report: RunReport = asyncio.run(
            _until_stopped(
                run_ingest(
                    settings.home,
                    embedder,
                    source_id=wanted.source,
                    own_sources=settings.sources,
                    options=options,
                    contact=settings.crawl_contact,
                    pseudo=pseudo,
                    on_progress=on_progress,
                )
            )
        )
    if as_json:
        print(json.dumps(report.as_dict(), ensure_ascii=False, indent=2, default=str))  # noqa: T201
    else:
        print_report(report, OUT, ERR)
    return bool(report.problems)


def apply_waiting_events(settings: Settings, *, background: bool) -> bool:
    """Carry out the content events that wait; returns whether one could not be.

    One thread embeds them, so that patients hear on; unless the caller asks for it, at no lower priority than a run's or an
    answer's: an event is live within a minute also beside both.
    """
    find_cms_source(settings.sources, settings.cms_source)  # before a model is loaded for nothing
    embedder = _embedder(settings, background=background, threads=1)
    problems = asyncio.run(apply_events(settings.home, embedder, own_sources=settings.sources, cms_source=settings.cms_source))
    for problem in problems:
        ERR.print(f"! {problem}", style="yellow", markup=False, highlight=False, soft_wrap=True)
    if not problems:
        OUT.print("No event waits any more.", highlight=False, markup=False)
    return bool(problems)


def _embedder(settings: Settings, *, background: bool, threads: int | None) -> Embedder:
    if background:
        from ingest.priority import lower_priority

        lower_priority()
    with busy("Loading the embedder…"):
        return load_embedder(settings.embedder, settings.home, threads)


def _pseudo_writer(settings: Settings) -> PseudoWriter | None:
    """The writer of pseudo histories, if it is wanted and there is a generator."""
    if not settings.pseudo_surfaces:
        return None
    with busy("Loading the generator…"):
        model = load_generator(settings.generator, settings.home, threads=settings.threads, server=settings.generator_server)
    return PseudoWriter(model) if model else None


async def _until_stopped(work: Coroutine[Any, Any, _Value]) -> _Value:
    """Cancel the work at SIGTERM as at Ctrl-C, so that the ledger says how the run ended."""
    task = asyncio.ensure_future(work)
    loop = asyncio.get_running_loop()
    stop: Callable[[], object] = task.cancel
    with contextlib.suppress(NotImplementedError):
        loop.add_signal_handler(signal.SIGTERM, stop)
    try:
        return await task
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None
    finally:
        with contextlib.suppress(NotImplementedError):
            loop.remove_signal_handler(signal.SIGTERM)
