"""How the index fares at the size of a large deployment: built whole, searched, changed, and searched while it is changed."""

import resource
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any, cast

import numpy as np

from bot.evaluation.scale_corpus import Corpus, grow, read_seed
from bot.evaluation.shipped import Half, page_questions, read_lines
from bot.progress import Counted
from locales.language import Language
from rag.evaluation.stage_clock import StageClock, in_order
from rag.index_reader import IndexReader
from rag.models.protocols import Embedder, Vectors
from rag.retriever import Retriever
from rag.search import Search
from rag.store import IndexStore
from rag.types import Candidate, Hit, Query

_LANGUAGE = Language.ITALIAN
_CHANGED_SURFACES = 100  # what a content event or a quiet night brings
_DEPTHS = (10, 50)
_EXHAUSTIVE_QUESTIONS = 20  # at the full size each takes most of a second

LoadEmbedder = Callable[[], Embedder]


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A question and its vector, which is given: no figure holds the time that embedding takes."""

    query: Query
    vector: Vectors


def evaluate_scale(home: Path, load_embedder: LoadEmbedder, surfaces: int, progress: Counted) -> dict[str, Any]:
    """Build an index of so many surfaces in a temporary folder and measure it.

    Args:
        home: Where the published index is that the large one is grown from; nothing in it is changed.
        load_embedder: Loads the embedder; other processes of this measurement do so too, so it must be picklable.
        surfaces: How many.
        progress: Told what goes on.

    Returns:
        `built` and `changed`: what writing took, in a process of its own; `recall` of the approximate search by meaning against
        the exhaustive one, by depth; `latency_ms` of a question's retrieval and reranking by kind of search, with its stages, and
        the time of all cores together (`processor`), which other work on the machine lengthens less.

    Raises:
        IndexMissing: If nothing has been published in Italian.
        RagError: If the embedder or the index fails.
    """
    embedder = load_embedder()
    IndexStore(home / "index").open(_LANGUAGE, embedder.fingerprint)
    asked = _questions(embedder)
    with tempfile.TemporaryDirectory(prefix="salus-scale-") as folder, _other_process() as other:
        large = Path(folder)
        progress(f"building an index of {surfaces} surfaces", 0, 0)
        figures: dict[str, Any] = {"built": other.submit(_build, home, large, load_embedder, surfaces).result()}
        figures["built"]["disk_mb"] = sum(file.stat().st_size for file in large.rglob("*") if file.is_file()) >> 20
        line = _Line(IndexStore(large), embedder)
        few = asked[:_EXHAUSTIVE_QUESTIONS]
        figures["latency_ms"] = {
            "first_question": line.latencies(asked[:1]),
            "approximate": line.latencies(_told(asked, "approximate search", progress)),
            "exhaustive": line.latencies(_told(few, "exhaustive search", progress), exhaustive=True),
        }
        figures["recall"] = _recall(line.open(), asked, progress)
        change = other.submit(_change, home, large, load_embedder)
        figures["latency_ms"]["approximate_beside_a_publication"] = line.latencies(_until(change, asked, progress))
        figures["changed"] = change.result()
        figures["searching_process_peak_mb"] = _peak_mb()
    return figures


class _Line:
    """Retrieval and reranking as the answering line has them, over one store."""

    def __init__(self, store: IndexStore, embedder: Embedder) -> None:
        self._store = store
        self._fingerprint = embedder.fingerprint
        self._search = Search(Retriever(lambda _: self.open(), embedder))

    def open(self) -> IndexReader:
        """What is live, as each question opens it."""
        return self._store.open(_LANGUAGE, self._fingerprint)

    def latencies(self, questions: Sequence[Asked] | Iterator[Asked], *, exhaustive: bool = False) -> dict[str, Any]:
        """Ask, and tell how long the whole and each stage took, and the processors worked."""
        clock, wholes, busy = StageClock(), [], []
        stages: dict[str, list[float]] = {}
        for asked in questions:
            began, busy_before = time.perf_counter(), time.process_time()
            self._ask(asked, clock, exhaustive)
            wholes.append(time.perf_counter() - began)
            busy.append(time.process_time() - busy_before)
            for name, seconds in clock.take().items():
                stages.setdefault(name, []).append(seconds)
        of_stages = {name: _spread(stages[name]) for name in in_order(stages)}
        told = {"max": _ms(max(wholes)), "questions": len(wholes), "processor": _spread(busy), "stages": of_stages}
        return _spread(wholes) | told

    def _ask(self, asked: Asked, clock: StageClock, exhaustive: bool) -> None:
        with clock.stage("open"):
            live = self.open()
        reader = cast(IndexReader, _TimedReader(live.exhaustive() if exhaustive else live, clock))
        self._search.find(
            asked.query, reader, [asked.vector], stage=lambda name: clock.stage("fuse" if name == "retrieve" else name)
        )


class _TimedReader:
    """A reader, the three looks of which are timed."""

    def __init__(self, inner: IndexReader, clock: StageClock) -> None:
        self._inner = inner
        self._clock = clock
        self.statistics = inner.statistics

    @property
    def version(self) -> object:
        """Of the index that is read."""
        return self._inner.version

    def nearest(self, vector: Vectors, k: int) -> list[Candidate]:
        with self._clock.stage("dense"):
            return self._inner.nearest(vector, k)

    def matching(self, tokens_text: str, k: int, vector: Vectors | None = None) -> list[Candidate]:
        with self._clock.stage("lexical"):
            return self._inner.matching(tokens_text, k, vector)

    def hits(self, candidates: Sequence[Candidate]) -> list[Hit]:
        with self._clock.stage("sentences"):
            return self._inner.hits(candidates)


def _questions(embedder: Embedder) -> list[Asked]:
    """Lay questions about the pages that the index is grown from."""
    rows = read_lines(page_questions(Half.DEV), "lang", "text")
    texts = [row["text"] for row in rows if row["lang"] == _LANGUAGE.value]
    vectors = embedder.embed_queries(texts)
    return [
        Asked(query=Query(question=text, language=_LANGUAGE), vector=vector) for text, vector in zip(texts, vectors, strict=True)
    ]


def _recall(reader: IndexReader, asked: Sequence[Asked], progress: Counted) -> dict[str, float]:
    exhaustive = reader.exhaustive()
    found: dict[int, list[float]] = {depth: [] for depth in _DEPTHS}
    for question in _told(asked, "recall", progress):
        near = [candidate.chunk_id for candidate in reader.nearest(question.vector, max(_DEPTHS))]
        nearest = [candidate.chunk_id for candidate in exhaustive.nearest(question.vector, max(_DEPTHS))]
        for depth in _DEPTHS:
            wanted = set(nearest[:depth])
            found[depth].append(len(wanted & set(near[:depth])) / len(wanted))
    return {f"recall@{depth}": round(float(np.mean(shares)), 4) for depth, shares in found.items()}


def _told(asked: Sequence[Asked], what: str, progress: Counted) -> Iterator[Asked]:
    for number, question in enumerate(asked, start=1):
        progress(what, number, len(asked))
        yield question


def _until(done: "Future[Any]", asked: Sequence[Asked], progress: Counted) -> Iterator[Asked]:
    """All questions at least once, and over again until it is done, so that the first one after it is among them."""
    number, is_last = 0, False
    while not is_last or number < len(asked):
        is_last = done.done()
        progress("search beside a publication", number, 0)
        yield asked[number % len(asked)]
        number += 1


def _build(home: Path, folder: Path, load_embedder: LoadEmbedder, surfaces: int) -> dict[str, Any]:
    embedder = load_embedder()
    corpus = grow(read_seed(IndexStore(home / "index"), _LANGUAGE, embedder.fingerprint), surfaces)
    before = _peak_mb()
    seconds = _publish(IndexStore(folder), corpus, embedder, full=True)
    return {
        "surfaces": len(corpus.surfaces),
        "chunks": len(corpus.chunks),
        "documents": len(corpus.documents),
        "seconds": round(seconds, 1),
        "peak_mb": _peak_mb(),
        "peak_before_publication_mb": before,
    }


def _change(home: Path, folder: Path, load_embedder: LoadEmbedder) -> dict[str, Any]:
    embedder = load_embedder()
    seed = read_seed(IndexStore(home / "index"), _LANGUAGE, embedder.fingerprint)
    corpus = grow(seed, _CHANGED_SURFACES, prefix="new", random=1)
    seconds = _publish(IndexStore(folder), corpus, embedder, full=False)
    return {"surfaces": len(corpus.surfaces), "seconds": round(seconds, 1), "peak_mb": _peak_mb()}


def _publish(store: IndexStore, corpus: Corpus, embedder: Embedder, *, full: bool) -> float:
    began = time.monotonic()
    store.publish(
        _LANGUAGE,
        documents=corpus.documents,
        chunks=corpus.chunks,
        surfaces=corpus.surfaces,
        vectors=corpus.vectors,
        embedder=embedder,
        sentence_vectors=corpus.sentence_vectors,
        full=full,
    )
    return time.monotonic() - began


@contextmanager
def _other_process() -> Iterator[ProcessPoolExecutor]:
    """One process after the other, each for one task, so that each one's peak of memory is its own."""
    with ProcessPoolExecutor(max_workers=1, mp_context=get_context("spawn"), max_tasks_per_child=1) as pool:
        yield pool


def _spread(seconds: Sequence[float]) -> dict[str, Any]:
    return {f"p{percent}": _ms(float(np.percentile(seconds, percent))) for percent in (50, 95)}


def _ms(seconds: float) -> float:
    return round(seconds * 1000, 1)


def _peak_mb() -> int:
    """Most memory that this process has held so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
