import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from bot.asker import Asked, Asker
from bot.evaluation import answers
from bot.evaluation.answer_figures import summary
from bot.evaluation.answers import ask_all, evaluate_answers
from bot.evaluation.commands import evaluation
from bot.settings import Settings
from channels.messages import OutboundMessage
from locales.language import Language
from rag.documents import Sentence
from rag.replies import Abstention, AbstentionKind, Reply
from rag.types import Mode, SentenceKind
from tests import builders
from tests.fakes import ScriptedAnswerer, ScriptedGate
from tests.unit.bot.evaluation.conftest import MakeAsker, WriteSet

QUOTE = "La febbre è una difesa del corpo contro le infezioni."


class Generator:
    generator_name = "scripted"


def asked(reply: Reply, text: str = QUOTE, total: float = 2.0, first: float = 0.5, **timings: float) -> Asked:
    message = OutboundMessage(paragraphs=(text,), closing=("Queste informazioni non sostituiscono il medico.",))
    return Asked(
        outcome=reply,  # type: ignore[arg-type]
        message=message,
        mode=Mode.FAST,
        timings_s={"total": total, "first_sentence": first, **timings},
    )


def figures(*all_asked: Asked, lang: str = "it") -> dict[str, Any]:
    return summary(all_asked, [{"id": "x", "lang": lang}] * len(all_asked), Generator())  # type: ignore[arg-type]


def test_sentences_are_shared_out_among_written_quoted_and_dropped() -> None:
    written = builders.sentence(kind=SentenceKind.WRITTEN)
    one = asked(builders.answer(written, builders.sentence(), dropped=1), first_written=1.5)
    other = asked(builders.answer(builders.sentence(), dropped=0))

    found = figures(one, other)

    assert found["sentences"] == {"written": 0.25, "quoted": 0.5, "dropped": 0.25}
    assert found["answers_with_a_written_sentence"] == 0.5
    assert (found["questions"], found["answers"], found["generator"]) == (2, 2, "scripted")


def test_times_are_of_answers_alone() -> None:
    refusal = asked(Abstention(kind=AbstentionKind.OFF_TOPIC, language=Language.ITALIAN), total=50.0)
    found = figures(asked(builders.answer(), total=2.0), refusal, asked(builders.answer(), total=4.0))

    assert found["total_s"] == {"p50": 3.0, "p95": 3.9}
    assert found["first_sentence_s"] == {"p50": 0.5, "p95": 0.5}
    assert found["total_s_with_written"] is None
    assert found["first_written_s"] is None
    assert found["answers"] == 2


def test_what_the_generator_wrote_is_timed_apart_from_quotes() -> None:
    written = asked(builders.answer(builders.sentence(kind=SentenceKind.WRITTEN)), total=5.0, first_written=3.0)
    found = figures(written, asked(builders.answer(), total=2.0))

    assert found["first_written_s"] == {"p50": 3.0, "p95": 3.0}
    assert found["total_s_with_written"] == {"p50": 5.0, "p95": 5.0}
    assert found["total_s_quotes_only"] == {"p50": 2.0, "p95": 2.0}


def test_the_share_outside_the_model_is_what_neither_prefill_nor_decode_took() -> None:
    assert figures(asked(builders.answer(), total=2.0, prefill=0.5, decode=1.0))["outside_model"] == 0.25
    assert figures(asked(builders.answer(), total=2.0))["outside_model"] is None


def test_the_language_is_read_from_the_text_and_not_believed() -> None:
    wrong = asked(builders.answer(), text="La fiebre es una defensa del cuerpo contra las infecciones y suele pasar sola.")

    assert figures(asked(builders.answer()))["right_language"] == 1.0
    assert figures(wrong)["right_language"] == 0.0
    assert figures(asked(builders.answer()), lang="es")["right_language"] == 0.0


def test_a_source_that_no_sentence_comes_from_is_a_foreign_link() -> None:
    found = figures(asked(builders.answer(sources=(builders.source(), builders.source(document_id="invented")))))

    assert found["links_not_retrieved"] == 1


