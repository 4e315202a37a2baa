"""Measures how well questions find their pages, through the product's own reading, cutting, index, retriever and reranker."""

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bot.errors import BotError
from bot.evaluation.cached_embedder import CachedEmbedder, Progress
from bot.evaluation.cached_texts import CachedTexts
from bot.evaluation.retrieval_figures import comparison_rows, figure_rows
from bot.evaluation.retrieval_index import cut_pages, published, read_documents, with_pseudo_texts
from bot.evaluation.retrieval_line import CONFIGURATIONS, Phrases, SearchLine
from ingest.page_builder import CutPage
from ingest.pseudo_history import PseudoWriter
from locales.language import Language
from rag.evaluation.datasets import JudgedQuery, Problem, read_queries
from rag.evaluation.metrics import Judged, judge
from rag.evaluation.query_checks import check_queries
from rag.models.protocols import Embedder, LanguageModel

CONFIGS = tuple(name for name, configuration in CONFIGURATIONS.items() if not configuration.needs_generator)
"""What is measured unless asked otherwise: whatever needs no generator."""

_PSEUDO_TIME_LIMIT_S = 600.0  # a page: what passes shall not depend on the speed of the machine


class NothingToMeasure(BotError):
    """A file could not be read, or no question of the set has a document that it should find."""


class GeneratorNeeded(BotError):
    """A configuration that the generator has a part in was asked for, and none is configured."""


class UnknownConfiguration(BotError):
    """There is no such configuration; the message names those that there are."""


def check_configs(configs: Sequence[str]) -> bool:
    """Tell whether any of the configurations needs the generator.

    Raises:
        UnknownConfiguration: If there is no such one.
    """
    unknown = [name for name in configs if name not in CONFIGURATIONS]
    if unknown:
        raise UnknownConfiguration(f"There is no configuration {unknown[0]!r}; there are {', '.join(CONFIGURATIONS)}.")
    return any(CONFIGURATIONS[name].needs_generator for name in configs)


