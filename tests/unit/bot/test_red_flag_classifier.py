"""The second reading's arithmetic on weights made for the test; the shipped ones: tests/integration/test_second_reading.py."""

from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bot.red_flag_classifier import (
    ClassifierDataError,
    FittedWeights,
    RedFlagClassifier,
    meaning_score,
    message_odds,
    normalised,
    sentences,
    spelling_score,
    story_view,
    windows,
)
from bot.red_flag_features import COLUMNS, spelling
from tests.fakes import HashEmbedder

DIMENSION, HIDDEN = 64, 8


def made(**changes: Any) -> FittedWeights:
    """Weights drawn at random; the word "rosso" alone is given a meaning, by its spelling."""
    draw = np.random.default_rng(0)
    words = np.zeros(COLUMNS, np.float32)
    words[spelling("rosso")[0]] = 30.0
    values: dict[str, Any] = {
        "idf": np.ones(COLUMNS, np.float32),
        "spelling": words,
        "spelling_bias": -8.0,
        "mean": np.zeros(DIMENSION, np.float32),
        "scale": 0.1,
        "hidden": draw.normal(size=(DIMENSION, HIDDEN)).astype(np.float32),
        "hidden_bias": np.zeros(HIDDEN, np.float32),
        "output": np.zeros(HIDDEN, np.float32),
        "output_bias": 0.0,
        "mixture": np.array([1.0, 1.0, 0.0], np.float32),
        "category": draw.normal(size=(DIMENSION, 2)).astype(np.float32),
        "category_bias": np.zeros(2, np.float32),
        "story": np.concatenate([np.ones(2, np.float32), np.zeros(DIMENSION, np.float32)]),
        "story_bias": 0.0,
        "categories": ("heart", "stroke"),
        "threshold": 0.9,
        "embedder": "hash-1",
    }
    return FittedWeights(**(values | changes))


def as_arrays(weights: FittedWeights) -> dict[str, Any]:
    """What stands in a file of these weights."""
    return {
        field.name: np.float32(value) if isinstance(value := getattr(weights, field.name), float) else np.array(value)
        for field in fields(weights)
    }


@pytest.fixture
def classifier() -> RedFlagClassifier:
    return RedFlagClassifier(made(), HashEmbedder())


def long_story(sign: str, *, before: int, after: int) -> str:
    return " ".join(["blu"] * before + [sign] + ["blu"] * after)


def test_a_short_message_is_read_in_one_piece_in_lower_case() -> None:
    assert windows("  Ho MALE\nqui ") == ["ho male qui"]
    assert windows(" ".join(["parola"] * 45)) == [" ".join(["parola"] * 45)]


@pytest.mark.parametrize("length", [46, 60, 61, 74, 75, 200, 375, 390, 391, 405, 1000, 4000])
@pytest.mark.parametrize("divided", [windows, sentences])
def test_the_pieces_of_a_long_story_leave_nothing_out(divided: Callable[[str], list[str]], length: int) -> None:
    words = [f"p{number}" for number in range(length)]
    pieces = divided(" ".join(words))

    assert 2 <= len(pieces) <= 32
    assert length > 400 or all(15 < len(piece.split()) <= 30 for piece in pieces)
    assert pieces[0].split()[0] == "p0"
    assert pieces[-1].split()[-1] == f"p{length - 1}"
    assert {word for piece in pieces for word in piece.split()} == set(words)


@pytest.mark.parametrize("words", [9, 13, 16])
@pytest.mark.parametrize("count", [40, 60, 90])
def test_many_sentences_are_joined_and_none_is_dropped(words: int, count: int) -> None:
    told = [f"s{number} " + "parola " * (words - 2) + "fine." for number in range(count)]
    pieces = sentences(" ".join(told))

    assert len(pieces) <= 32
    assert [word for piece in pieces for word in piece.split() if word[0] == "s"] == [f"s{number}" for number in range(count)]


def test_a_long_story_is_divided_at_its_sentences_too() -> None:
    long, short = " ".join(["parola"] * 20) + ".", "Sanguina molto!"

    assert sentences(f"{long} {short} {long}\n{long}") == [f"{long} {short.lower()}", long, long]
    assert sentences(f"{long} {long} {short}") == [long, f"{long} {short.lower()}"]


def test_a_sentence_without_an_end_is_read_in_overlapping_pieces() -> None:
    endless = " ".join(f"p{number}" for number in range(80))
    pieces = sentences(f"Buonasera. {endless}. Grazie.")

    assert pieces[0] == "buonasera."
    assert pieces[1].split()[0] == "p0"
    assert pieces[2].split()[0] == "p15"
    assert pieces[-1].split()[-2:] == ["p79.", "grazie."]


