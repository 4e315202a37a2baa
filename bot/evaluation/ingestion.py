"""How fast ingestion is on this machine: a first night, a night without changes, one with a few, and beside an answering bot."""

import asyncio
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bot.asker import Asker
from bot.evaluation.shipped import bench_questions, read_lines
from bot.loading import load_gate, load_renderer, rag_settings
from bot.progress import Counted
from bot.settings import Settings
from ingest.importers.folder import read_folder
from ingest.ledger import Ledger
from ingest.pipeline import RunOptions, ingest
from ingest.report import RunReport
from ingest.run import index_directory, ledger_path, run_lock
from ingest.sources import SourceKind, SourceRow, load_sources
from rag.build import build_answerer
from rag.documents import Document
from rag.models.protocols import Embedder, Vectors
from rag.store import IndexStore

_QUIET_NIGHTS = 5
_CHANGED_SHARE = 0.01
_QUESTIONS = 10
_SETTLING_S = 20.0  # until the child has loaded its embedder and embeds


class _CountingEmbedder:
    """Passes on to an embedder and remembers what it embedded and for how long."""

    def __init__(self, inner: Embedder) -> None:
        self._inner = inner
        self.fingerprint, self.dimension, self.max_tokens = inner.fingerprint, inner.dimension, inner.max_tokens
        self.texts: list[str] = []
        self.calls = 0

    def count_tokens(self, text: str) -> int:
        """Tokens of a passage."""
        return self._inner.count_tokens(text)

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Embed questions, uncounted: a publication measures its background with some."""
        return self._inner.embed_queries(texts)

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """Embed passages and count them."""
        self.calls += 1
        self.texts += texts
        return self._inner.embed_passages(texts)


def measure_nights(embedder: Embedder, docs: Path | None, limit: int, progress: Counted) -> dict[str, Any]:
    """Ingest a folder of pages into a temporary home, night after night.

    Args:
        embedder: The embedder whose own throughput is the measure.
        docs: A folder or JSON Lines file; the starter corpus when None.
        limit: Most pages.
        progress: Told how far it is.

    Returns:
        Pages a second and calls of the embedder of each kind of night; `bulk_ratio` is the texts a second of the whole first
        night, reading, cutting, staging and publishing included, as a share of the bare embedder's on the same texts.
    """
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        rows = _rows(docs)
        pages = [_as_row(document) for row in rows for document in read_folder(row.path or Path(), row)][:limit]
        corpus = home / "corpus.jsonl"
        _write(corpus, pages)
        counting = _CountingEmbedder(embedder)
        source = SourceRow(id="nights", kind=SourceKind.FOLDER, path=corpus, publisher="Salus")

        def night(what: str) -> tuple[RunReport, int]:
            progress(what, 0, 0)
            counting.calls, counting.texts = 0, []
            return asyncio.run(_night(home, source, counting)), counting.calls

        first, calls = night("first night")
        texts = counting.texts
        progress("the bare embedder on the same texts", 0, len(texts))
        began = time.monotonic()
        for at in range(0, len(texts), 64):
            embedder.embed_passages(texts[at : at + 64])
        raw_s = time.monotonic() - began
        figures: dict[str, Any] = {
            "pages": len(pages),
            "first_night": {"seconds": round(first.seconds, 2), "texts": len(texts), "calls": calls},
            "bare_embedder_s": round(raw_s, 2),
            "bulk_ratio": round(raw_s / first.seconds, 3),
        }
        quiet, memory = [], []
        for number in range(_QUIET_NIGHTS):
            report, calls = night(f"quiet night {number + 1}")
            quiet.append({"pages_a_second": round(len(pages) / report.seconds, 1), "calls": calls})
            memory.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
        figures["quiet_nights"] = quiet
        figures["peak_memory_mb"] = memory
        changed = max(1, round(len(pages) * _CHANGED_SHARE))
        for page in pages[:changed]:
            page["text"] += "\n\nQuesta frase è nuova."
        _write(corpus, pages)
        report, calls = night("a night with changes")
        figures["changed_night"] = {
            "pages_changed": changed,
            "counted_as_changed": sum(row.changed for row in report.languages),
            "texts_embedded": len(counting.texts),
            "seconds": round(report.seconds, 2),
        }
        return figures


def measure_answers_beside_a_run(settings: Settings, progress: Counted) -> dict[str, Any]:
    """Answer the same questions idle and beside a full run in the background, on a home of its own.

    Returns:
        The median seconds of a whole answer idle and during the run, and their ratio.
    """
    answerer = build_answerer(rag_settings(settings))
    answerer.warm()
    asker = Asker(load_gate(answerer.embedder), load_renderer(settings), lambda: answerer)
    questions = [row["text"] for row in read_lines(bench_questions(), "id", "lang", "text")][:_QUESTIONS]
    _median(asker, questions, "warm-up", progress)
    idle = _median(asker, questions, "idle", progress)
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "bot.cli", "ingest", "--background", "--full", "--json"]
        environment = {"SALUS_HOME": folder, "PATH": "/usr/bin:/bin"}
        child = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            time.sleep(_SETTLING_S)
            beside = _median(asker, questions, "during a run", progress)
            was_running = child.poll() is None
        finally:
            child.kill()
            child.wait()
    return {
        "idle_p50_s": round(idle, 2),
        "during_run_p50_s": round(beside, 2),
        "ratio": round(beside / idle, 2),
        "run_lasted": was_running,
    }


def _median(asker: Asker, questions: Sequence[str], what: str, progress: Counted) -> float:
    seconds = []
    for number, question in enumerate(questions, start=1):
        began = time.monotonic()
        asker.ask(question)
        seconds.append(time.monotonic() - began)
        progress(what, number, len(questions))
    return statistics.median(seconds)


async def _night(home: Path, source: SourceRow, embedder: Embedder) -> RunReport:
    async with Ledger.open(ledger_path(home)) as ledger:
        return await ingest(
            [source], IndexStore(index_directory(home)), embedder, ledger, lock=run_lock(home), options=RunOptions()
        )


def _rows(docs: Path | None) -> list[SourceRow]:
    if docs is not None:
        return [SourceRow(id="docs", kind=SourceKind.FOLDER, path=docs, publisher="Salus")]
    return [row for row in load_sources() if row.kind is SourceKind.FOLDER and row.enabled]


def _as_row(document: Document) -> dict[str, Any]:
    return {
        "id": document.document_id,
        "lang": document.language.value,
        "title": document.title,
        "text": document.text,
        "url": document.url,
    }


def _write(path: Path, pages: Sequence[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(page, ensure_ascii=False) + "\n" for page in pages), encoding="utf-8")
