import json
from pathlib import Path
from typing import Any

import pytest

from bot.evaluation import bench as module
from bot.evaluation.bench import bench
from bot.settings import Settings
from rag.settings import RagSettings
from tests import builders
from tests.fakes import ScriptedAnswerer, ScriptedGate


class Line(ScriptedAnswerer):
    """An answering line that notes when it was warmed."""

    generator_name = "scripted"

    def __init__(self) -> None:
        super().__init__(builders.answer())
        self.asked_when_warmed: list[int] = []

    def warm(self) -> None:
        self.asked_when_warmed.append(len(self.questions))

    def answer(self, *arguments: Any, **limits: Any) -> Any:
        run = super().answer(*arguments, **limits)
        run.timings_s["first_sentence"] = 0.05
        return run


def test_ten_questions_a_language_are_answered_warm_and_webhooks_measured_after(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    line, posted = Line(), list[str]()

    async def acknowledge(_: Settings, questions: list[str], *, count: int) -> dict[str, float]:
        posted.extend(questions)
        return {"n": count, "p99_ms": 5.0}

    def build(_: RagSettings) -> Line:
        return line

    monkeypatch.setattr(module, "build_answerer", build)
    monkeypatch.setattr(module, "load_gate", lambda _: ScriptedGate())
    monkeypatch.setattr(module, "measure_acknowledgements", acknowledge)

    bench(Settings(home=tmp_path), as_json=True, progress=lambda *_: None)

    printed = json.loads(capsys.readouterr().out)
    assert line.asked_when_warmed == [0]
    assert len(line.questions) == 20
    assert [question.text for question in line.questions] == posted
    assert printed["answers"]["questions"] == 20
    assert printed["acknowledgement"]["p99_ms"] == 5.0
