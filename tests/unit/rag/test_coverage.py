"""What speaks for a page that covers a question, and against it."""

from dataclasses import replace

import pytest

from locales.language import Language
from rag.corpus import CorpusStatistics
from rag.coverage import SIGN_NAMES, WEIGHTS, CoverageSigns, coverage_signs
from rag.types import Hit
from tests import builders

FLU = builders.chunk(
    "L'influenza dà febbre e tosse.", document_id="flu", title="Influenza", heading_path=("Sintomi",), synonyms=("grippe",)
)
ASTHMA = builders.chunk("L'asma dà tosse e fischi.", document_id="asthma", title="Asma", heading_path=("Sintomi",))
STATISTICS = CorpusStatistics(
    n=2, avgdl=10.0, document_frequency={"influenz": 1, "febbr": 1, "toss": 2}, background_mean=0.8, background_std=0.02
)


def signs(question: str, *, lead: float = 1.0, expansions: tuple[str, ...] = ()) -> CoverageSigns:
    hits = [Hit(chunk=FLU, score=5.0, dense=0.9), Hit(chunk=ASTHMA, score=5.0 - lead, dense=0.88)]
    return coverage_signs(
        question,
        Language.ITALIAN,
        best=hits[0].chunk.document_id,
        hits=hits,
        page=hits[:1],
        statistics=STATISTICS,
        expansions=expansions,
    )


def test_words_that_any_question_may_have_count_neither_way() -> None:
    assert signs("da ieri ho l'influenza, cosa faccio?").page_words == signs("influenza").page_words == 1.0


def test_a_word_of_health_that_names_no_page_speaks_against_it() -> None:
    assert signs("il glaucoma fa venire la tosse?").unnamed == 1.0 - signs("l'influenza fa venire la tosse?").unnamed


def test_other_words_for_the_question_name_its_page_too() -> None:
    assert signs("ho la spagnola", expansions=("ho l'influenza",)).translated == 1.0


def test_the_lead_is_over_the_best_passage_of_another_page() -> None:
    assert signs("influenza", lead=1.5).lead == pytest.approx(0.5)


def test_a_page_that_alone_is_found_leads() -> None:
    hits = [Hit(chunk=FLU, score=5.0, dense=0.9)]
    found = coverage_signs(
        "influenza", Language.ITALIAN, best=hits[0].chunk.document_id, hits=hits, page=hits, statistics=STATISTICS
    )

    assert (found.lead, found.agreement) == (1.0, 0.2)


@pytest.mark.parametrize("question", ["ho un dolore, cosa posso fare?", "sto male da ieri", "mi fa male"])
def test_a_question_that_does_not_say_of_what_is_covered_by_no_page(question: str) -> None:
    assert WEIGHTS.probability(signs(question)) == 0.0


def test_words_of_another_field_are_told() -> None:
    assert signs("il computer perde olio").elsewhere == 1.0


@pytest.mark.parametrize("name", SIGN_NAMES)
def test_each_sign_moves_the_probability_the_way_its_meaning_says(name: str) -> None:
    plain = signs("influenza")
    more = replace(plain, **{name: getattr(plain, name) + 0.5})
    speaks_against = name in {"unnamed", "elsewhere"}

    assert (WEIGHTS.probability(more) < WEIGHTS.probability(plain)) == speaks_against
    assert len(plain.figures) == len(WEIGHTS.weights)
