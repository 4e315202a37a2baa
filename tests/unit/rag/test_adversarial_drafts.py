"""Drafts of a careless writer, and of one gone wrong: nothing changed is shown, and nothing breaks."""

import json
from pathlib import Path
from typing import Any

import pytest

from bot.evaluation.adversarial import evaluate_adversarial
from bot.evaluation.alignment import evidence_of
from locales.language import Language
from rag.aligner import Aligner
from rag.cascade import Cascade
from rag.composer import MAX_WORDS, Composer
from rag.limits import LimitWords
from rag.models.protocols import Budget
from rag.stopwatch import Stopwatch
from rag.types import Intent, Interpretation, Mode, SentenceKind
from tests.fakes import ScriptedLanguageModel

DATA = Path(__file__).parent.parent.parent / "data" / "alignment"
BROKEN = [json.loads(line) for line in (DATA / "bad_drafts.jsonl").read_text(encoding="utf-8").splitlines()]


def test_no_changed_number_unit_or_negation_is_shown_of_two_hundred_drafts() -> None:
    figures = evaluate_adversarial(DATA / "drafts.jsonl")

    assert figures["n"] == 200
    assert figures["changed_shown"] == []
    assert figures["faithful"]["shown"] > 0.5 * figures["faithful"]["drafted"]


@pytest.mark.parametrize("mode", list(Mode))
@pytest.mark.parametrize("row", BROKEN, ids=[row["id"] for row in BROKEN])
def test_a_broken_writer_leaves_a_sane_answer(row: dict[str, Any], mode: Mode) -> None:
    language = Language(row["lang"])
    proof = [evidence_of(sentence, row["lang"], place) for place, sentence in enumerate(row["evidence"])]
    composer = Composer(Aligner(language), proof, lambda _: None, LimitWords.load(language))
    composer.open()
    asked = Interpretation(language=language, intent=Intent.QUESTION, self_contained="?")
    Cascade(ScriptedLanguageModel(row["output"])).compose(composer, asked, mode, Budget(max_tokens=150), Stopwatch())
    composer.fill()
    texts = [sentence.text for sentence in composer.sentences]

    assert texts[0] == row["evidence"][0]
    assert len(texts) == len(set(texts))
    assert sum(len(text.split()) for text in texts) <= MAX_WORDS
    assert all(text in row["evidence"] for text in texts if _kind(composer, text) is SentenceKind.QUOTED)
    assert not any(mark in text for text in texts for mark in ("<", "{", "http", "```", ":\n", "Utente", "Paciente", "[1]"))


def _kind(composer: Composer, text: str) -> SentenceKind:
    return next(sentence.kind for sentence in composer.sentences if sentence.text == text)
