import fcntl
import threading
from pathlib import Path

import lancedb
import numpy as np
import pytest

from rag.corpus import lexical_column
from rag.errors import IndexMismatch, IndexMissing, StoreError
from rag.store import IndexStore
from rag.text import lexical_tokens
from rag.types import Candidate, Hit
from tests.fakes import HashEmbedder
from tests.integration.pages import ITALIAN, Page, files_under, publish

EMBEDDER = HashEmbedder()


@pytest.fixture
def store(tmp_path: Path) -> IndexStore:
    return IndexStore(tmp_path / "index")


def words(store: IndexStore, query: str) -> list[str]:
    tokens = " ".join(lexical_tokens(query, ITALIAN))
    return [hit.chunk.document_id for hit in store.open(ITALIAN, EMBEDDER.fingerprint).lexical(tokens, 10)]


def meaning(store: IndexStore, query: str) -> list[str]:
    vector = EMBEDDER.embed_queries([query])[0]
    return [hit.chunk.document_id for hit in store.open(ITALIAN, EMBEDDER.fingerprint).dense(vector, 10)]


def test_an_index_never_published_says_what_to_run(store: IndexStore) -> None:
    with pytest.raises(IndexMissing, match="salus ingest --full"):
        store.open(ITALIAN, EMBEDDER.fingerprint)
    assert store.content_hashes(ITALIAN) == {}


def test_an_index_of_another_embedder_says_what_to_run(store: IndexStore) -> None:
    publish(store, Page("a", "Febbre", "La febbre alta"))
    with pytest.raises(IndexMismatch, match="salus ingest --full"):
        store.open(ITALIAN, "another-model")
    with pytest.raises(IndexMismatch):
        publish(store, Page("b", "Tosse", "La tosse secca"), embedder=HashEmbedder(32, "another-model"))
    assert words(store, "febbre") == ["a"]


def test_a_full_publication_takes_another_embedder_and_dimension(store: IndexStore) -> None:
    publish(store, Page("a", "Febbre", "La febbre alta"))
    other = HashEmbedder(32, "another-model")
    publish(store, Page("b", "Tosse", "La tosse secca"), embedder=other, full=True)
    reader = store.open(ITALIAN, "another-model")
    assert [hit.chunk.document_id for hit in reader.dense(other.embed_queries(["tosse"])[0], 5)] == ["b"]
    assert reader.get_document("a") is None


@pytest.mark.parametrize(
    "pages",
    [
        [],
        [Page("a", "La febbre alta", "Si alza di sera.")],
        [Page("a", "La febbre alta", "Si alza di sera."), Page("b", "La tosse secca", "Dura giorni.")],
    ],
    ids=["no page", "one page", "two pages"],
)
def test_a_word_is_found_in_an_index_of_few_pages(store: IndexStore, pages: list[Page]) -> None:
    """H27"""
    publish(store, *pages)
    assert words(store, "febbre") == [page.document.document_id for page in pages[:1]]
    assert meaning(store, "febbre")[:1] == [page.document.document_id for page in pages[:1]]


def test_a_query_without_tokens_finds_nothing(store: IndexStore) -> None:
    publish(store, Page("a", "Febbre", "La febbre alta"))
    assert words(store, "¿?") == []


def test_both_halves_and_the_figures_change_together(store: IndexStore) -> None:
    """H29"""
    publish(store, Page("a", "Pellagra", "La pellagra viene da una carenza."), Page("b", "Tosse", "La tosse secca"))
    publish(store, Page("c", "Xerostomia", "La xerostomia è bocca asciutta."), retired=["a"])
    assert words(store, "xerostomia") == ["c"]
    assert meaning(store, "xerostomia")[0] == "c"
    assert words(store, "pellagra") == []
    assert "a" not in meaning(store, "pellagra")
    statistics = store.open(ITALIAN, EMBEDDER.fingerprint).statistics
    assert statistics.n == 2
    assert lexical_tokens("pellagra", ITALIAN)[0] not in statistics.document_frequency
    assert statistics.document_frequency[lexical_tokens("xerostomia", ITALIAN)[0]] == 1


