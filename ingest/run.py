"""A whole run from a home directory: what the command line and the scheduler call."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from ingest.errors import SourceUnreadable
from ingest.ledger import WHOLE, Ledger, SourceState
from ingest.pipeline import RunOptions, ingest
from ingest.pseudo_history import PseudoWriter
from ingest.report import OnProgress, RunReport
from ingest.source_reader import SourceReader
from ingest.sources import SHIPPED_SOURCES, SourceRow, load_golden, load_sources
from rag.models.protocols import Embedder
from rag.store import IndexStore

_DRY_RUN = "dry run"  # no source has a space in its id


def index_directory(home: Path) -> Path:
    """Where the published indexes of a home lie."""
    return home / "index"


def ledger_path(home: Path) -> Path:
    """Where the ledger of a home lies."""
    return home / "ledger.sqlite"


def run_lock(home: Path) -> Path:
    """The lock file that a run in a home holds."""
    return home / "ingest.lock"


async def run_ingest(
    home: Path,
    embedder: Embedder,
    *,
    source_id: str | None = None,
    own_sources: Path | None = None,
    options: RunOptions | None = None,
    contact: str | None = None,
    pseudo: PseudoWriter | None = None,
    reader: SourceReader | None = None,
    on_progress: OnProgress = lambda _: None,
) -> RunReport:
    """Read the sources, the operator's own if there are any and else those that ship with the project, and publish what changed.

    Args:
        home: Directory of indexes and ledger, made if it is missing.
        embedder: Embeds the pages; the indexes can afterwards be read with no other.
        source_id: The only source to read, if given; what is published of the others stays.
        own_sources: A file of the form of `sources.toml`, read instead of it.
        options: How to go about it; which sources are configured, and the golden questions, are filled in here.
        contact: By what publishers can reach the operator; without it no public site is crawled.
        pseudo: Writes more texts by which a page is found, if wanted.
        reader: Fetches the sources; one with other limits than the usual, if given.
        on_progress: Told on the event loop how far the run is.

    Raises:
        SourceUnreadable: If a source file is wrong, or has no source `source_id` or has it disabled. A source that cannot be read
            raises nothing: the report says so.
        RunRefused: If another run is going on in this home.
        RunCancelled: If the run was asked to stop.
        LedgerUnusable: If the ledger is damaged, a newer release wrote it, or it cannot be written (any more).
        RagError: If the embedder or the index fails.
    """
    file = own_sources or SHIPPED_SOURCES
    rows, golden = load_sources(file), load_golden(file)
    async with Ledger.open(ledger_path(home)) as ledger:
        enabled = enabled_rows(rows, await ledger.source_states())
        options = options or RunOptions()
        scope = _DRY_RUN if options.dry_run else source_id or WHOLE
        options = replace(options, configured=[row.id for row in enabled], golden=golden, scope=scope)
        report = await ingest(
            _chosen(rows, enabled, source_id),
            IndexStore(index_directory(home)),
            embedder,
            ledger,
            lock=run_lock(home),
            options=options,
            reader=reader or SourceReader(home, contact),
            pseudo=pseudo,
            on_progress=on_progress,
        )
    if not options.dry_run:
        _forget_crawls(home, {row.id for row in enabled})
    return report


def enabled_rows(rows: Sequence[SourceRow], states: Mapping[str, SourceState]) -> list[SourceRow]:
    """The sources that are read: an administrator's choice counts before the row's own word."""

    def is_enabled(row: SourceRow) -> bool:
        state = states.get(row.id)
        return row.enabled if state is None or state.enabled is None else state.enabled

    return [row for row in rows if is_enabled(row)]


def _chosen(rows: Sequence[SourceRow], enabled: Sequence[SourceRow], source_id: str | None) -> Sequence[SourceRow]:
    if source_id is None:
        return enabled
    row = next((row for row in rows if row.id == source_id), None)
    if row is None:
        raise SourceUnreadable(f"there is no source {source_id!r}; known are {', '.join(row.id for row in rows)}")
    if row not in enabled:
        reason = f" ({row.disabled_because})" if row.disabled_because else ""
        raise SourceUnreadable(f"{row.id} is disabled{reason}; `salus sources enable {row.id}` switches it on")
    return [row]


def _forget_crawls(home: Path, enabled: Collection[str]) -> None:
    """Delete the fetched pages of sources that are no longer read: nothing of them stays on the disk."""
    for path in (home / "crawl").glob("*"):
        if path.name.partition(".")[0] not in enabled:
            path.unlink(missing_ok=True)
