import pytest

from locales.language import Language
from rag.models.protocols import Budget
from rag.scorer import ungraded
from rag.summarizer import Summarizer
from tests import builders
from tests.fakes import ScriptedLanguageModel

PROOF = [
    builders.evidence("La tosse passa.", chunk_id="a#1", document_id="a"),
    builders.evidence("Beva spesso.", chunk_id="a#2", document_id="a"),
    builders.evidence("Non fumi.", chunk_id="b#1", document_id="b"),
]


@pytest.mark.parametrize("language", list(Language))
def test_all_pages_are_summed_up_in_one_prompt_that_goes_on_from_the_grades(language: Language) -> None:
    model = ScriptedLanguageModel("A: La tosse passa.\nB: Non fumi.")
    graded = ungraded("che fare?", PROOF, language)
    drafts = [d.text for d in Summarizer(model).drafts(graded, PROOF, language, budget=Budget(max_tokens=200))]

    assert drafts == ["La tosse passa.", "Non fumi."]
    assert len(model.prompts) == 1
    assert model.prompts[0].body.startswith("\n".join(graded.turn))
    assert "A1, A2, B1" in model.prompts[0].body


def test_only_what_is_wanted_is_summed_up() -> None:
    model = ScriptedLanguageModel("B: Non fumi.")
    graded = ungraded("che fare?", PROOF, Language.ITALIAN)
    list(Summarizer(model).drafts(graded, PROOF[1:], Language.ITALIAN, budget=Budget(max_tokens=200)))

    assert "A2, B1" in model.prompts[0].body
    assert "A1, A2" not in model.prompts[0].body


@pytest.mark.parametrize("language", list(Language))
def test_warming_evaluates_the_prefix_of_grades_and_summaries(language: Language) -> None:
    model = ScriptedLanguageModel("A: Beva.")
    summarizer = Summarizer(model)
    summarizer.warm(language)
    list(summarizer.drafts(ungraded("q", PROOF, language), PROOF, language, budget=Budget(max_tokens=200)))

    assert model.warmed == [model.prompts[0].prefix]