def test_another_process_sees_a_publication_at_its_next_question(store: IndexStore, tmp_path: Path) -> None:
    """H21"""
    publish(store, Page("a", "Febbre", "La febbre alta"))
    bot = IndexStore(tmp_path / "index")
    assert words(bot, "febbre") == ["a"]
    publish(store, Page("b", "Tosse", "La tosse secca"), retired=["a"])
    assert words(bot, "febbre") == []
    assert words(bot, "tosse") == ["b"]


def test_a_reader_opened_before_a_publication_still_answers(store: IndexStore) -> None:
    publish(store, Page("a", "Febbre", "La febbre alta"))
    reader = store.open(ITALIAN, EMBEDDER.fingerprint)
    for round_ in range(3):
        publish(store, Page("a", "Febbre", f"La febbre alta, testo {round_}"))
    assert [hit.chunk.text for hit in reader.lexical("febbr", 5)] == ["La febbre alta, testo 2"]
    assert [hit.chunk.document_id for hit in reader.dense(EMBEDDER.embed_queries(["febbre"])[0], 5)] == ["a"]


def test_unchanged_pages_keep_their_rows(store: IndexStore) -> None:
    first, second = Page("a", "Febbre", "La febbre alta"), Page("b", "Tosse", "La tosse secca")
    publish(store, first, second)
    publish(store, Page("b", "Tosse", "La tosse grassa"))
    assert store.content_hashes(ITALIAN) == {
        "a": first.document.content_hash,
        "b": Page("b", "Tosse", "La tosse grassa").document.content_hash,
    }
    assert words(store, "febbre") == ["a"]
    assert words(store, "grassa") == ["b"]
    assert words(store, "secca") == []


@pytest.mark.parametrize(
    "document_id", ["L'ipertensione nell'anziano", "https://esempio.it/x' OR '1'='1", 'con "virgolette"', "a\\'b"]
)
def test_exactly_the_named_document_is_found_and_retired(store: IndexStore, document_id: str) -> None:
    """H19"""
    publish(store, Page(document_id, "Ipertensione", "La pressione alta"), Page("b", "Tosse", "La tosse secca"))
    reader = store.open(ITALIAN, EMBEDDER.fingerprint)
    document = reader.get_document(document_id)
    assert document is not None
    assert document.document_id == document_id
    assert list(reader.sentence_vectors([f"{document_id}:0"])) == [f"{document_id}:0"]
    publish(store, retired=[document_id])
    assert list(store.content_hashes(ITALIAN)) == ["b"]


def test_a_crafted_id_of_no_document_retires_nothing_h19(store: IndexStore) -> None:
    publish(store, Page("a", "Febbre", "La febbre alta"), Page("b", "Tosse", "La tosse secca"))
    publish(store, retired=["x' OR '1'='1", 'x" OR 1=1 --'])
    assert sorted(store.content_hashes(ITALIAN)) == ["a", "b"]


def test_retiring_nothing_changes_nothing(store: IndexStore) -> None:
    """H19"""
    publish(store, Page("a", "Febbre", "La febbre alta"))
    publish(store, retired=[])
    assert list(store.content_hashes(ITALIAN)) == ["a"]
    assert store.open(ITALIAN, EMBEDDER.fingerprint).sentence_vectors([]) == {}


def test_what_a_killed_run_left_behind_is_never_seen(store: IndexStore, tmp_path: Path) -> None:
    publish(store, Page("a", "Febbre", "La febbre alta"), Page("b", "Tosse", "La tosse secca"))
    table = lancedb.connect(str(tmp_path / "index")).open_table("surfaces_it")
    table.delete("document_id = 'a'")
    assert words(store, "febbre") == ["a"]
    publish(store, Page("c", "Asma", "Il respiro fischia"))
    assert sorted(store.content_hashes(ITALIAN)) == ["a", "b", "c"]


