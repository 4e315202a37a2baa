from pathlib import Path

import pytest

from locales.language import Language
from rag.errors import IndexMissing
from rag.reranker import Reranker
from rag.retriever import Retriever
from rag.store import IndexStore
from rag.types import Query
from tests.fakes import HashEmbedder
from tests.integration.pages import ITALIAN, Page, publish

PAGES = [
    Page("emicrania", "L'emicrania", "L'emicrania è un dolore forte da un lato."),
    Page("pressione", "La pressione", "Cause dell’ipertensione e cure."),
    Page("tosse", "La tosse", "Perché viene la tosse secca e quanto dura."),
    Page("febbre", "La febbre", "Si misura con il termometro: oltre 38,5 gradi è alta.", questions=["Quando la febbre è alta?"]),
    Page("covid", "COVID-19", "Il covid-19 dà febbre e tosse."),
    Page("vitamina", "Vitamina B12", "La vitamina B12 sta nella carne."),
]


@pytest.fixture
def embedder() -> HashEmbedder:
    return HashEmbedder(dimension=4096)  # so many places that no two words share one


@pytest.fixture
def retriever(tmp_path: Path, embedder: HashEmbedder) -> Retriever:
    store = IndexStore(tmp_path / "index")
    publish(store, *PAGES, embedder=embedder)
    return Retriever(lambda language: store.open(language, embedder.fingerprint), embedder)


def ids(retriever: Retriever, question: str, *expansions: str, k: int = 15) -> list[str]:
    hits = retriever.retrieve(Query(question=question, language=ITALIAN, expansions=expansions), k=k)
    return [hit.chunk.document_id for hit in hits]


@pytest.mark.parametrize(
    ("question", "page"),
    [
        ("emicrania", "emicrania"),
        ("ipertensione?", "pressione"),
        ("perche", "tosse"),
        ("38.5", "febbre"),
        ("COVID-19", "covid"),
        ("b12", "vitamina"),
        ("¿la febbre?", "febbre"),
    ],
)
def test_each_question_finds_its_page(retriever: Retriever, question: str, page: str) -> None:
    assert ids(retriever, question)[0] == page


def test_every_chunk_comes_once_and_no_more_than_asked_for(retriever: Retriever) -> None:
    found = ids(retriever, "quando la febbre è alta", k=4)
    assert len(found) == len(set(found)) == 4
    assert found[0] == "febbre"


def test_an_expansion_finds_what_the_own_words_do_not_and_the_own_words_stay_first(retriever: Retriever) -> None:
    alone = ids(retriever, "mal di testa", k=3)
    assert "emicrania" not in alone[:1]
    assert ids(retriever, "mal di testa", "emicrania")[0] == "emicrania"
    assert ids(retriever, "tosse secca", "emicrania")[0] == "tosse"


def test_another_name_for_what_a_title_names_leads_to_no_other_page(retriever: Retriever) -> None:
    assert ids(retriever, "tosse", "vitamina carne febbre") == ids(retriever, "tosse")
    assert ids(retriever, "tosse secca", "vitamina carne febbre") != ids(retriever, "tosse secca")


def test_question_and_expansions_are_embedded_together_as_queries(retriever: Retriever, embedder: HashEmbedder) -> None:
    embedder.queries.clear()
    passages = list(embedder.passages)
    ids(retriever, "mal di testa", "cefalea")
    assert embedder.queries == ["mal di testa", "cefalea"]
    assert embedder.passages == passages


def test_hits_of_the_words_alone_bring_their_cosine(retriever: Retriever) -> None:
    (hit, *_) = retriever.retrieve(Query(question="termometro", language=ITALIAN))
    assert hit.chunk.document_id == "febbre"
    assert hit.dense > 0.0
    assert hit.lexical > 0.0


def test_reranking_keeps_what_was_found_first(tmp_path: Path, retriever: Retriever, embedder: HashEmbedder) -> None:
    query = Query(question="vitamina B12 carne", language=ITALIAN)
    reader = IndexStore(tmp_path / "index").open(ITALIAN, embedder.fingerprint)
    hits = retriever.retrieve(query, reader=reader)
    best = Reranker().rerank(query, hits, reader.statistics)
    assert best[0].chunk.document_id == "vitamina"
    assert best[0].lexical == pytest.approx(hits[0].lexical, rel=0.15)


def test_a_language_without_an_index_is_reported(retriever: Retriever) -> None:
    with pytest.raises(IndexMissing, match="salus ingest"):
        retriever.retrieve(Query(question="tos", language=Language.SPANISH))


@pytest.mark.parametrize("pages", [PAGES[3:4], PAGES[2:4]], ids=["one page", "two pages"])
def test_an_index_of_few_pages_answers(tmp_path: Path, embedder: HashEmbedder, pages: list[Page]) -> None:
    store = IndexStore(tmp_path / "small")
    publish(store, *pages, embedder=embedder)
    retriever = Retriever(lambda language: store.open(language, embedder.fingerprint), embedder)
    assert ids(retriever, "febbre")[0] == "febbre"


def test_an_index_without_pages_finds_nothing(tmp_path: Path, embedder: HashEmbedder) -> None:
    store = IndexStore(tmp_path / "empty")
    publish(store, embedder=embedder)
    assert ids(Retriever(lambda language: store.open(language, embedder.fingerprint), embedder), "febbre") == []