@pytest.mark.parametrize("text", ["", "   ", "😭😭😭", "?!… —", "\u200b"])
def test_a_message_without_a_word_is_neither_urgent_nor_harmless(classifier: RedFlagClassifier, text: str) -> None:
    suspicion = classifier.read(text)

    assert windows(text) == []
    assert not suspicion.is_urgent
    assert not suspicion.is_harmless


def test_a_message_is_urgent_harmless_or_left_to_the_rules(classifier: RedFlagClassifier) -> None:
    urgent, harmless = classifier.read("rosso rosso rosso"), classifier.read("blu blu blu blu blu")
    unsure = RedFlagClassifier(made(spelling_bias=0.0), HashEmbedder()).read("blu blu blu")

    assert (urgent.is_urgent, urgent.is_harmless) == (True, False)
    assert (harmless.is_urgent, harmless.is_harmless) == (False, True)
    assert (unsure.is_urgent, unsure.is_harmless, unsure.probability) == (False, False, 0.5)


def test_letters_that_only_look_latin_are_read(classifier: RedFlagClassifier) -> None:
    written = "r\u043e" + "sso"

    assert classifier.read(" ".join([written] * 3)).is_urgent


@pytest.mark.parametrize(("before", "after"), [(0, 200), (100, 100), (200, 0)])
def test_one_sign_in_a_long_story_is_found(classifier: RedFlagClassifier, before: int, after: int) -> None:
    suspicion = classifier.read(long_story("rosso", before=before, after=after))

    assert (suspicion.is_urgent, suspicion.is_harmless) == (True, False)
    assert not classifier.read(long_story("blu", before=before, after=after)).is_urgent


def test_only_what_alarms_in_both_divisions_is_an_alarm() -> None:
    assert message_odds(np.array([-3.0, 4.0, -2.0, -5.0], np.float32), 2) == 1.0
    assert message_odds(np.array([-3.0, 4.0, -6.0, -5.0], np.float32), 2) == -0.5


def test_what_a_piece_means_in_a_long_message_is_weighed_apart() -> None:
    """The same pieces: an alarm alone, none inside a story that has learned better, and the other way round."""
    story, alone = long_story("rosso", before=100, after=100), "rosso blu blu"
    deaf = RedFlagClassifier(made(story_bias=-100.0), HashEmbedder())
    wary = RedFlagClassifier(made(story_bias=100.0), HashEmbedder())

    assert deaf.read(alone).is_urgent
    assert not deaf.read(story).is_urgent
    assert not deaf.read(story).is_harmless
    assert wary.read(long_story("blu", before=100, after=100)).is_urgent
    assert not wary.read(" ".join(["blu"] * 45)).is_urgent


def test_the_meaning_of_a_piece_counts_beside_its_two_log_odds() -> None:
    weights = made()
    vectors = HashEmbedder().embed_queries(["rosso blu"])
    view = story_view(["rosso blu"], vectors, weights)

    assert view.shape == (1, DIMENSION + 2)
    assert view[0, 0] == pytest.approx(2.0 * spelling_score("rosso blu", weights), rel=1e-5)
    assert view[0, 1] == pytest.approx(meaning_score(vectors[0], weights), abs=1e-5)
    np.testing.assert_allclose(view[0, 2:], vectors[0] / 0.1, rtol=1e-5)


def test_fewer_than_five_words_are_never_surely_harmless(classifier: RedFlagClassifier) -> None:
    assert not classifier.read("blu blu blu blu").is_harmless


@pytest.mark.parametrize("text", ["rosso", "rosso rosso", "rosso! … rosso"])
def test_fewer_than_three_words_are_left_to_the_rules(classifier: RedFlagClassifier, text: str) -> None:
    suspicion = classifier.read(text)

    assert (suspicion.is_urgent, suspicion.is_harmless) == (False, False)


def test_all_pieces_are_embedded_in_one_call() -> None:
    class Counting(HashEmbedder):
        calls = 0

        def embed_queries(self, texts: Any) -> Any:
            Counting.calls += 1
            return super().embed_queries(texts)

    RedFlagClassifier(made(), Counting()).read(long_story("rosso", before=300, after=300))

    assert Counting.calls == 1


@pytest.mark.parametrize("bias", [-1e4, -50.0, 0.0, 50.0, 1e4])
@pytest.mark.parametrize("text", ["blu", "rosso rosso", "помогите", "1", "x" * 5_000, "parola " * 5_000])
@pytest.mark.filterwarnings("ignore:overflow encountered in exp")
def test_a_probability_lies_between_nought_and_one(text: str, bias: float) -> None:
    probability = RedFlagClassifier(made(output_bias=bias), HashEmbedder()).read(text).probability

    assert 0.0 <= probability <= 1.0


