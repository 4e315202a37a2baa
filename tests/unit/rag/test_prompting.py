import re

import pytest

from locales.language import Language
from rag.aligner import Aligner
from rag.prompting import StagePrompt
from rag.types import Draft
from tests import builders
from tests.fakes import ScriptedLanguageModel

STAGES = ("write", "interpret")
LANGUAGES = list(Language)


def placeholders(template: str) -> set[str]:
    return set(re.findall(r"\{(\w+)\}", template))


@pytest.mark.parametrize("stage", STAGES)
def test_every_language_asks_in_the_same_form(stage: str) -> None:
    prompts = [StagePrompt.load(language, stage) for language in LANGUAGES]

    assert len({frozenset(placeholders(prompt.template)) for prompt in prompts}) == 1
    assert len({len(prompt.examples) for prompt in prompts}) == 1


def test_lists_are_written_as_items() -> None:
    prompt = StagePrompt(system="", template="Domanda: {question}\nFrasi:\n{evidence}", examples=())

    assert prompt.fill(question="febbre?", evidence=["Una.", "Due."]) == "Domanda: febbre?\nFrasi:\n- Una.\n- Due."


def test_braces_of_a_patient_are_plain_text() -> None:
    prompt = StagePrompt(system="", template="Domanda: {question}", examples=())

    assert prompt.fill(question="{evidence} {0} {question.__class__}") == "Domanda: {evidence} {0} {question.__class__}"


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("language", LANGUAGES)
def test_the_prefix_does_not_depend_on_the_message(language: Language, stage: str) -> None:
    model = ScriptedLanguageModel()
    prompt = StagePrompt.load(language, stage)

    one, other = (prompt.prompt(model, prompt.fill(question=text, evidence=[text])) for text in ("febbre", "tosse"))

    assert one.prefix == other.prefix
    assert one.body != other.body
    assert prompt.system in one.prefix


@pytest.mark.parametrize("language", LANGUAGES)
def test_an_example_shows_no_sentence_that_its_own_evidence_does_not_name(language: Language) -> None:
    for asked, answered in StagePrompt.load(language, "write").examples:
        offered = {number for line in asked.splitlines() if line.startswith("- ") for number in re.findall(r"\d+", line)}
        assert set(re.findall(r"\d+", answered)) <= offered


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_examples_answer_as_the_aligner_wants_it(language: Language) -> None:
    for asked, answered in StagePrompt.load(language, "write").examples:
        lines = [line[2:] for line in asked.splitlines() if line.startswith("- ")]
        proof = [builders.evidence(line, chunk_id=f"page#{place}") for place, line in enumerate(lines)]

        for text in re.split(r"(?<=\.) ", answered):
            assert Aligner(language).align(Draft(text=text), proof) is not None, text
