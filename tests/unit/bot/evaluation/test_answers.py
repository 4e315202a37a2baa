import json
from pathlib import Path
from typing import Any

import pytest

from bot.asker import Asked, Asker
from bot.evaluation import answers
from bot.evaluation.answers import ask_all, evaluate_answers, summary
from bot.settings import Settings
from channels.messages import OutboundMessage
from locales.language import Language
from rag.types import Abstention, AbstentionKind, Mode, Reply, SentenceKind
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
    assert told == [("questions", 1, 2), ("questions", 2, 2)]


def test_each_question_is_one_line_of_json_and_the_summary_comes_last(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], write_set: WriteSet, tmp_path: Path
) -> None:
    class Line(ScriptedAnswerer):
        generator_name = None
        warmed = 0

        def warm(self) -> None:
            Line.warmed += 1

    line = Line(Abstention(kind=AbstentionKind.OFF_TOPIC, language=Language.ITALIAN))
    monkeypatch.setattr(answers, "build_answerer", lambda _: line)
    monkeypatch.setattr(answers, "load_gate", lambda _: ScriptedGate())
    rows = [{"id": "a", "text": "calcio?"}, {"id": "b", "text": "vela?"}]

    evaluate_answers(Settings(home=tmp_path), write_set(*rows), as_json=True, progress=lambda *_: None)

    printed = [json.loads(text) for text in capsys.readouterr().out.splitlines()]
    assert [row.get("id") for row in printed] == ["a", "b", None]
    assert printed[-1]["summary"]["questions"] == 2
    assert Line.warmed == 1


def test_an_asker_of_the_real_kind_fits(make_asker: MakeAsker) -> None:
    assert isinstance(make_asker(builders.answer()), Asker)