def test_the_category_is_the_one_that_the_meaning_is_most_like() -> None:
    for wanted in (0, 1):
        bias = np.zeros(2, np.float32)
        bias[wanted] = 1e6
        suspicion = RedFlagClassifier(made(category_bias=bias), HashEmbedder()).read("rosso rosso rosso")
        assert suspicion.category == ("heart", "stroke")[wanted]


def test_letters_and_words_weigh_the_same_in_sum() -> None:
    columns, counts = spelling("non riesco a respirare bene")
    values = normalised(columns, counts)

    for part in (columns >= COLUMNS // 2, columns < COLUMNS // 2):
        assert np.linalg.norm(values[part]) == pytest.approx(1.0, abs=1e-5)


def test_a_text_without_columns_has_its_bias_for_a_score() -> None:
    assert spelling_score("помогите", made()) == -8.0


def test_a_hidden_unit_below_nought_says_nothing() -> None:
    weights = made(hidden_bias=np.full(HIDDEN, -1e6, np.float32), output=np.ones(HIDDEN, np.float32), output_bias=2.0)

    assert meaning_score(np.ones(DIMENSION, np.float32), weights) == 2.0


def test_the_embedder_must_be_the_one_that_the_weights_were_fitted_with() -> None:
    with pytest.raises(ClassifierDataError, match="make gate"):
        RedFlagClassifier(made(), HashEmbedder(fingerprint="hash-2"))


def test_weights_are_the_same_after_a_file(tmp_path: Path) -> None:
    np.savez_compressed(tmp_path / "weights.npz", **as_arrays(made()))
    loaded = FittedWeights.load(tmp_path / "weights.npz")

    assert loaded.categories == ("heart", "stroke")
    assert loaded.embedder == "hash-1"
    assert RedFlagClassifier(loaded, HashEmbedder()).read("rosso e blu") == RedFlagClassifier(made(), HashEmbedder()).read(
        "rosso e blu"
    )


def _without(name: str) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        np.savez_compressed(path, **{key: value for key, value in as_arrays(made()).items() if key != name})

    return write


def _with(**changes: Any) -> Callable[[Path], None]:
    return lambda path: np.savez_compressed(path, **(as_arrays(made()) | changes))


def _cut(path: Path) -> None:
    _with()(path)
    path.write_bytes(path.read_bytes()[:-400])


def _spoilt(path: Path) -> None:
    _with()(path)
    content = bytearray(path.read_bytes())
    content[60:400] = bytes(340)
    path.write_bytes(bytes(content))


@pytest.mark.parametrize(
    "write",
    [
        pytest.param(lambda path: None, id="missing"),
        pytest.param(lambda path: path.write_bytes(b""), id="empty"),
        pytest.param(lambda path: path.write_text("version https://example.org/spec"), id="text"),
        pytest.param(_cut, id="cut"),
        pytest.param(_spoilt, id="spoilt"),
        pytest.param(_without("idf"), id="no idf"),
        pytest.param(_without("threshold"), id="no threshold"),
        pytest.param(_without("categories"), id="no categories"),
        pytest.param(_without("embedder"), id="no embedder"),
        pytest.param(_with(more=np.zeros(3, np.float32)), id="unknown array"),
        pytest.param(_with(idf=np.ones(COLUMNS // 2, np.float32)), id="other columns"),
        pytest.param(_with(spelling=np.ones(7, np.float32)), id="other spelling"),
        pytest.param(_with(mixture=np.ones(2, np.float32)), id="other mixture"),
        pytest.param(_with(hidden=np.ones((DIMENSION + 1, HIDDEN), np.float32)), id="other dimension"),
        pytest.param(_with(category_bias=np.ones(3, np.float32)), id="other categories"),
        pytest.param(_without("story"), id="no stories"),
        pytest.param(_with(story=np.ones(DIMENSION, np.float32)), id="other stories"),
        pytest.param(_with(output=np.full(HIDDEN, np.nan, np.float32)), id="not a number"),
    ],
)
def test_a_file_that_cannot_be_used_is_named_with_what_to_do(tmp_path: Path, write: Callable[[Path], None]) -> None:
    path = tmp_path / "weights.npz"
    write(path)

    with pytest.raises(ClassifierDataError, match=r"weights\.npz .*make gate"):
        FittedWeights.load(path)


def test_no_code_is_run_from_a_file(tmp_path: Path) -> None:
    np.savez_compressed(
        tmp_path / "weights.npz", **(as_arrays(replace(made())) | {"categories": np.array([print], dtype=object)})
    )

    with pytest.raises(ClassifierDataError):
        FittedWeights.load(tmp_path / "weights.npz")