def test_a_second_writer_is_refused(store: IndexStore, tmp_path: Path) -> None:
    publish(store, Page("a", "Febbre", "La febbre alta"))
    with (tmp_path / "index" / "writer.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(StoreError, match="already"):
            publish(store, Page("b", "Tosse", "La tosse secca"))
    assert list(store.content_hashes(ITALIAN)) == ["a"]


def test_withdrawn_text_leaves_the_disk_and_nights_do_not_pile_up(store: IndexStore, tmp_path: Path) -> None:
    """H20"""
    publish(store, Page("a", "Pellagra", "Parola segretissima"), Page("b", "Tosse", "La tosse secca"))
    publish(store, retired=["a"])
    left = b"".join(file.read_bytes() for file in tmp_path.rglob("*") if file.is_file())
    assert b"segretissim" not in left
    before = files_under(tmp_path)
    for night in range(8):
        publish(store, Page("b", "Tosse", f"La tosse della notte {night}"))
    assert files_under(tmp_path) <= before + 2


def test_questions_of_a_chunk_find_it_once(store: IndexStore) -> None:
    publish(
        store,
        Page("a", "Febbre", "Si alza di sera.", questions=["Come si misura?", "Quando preoccuparsi?"]),
        Page("b", "Tosse", "Secca"),
    )
    assert meaning(store, "quando preoccuparsi")[0] == "a"
    assert sorted(meaning(store, "quando preoccuparsi")) == ["a", "b"]


def test_a_page_comes_whole_each_passage_once_with_its_own_cosine(store: IndexStore) -> None:
    page = Page("a", "Febbre", "Si alza di sera.", questions=["Come si misura?"])
    publish(store, page, Page("b", "Tosse", "Secca"))
    vector = EMBEDDER.embed_queries(["Febbre. Si alza di sera."])[0]
    (found,) = store.open(ITALIAN, EMBEDDER.fingerprint).page("a", vector)

    assert found.chunk == page.chunk
    assert found.dense == pytest.approx(1.0, abs=1e-5)
    assert store.open(ITALIAN, EMBEDDER.fingerprint).page("a' OR 'a'='a", vector) == []


def test_a_chunk_and_its_document_come_back_as_they_were(store: IndexStore) -> None:
    page = Page("a", "Febbre", "La febbre alta")
    publish(store, page)
    reader = store.open(ITALIAN, EMBEDDER.fingerprint)
    assert [hit.chunk for hit in reader.dense(EMBEDDER.embed_queries(["febbre"])[0], 5)] == [page.chunk]
    assert reader.get_document("a") == page.document
    assert reader.get_document("zz") is None
    np.testing.assert_allclose(reader.sentence_vectors(["a:0"])["a:0"], EMBEDDER.embed_passages(["La febbre alta"]), atol=1e-3)


def test_candidates_are_read_in_their_order_with_all_that_the_index_holds_of_them(store: IndexStore) -> None:
    pages = [Page("a", "Febbre", "La febbre alta"), Page("b", "Tosse", "La tosse secca")]
    publish(store, *pages)
    candidates = [Candidate(chunk_id=name, score=2.0, dense=0.5, lexical=7.0) for name in ("b:0", "withdrawn", "a:0")]

    tosse, febbre = store.open(ITALIAN, EMBEDDER.fingerprint).hits(candidates)

    assert tosse == Hit(chunk=pages[1].chunk, score=2.0, dense=0.5, lexical=7.0)
    assert febbre.tokens == tuple(lexical_column(pages[0].chunk).split())
    assert tosse.sentence_vectors is not None
    np.testing.assert_allclose(tosse.sentence_vectors, EMBEDDER.embed_passages(["La tosse secca"]), atol=1e-3)


def test_a_chunk_without_sentence_vectors_is_read_without(store: IndexStore) -> None:
    page = Page("a", "Febbre", "La febbre alta")
    vectors = EMBEDDER.embed_passages([surface.text for surface in page.surfaces])
    store.publish(
        ITALIAN, documents=[page.document], chunks=[page.chunk], surfaces=page.surfaces, vectors=vectors, embedder=EMBEDDER
    )
    reader = store.open(ITALIAN, EMBEDDER.fingerprint)

    (hit,) = reader.lexical("febbr", 5)

    assert hit.sentence_vectors is None
    assert reader.sentence_vectors(["a:0"]) == {}


@pytest.mark.parametrize("demonstration", [True, False])
def test_a_demonstration_text_marks_the_index(store: IndexStore, demonstration: bool) -> None:
    publish(store, Page("a", "Febbre", "La febbre alta", demonstration=demonstration), Page("b", "Tosse", "Secca"))
    assert store.open(ITALIAN, EMBEDDER.fingerprint).is_demonstration is demonstration


def test_the_background_is_measured_between_different_pages(store: IndexStore) -> None:
    publish(store, Page("a", "Febbre", "La febbre alta"), Page("b", "Tosse", "La tosse secca"), Page("c", "Asma", "Il respiro"))
    statistics = store.open(ITALIAN, EMBEDDER.fingerprint).statistics
    assert 0.0 <= statistics.background_mean < 0.3
    assert statistics.background_std > 0.0


def test_questions_are_answered_all_through_publications(store: IndexStore) -> None:
    publish(store, Page("a", "Febbre", "La febbre alta"), Page("b", "Tosse", "La tosse secca"))
    failures: list[BaseException] = []
    done = threading.Event()

    def ask() -> None:
        while not done.is_set():
            try:
                assert words(store, "tosse") == ["b"]
                assert meaning(store, "tosse")[0] == "b"
            except BaseException as error:  # noqa: BLE001 - whatever it is, the test reports it
                failures.append(error)
                return

    patients = [threading.Thread(target=ask) for _ in range(2)]
    for patient in patients:
        patient.start()
    for night in range(10):
        publish(store, Page("a", "Febbre", f"La febbre della notte {night}"))
    done.set()
    for patient in patients:
        patient.join()
    assert failures == []


def test_vectors_that_do_not_fit_are_refused(store: IndexStore) -> None:
    page = Page("a", "Febbre", "La febbre alta")
    with pytest.raises(StoreError):
        store.publish(
            ITALIAN,
            documents=[page.document],
            chunks=[page.chunk],
            surfaces=page.surfaces,
            vectors=np.zeros((1, 3), dtype=np.float32),
            embedder=EMBEDDER,
        )


def test_an_index_that_has_lost_its_figures_asks_for_a_full_run(store: IndexStore, tmp_path: Path) -> None:
    publish(store, Page("a", "Febbre", "La febbre alta"))
    for file in (tmp_path / "index").glob("*.json"):
        file.unlink()
    other = IndexStore(tmp_path / "index")
    with pytest.raises(IndexMismatch, match="salus ingest --full"):
        other.open(ITALIAN, EMBEDDER.fingerprint)
    with pytest.raises(IndexMismatch, match="salus ingest --full"):
        publish(other, Page("b", "Tosse", "La tosse secca"))
    publish(other, Page("b", "Tosse", "La tosse secca"), full=True)
    assert words(other, "tosse") == ["b"]


def test_a_damaged_index_is_told_and_publishing_does_not_pass_it_by(store: IndexStore, tmp_path: Path) -> None:
    publish(store, Page("a", "Febbre", "La febbre alta"))
    for file in (tmp_path / "index").rglob("*.manifest"):
        file.write_bytes(b"no manifest")
    other = IndexStore(tmp_path / "index")
    with pytest.raises(StoreError, match=r"delete that folder and run `salus ingest`"):
        other.open(ITALIAN, EMBEDDER.fingerprint)
    with pytest.raises(StoreError, match="cannot be used"):
        other.content_hashes(ITALIAN)
    with pytest.raises(StoreError, match="cannot be used"):
        publish(other, Page("b", "Tosse", "La tosse secca"))
