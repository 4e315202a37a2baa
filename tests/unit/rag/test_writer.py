from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from locales.language import Language
from rag.errors import Cancelled, DeadlineExceeded, ModelError
from rag.models.protocols import Budget, Prompt
from rag.types import Evidence
from rag.writer import Writer
from tests import builders
from tests.fakes import ScriptedLanguageModel

ITALIAN, SPANISH = Language.ITALIAN, Language.SPANISH


def evidence(count: int = 3, words: int = 8) -> list[Evidence]:
    return [
        replace(builders.evidence(f"Frase{number} " + "parola " * (words - 2) + "fine."), strength=1.0 - number / 10)
        for number in range(count)
    ]


def drafts(completion: str, language: Language = ITALIAN) -> list[str]:
    found = Writer(ScriptedLanguageModel(completion)).drafts("febbre?", evidence(), language, budget=Budget(max_tokens=150))
    return [draft.text for draft in found]


class PieceByPiece(ScriptedLanguageModel):
    """Gives the very pieces that it was made with, and counts how many were asked for."""

    def __init__(self, *pieces: str) -> None:
        super().__init__()
        self.pieces = pieces
        self.given = 0

    def complete(self, prompt: Prompt, **options: Any) -> Iterator[str]:
        self.prompts.append(prompt)
        for piece in self.pieces:
            self.given += 1
            yield piece


def test_a_sentence_is_handed_over_while_the_next_is_being_written() -> None:
    model = PieceByPiece("La febbre passa", ". ", "Beva", " acqua", ". ", "Riposi", ".")
    found = Writer(model).drafts("febbre?", evidence(), ITALIAN, budget=Budget(max_tokens=150))

    assert next(found).text == "La febbre passa."
    assert model.given < len(model.pieces)
    assert [draft.text for draft in found] == ["Beva acqua.", "Riposi."]


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        (ITALIAN, "Beva acqua. Riposi a letto.", ["Beva acqua.", "Riposi a letto."]),
        (
            ITALIAN,
            "La febbre arriva a 38,5 °C, p. es. di sera. Riposi.",
            ["La febbre arriva a 38,5 °C, p. es. di sera.", "Riposi."],
        ),
        (ITALIAN, "- Beva acqua.\n- Riposi.", ["Beva acqua.", "Riposi."]),
        (ITALIAN, "1. Beva acqua.\n2. Riposi.", ["Beva acqua.", "Riposi."]),
        (ITALIAN, "Risposta: **Beva** acqua [1].", ["Beva acqua ."]),
        (SPANISH, "Beba agua. Descanse en cama.", ["Beba agua.", "Descanse en cama."]),
        (SPANISH, "Respuesta: Beba agua.", ["Beba agua."]),
        (SPANISH, "Llame al {emergency} si empeora.", ["Llame al {emergency} si empeora."]),
    ],
)
def test_sentences_come_bare_of_decoration(language: Language, text: str, expected: list[str]) -> None:
    assert drafts(text, language) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<think>forse è cancro</think>Riposo.", ["Riposo."]),
        ("<think>Forse è cancro. Oppure no.\nChe dire?</think>Riposo. Beva.", ["Riposo.", "Beva."]),
        ("Riposo. <think>Forse è cancro. Chissà.", ["Riposo."]),
        ("<think>Forse è cancro. Chissà.", []),
        ("Riposo.<think>E ora? Forse.</think>Beva.", ["Riposo.", "Beva."]),
        ("Forse è un cancro</think>Riposo.", []),
    ],
)
def test_thoughts_are_no_answer_h24(text: str, expected: list[str]) -> None:
    assert drafts(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "Riposo.\nUtente: e poi? Prenda dieci gocce.",
        "Riposo.\nDomanda: ho la tosse.\nFrasi:\n- La tosse passa.",
        "Riposo.\nAssistant: And then. Rest.",
        "Riposo.\nUsuario: ¿y luego? Tome algo.",
        "Riposo.\nPregunta: tengo tos.",
    ],
)
def test_an_invented_next_turn_ends_the_answer_h24(text: str) -> None:
    assert drafts(text) == ["Riposo."]


