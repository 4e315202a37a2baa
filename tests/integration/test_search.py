from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from rag.index_reader import IndexReader
from rag.reranker import Reranker
from rag.retriever import Retriever
from rag.search import Search
from rag.store import IndexStore
from rag.types import Query
from tests.fakes import HashEmbedder
from tests.integration.pages import ITALIAN, Page, publish

EMBEDDER = HashEmbedder(dimension=4096)  # so many places that no two words share one


@pytest.fixture
def store(tmp_path: Path) -> IndexStore:
    store = IndexStore(tmp_path / "index")
    pages = [Page(f"tosse-{place:02}", "Tosse", f"La tosse, testo {place}.") for place in range(20)]
    publish(store, *pages, Page("febbre", "Febbre", "La febbre."), embedder=EMBEDDER)
    return store


@pytest.fixture
def reader(store: IndexStore) -> IndexReader:
    return store.open(ITALIAN, EMBEDDER.fingerprint)


@pytest.fixture
def search(reader: IndexReader) -> Search:
    return Search(Retriever(lambda _: reader, EMBEDDER))


def test_what_is_retrieved_is_reranked_by_its_sentences_too(search: Search, reader: IndexReader) -> None:
    query = Query(question="tosse, testo 7", language=ITALIAN, expansions=("febbre",))
    vectors = list(EMBEDDER.embed_queries([query.question, *query.expansions]))

    hits = search.find(query, reader, vectors)

    assert hits[0].chunk.document_id == "tosse-07"
    retrieved = Retriever(lambda _: reader, EMBEDDER).retrieve(query, reader=reader, vectors=vectors)
    assert hits == Reranker().rerank(query, retrieved, reader.statistics, k=15, vector=vectors[0])
    assert hits != Reranker().rerank(query, retrieved, reader.statistics, k=15)


def test_its_stages_are_told_one_after_the_other(search: Search, reader: IndexReader) -> None:
    told = []

    @contextmanager
    def stage(name: str) -> Iterator[None]:
        told.append(f"{name} begins")
        yield
        told.append(f"{name} ends")

    search.find(Query(question="febbre", language=ITALIAN), reader, list(EMBEDDER.embed_queries(["febbre"])), stage=stage)

    assert told == ["retrieve begins", "retrieve ends", "rerank begins", "rerank ends"]


def test_an_index_without_pages_finds_nothing(store: IndexStore, search: Search) -> None:
    publish(store, embedder=EMBEDDER, full=True)
    empty = store.open(ITALIAN, EMBEDDER.fingerprint)

    assert search.find(Query(question="febbre", language=ITALIAN), empty, list(EMBEDDER.embed_queries(["febbre"]))) == []
