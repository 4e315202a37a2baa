"""Who is pointed to a page in another language, and who is not."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pytest

from locales.language import Language
from rag.corpus import CorpusStatistics
from rag.documents import Chunk
from rag.errors import IndexMismatch, IndexMissing, StoreError
from rag.index_reader import IndexReader
from rag.models.protocols import Vectors
from rag.signpost import RankedPage, Signpost, certainty_of
from rag.types import Hit, Intent, Interpretation, Population, Source
from tests import builders

IT, ES = Language
QUESTION = np.array([1.0, 0.0], dtype=np.float32)
ASKED = Interpretation(language=IT, intent=Intent.QUESTION, self_contained="che cos'è la febbre?")


class PagesReader:
    """Reads pages whose passages lie at given cosines from the question; the background is 0 with a deviation of 0.1."""

    def __init__(self, pages: Mapping[str, Sequence[float]], titles: dict[str, str] | None = None) -> None:
        self.statistics = CorpusStatistics(background_mean=0.0, background_std=0.1)
        self.empty: set[str] = set()
        self.asked: list[Vectors] = []
        self._hits = [
            Hit(chunk=self._chunk(page, number, (titles or {}).get(page, page)), score=cosine, dense=cosine)
            for page, cosines in pages.items()
            for number, cosine in enumerate(cosines)
        ]

    def dense(self, vector: Vectors, k: int) -> list[Hit]:
        self.asked.append(vector)
        return sorted(self._hits, key=lambda hit: -hit.dense)[:k]

    def page(self, document_id: str, vector: Vectors) -> list[Hit]:
        return [] if document_id in self.empty else [hit for hit in self._hits if hit.chunk.document_id == document_id]

    def _chunk(self, page: str, number: int, title: str) -> Chunk:
        url = f"https://editor.example/{page}"
        return builders.chunk(document_id=page, chunk_id=f"{page}#{number}", title=title, topic=page, language=ES, url=url)


NEAR = {"fiebre": (0.4, 0.4, 0.35), "gripe": (0.1, 0.1, 0.0), "asma": (0.05, 0.0)}


def find(
    reader: PagesReader | StoreError, asked: Interpretation = ASKED, held_topics: frozenset[str] = frozenset()
) -> Source | None:
    def open_reader(language: Language) -> IndexReader:
        assert language is ES
        if isinstance(reader, StoreError):
            raise reader
        return reader  # type: ignore[return-value]

    return Signpost().find(asked, [QUESTION], open_reader, held_topics=held_topics)


def test_a_page_that_stands_out_is_named_with_its_address_and_language() -> None:
    page = find(PagesReader(NEAR))

    assert page is not None
    assert (page.title, page.url, page.language) == ("fiebre", "https://editor.example/fiebre", ES)
    assert 0.75 <= page.similarity < 1  # how sure it is that this is the page


def test_no_page_is_quite_certain() -> None:
    page = find(PagesReader({"fiebre": (9.0, 9.0, 9.0), "gripe": (0.1,)}))

    assert page is not None
    assert page.similarity < 1


@pytest.mark.parametrize(
    "pages",
    [
        pytest.param({"fiebre": (0.09, 0.09, 0.09), "gripe": (-0.3,)}, id="far"),
        pytest.param({"fiebre": (0.25, 0.1, 0.1), "gripe": (0.2, 0.2, 0.1), "asma": (0.2, 0.2, 0.1)}, id="one of many"),
        pytest.param({"fiebre": (0.4, 0.0, 0.0), "gripe": (0.1, 0.1)}, id="one passage alone"),
        pytest.param({}, id="empty"),
    ],
)
def test_a_page_that_does_not_stand_out_is_not_named(pages: Mapping[str, Sequence[float]]) -> None:
    assert find(PagesReader(pages)) is None


@pytest.mark.parametrize("text", ["chi ha vinto il giro?", "la pressione delle gomme dell'auto è bassa, che cosa faccio?"])
def test_other_matters_are_pointed_nowhere(text: str) -> None:
    assert find(PagesReader(NEAR), replace(ASKED, self_contained=text)) is None


def test_a_baby_is_a_matter_of_health_without_a_word_of_it() -> None:
    asked = replace(ASKED, self_contained="non vuole mangiare", population=Population.INFANT)
    assert find(PagesReader(NEAR), asked) is not None


@pytest.mark.parametrize("error", [IndexMissing("nothing"), IndexMismatch("another embedder"), StoreError("damaged")])
def test_an_index_that_cannot_be_read_leaves_the_refusal_as_it_is(error: StoreError) -> None:
    assert find(error) is None


def test_what_the_patients_own_language_has_is_not_pointed_to() -> None:
    assert find(PagesReader(NEAR), held_topics=frozenset({"fiebre"})) is None
    assert find(PagesReader(NEAR), held_topics=frozenset({"asma"})) is not None


@pytest.mark.parametrize(
    ("population", "best"),
    [(None, "adultos"), (Population.ADULT, "adultos"), (Population.CHILD, "ninos"), (Population.PREGNANCY, "gripe")],
)
def test_a_page_for_others_is_left_out_where_it_is_known_whom_it_concerns(population: Population | None, best: str) -> None:
    titles = {"adultos": "Fiebre en adultos", "ninos": "Fiebre en niños", "gripe": "Gripe"}
    reader = PagesReader({"adultos": (0.5,), "ninos": (0.4,), "gripe": (0.1,)}, titles)

    pages = Signpost().rank([QUESTION], reader, ES, population)  # type: ignore[arg-type]
    assert pages[0].document_id == best


def test_question_and_expansions_are_searched_as_one() -> None:
    reader = PagesReader(NEAR)
    Signpost().rank([QUESTION, np.array([0.0, 1.0], dtype=np.float32)], reader, ES)  # type: ignore[arg-type]

    assert [vector.tolist() for vector in reader.asked] == [[0.5, 0.5]]


def test_a_page_that_was_withdrawn_meanwhile_is_passed_over() -> None:
    reader = PagesReader(NEAR)
    reader.empty = {"fiebre"}

    assert [page.document_id for page in Signpost().rank([QUESTION], reader, ES)] == ["gripe", "asma"]  # type: ignore[arg-type]


def test_pages_are_ranked_by_three_passages_not_by_one_that_lies_near() -> None:
    reader = PagesReader({"una": (0.5, 0.0, 0.0), "tres": (0.3, 0.3, 0.3, 0.0)})

    pages = Signpost().rank([QUESTION], reader, ES)  # type: ignore[arg-type]
    assert [(page.document_id, round(page.nearness, 2)) for page in pages] == [("tres", 3.0), ("una", 1.67)]


def test_certainty_grows_with_each_sign() -> None:
    def certainty(nearness: float, next_nearness: float, passages: int) -> float:
        def page(name: str, near: float, count: int, dense: float) -> RankedPage:
            hits = [Hit(chunk=builders.chunk(document_id=name), score=dense, dense=dense) for _ in range(count)]
            return RankedPage(passages=hits, nearness=near)

        return certainty_of([page("a", nearness, passages, 0.9), page("b", next_nearness, 5, 0.8)])

    base = certainty(2.0, 1.5, 2)
    assert certainty(2.5, 2.0, 2) > base
    assert certainty(2.0, 1.0, 2) > base
    assert certainty(2.0, 1.5, 4) > base
    assert certainty_of([]) == 0.0
