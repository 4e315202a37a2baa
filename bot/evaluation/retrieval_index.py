"""The documents of a test collection, published in an index of their own, which goes away with the measurement."""

import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from bot.evaluation.cached_embedder import CachedEmbedder, Progress
from bot.evaluation.cached_texts import CachedTexts
from ingest.disease_tree import disease_tree
from ingest.documents import new_document
from ingest.importers.plain import normal, plain_lines
from ingest.page_builder import CutPage, PageBuilder, PseudoTexts
from ingest.pseudo_history import PseudoWriter
from locales.language import Language
from rag.documents import Authority, Document, SurfaceKind
from rag.evaluation.datasets import (
    MalformedLine,
    Problem,
    identity,
    json_object,
    language_of,
    malformed,
    numbered_lines,
    text_of,
)
from rag.store import IndexStore


def read_documents(path: Path) -> tuple[list[Document], list[Problem]]:
    """Read `{id, lang, title, text, url?}` lines, as the importers read them; an id may be anything.

    Returns:
        The documents in their order, each id of a language once and none without text, and a problem for each other line.
    """
    documents: dict[tuple[Language, str], Document] = {}
    problems = []
    for number, raw in numbered_lines(path):
        try:
            document = _document(json_object(raw))
        except MalformedLine as error:
            problems.append(malformed("docs", number, error))
            continue
        key = (document.language, document.document_id)
        if not document.text:
            problems.append(_problem(number, document, "empty_text", "the document has no text", is_left_out=True))
        elif key in documents:
            problems.append(_problem(number, document, "duplicate_id", "an earlier document has the same id", is_left_out=True))
        else:
            documents[key] = document
            if not document.title:
                problems.append(_problem(number, document, "no_title", "the document has no title"))
    return list(documents.values()), problems


def cut_pages(
    documents: Sequence[Document], embedder: CachedEmbedder, progress: Progress | None, *, sentences: bool
) -> list[CutPage]:
    """Cut documents as ingestion does; one without a passage, which nothing could find, is left out.

    Args:
        documents: What is cut.
        embedder: Counts tokens.
        progress: Told how many are cut.
        sentences: Whether the vectors of single sentences will be wanted.
    """
    builder = PageBuilder(embedder, sentence_vectors=sentences)
    pages = []
    for number, document in enumerate(documents, start=1):
        pages.append(builder.cut(document))
        if progress:
            progress("reading", number, len(documents))
    return [page for page in pages if page.chunks]


def with_pseudo_texts(
    pages: Sequence[CutPage],
    embedder: CachedEmbedder,
    writer: PseudoWriter,
    cache: CachedTexts,
    progress: Progress | None,
    *,
    sentences: bool,
) -> list[CutPage]:
    """Cut pages once more, to be found also by what the generator writes for them; what it wrote before is not written again.

    Raises:
        ModelError: If the generator fails; what is whole by then is kept.
    """
    builder = PageBuilder(embedder, sentence_vectors=sentences, pseudo=writer.version)
    found = []
    for number, page in enumerate(pages, start=1):
        key = f"{writer.version}\n{page.document.content_hash}"
        written = cache.get(key)
        if written is None:
            written = cache.put(key, _written(writer, page.document))
        found.append(builder.cut(page.document, _surfaces(written)))
        if progress:
            progress("pseudo histories", number, len(pages))
    return found


@contextmanager
def published(pages: Sequence[CutPage], embedder: CachedEmbedder, *, sentences: bool) -> Iterator[IndexStore]:
    """Publish pages in an index that is deleted afterwards.

    Raises:
        StoreError: If it cannot be written.
        ModelError: If the embedder fails.
    """
    builder = PageBuilder(embedder, sentence_vectors=sentences)
    texts = list(dict.fromkeys(text for page in pages for text in page.texts))
    known = dict(zip(texts, embedder.embed_passages(texts), strict=True))
    by_language: dict[Language, list[CutPage]] = defaultdict(list)
    for page in pages:
        by_language[page.document.language].append(page)
    with tempfile.TemporaryDirectory(prefix="salus-eval-") as folder:
        store = IndexStore(Path(folder))
        for language, own in by_language.items():
            staged = builder.embed(own, known)
            store.publish(
                language,
                documents=[page.document for page in staged],
                chunks=[chunk for page in staged for chunk in page.chunks],
                surfaces=[surface for page in staged for surface in page.surfaces],
                vectors=np.concatenate([page.surface_vectors for page in staged]),
                embedder=embedder,
                sentence_vectors={key: vectors for page in staged for key, vectors in page.sentence_vectors().items()},
                full=True,
            )
        yield store


def _document(row: Mapping[str, object]) -> Document:
    url = row.get("url")
    return new_document(
        document_id=identity(row),
        source_id="evaluation",
        url=url if isinstance(url, str) else None,
        title=" ".join(normal(text_of(row, "title")).split()) if row.get("title") is not None else "",
        publisher="",
        authority=Authority.PUBLISHER,
        language=language_of(row),
        text=plain_lines(text_of(row, "text")),
        reviewed_on=None,
    )


def _problem(line: int, document: Document, kind: str, detail: str, *, is_left_out: bool = False) -> Problem:
    return Problem(file="docs", line=line, subject=document.document_id, kind=kind, detail=detail, is_left_out=is_left_out)


def _written(writer: PseudoWriter, document: Document) -> dict[str, list[str]]:
    texts = writer.write(document, disease_tree(document), cancelled=lambda: False)
    return {SurfaceKind.PSEUDO_HISTORY.value: list(texts.histories), SurfaceKind.QUESTION.value: list(texts.questions)}


def _surfaces(written: Mapping[str, Sequence[str]]) -> PseudoTexts:
    return {SurfaceKind(kind): texts for kind, texts in written.items()}
