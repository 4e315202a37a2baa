"""Measures how well questions find their pages, through the product's own reading, cutting, index, retriever and reranker."""

import json
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bot.evaluation.cached_embedder import CachedEmbedder, Progress
from ingest.chunker import Chunker
from ingest.importers.plain import plain_lines
from locales.language import Language
from rag import text
from rag.documents import Authority, Chunk, Document, Surface
from rag.evaluation.datasets import JudgedQuery, read_queries
from rag.evaluation.metrics import hit_at, ndcg, percentile, reciprocal_rank
from rag.expander import Expander, Lexicon
from rag.index_reader import IndexReader
from rag.models.protocols import Embedder
from rag.reranker import Reranker
from rag.retriever import Retriever
from rag.store import IndexStore
from rag.types import Hit, Intent, Interpretation, Query

CONFIGS = ("lexical", "dense", "fused", "reranked", "expanded")

_CANDIDATES = 15  # as the answering line
_DEPTH = 30  # of one-sided rankings: several chunks of one page fold into it

Search = Callable[[IndexReader, JudgedQuery], list[Hit]]


def evaluate_retrieval(
    docs_path: Path,
    queries_path: Path,
    embedder: Embedder,
    *,
    cache_dir: Path,
    configs: Sequence[str] = CONFIGS,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Measure each configuration on each set of questions, and on `all`.

    Args:
        docs_path: Documents as `{id, lang, title, text, url?}` lines.
        queries_path: Questions as `{id, lang, question, gold: [document ids], set?}` lines.
        embedder: Embeds both; its vectors are kept in `cache_dir` by text and fingerprint.
        cache_dir: Where vectors are kept. The texts are a test collection's, never a patient's.
        configs: Some of `CONFIGS`.
        progress: Told (what, done, of how many).

    Returns:
        `{"rows": [{set, config, hit@1, hit@3, hit@5, hit@10, mrr@10, ndcg@10, n, p50_ms, p95_ms}]}`. The times of a question
        are those of its embedding, as first measured, and of its search.
    """
    queries = read_queries(queries_path)
    cached = CachedEmbedder(embedder, cache_dir, progress)
    with _published(docs_path, cached, progress) as store:
        readers = {language: store.open(language, cached.fingerprint) for language in {query.language for query in queries}}
        searches = _searches(store, cached)
        tallies = {config: _measure(config, searches[config], queries, readers, cached, progress) for config in configs}
    cached.save()
    return {"rows": [row for config, tally in tallies.items() for row in tally.rows(config)]}


@dataclass(slots=True)
class _Tally:
    """Figures of one configuration, a dictionary a question, by set."""

    figures: dict[str, list[dict[str, float]]] = field(default_factory=lambda: defaultdict(list))

    def add(self, query: JudgedQuery, ranking: Sequence[str], seconds: float) -> None:
        """Note one question's ranking of document ids."""
        measured = {f"hit@{k}": hit_at(ranking, query.gold, k) for k in (1, 3, 5, 10)}
        measured |= {"mrr@10": reciprocal_rank(ranking, query.gold), "ndcg@10": ndcg(ranking, query.gold), "ms": seconds * 1000.0}
        self.figures[query.set_name].append(measured)

    def rows(self, config: str) -> list[dict[str, Any]]:
        """One row a set, and `all` last."""
        sets = {**self.figures, "all": [measured for figures in self.figures.values() for measured in figures]}
        return [_row(name, config, figures) for name, figures in sets.items() if figures]


def _row(name: str, config: str, figures: Sequence[dict[str, float]]) -> dict[str, Any]:
    times = [measured["ms"] for measured in figures]
    means = {key: round(sum(measured[key] for measured in figures) / len(figures), 4) for key in figures[0] if key != "ms"}
    return {
        "set": name,
        "config": config,
        **means,
        "n": len(figures),
        "p50_ms": round(percentile(times, 0.5), 1),
        "p95_ms": round(percentile(times, 0.95), 1),
    }


@contextmanager
def _published(docs_path: Path, embedder: CachedEmbedder, progress: Progress | None) -> Iterator[IndexStore]:
    """Publish the documents in an index of their own, which goes away afterwards."""
    chunker = Chunker(embedder.count_tokens, min(embedder.max_tokens, 480))
    documents: dict[Language, list[Document]] = defaultdict(list)
    chunks: dict[Language, list[Chunk]] = defaultdict(list)
    surfaces: dict[Language, list[Surface]] = defaultdict(list)
    for document in _read_documents(docs_path):
        cut, faces = chunker.chunks(document)
        documents[document.language].append(document)
        chunks[document.language].extend(cut)
        surfaces[document.language].extend(faces)
        if progress:
            progress("reading", sum(map(len, documents.values())), 0)
    with tempfile.TemporaryDirectory(prefix="salus-eval-") as folder:
        store = IndexStore(Path(folder))
        for language in documents:
            store.publish(
                language,
                documents=documents[language],
                chunks=chunks[language],
                surfaces=surfaces[language],
                vectors=embedder.embed_passages([surface.text for surface in surfaces[language]]),
                embedder=embedder,
                full=True,
            )
        yield store


def _read_documents(path: Path) -> Iterator[Document]:
    """Read documents in the plain form of the importers; an id may be anything here, nobody is served these pages."""
    for line in path.read_text(encoding="utf-8").splitlines():
        if not line.strip():
            continue
        row = json.loads(line)
        yield Document(
            document_id=str(row["id"]),
            source_id="evaluation",
            url=row.get("url"),
            title=row["title"],
            publisher="",
            authority=Authority.PUBLISHER,
            language=Language(row["lang"]),
            text=plain_lines(row["text"]),
            reviewed_on=None,
            fetched_at=datetime.now(UTC),
            content_hash="",
        )


def _measure(
    config: str,
    search: Search,
    queries: Sequence[JudgedQuery],
    readers: dict[Language, IndexReader],
    embedder: CachedEmbedder,
    progress: Progress | None,
) -> _Tally:
    tally = _Tally()
    for place, query in enumerate(queries):
        spent_s, lookup_s, begun = embedder.spent_s, embedder.lookup_s, time.perf_counter()
        hits = search(readers[query.language], query)
        # The time that an embedding took when it was made, in place of the time to find it in the cache.
        seconds = time.perf_counter() - begun + (embedder.spent_s - spent_s) - (embedder.lookup_s - lookup_s)
        tally.add(query, list(dict.fromkeys(hit.chunk.document_id for hit in hits)), seconds)
        if progress:
            progress(config, place + 1, len(queries))
    return tally


def _searches(store: IndexStore, embedder: Embedder) -> dict[str, Search]:
    """Compose the configurations as the answering line does."""
    retriever = Retriever(lambda language: store.open(language, embedder.fingerprint), embedder)
    reranker = Reranker()
    expander = Expander({language: Lexicon.load(language) for language in Language})

    def plain(query: JudgedQuery) -> Query:
        return Query(question=query.question, language=query.language)

    def expanded(query: JudgedQuery) -> Query:
        understood = Interpretation(language=query.language, intent=Intent.QUESTION, self_contained=query.question)
        return expander.expand(understood)

    def reranked(reader: IndexReader, query: Query) -> list[Hit]:
        return reranker.rerank(query, retriever.retrieve(query, k=_CANDIDATES), reader.statistics, k=_CANDIDATES)

    return {
        "lexical": lambda reader, query: reader.lexical(" ".join(text.query_tokens(query.question, query.language)), _DEPTH),
        "dense": lambda reader, query: reader.dense(embedder.embed_queries([query.question])[0], _DEPTH),
        "fused": lambda _reader, query: retriever.retrieve(plain(query), k=_DEPTH),
        "reranked": lambda reader, query: reranked(reader, plain(query)),
        "expanded": lambda reader, query: reranked(reader, expanded(query)),
    }
