"""Makes the live index of a language hold what the ledger holds, checked before anybody sees it."""

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from ingest.ledger import Ledger, PageState
from ingest.report import Step
from ingest.run_progress import RunMonitor
from ingest.sources import GoldenQuestion
from ingest.staging import StagedPage
from locales.language import Language
from rag.calibrator import FEWEST_PAGES, Calibrator
from rag.errors import IndexMismatch, IndexMissing, PublicationRefused, RagError
from rag.models.protocols import Embedder
from rag.store import IndexReader, IndexStore

_Value = TypeVar("_Value")

_GOLDEN_AMONG = 5
# Live pages that may be missing from the ledger without having been given up by a source: a ledger that was lost knows of none.
_MOST_LOST, _MOST_LOST_SHARE = 5, 0.2
_ROUNDS = 3  # an event may be published while a run is: the difference is looked at once more


@dataclass(frozen=True, slots=True, kw_only=True)
class Publication:
    """What was published in a language; without a `version`, nothing was. `refused` is true when a check failed."""

    pages: int = 0
    chunks: int = 0
    surfaces: int = 0
    version: int | None = None
    problem: str | None = None
    refused: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Publisher:
    """Publishes from the ledger. `indexed_with` names how pages are cut and embedded today."""

    store: IndexStore
    ledger: Ledger
    embedder: Embedder
    indexed_with: str
    golden: Sequence[GoldenQuestion] = ()

    async def publish(
        self,
        language: Language,
        *,
        full: bool = False,
        may_empty: bool = False,
        given_up: int = 0,
        monitor: RunMonitor | None = None,
    ) -> Publication:
        """Publish a language in one step; it is left alone where it holds what the ledger holds.

        Args:
            language: Which.
            full: Publish all of it again.
            may_empty: The last pages may go: an operator took their source out of the configuration. What stays is then published
                whole, for an index keeps the bytes of a few deleted rows on the disk.
            given_up: How many pages this run retired; many more than that do not go without a word.
            monitor: Told how far it is.

        Raises:
            StoreError: If the index cannot be written.
        """
        published, full = Publication(), full or may_empty
        for _ in range(_ROUNDS):
            latest = await self._publish_once(language, full=full, may_empty=may_empty, given_up=given_up, monitor=monitor)
            if latest.version is None:
                return replace(published, problem=latest.problem) if published.version is not None else latest
            published, full = latest, False
        return published

    async def publish_pages(self, language: Language, wanted: Collection[str], retired: Collection[str]) -> int:
        """Publish these pages and withdraw those, whatever else the ledger holds; returns the version.

        Raises:
            IndexMismatch: If the index was built in another way and must be published whole.
            StoreError: If the index cannot be written.
        """
        pages = await self.ledger.pages(wanted)
        version = await self._write(language, pages, retired, full=False, check=None)
        # The other pages are what they were: a run must still see that they were made in another way.
        made_with = await self.ledger.published_with(language) or self.indexed_with
        await self.ledger.note_publication(language, indexed_with=made_with, version=version)
        return version

    async def _publish_once(
        self, language: Language, *, full: bool, may_empty: bool, given_up: int, monitor: RunMonitor | None
    ) -> Publication:
        states = {key: state for key, state in (await self.ledger.page_states()).items() if state.language is language}
        live = await asyncio.to_thread(_live_hashes, self.store, language, self.embedder.fingerprint)
        if not states and not (may_empty and live):
            problem = f"{language.value}: no page is left, so what is published stays" if live else None
            return Publication(problem=problem)
        rebuild = full or live is None or await self.ledger.published_with(language) != self.indexed_with
        rebuild = rebuild and bool(states)
        hashes = {} if rebuild or live is None else live
        wanted = [key for key, state in states.items() if hashes.get(key) != state.content_hash]
        retired = [key for key in hashes if key not in states]
        if not wanted and not retired:
            return Publication(pages=len(states), problem=await self._calibrate(language, len(states), anew=False))
        lost = len(retired) - given_up
        if lost > max(_MOST_LOST, _MOST_LOST_SHARE * len(hashes)) and not await self._knows_live(language):
            problem = f"{lost} of {len(hashes)} live pages are not in the ledger; `salus ingest --full` publishes without them"
            return Publication(pages=len(states), problem=f"{language.value}: {problem}", refused=True)
        if monitor:
            monitor.tell(Step.PUBLISH, language.value, 0, len(wanted))
        pages = await self.ledger.pages(wanted)
        golden = self._golden(language, states, live or {})
        try:
            version = await self._write(
                language,
                pages,
                retired,
                full=rebuild,
                check=lambda reader: _failed_check(reader, golden, self.embedder),
            )
        except PublicationRefused as error:
            return Publication(pages=len(states), problem=f"{language.value}: {error}", refused=True)
        await self.ledger.note_publication(language, indexed_with=self.indexed_with, version=version)
        if monitor:
            monitor.show(Step.PUBLISH, language.value, len(wanted), len(wanted))
        return Publication(
            pages=len(states),
            chunks=sum(len(page.chunks) for page in pages),
            surfaces=sum(len(page.surfaces) for page in pages),
            version=version,
            problem=await self._calibrate(language, len(states)),
        )

    async def _knows_live(self, language: Language) -> bool:
        """Whether the ledger noted the version that is live: what it lacks of that was given up in a run that came to no end."""
        noted = (await self.ledger.publications()).get(language)
        live = await asyncio.to_thread(self.store.open, language, self.embedder.fingerprint)
        return noted is not None and noted.version == live.version

    async def _write(
        self,
        language: Language,
        pages: Sequence[StagedPage],
        retired: Collection[str],
        *,
        full: bool,
        check: Callable[[IndexReader], str | None] | None,
    ) -> int:
        nothing = np.zeros((0, self.embedder.dimension), np.float32)
        return await _to_the_end(
            lambda: self.store.publish(
                language,
                documents=[page.document for page in pages],
                chunks=[chunk for page in pages for chunk in page.chunks],
                surfaces=[surface for page in pages for surface in page.surfaces],
                vectors=np.concatenate([nothing, *(page.surface_vectors for page in pages)]),
                embedder=self.embedder,
                sentence_vectors={key: vectors for page in pages for key, vectors in page.sentence_vectors().items()},
                retired=retired,
                full=full,
                check=check,
            )
        )

    async def _calibrate(self, language: Language, pages: int, *, anew: bool = True) -> str | None:
        """Fit the decision whether a question is covered to what is published; returns why it could not be.

        Unless it must be done `anew`, what this release fitted to the live version before holds on.
        """
        if pages < FEWEST_PAGES:
            return None
        calibrator = await asyncio.to_thread(Calibrator, self.embedder)
        try:
            if not anew and await asyncio.to_thread(self._is_calibrated, calibrator, language):
                return None
            for _ in range(_ROUNDS):
                if await _to_the_end(
                    lambda: self.store.calibrate(language, self.embedder, lambda reader: calibrator.calibrate(language, reader))
                ):
                    break
        except RagError as error:
            return f"{language.value}: published, but not calibrated: {error}"
        return None

    def _is_calibrated(self, calibrator: Calibrator, language: Language) -> bool:
        return calibrator.is_current(language, self.store.open(language, self.embedder.fingerprint))

    def _golden(self, language: Language, states: Mapping[str, PageState], live: Mapping[str, str]) -> tuple[GoldenQuestion, ...]:
        """The questions whose page was there before and still is."""
        return tuple(
            golden
            for golden in self.golden
            if golden.language is language and golden.document in states and golden.document in live
        )


def _failed_check(reader: IndexReader, golden: Sequence[GoldenQuestion], embedder: Embedder) -> str | None:
    """Why a version must not go live: a question that always found its page no longer does."""
    if not golden:
        return None
    vectors = embedder.embed_queries([question.question for question in golden])
    lost = [
        question.document
        for question, vector in zip(golden, vectors, strict=True)
        if question.document not in {hit.chunk.document_id for hit in reader.dense(vector, _GOLDEN_AMONG)}
    ]
    if not lost:
        return None
    pages = ", ".join(lost[:3])
    return f"{len(lost)} of {len(golden)} golden questions no longer find their page ({pages}); what is published stays"


def _live_hashes(store: IndexStore, language: Language, fingerprint: str) -> dict[str, str] | None:
    """Hashes of the live pages by id; None when there is no index or it must be built anew."""
    try:
        store.open(language, fingerprint)
    except (IndexMissing, IndexMismatch):
        return None
    return store.content_hashes(language)


async def _to_the_end(write: Callable[[], _Value]) -> _Value:
    """Run a write on a worker thread and wait for it also when cancelled: the lock must not be let go before it is done."""
    task = asyncio.ensure_future(asyncio.to_thread(write))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait([task])
        raise
