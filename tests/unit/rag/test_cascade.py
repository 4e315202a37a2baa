import time
from collections.abc import Iterator
from typing import Any

import pytest

from locales.language import Language
from rag.aligner import Aligner
from rag.cascade import Cascade
from rag.composer import Composer
from rag.errors import Cancelled, ModelError
from rag.limits import LimitWords
from rag.models.protocols import Budget, Prompt
from rag.stopwatch import Stopwatch
from rag.types import Evidence, Intent, Interpretation, Mode, Query, SentenceKind
from tests import builders
from tests.fakes import ScriptedLanguageModel

ITALIAN = Language.ITALIAN
TEXTS = (
    "La tosse di solito passa in tre settimane.",
    "Con la tosse beva spesso acqua o tisane.",
    "Il fumo peggiora la tosse.",
    "Il miele calma la tosse negli adulti.",
    "Chiami il medico se la tosse dura più di tre settimane.",
    "La tosse grassa porta via il catarro.",
)
FURTHER = ("La tosse secca irrita la gola.", "Aria umida calma la tosse.")
JOINED = "Con la tosse beva spesso acqua o tisane, e il fumo peggiora la tosse."
ASKED = Interpretation(language=ITALIAN, intent=Intent.QUESTION, self_contained="ho la tosse, che faccio?")


class Broken(ScriptedLanguageModel):
    def complete(self, prompt: Prompt, **options: Any) -> Iterator[str]:
        self.prompts.append(prompt)
        raise ModelError("broken")


def proof(*texts: str) -> list[Evidence]:
    return [builders.evidence(text, chunk_id=f"cough#{place}", document_id="cough") for place, text in enumerate(texts)]


def compose(
    model: ScriptedLanguageModel, *, mode: Mode = Mode.FAST, evidence: tuple[str, ...] = TEXTS, grades: bool = True, **budget: Any
) -> tuple[Composer, bool, Stopwatch]:
    watch = Stopwatch()
    composer = Composer(Aligner(ITALIAN), proof(*evidence), lambda _: None, LimitWords.load(ITALIAN))
    composer.open()
    cascade = Cascade(model, grades=grades)
    hurried = cascade.compose(composer, ASKED, mode, Budget(**({"max_tokens": 150} | budget)), watch)
    return composer, hurried, watch


def texts(composer: Composer) -> list[str]:
    return [sentence.text for sentence in composer.sentences]


def test_a_fast_answer_joins_the_next_two_sentences_in_one_completion() -> None:
    model = ScriptedLanguageModel(JOINED)
    composer, hurried, watch = compose(model)

    assert texts(composer) == [TEXTS[0], JOINED]
    assert composer.sentences[1].kind is SentenceKind.WRITTEN
    assert (len(model.prompts), hurried) == (1, False)
    assert {"write", "align", "prefill", "decode"} <= watch.timings_s.keys()
    assert not {"score", "summarise"} & watch.timings_s.keys()


def test_the_generator_is_stopped_once_all_it_was_given_is_said() -> None:
    composer, _, _ = compose(ScriptedLanguageModel(f"{JOINED} Il miele calma la tosse negli adulti."))

    assert texts(composer) == [TEXTS[0], JOINED]


def test_a_precise_answer_grades_sums_up_and_writes_what_is_left() -> None:
    grades = "5 5 5 1 5 5 5 5"
    model = ScriptedLanguageModel(grades, f"A: {JOINED}", "Chiami il medico se la tosse dura più di 3 settimane.")
    composer, _, watch = compose(model, mode=Mode.PRECISE, evidence=(*TEXTS, *FURTHER))

    assert texts(composer)[:2] == [TEXTS[0], JOINED]
    assert TEXTS[3] not in texts(composer)
    assert model.grammars[0] is not None
    assert model.held == 1
    assert {"score", "summarise", "write", "align"} <= watch.timings_s.keys()


def test_five_candidates_find_room_and_are_not_graded() -> None:
    model = ScriptedLanguageModel(JOINED)
    compose(model, mode=Mode.PRECISE, evidence=TEXTS[:5])

    assert model.grammars[0] is None


def test_a_generator_that_cannot_grade_is_not_asked_to() -> None:
    model = ScriptedLanguageModel(f"A: {JOINED}")
    compose(model, mode=Mode.PRECISE, grades=False)

    assert set(model.grammars) == {None}


def test_a_few_sentences_of_a_page_are_joined_in_pairs_and_not_summed_up() -> None:
    model = ScriptedLanguageModel(JOINED)
    _, _, watch = compose(model, mode=Mode.PRECISE, evidence=TEXTS[:5])

    assert "summarise" not in watch.timings_s
    assert "write" in watch.timings_s


