"""Chunks and embeds documents and stages them in the ledger, batch by batch, so that a killed run goes on where it stopped."""

import asyncio
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ingest.disease_tree import disease_tree
from ingest.errors import RunCancelled
from ingest.ledger import Ledger, PageState
from ingest.page_builder import CutPage, PageBuilder, Vector
from ingest.pseudo_history import PseudoWriter
from ingest.report import Step
from ingest.run_progress import RunMonitor
from rag.documents import Document, SurfaceKind
from rag.errors import Cancelled


@dataclass(frozen=True, slots=True, kw_only=True)
class Stager:
    """Stages the pages of one run."""

    builder: PageBuilder
    ledger: Ledger
    run_id: int
    monitor: RunMonitor
    pseudo: PseudoWriter | None = None

    def is_staged(self, document: Document, states: Mapping[str, PageState]) -> bool:
        """Whether the ledger holds the document as it is, embedded in today's way."""
        state = states.get(document.document_id)
        return state is not None and (state.content_hash, state.indexed_with) == (
            document.content_hash,
            self.builder.indexed_with,
        )

    async def stage(
        self,
        documents: Iterable[Document],
        states: Mapping[str, PageState],
        *,
        subject: str,
        moved_from: Mapping[str, str] | None = None,
        reuse: bool = True,
    ) -> None:
        """Chunk and embed documents on a worker thread, and stage each batch as soon as it is done.

        Args:
            documents: What is new or changed.
            states: The pages there were before.
            subject: Whose progress is told.
            moved_from: For a document, the one that it was under another address.
            reuse: Take vectors of texts that did not change from the page before, instead of embedding them again.

        Raises:
            RunCancelled: If the run was asked to stop.
            ModelError: If the embedder fails.
        """
        cut = [await self._cut(document) for document in documents]
        total, done = sum(len(page.texts) for page in cut), 0
        for batch in self.builder.grouped(cut):
            known = await self._known(batch, states, moved_from or {}) if reuse else {}
            await self.ledger.stage(self.run_id, await asyncio.to_thread(self.builder.embed, batch, known))
            done += sum(len(page.texts) for page in batch)
            self.monitor.embedded(subject, len(batch))
            self.monitor.tell(Step.EMBED, subject, done, total)

    async def _cut(self, document: Document) -> CutPage:
        if self.pseudo is None:
            return await asyncio.to_thread(self.builder.cut, document)
        key = hashlib.sha256(f"{self.pseudo.version}\n{document.content_hash}".encode()).hexdigest()
        texts = await self.ledger.generated(document.document_id, key)
        if texts is None:
            texts = await asyncio.to_thread(self._written, self.pseudo, document)
            await self.ledger.keep_generated(document.document_id, key, texts)
        by_kind = {SurfaceKind(kind): found for kind, found in texts.items()}
        return await asyncio.to_thread(self.builder.cut, document, by_kind)

    def _written(self, pseudo: PseudoWriter, document: Document) -> dict[str, list[str]]:
        try:
            found = pseudo.write(document, disease_tree(document), cancelled=self.monitor.cancelled)
        except Cancelled as error:
            raise RunCancelled("the run was cancelled; what is published stays as it is") from error
        return {SurfaceKind.PSEUDO_HISTORY.value: list(found.histories), SurfaceKind.QUESTION.value: list(found.questions)}

    async def _known(
        self, batch: Sequence[CutPage], states: Mapping[str, PageState], moved_from: Mapping[str, str]
    ) -> dict[str, Vector]:
        ids = [page.document.document_id for page in batch]
        earlier = [i for i in (*ids, *(moved_from[i] for i in ids if i in moved_from)) if i in states]
        return self.builder.vectors(await self.ledger.pages(earlier)) if earlier else {}