@pytest.mark.parametrize(
    "text",
    [
        '{"risposta": "Riposi. Beva acqua."}',
        "[{'sentence': 'Beva acqua.'}]",
        "```json\n{}\n```",
        "Legga https://inventato.it per sapere tutto.",
        "Legga www.inventato.it per sapere tutto.",
        "<b>Beva acqua.</b> ",
        "<|im_start|>assistant Beva acqua.",
        "Beva molta acqua e",
        "Sintomi:",
        "",
        "  \n ",
    ],
)
def test_what_is_no_finished_sentence_is_left_out(text: str) -> None:
    assert drafts(text) == []


def test_garbage_does_not_take_a_good_sentence_with_it() -> None:
    assert drafts("Vedi https://inventato.it adesso. Beva acqua. Poi riposi e") == ["Beva acqua."]


def test_all_evidence_goes_into_the_prompt_if_it_fits_strongest_first() -> None:
    model = ScriptedLanguageModel("Riposi.")
    list(Writer(model).drafts("Che fare?", evidence(4), ITALIAN, budget=Budget(max_tokens=150)))

    body = model.prompts[0].body
    assert body.startswith("Domanda: Che fare?")
    assert [line.split()[1] for line in body.splitlines() if line.startswith("- ")] == ["Frase0", "Frase1", "Frase2", "Frase3"]


def test_the_weakest_evidence_is_left_out_until_the_prompt_fits_h23() -> None:
    model = ScriptedLanguageModel("Riposi.")
    list(Writer(model).drafts("Che fare?", evidence(6, words=180), ITALIAN, budget=Budget(max_tokens=150)))

    prompt = model.prompts[0]
    kept = [line.split()[1] for line in prompt.body.splitlines() if line.startswith("- ")]
    assert kept == [f"Frase{number}" for number in range(len(kept))]
    assert 0 < len(kept) < 6
    assert "Che fare?" in prompt.body
    assert model.count_tokens(prompt.prefix) + model.count_tokens(prompt.body) + 90 <= model.context_tokens


def test_evidence_that_cannot_fit_at_all_is_an_error_of_the_model_and_not_a_half_prompt() -> None:
    model = ScriptedLanguageModel("Riposi.")

    with pytest.raises(ModelError):
        list(Writer(model).drafts("Che fare?", evidence(1, words=2000), ITALIAN, budget=Budget(max_tokens=150)))
    assert model.prompts == []


def test_a_message_of_four_thousand_characters_keeps_its_beginning_and_its_end() -> None:
    """H23"""
    model = ScriptedLanguageModel("Riposi.")
    message = "Da ieri ho la febbre. " + "racconto " * 440 + "Che cosa devo fare?"
    assert len(message) > 4000
    list(Writer(model).drafts(message, evidence(), ITALIAN, budget=Budget(max_tokens=150)))

    asked = model.prompts[0].body.splitlines()[0]
    assert asked.startswith("Domanda: Da ieri ho la febbre.")
    assert asked.endswith("Che cosa devo fare?")
    assert len(asked.split()) <= 62


@pytest.mark.parametrize("language", list(Language))
def test_warming_evaluates_the_prefix_that_every_question_has(language: Language) -> None:
    model = ScriptedLanguageModel("Riposi.")
    writer = Writer(model)
    writer.warm(language)
    list(writer.drafts("Che fare?", evidence(), language, budget=Budget(max_tokens=150)))

    assert model.warmed == [model.prompts[0].prefix]


@pytest.mark.parametrize(("given", "failure"), [("deadline", DeadlineExceeded), ("cancel", Cancelled)])
def test_deadline_and_cancel_reach_the_generator(given: str, failure: type[Exception]) -> None:
    budget = Budget(max_tokens=150, deadline=0.0) if given == "deadline" else Budget(max_tokens=150, cancelled=lambda: True)

    with pytest.raises(failure):
        list(Writer(ScriptedLanguageModel("Riposi.", delay_s=1.0)).drafts("Che fare?", evidence(), ITALIAN, budget=budget))


def test_the_generator_is_named() -> None:
    assert Writer(ScriptedLanguageModel()).generator_name == "scripted"
