from collections.abc import Iterator
from typing import Any

import pytest

from locales.language import Language
from rag.errors import Cancelled, ModelError
from rag.models.protocols import Budget, Prompt
from rag.reformulator import Reformulator
from rag.types import Intent, Query
from tests.fakes import ScriptedLanguageModel

QUERY = Query(question="mi gira la testa", language=Language.ITALIAN, intent=Intent.SYMPTOM, expansions=("capogiri",))


class Failing(ScriptedLanguageModel):
    def complete(self, prompt: Prompt, **options: Any) -> Iterator[str]:
        raise ModelError("broken")


def reformulate(completion: str, query: Query = QUERY) -> Query:
    return Reformulator(ScriptedLanguageModel(completion)).reformulate(query, Budget(max_tokens=100))


def test_the_phrase_is_one_more_expansion_and_the_patients_words_stay() -> None:
    query = reformulate(" vertigini da movimento \n")

    assert query.question == QUERY.question
    assert query.expansions == ("capogiri", "vertigini da movimento")
    assert (query.language, query.intent) == (QUERY.language, QUERY.intent)


@pytest.mark.parametrize("completion", ["", "  ", "capogiri", "mi gira la testa"])
def test_nothing_new_changes_nothing(completion: str) -> None:
    assert reformulate(completion) == QUERY


def test_a_generator_that_fails_changes_nothing() -> None:
    assert Reformulator(Failing()).reformulate(QUERY, Budget(max_tokens=100)) == QUERY


def test_a_late_generator_changes_nothing() -> None:
    model = ScriptedLanguageModel("vertigini", delay_s=1.0)

    assert Reformulator(model).reformulate(QUERY, Budget(max_tokens=100, deadline=0.0)) == QUERY


def test_a_cancelled_run_is_not_swallowed() -> None:
    model = ScriptedLanguageModel("vertigini", delay_s=1.0)

    with pytest.raises(Cancelled):
        Reformulator(model).reformulate(QUERY, Budget(max_tokens=100, cancelled=lambda: True))


@pytest.mark.parametrize(("language", "example"), [(Language.ITALIAN, "capogiri"), (Language.SPANISH, "mareos")])
def test_the_prompt_is_in_the_language_of_the_question(language: Language, example: str) -> None:
    model = ScriptedLanguageModel("x")
    Reformulator(model).reformulate(Query(question="q", language=language), Budget(max_tokens=100))

    assert example in model.prompts[0].prefix
    assert model.prompts[0].body == "q"