def test_grades_that_make_no_sense_leave_the_order_of_retrieval() -> None:
    composer, hurried, _ = compose(ScriptedLanguageModel("x y", f"A: {JOINED}"), mode=Mode.PRECISE)

    assert texts(composer)[:2] == [TEXTS[0], JOINED]
    assert not hurried


@pytest.mark.parametrize("mode", list(Mode))
def test_a_generator_that_fails_leaves_the_opening_and_says_no_haste(mode: Mode) -> None:
    composer, hurried, watch = compose(Broken(), mode=mode)

    assert texts(composer) == [TEXTS[0]]
    assert not hurried
    assert "writing_failed" in watch.timings_s


@pytest.mark.parametrize("mode", list(Mode))
def test_a_deadline_that_passes_meanwhile_is_told(mode: Mode) -> None:
    composer, hurried, _ = compose(ScriptedLanguageModel(JOINED, delay_s=2.0), mode=mode, deadline=time.monotonic() + 0.05)

    assert texts(composer) == [TEXTS[0]]
    assert hurried


@pytest.mark.parametrize("mode", list(Mode))
def test_a_deadline_that_has_passed_asks_the_generator_nothing(mode: Mode) -> None:
    model = ScriptedLanguageModel(JOINED)
    _, hurried, _ = compose(model, mode=mode, deadline=0.0)

    assert hurried
    assert model.prompts == []


@pytest.mark.parametrize("mode", list(Mode))
def test_a_cancelled_answer_is_not_swallowed(mode: Mode) -> None:
    with pytest.raises(Cancelled):
        compose(ScriptedLanguageModel(JOINED, delay_s=1.0), mode=mode, cancelled=lambda: True)


def test_a_stage_that_usually_takes_longer_than_is_left_is_not_begun() -> None:
    model = ScriptedLanguageModel(JOINED, delay_s=0.3)
    cascade = Cascade(model)
    for left_s in (60.0, 0.1):
        composer = Composer(Aligner(ITALIAN), proof(*TEXTS), lambda _: None, LimitWords.load(ITALIAN))
        composer.open()
        budget = Budget(max_tokens=150, deadline=time.monotonic() + left_s)
        hurried = cascade.compose(composer, ASKED, Mode.FAST, budget, Stopwatch())

    assert hurried
    assert len(model.prompts) == 1


def test_a_sentence_too_long_for_a_short_answer_is_asked_for_once_more_and_shorter() -> None:
    opening = "La tosse " + "secca " * 40 + "passa."
    member = "Con la tosse beva " + ", ".join(f"tisana{n}" for n in range(20)) + "."
    model = ScriptedLanguageModel(f"{member[:-1]} e {TEXTS[2][0].lower()}{TEXTS[2][1:]} {member}", "Il fumo peggiora la tosse.")
    composer, _, _ = compose(model, evidence=(opening, member, TEXTS[2]))

    assert sum(len(text.split()) for text in texts(composer)) <= 75


def test_a_query_is_left_alone_when_there_is_no_time_for_other_words() -> None:
    query, model = Query(question="mi gira la testa", language=ITALIAN), ScriptedLanguageModel("capogiri")

    assert Cascade(model).reformulate(query, Budget(max_tokens=50, deadline=0.0), Stopwatch()) == query
    assert model.prompts == []


def test_a_summary_that_is_not_read_to_its_end_gives_the_model_back() -> None:
    long = "Con la tosse beva spesso acqua o tisane, " + ", ".join(f"infuso{number}" for number in range(40)) + "."
    proof_texts = ("La tosse " + "secca " * 30 + "passa.", long, *TEXTS[2:], *FURTHER)
    model = ScriptedLanguageModel(f"A: {long} Il fumo peggiora la tosse.", "Il fumo peggiora la tosse.")
    _, _, watch = compose(model, mode=Mode.PRECISE, evidence=proof_texts, grades=False)

    assert "writing_failed" not in watch.timings_s


def test_a_stage_stopped_by_the_deadline_is_expected_to_take_that_long_but_not_for_good() -> None:
    model = ScriptedLanguageModel(JOINED, delay_s=0.6)
    cascade = Cascade(model)

    def ask(left_s: float) -> None:
        composer = Composer(Aligner(ITALIAN), proof(*TEXTS), lambda _: None, LimitWords.load(ITALIAN))
        composer.open()
        budget = Budget(max_tokens=150, deadline=time.monotonic() + left_s)
        cascade.compose(composer, ASKED, Mode.FAST, budget, Stopwatch())

    ask(0.3)
    ask(0.2)
    assert len(model.prompts) == 1

    for _ in range(8):
        ask(0.2)
    assert len(model.prompts) > 1
