from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from bot.evaluation.scale_corpus import NothingToGrow, Seed, grow, read_seed
from rag.documents import SurfaceKind
from rag.store import IndexStore
from tests.fakes import HashEmbedder
from tests.integration.pages import ITALIAN, Page, publish

EMBEDDER = HashEmbedder()


@pytest.fixture
def seed(tmp_path: Path) -> Seed:
    store = IndexStore(tmp_path)
    publish(store, Page("a", "Febbre", "La febbre alta"), Page("b", "Tosse", "La tosse secca"), Page("c", "Asma", "Il respiro"))
    return read_seed(store, ITALIAN, EMBEDDER.fingerprint)


def test_a_corpus_has_as_many_surfaces_as_asked_for_and_each_chunk_one_passage(seed: Seed) -> None:
    corpus = grow(seed, 301)

    assert len(corpus.surfaces) == len(corpus.vectors) == 301
    passages = Counter(surface.chunk_id for surface in corpus.surfaces if surface.kind is SurfaceKind.PASSAGE)
    assert passages == Counter(chunk.chunk_id for chunk in corpus.chunks)
    assert {chunk.document_id for chunk in corpus.chunks} == {document.document_id for document in corpus.documents}
    np.testing.assert_allclose(np.linalg.norm(corpus.vectors, axis=1), 1.0, atol=1e-5)


def test_sentences_are_where_they_are_said_to_be_and_have_their_vectors(seed: Seed) -> None:
    corpus = grow(seed, 100)

    for chunk in corpus.chunks:
        assert [chunk.text[sentence.start : sentence.end] for sentence in chunk.sentences] == [s.text for s in chunk.sentences]
        expected = EMBEDDER.embed_passages([sentence.text for sentence in chunk.sentences])
        np.testing.assert_allclose(corpus.sentence_vectors[chunk.chunk_id], expected, atol=1e-3)


def test_the_same_corpus_is_made_again_and_another_one_on_demand(seed: Seed) -> None:
    first, again, other = grow(seed, 100), grow(seed, 100), grow(seed, 100, prefix="new", random=1)

    assert first.chunks == again.chunks
    np.testing.assert_array_equal(first.vectors, again.vectors)
    assert not {chunk.chunk_id for chunk in first.chunks} & {chunk.chunk_id for chunk in other.chunks}


def test_an_index_without_pages_cannot_be_grown(tmp_path: Path) -> None:
    store = IndexStore(tmp_path)
    publish(store)
    with pytest.raises(NothingToGrow, match="salus ingest --full"):
        read_seed(store, ITALIAN, EMBEDDER.fingerprint)