def evaluate_retrieval(
    docs_path: Path,
    queries_path: Path,
    embedder: Embedder,
    *,
    cache_dir: Path,
    configs: Sequence[str] = CONFIGS,
    generator: LanguageModel | None = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Measure each configuration on each set of questions, and on `all`.

    A run that was killed goes on where it was when it is started again: vectors, and what the generator wrote, are kept.

    Args:
        docs_path: Documents as `{id, lang, title, text, url?}` lines.
        queries_path: Questions as `{id, lang, question, gold: [document ids], set?}` lines.
        embedder: Embeds both; its vectors are kept in `cache_dir` by text and fingerprint.
        cache_dir: Where vectors are kept. The texts are a test collection's, never a patient's.
        configs: Names of `CONFIGURATIONS`, in the order in which each is compared with the one before it.
        generator: For the configurations that need one.
        progress: Told (what, done, of how many).

    Returns:
        `about`: embedder, SHA-256 of both files, and numbers of documents, passages and questions.
        `rows`: by configuration and set `hit@1 … hit@10`, `mrr@10`, `ndcg@10`, `n`, bounds of the 95 % intervals of hit@5 and
        mrr@10, `p50_ms` and `p95_ms` of a question, and the same for each of its `stages`. A question's embedding counts with
        the time that it took when it was made.
        `comparisons`: each configuration against the one before it, by set.
        `problems`: lines, documents and questions that are not as they should be, by id; those `left_out` are in no figure.

    Raises:
        UnknownConfiguration: If a configuration is none.
        NothingToMeasure: If a file cannot be read, or nothing in it can be measured.
        GeneratorNeeded: If a configuration needs a generator and there is none.
        RagError: If a model or the index fails.
    """
    if check_configs(configs) and generator is None:
        raise GeneratorNeeded("The configurations `generator` and `pseudo` need a generator, and SALUS_GENERATOR names none.")
    cached = CachedEmbedder(embedder, cache_dir, progress)
    try:
        collection = _read(docs_path, queries_path, cached, configs, progress)
        judged = _measure(collection, cached, configs, generator, cache_dir, progress)
    finally:
        cached.save()
    return {
        "about": {"embedder": cached.fingerprint, **collection.about},
        "rows": [row for name, answers in judged.items() for row in figure_rows(name, answers)],
        "comparisons": comparison_rows(judged),
        "problems": [problem.as_row() for problem in collection.problems],
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class _Collection:
    """Documents cut into passages, the questions that can be measured, and what was wrong with either."""

    pages: Sequence[CutPage]
    queries: Sequence[JudgedQuery]
    problems: Sequence[Problem]
    about: dict[str, Any]
    has_sentences: bool

    @property
    def languages(self) -> set[Language]:
        """Those in which there are documents."""
        return {page.document.language for page in self.pages}


def _read(
    docs_path: Path, queries_path: Path, embedder: CachedEmbedder, configs: Sequence[str], progress: Progress | None
) -> _Collection:
    try:
        documents, problems = read_documents(docs_path)
        questions, more = read_queries(queries_path)
        digests = {"docs_sha256": _digest(docs_path), "queries_sha256": _digest(queries_path)}
    except OSError as error:
        raise NothingToMeasure(f"A file of the set cannot be read ({type(error).__name__}).") from error
    has_sentences = any(CONFIGURATIONS[name].needs_sentences for name in configs)
    pages = cut_pages(documents, embedder, progress, sentences=has_sentences)
    found = {page.document.document_id for page in pages}
    measurable, odd = check_queries(questions, found, {page.document.language for page in pages})
    if not measurable:
        raise NothingToMeasure(
            f"No question can be measured: of {len(questions)} questions none names one of the {len(pages)} documents."
        )
    return _Collection(
        pages=pages,
        queries=measurable,
        problems=[*problems, *more, *odd],
        about={
            **digests,
            "documents": len(pages),
            "passages": sum(len(page.chunks) for page in pages),
            "questions": len(questions),
            "measured": len(measurable),
        },
        has_sentences=has_sentences,
    )


def _measure(
    collection: _Collection,
    embedder: CachedEmbedder,
    configs: Sequence[str],
    generator: LanguageModel | None,
    cache_dir: Path,
    progress: Progress | None,
) -> dict[str, list[Judged]]:
    """What each configuration finds, in the order of `configs` and of the questions."""
    texts = CachedTexts(cache_dir / "generated.jsonl")
    phrases = Phrases(generator, texts) if generator else None
    lines: dict[bool, SearchLine] = {}
    judged = {}
    with ExitStack() as stack:
        for name in dict.fromkeys(configs):
            needs_pseudo = CONFIGURATIONS[name].needs_pseudo
            if needs_pseudo not in lines:
                pages = collection.pages
                if needs_pseudo and generator:
                    writer = PseudoWriter(generator, time_limit_s=_PSEUDO_TIME_LIMIT_S)
                    pages = with_pseudo_texts(pages, embedder, writer, texts, progress, sentences=collection.has_sentences)
                store = stack.enter_context(published(pages, embedder, sentences=collection.has_sentences))
                lines[needs_pseudo] = SearchLine(store, embedder, phrases)
            judged[name] = list(_answered(name, lines[needs_pseudo], collection, progress))
    return judged


def _answered(name: str, line: SearchLine, collection: _Collection, progress: Progress | None) -> Iterator[Judged]:
    languages = collection.languages
    for place, query in enumerate(collection.queries, start=1):
        # Without any document in its language nothing can be found, as a patient would find nothing.
        hits, stages = line.timed(CONFIGURATIONS[name].search, query) if query.language in languages else ([], {})
        yield judge(query, list(dict.fromkeys(hit.chunk.document_id for hit in hits)), stages)
        if progress:
            progress(name, place, len(collection.queries))


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
