"""A calibration in a real index: when it is seen, kept and dropped, and what is fitted to pages on topics of the bank."""

from dataclasses import replace
from itertools import groupby
from pathlib import Path

import numpy as np
import pytest

from rag.calibration import Calibration
from rag.calibrator import FEWEST_PAGES, Calibrator
from rag.coverage import SIGN_NAMES, THRESHOLD, WEIGHTS
from rag.errors import IndexMismatch, IndexMissing
from rag.index_reader import IndexReader
from rag.interpreter import Interpreter
from rag.page_judge import PageJudge
from rag.question_bank import COVERED, UNCOVERED, AnsweredBank, bank
from rag.store import IndexStore
from rag.types import Question
from tests.fakes import HashEmbedder
from tests.integration.pages import ITALIAN, Page, publish

EMBEDDER = HashEmbedder()
FEVER, COUGH = Page("a", "Febbre", "La febbre alta"), Page("b", "Tosse", "La tosse secca")

_COVERED_TOPICS = 60


@pytest.fixture
def store(tmp_path: Path) -> IndexStore:
    return IndexStore(tmp_path / "index")


@pytest.fixture
def _asks_little(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few questions are put to the index: all of them would take a quarter of a minute."""
    monkeypatch.setattr("rag.calibrator._MOST_COVERED", 15)
    monkeypatch.setattr("rag.calibrator._MOST_OTHERS", 15)
    monkeypatch.setattr("rag.calibrator._MOST_ELSEWHERE", 5)


def fitted(threshold: float = 0.42) -> Calibration:
    known = AnsweredBank(vectors=np.eye(2, EMBEDDER.dimension, dtype=np.float32), labels=np.array([1, -1], dtype=np.int8))
    return Calibration(weights=WEIGHTS, threshold=threshold, bank=known, digest="abc")


def calibrate(store: IndexStore, calibration: Calibration | None) -> bool:
    return store.calibrate(ITALIAN, EMBEDDER, lambda _: calibration)


def threshold(store: IndexStore, embedder: HashEmbedder = EMBEDDER) -> float | None:
    live = store.open(ITALIAN, embedder.fingerprint).calibration
    return live.threshold if live else None


def bank_pages(topics: int = _COVERED_TOPICS) -> list[Page]:
    """A page on each of the first topics of the bank, which says what its questions say."""
    grouped = groupby((question for question in bank(ITALIAN) if question.topic), key=lambda question: question.topic)
    asked = [list(questions) for _, questions in grouped][:topics]
    return [Page(of[0].topic, of[0].names[0], " ".join([*of[0].names, *(question.text for question in of)])) for of in asked]


def unnamed_pages(count: int) -> list[Page]:
    return [Page(f"p{place}", f"quaz{place}rk", f"Il testo {place} parla di quaz{place}rk.") for place in range(count)]


def test_an_index_is_published_without_a_calibration(store: IndexStore) -> None:
    publish(store, FEVER)

    assert threshold(store) is None


def test_open_stores_see_a_calibration_at_their_next_question_in_the_same_version(store: IndexStore, tmp_path: Path) -> None:
    version = publish(store, FEVER)
    bot = IndexStore(tmp_path / "index")
    assert (threshold(store), threshold(bot)) == (None, None)

    assert calibrate(store, fitted())

    assert (threshold(store), threshold(bot)) == (0.42, 0.42)
    assert store.open(ITALIAN, EMBEDDER.fingerprint).version == version
    assert store.content_hashes(ITALIAN) == {"a": FEVER.document.content_hash}


def test_the_last_calibration_is_the_one_that_holds(store: IndexStore) -> None:
    publish(store, FEVER)
    calibrate(store, fitted(0.42))
    calibrate(store, fitted(0.21))

    assert threshold(store) == 0.21


def test_an_index_that_has_become_too_small_loses_its_calibration(store: IndexStore) -> None:
    publish(store, FEVER)
    calibrate(store, fitted())

    assert calibrate(store, None)

    assert threshold(store) is None


def test_what_was_fitted_to_a_version_that_is_live_no_more_is_thrown_away(store: IndexStore) -> None:
    publish(store, FEVER)
    calibrate(store, fitted(0.21))

    def fit_while_another_publishes(_: IndexReader) -> Calibration:
        publish(store, COUGH)
        return fitted(0.42)

    assert not store.calibrate(ITALIAN, EMBEDDER, fit_while_another_publishes)

    assert threshold(store) == 0.21
    assert sorted(store.content_hashes(ITALIAN)) == ["a", "b"]


def test_of_two_calibrations_at_once_the_first_to_end_holds(store: IndexStore) -> None:
    publish(store, FEVER)

    def fit_while_another_calibrates(_: IndexReader) -> Calibration:
        calibrate(store, fitted(0.21))
        return fitted(0.42)

    assert not store.calibrate(ITALIAN, EMBEDDER, fit_while_another_calibrates)

    assert threshold(store) == 0.21


@pytest.mark.parametrize("full", [False, True])
def test_a_publication_carries_the_calibration_over(store: IndexStore, *, full: bool) -> None:
    publish(store, FEVER)
    calibrate(store, fitted())

    publish(store, COUGH, full=full)

    assert threshold(store) == 0.42


def test_another_embedder_drops_the_calibration(store: IndexStore) -> None:
    publish(store, FEVER)
    calibrate(store, fitted())
    other = HashEmbedder(32, "another-model")

    publish(store, FEVER, embedder=other, full=True)

    assert threshold(store, other) is None


def test_only_an_index_of_the_same_embedder_can_be_calibrated(store: IndexStore) -> None:
    with pytest.raises(IndexMissing):
        calibrate(store, fitted())
    publish(store, FEVER)
    with pytest.raises(IndexMismatch):
        store.calibrate(ITALIAN, HashEmbedder(32, "another-model"), lambda _: fitted())


def test_a_failed_fit_leaves_the_calibration_as_it_was(store: IndexStore) -> None:
    publish(store, FEVER)
    calibrate(store, fitted(0.21))

    def fail(_: IndexReader) -> Calibration:
        raise IndexMissing("no model")

    with pytest.raises(IndexMissing, match="no model"):
        store.calibrate(ITALIAN, EMBEDDER, fail)

    assert threshold(store) == 0.21


def test_a_reader_gives_all_pages(store: IndexStore) -> None:
    publish(store, FEVER, COUGH)

    pages = store.open(ITALIAN, EMBEDDER.fingerprint).pages()

    assert sorted(pages, key=lambda page: page.document_id) == [FEVER.document, COUGH.document]


def test_a_reader_can_be_given_another_calibration_for_itself_alone(store: IndexStore) -> None:
    publish(store, FEVER)
    reader = store.open(ITALIAN, EMBEDDER.fingerprint)

    assert reader.calibrated(fitted()).calibration is not None

    assert reader.calibration is None
    assert threshold(store) is None


@pytest.mark.parametrize(
    "pages",
    [bank_pages(FEWEST_PAGES - 1), [*bank_pages(10), *unnamed_pages(FEWEST_PAGES)]],
    ids=["few pages", "few covered questions"],
)
def test_an_index_that_covers_little_is_not_calibrated(store: IndexStore, pages: list[Page]) -> None:
    publish(store, *pages)

    assert Calibrator(EMBEDDER).calibrate(ITALIAN, store.open(ITALIAN, EMBEDDER.fingerprint)) is None


@pytest.mark.usefixtures("_asks_little")
def test_an_index_on_topics_of_the_bank_is_calibrated(store: IndexStore) -> None:
    first, *others = bank_pages()
    first.document = replace(first.document, asked=("mi pulsa la tempia", "ho la testa pesante"))
    publish(store, first, *others)
    questions = bank(ITALIAN)

    found = Calibrator(EMBEDDER).calibrate(ITALIAN, store.open(ITALIAN, EMBEDDER.fingerprint))

    assert found is not None
    assert found.bank.vectors.shape == (len(questions) + 2, EMBEDDER.dimension)
    assert found.bank.labels.shape == (len(questions) + 2,)
    topics = {page.document.document_id for page in (first, *others)}
    of_pages = [label for question, label in zip(questions, found.bank.labels, strict=False) if question.topic in topics]
    assert set(of_pages) == {COVERED}
    off_topic = [label for question, label in zip(questions, found.bank.labels, strict=False) if not question.topic]
    assert set(off_topic) == {UNCOVERED}
    assert found.bank.labels[-2:].tolist() == [COVERED, COVERED]
    assert not found.bank.names_uncovered(first.document.title, ITALIAN)
    assert found.bank.names_uncovered("endometriosi e fertilità", ITALIAN)
    assert len(found.weights.weights) == len(SIGN_NAMES)
    assert (found.weights, found.threshold) != (WEIGHTS, THRESHOLD)
    assert 0.15 <= found.threshold <= 0.5
    assert found.similarity is not None
    assert found.similarity.behind < 0 < found.similarity.coverage


@pytest.mark.usefixtures("_asks_little")
def test_the_bank_is_embedded_once_for_all_versions(store: IndexStore) -> None:
    publish(store, *bank_pages())
    embedder = HashEmbedder()
    calibrator = Calibrator(embedder)
    assert store.calibrate(ITALIAN, embedder, lambda reader: calibrator.calibrate(ITALIAN, reader))
    once = len(embedder.queries)
    publish(store, COUGH)

    assert store.calibrate(ITALIAN, embedder, lambda reader: calibrator.calibrate(ITALIAN, reader))

    assert once >= len(bank(ITALIAN)) > len(embedder.queries) - once


@pytest.mark.parametrize(("question", "names_other", "leaning"), [("la febbre malarica", 1.0, -1), ("la febbre alta", 0.0, 1)])
def test_a_question_is_judged_by_what_the_index_is_known_not_to_cover(
    store: IndexStore, question: str, names_other: float, leaning: int
) -> None:
    publish(store, FEVER, COUGH)
    asked = EMBEDDER.embed_queries(["la febbre alta", "la febbre malarica"])
    known = AnsweredBank(
        vectors=asked,
        labels=np.array([COVERED, UNCOVERED], dtype=np.int8),
        uncovered=frozenset({frozenset({"febbr", "malaric"})}),
    )
    reader = store.open(ITALIAN, EMBEDDER.fingerprint).calibrated(replace(fitted(), bank=known))
    vector = EMBEDDER.embed_queries([question])[0]
    interpretation = Interpreter().interpret(Question(text=question, language=ITALIAN))

    judged = PageJudge(ITALIAN).page(interpretation, reader.dense(vector, 2), reader, vector)

    assert judged.signs.names_other == names_other
    assert np.sign(judged.signs.leaning) == leaning


@pytest.mark.usefixtures("_asks_little")
def test_a_version_that_holds_on_to_the_last_ones_calibration_is_not_current(store: IndexStore) -> None:
    publish(store, *bank_pages())
    calibrator = Calibrator(EMBEDDER)
    assert not calibrator.is_current(ITALIAN, store.open(ITALIAN, EMBEDDER.fingerprint))
    store.calibrate(ITALIAN, EMBEDDER, lambda reader: calibrator.calibrate(ITALIAN, reader))
    assert calibrator.is_current(ITALIAN, store.open(ITALIAN, EMBEDDER.fingerprint))

    publish(store, COUGH)

    held_on = store.open(ITALIAN, EMBEDDER.fingerprint)
    assert held_on.calibration is not None
    assert not calibrator.is_current(ITALIAN, held_on)


def test_a_version_that_is_cleaned_away_while_it_is_fitted_is_no_failure(store: IndexStore, tmp_path: Path) -> None:
    publish(store, FEVER)
    vector = EMBEDDER.embed_queries(["febbre"])[0]

    def fit_while_another_publishes(reader: IndexReader) -> Calibration:
        provisional = reader.calibrated(fitted())
        publish(IndexStore(tmp_path / "index"), COUGH, full=True)
        provisional.dense(vector, 1)
        raise AssertionError("the version was still there")

    assert not store.calibrate(ITALIAN, EMBEDDER, fit_while_another_publishes)
    assert threshold(store) is None


def test_an_index_that_is_as_it_was_before_a_fit_without_result_is_not_written(store: IndexStore, tmp_path: Path) -> None:
    publish(store, FEVER)
    before = {file: file.stat().st_mtime_ns for file in (tmp_path / "index").glob("*.json")}

    assert calibrate(store, None)

    assert {file: file.stat().st_mtime_ns for file in (tmp_path / "index").glob("*.json")} == before
