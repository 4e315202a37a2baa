import re

import pytest

from locales.language import Language
from rag.errors import ModelError
from rag.models.protocols import Budget
from rag.scorer import MOST_SENTENCES, EvidenceScorer, ungraded
from rag.types import Evidence, GradedEvidence
from tests import builders
from tests.fakes import ScriptedLanguageModel

ITALIAN = Language.ITALIAN


def candidates(count: int, page: str = "a") -> list[Evidence]:
    return [builders.evidence(f"Frase {number}.", chunk_id=f"{page}#{number}", document_id=page) for number in range(count)]


def graded(told: str, count: int) -> GradedEvidence:
    scorer = EvidenceScorer(ScriptedLanguageModel(told))
    return scorer.score("che fare?", candidates(count), ITALIAN, budget=Budget(max_tokens=100))


@pytest.mark.parametrize(
    ("told", "kept"),
    [
        ("5 3 4 1", [0, 2]),
        ("3 2 3 1", [0, 2]),
        ("1 2 1 2", [0, 1, 2]),
        ("5 5 5 5", [0, 1, 2, 3]),
    ],
)
def test_recall_comes_first_in_what_is_kept(told: str, kept: list[int]) -> None:
    assert graded(told, 4).kept == tuple(candidates(4)[number] for number in kept)


@pytest.mark.parametrize("told", ["5 3", "5 3 4 1 2", "5 3 x 1", "0 3 4 1", ""])
def test_grades_that_do_not_fit_the_sentences_are_an_error_of_the_model(told: str) -> None:
    with pytest.raises(ModelError):
        graded(told, 4)


def test_one_digit_for_each_sentence_is_all_that_the_grammar_allows() -> None:
    model = ScriptedLanguageModel("5 4 3")
    EvidenceScorer(model).score("che fare?", candidates(3), ITALIAN, budget=Budget(max_tokens=100))

    assert model.grammars == ['root ::= digit " " digit " " digit\ndigit ::= [1-5]']


def test_at_most_twelve_sentences_are_graded_the_strongest() -> None:
    told = " ".join(["5"] * MOST_SENTENCES)

    assert graded(told, 20).sentences == tuple(candidates(20)[:MOST_SENTENCES])


@pytest.mark.parametrize("language", list(Language))
def test_sentences_are_named_by_page_and_number(language: Language) -> None:
    proof = [*candidates(2, "a"), *candidates(1, "b"), *candidates(1, "c")]
    result = ungraded("che fare?", proof, language)

    assert result.labels == ("A1", "A2", "B1", "C1")
    assert re.findall(r"^([A-Z]\d)\. ", result.turn[0], re.MULTILINE) == ["A1", "A2", "B1", "C1"]
    assert result.kept == tuple(proof)


def test_a_patients_question_is_not_shown_by_repr() -> None:
    assert "emorroidi" not in repr(ungraded("ho le emorroidi", candidates(2), ITALIAN))
