"""A whole run from a home directory: what the command line and the scheduler call."""

import sqlite3
from pathlib import Path

from ingest.errors import LedgerUnusable, SourceUnreadable
from ingest.ledger import Ledger
from ingest.pipeline import ingest
from ingest.report import OnProgress, RunReport
from ingest.sources import check_unique, load_sources
from rag.models.protocols import Embedder
from rag.store import IndexStore


def index_directory(home: Path) -> Path:
    """Where the published indexes of a home lie."""
    return home / "index"


def ledger_path(home: Path) -> Path:
    """Where the ledger of a home lies."""
    return home / "ledger.sqlite"


async def run_ingest(
    home: Path,
    embedder: Embedder,
    *,
    source_id: str | None = None,
    own_sources: Path | None = None,
    full: bool = False,
    on_progress: OnProgress = lambda _: None,
) -> RunReport:
    """Read the sources, the operator's own if there are any and else those that ship with the project, and publish what changed.

    Args:
        home: Directory of indexes and ledger, made if it is missing.
        embedder: Embeds the pages; the indexes can afterwards be read with no other.
        source_id: The only source to read, if given; what is published of the others stays.
        own_sources: A file of the form of `sources.toml`, read instead of it.
        full: Embed and publish everything again.
        on_progress: Told on the event loop how far the run is.

    Raises:
        SourceUnreadable: If a source file is wrong or has no source `source_id`. A source that cannot be read raises nothing:
            the report says so.
        RunRefused: If another run is going on in this home.
        LedgerUnusable: If the ledger is damaged, a newer release wrote it, or it cannot be written (any more).
        RagError: If the embedder or the index fails.
    """
    rows = load_sources(own_sources) if own_sources else load_sources()
    check_unique(rows)
    chosen = [row for row in rows if source_id in (None, row.id)]
    if not chosen:
        raise SourceUnreadable(f"there is no source {source_id!r}; known are {', '.join(row.id for row in rows)}")
    try:
        async with Ledger.open(ledger_path(home)) as ledger:
            return await ingest(
                chosen,
                IndexStore(index_directory(home)),
                embedder,
                ledger,
                lock=home / "ingest.lock",
                configured=[row.id for row in rows],
                full=full,
                on_progress=on_progress,
            )
    except sqlite3.OperationalError as error:  # the disk fills up in the middle of a run
        raise LedgerUnusable(f"{ledger_path(home)}: {error}; make room and run `salus ingest` again") from error