def test_an_answer_of_more_than_seventy_five_words_is_counted() -> None:
    long = builders.sentence("parola " * 76)

    assert figures(asked(builders.answer(long)), asked(builders.answer()))["words_within_limit"] == 0.5


def test_questions_are_asked_one_after_another_and_told_of(make_asker: MakeAsker) -> None:
    told: list[tuple[str, int, int]] = []
    rows = [{"text": "febbre?"}, {"text": "tosse?"}]
    found = list(ask_all(make_asker(builders.answer()), rows, lambda *step: told.append(step)))

    assert len(found) == 2
    assert told == [("fast answers", 1, 2), ("fast answers", 2, 2)]


class Line(ScriptedAnswerer):
    """An answering line that remembers which modes it was made ready for."""

    generator_name = None

    def __init__(self, *replies: Reply | Exception) -> None:
        super().__init__(*replies)
        self.warmed: list[Mode] = []

    def warm(self, mode: Mode) -> None:
        self.warmed.append(mode)


@pytest.fixture
def line(monkeypatch: pytest.MonkeyPatch) -> Line:
    made = Line(Abstention(kind=AbstentionKind.OFF_TOPIC, language=Language.ITALIAN))
    monkeypatch.setattr(answers, "build_answerer", lambda *_, **__: made)
    monkeypatch.setattr(answers, "load_generator", lambda *_, **__: None)
    monkeypatch.setattr(answers, "load_embedder", lambda *_: made.embedder)
    monkeypatch.setattr(answers, "load_gate", lambda _: ScriptedGate())
    return made


def test_each_question_is_answered_in_each_mode_and_its_record_shown(line: Line, write_set: WriteSet, tmp_path: Path) -> None:
    shown: list[dict[str, Any]] = []
    rows = [{"id": "a", "text": "calcio?"}, {"id": "b", "text": "vela?"}]
    figures = evaluate_answers(
        Settings(home=tmp_path), write_set(*rows), lambda *_: None, modes=list(Mode), published=2, show=shown.append
    )

    assert [(row["id"], row["mode"]) for row in shown] == [("a", "fast"), ("b", "fast"), ("a", "precise"), ("b", "precise")]
    assert {mode: found["questions"] for mode, found in figures["modes"].items()} == {"fast": 2, "precise": 2}
    assert line.warmed == list(Mode)
    assert "published" not in figures  # without a generator there is no such pipeline


def test_the_command_prints_a_record_a_line_and_the_summary_last(
    line: Line, monkeypatch: pytest.MonkeyPatch, write_set: WriteSet, tmp_path: Path
) -> None:
    monkeypatch.setenv("SALUS_HOME", str(tmp_path))
    path = write_set({"id": "a", "text": "calcio?"}, {"id": "b", "text": "vela?"})
    run = CliRunner().invoke(evaluation, ["answers", "--questions", str(path), "--json"])

    printed = [json.loads(text) for text in run.stdout.splitlines()]
    assert [row.get("id") for row in printed] == ["a", "b", None]
    assert printed[-1]["summary"]["questions"] == 2
    assert line.warmed == [Mode.FAST]


def test_a_span_that_does_not_stand_in_its_passage_is_no_proof() -> None:
    made_up = replace(builders.evidence(), sentence=Sentence(text="Inventata.", start=0, end=5))
    found = figures(asked(builders.answer(builders.sentence(), builders.sentence(evidence=(made_up,)))))

    assert found["with_span"] == 0.5


def test_what_an_answer_takes_is_told_over_the_time_of_the_model() -> None:
    found = figures(asked(builders.answer(), total=2.2, prefill=1.0, decode=1.0))

    assert found["total_by_model_time"] == {"p50": 1.1, "p95": 1.1}


def test_an_asker_of_the_real_kind_fits(make_asker: MakeAsker) -> None:
    assert isinstance(make_asker(builders.answer()), Asker)
