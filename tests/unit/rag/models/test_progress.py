import io
import time
from pathlib import Path

from rich.console import Console

from rag.models.progress import Step, shown, watched


def _lines(steps: list[Step]) -> list[str]:
    out = io.StringIO()
    with shown(Console(file=out, width=200)) as report:
        for step in steps:
            report(step)
    return out.getvalue().splitlines()


def test_without_a_terminal_a_step_prints_plain_lines_not_a_flood() -> None:
    steps = [Step(text="part 1 of 2", done_bytes=n * 1_000_000, total_bytes=5_000_000) for n in range(6)]
    assert _lines([*steps, steps[-1]]) == ["part 1 of 2: 0 MB of 5 MB", "part 1 of 2: 5 MB of 5 MB"]


def test_a_message_is_printed_as_it_is() -> None:
    assert _lines([Step(text="The hub [x] cannot be reached.")]) == ["The hub [x] cannot be reached."]


def test_on_a_terminal_there_is_a_bar() -> None:
    out = io.StringIO()
    with shown(Console(file=out, force_terminal=True, width=120)) as report:
        report(Step(text="part 1 of 2", done_bytes=1_000_000, total_bytes=2_000_000))
        report(Step(text="a message"))
    assert "part 1 of 2" in out.getvalue()
    assert "a message" in out.getvalue()


def test_bytes_that_arrive_in_a_folder_are_reported(tmp_path: Path) -> None:
    seen: list[Step] = []
    with watched(tmp_path, seen.append, text="x", total_bytes=100):
        (tmp_path / "a").write_bytes(b"1" * 40)
        time.sleep(0.4)
    assert seen
    assert seen[-1].done_bytes == 40
