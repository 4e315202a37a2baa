"""The ingestion line: source → fetch → extract → chunk → embed → store → publish."""

import asyncio
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from ingest.errors import RunCancelled
from ingest.ledger import WHOLE, Ledger
from ingest.lock import writer_lock
from ingest.page_builder import PageBuilder
from ingest.pseudo_history import PseudoWriter
from ingest.publisher import Publication, Publisher
from ingest.report import LanguageReport, OnProgress, RunReport, RunStatus
from ingest.run_progress import RunMonitor
from ingest.source_line import Counts, SourceLine, SourceOptions, SourceResult, as_retired
from ingest.source_reader import SourceReader
from ingest.sources import GoldenQuestion, SourceRow
from ingest.stager import Stager
from locales.language import Language
from rag.models.protocols import Embedder
from rag.store import IndexStore


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions(SourceOptions):
    """How a run goes about its work.

    `configured` are the ids of all sources there are: pages of any other are retired; without it none are. `full` embeds the
    pages and publishes all languages again. `dry_run` only tells what would change. `accept_smaller` believes a source that gives
    much fewer pages than before; else `shrink_limit` is the share of its pages that may be missing. `golden` are questions that
    must still find their page, or nothing is published. `trigger` says who began the run,
    and `scope` what it reads.
    """

    sentence_vectors: bool = True
    golden: Sequence[GoldenQuestion] = ()
    trigger: str = "command_line"
    scope: str = WHOLE


async def ingest(
    sources: Sequence[SourceRow],
    store: IndexStore,
    embedder: Embedder,
    ledger: Ledger,
    *,
    lock: Path,
    options: RunOptions | None = None,
    reader: SourceReader | None = None,
    pseudo: PseudoWriter | None = None,
    on_progress: OnProgress = lambda _: None,
) -> RunReport:
    """Bring the published indexes up to date with `sources`.

    An unchanged page is not read or embedded again, of a changed one only the sentences that are new, a page that has gone is
    retired, and each language that changed is published once, at the end. A source that fails, or gives much fewer pages than
    before, leaves its pages as they are, and the others go on. A run that is killed or cancelled leaves the live indexes
    untouched, and the next one goes on where it stopped.

    Args:
        sources: The sources to read.
        store: The indexes.
        embedder: Called on a worker thread, one call at a time.
        ledger: What was read and embedded before.
        lock: The lock file that all runs on this ledger and these indexes share.
        options: How to go about it.
        reader: Fetches the sources; without one, only those that lie on this machine can be read.
        pseudo: Writes more texts by which a page is found, if wanted.
        on_progress: Told on the event loop how far the run is.

    Raises:
        RunRefused: If another run holds the lock.
        RunCancelled: If the run was asked to stop.
        ModelError: If the embedder fails.
        StoreError: If an index cannot be written.
    """
    options = options or RunOptions()
    started, began = datetime.now(UTC), time.monotonic()
    with writer_lock(lock):
        run_id = await ledger.begin_run(options.trigger, options.scope)
        try:
            builder = PageBuilder(embedder, sentence_vectors=options.sentence_vectors, pseudo=pseudo.version if pseudo else None)
            monitor = RunMonitor(ledger, run_id, on_progress)
            stager = Stager(builder=builder, ledger=ledger, run_id=run_id, monitor=monitor, pseudo=pseudo)
            line = SourceLine(reader=reader or SourceReader(), stager=stager, ledger=ledger, options=options)
            publisher = Publisher(
                store=store, ledger=ledger, embedder=embedder, indexed_with=builder.indexed_with, golden=options.golden
            )
            async with monitor.watching():
                results = [await line.ingest(source) for source in sources]
                withdrawn = await _retire_withdrawn(ledger, options)
                counts = sum((result.counts for result in results), as_retired(withdrawn))
                published = {} if options.dry_run else await _publish(stager, publisher, counts, withdrawn, options)
            report = _report(run_id, started, time.monotonic() - began, results, counts, published)
            await ledger.end_run(run_id, report.status, report.as_dict())
            await ledger.compact()
            return report
        except BaseException as error:
            await ledger.end_run(run_id, _status_of(error), {"problems": [_told(error)]})
            raise


async def _retire_withdrawn(ledger: Ledger, options: RunOptions) -> Mapping[Language, int]:
    """Retire the pages of sources that are no longer configured; a dry run only counts them."""
    if options.configured is None:
        return {}
    if options.dry_run:
        states = (await ledger.page_states()).values()
        return Counter(state.language for state in states if state.source_id not in options.configured)
    return await ledger.retire_withdrawn(options.configured)


async def _publish(
    stager: Stager, publisher: Publisher, counts: Counts, withdrawn: Mapping[Language, int], options: RunOptions
) -> dict[Language, Publication]:
    """Embed again what was embedded in another way and not read in this run, for an index holds vectors of one kind; publish."""
    states = await stager.ledger.page_states()
    older = [key for key, state in states.items() if state.indexed_with != stager.builder.indexed_with]
    await stager.stage(await stager.ledger.documents(older), states, subject="earlier pages")
    return {
        language: await publisher.publish(
            language,
            full=options.full,
            may_empty=language in withdrawn,
            given_up=counts[language, "retired"],
            monitor=stager.monitor,
        )
        for language in Language
    }


def _report(
    run_id: int,
    started: datetime,
    seconds: float,
    results: Sequence[SourceResult],
    counts: Counts,
    published: Mapping[Language, Publication],
) -> RunReport:
    problems = [problem for result in results for problem in result.problems]
    problems += [publication.problem for publication in published.values() if publication.problem]
    return RunReport(
        run_id=run_id,
        status=_status(results, problems),
        started=started,
        seconds=seconds,
        languages=tuple(_language_report(language, counts, published.get(language, Publication())) for language in Language),
        problems=tuple(problems),
        failed_sources=tuple(result.source.id for result in results if result.failed),
        refused_sources=tuple(result.source.id for result in results if result.refused),
        refused_publications=tuple(language for language, publication in published.items() if publication.refused),
        fetch_seconds=sum(result.fetch_seconds for result in results),
        refusals={result.source.id: dict(result.refusals) for result in results if result.refusals},
    )


def _language_report(language: Language, counts: Counter[tuple[Language, str]], publication: Publication) -> LanguageReport:
    return LanguageReport(
        language=language,
        new=counts[language, "new"],
        changed=counts[language, "changed"],
        unchanged=counts[language, "unchanged"],
        moved=counts[language, "moved"],
        retired=counts[language, "retired"],
        pages=publication.pages,
        chunks=publication.chunks,
        surfaces=publication.surfaces,
        published_version=publication.version,
    )


def _status(results: Sequence[SourceResult], problems: Sequence[str]) -> RunStatus:
    if results and all(result.failed or result.refused for result in results):
        return RunStatus.FAILED
    return RunStatus.PARTIAL if problems else RunStatus.COMPLETE


def _told(error: BaseException) -> str:
    return "the run was stopped from outside" if isinstance(error, asyncio.CancelledError) else f"{type(error).__name__}: {error}"


def _status_of(error: BaseException) -> RunStatus:
    if isinstance(error, RunCancelled):
        return RunStatus.CANCELLED
    return RunStatus.INTERRUPTED if isinstance(error, asyncio.CancelledError) else RunStatus.FAILED
