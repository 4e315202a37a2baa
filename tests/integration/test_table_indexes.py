from pathlib import Path

import lancedb
import numpy as np
import pytest

from rag import table_indexes
from rag.store import IndexStore
from tests.fakes import HashEmbedder
from tests.integration.pages import ITALIAN, Page, publish

EMBEDDER = HashEmbedder()
WORDS = [
    "febbre",
    "tosse",
    "asma",
    "diarrea",
    "prurito",
    "nausea",
    "vertigini",
    "insonnia",
    "ansia",
    "gonfiore",
    "crampi",
    "otite",
]


def pages(questions: int) -> list[Page]:
    made = []
    for number in range(120):
        first, second, third = (WORDS[(number * step + step) % len(WORDS)] for step in (1, 5, 7))
        asked = [f"{first} {second} domanda {place}" for place in range(questions)]
        made.append(Page(f"p{number}", f"{first} e {second}", f"{first} {third} numero {number}", questions=asked))
    return made


@pytest.fixture
def store(tmp_path: Path) -> IndexStore:
    return IndexStore(tmp_path / "index")


def test_a_small_table_has_no_vector_index_and_a_large_one_has(
    store: IndexStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish(store, *pages(questions=2))
    database = lancedb.connect(str(tmp_path / "index"))
    assert table_indexes.searched_parts(database.open_table("surfaces_it")) == 0
    monkeypatch.setattr(table_indexes, "APPROXIMATE_FROM", 300)
    publish(store, Page("nuova", "Cefalea", "La cefalea pulsante"))
    assert table_indexes.searched_parts(database.open_table("surfaces_it")) > 0


def test_a_vector_index_made_anew_finds_what_was_published_since(
    store: IndexStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table_indexes, "APPROXIMATE_FROM", 300)
    monkeypatch.setattr(table_indexes, "_MOST_SEGMENTS", 0)  # each publication makes it anew
    publish(store, *pages(questions=2))
    for night in range(3):
        publish(store, Page("nuova", "Cefalea", f"La cefalea della notte {night}"))
    vector = EMBEDDER.embed_queries(["la cefalea della notte 2"])[0]
    assert store.open(ITALIAN, EMBEDDER.fingerprint).dense(vector, 1)[0].chunk.text == "La cefalea della notte 2"


@pytest.mark.parametrize("questions", [0, 4], ids=["a surface a chunk", "five surfaces a chunk"])
def test_an_approximate_search_finds_in_a_small_table_what_an_exhaustive_one_finds(
    store: IndexStore, monkeypatch: pytest.MonkeyPatch, questions: int
) -> None:
    monkeypatch.setattr(table_indexes, "APPROXIMATE_FROM", 100)
    publish(store, *pages(questions))
    publish(store, Page("p3", "Cefalea", "La cefalea pulsante"), retired=["p5"])
    reader = store.open(ITALIAN, EMBEDDER.fingerprint)
    exhaustive = reader.exhaustive()

    shares = []
    for word in [*WORDS, "cefalea pulsante"]:
        vector = EMBEDDER.embed_queries([word])[0]
        near, nearest = reader.dense(vector, 20), exhaustive.dense(vector, 20)
        assert len(near) == 20
        # Many are equally near: which of those are among the first is chance, how near they are is not.
        np.testing.assert_allclose(near[0].dense, nearest[0].dense, atol=1e-5)
        shares.append(np.mean([abs(one.dense - other.dense) < 1e-5 for one, other in zip(near, nearest, strict=True)]))
    assert np.mean(shares) > 0.95
    assert reader.dense(EMBEDDER.embed_queries(["cefalea pulsante"])[0], 1)[0].chunk.document_id == "p3"


def test_a_chunk_of_many_surfaces_leaves_room_for_the_others(store: IndexStore) -> None:
    crowded = Page("a", "Febbre", "La febbre alta", questions=[f"febbre alta {number}" for number in range(40)])
    publish(store, crowded, Page("b", "Tosse", "La tosse secca"), Page("c", "Asma", "Il respiro fischia"))
    reader = store.open(ITALIAN, EMBEDDER.fingerprint)

    hits = reader.dense(EMBEDDER.embed_queries(["febbre alta"])[0], 3)

    assert hits[0].chunk.document_id == "a"
    assert sorted(hit.chunk.document_id for hit in hits) == ["a", "b", "c"]


def test_the_cosine_of_a_chunk_is_that_of_its_nearest_surface(store: IndexStore) -> None:
    publish(store, Page("a", "Febbre", "Si alza di sera.", questions=["Come si misura?"]), Page("b", "Tosse", "Secca"))
    vector = EMBEDDER.embed_queries(["Come si misura?"])[0]

    (hit,) = store.open(ITALIAN, EMBEDDER.fingerprint).dense(vector, 1)

    assert hit.chunk.document_id == "a"
    assert hit.dense == pytest.approx(1.0, abs=1e-5)


def test_words_bring_the_cosine_of_the_passage(store: IndexStore) -> None:
    publish(store, Page("a", "Febbre", "La febbre alta"), Page("b", "Tosse", "La tosse secca"))
    reader = store.open(ITALIAN, EMBEDDER.fingerprint)
    vector = EMBEDDER.embed_queries(["Febbre. La febbre alta"])[0]

    (hit,) = reader.lexical("febbr", 5, vector)

    assert hit.dense == pytest.approx(1.0, abs=1e-5)
    assert reader.lexical("febbr", 5)[0].dense == 0.0
