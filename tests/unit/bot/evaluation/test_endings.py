import json
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from bot.evaluation.endings import hand_over
from rag.evaluation.report import write_page

FIGURES = {"rows": [{"set": "città", "first": 0.5}]}


def show(figures: dict[str, Any], out: Console) -> None:
    out.print(f"{figures['rows'][0]['set']}: table")


def write(figures: dict[str, Any], path: Path) -> None:
    write_page(f"<p>{figures['rows'][0]['set']}", path)


def test_figures_are_shown_as_tables(capsys: pytest.CaptureFixture[str]) -> None:
    hand_over(FIGURES, show, as_json=False, write=write, report=None)
    assert capsys.readouterr().out == "città: table\n"


def test_figures_are_printed_as_json_and_nothing_else(capsys: pytest.CaptureFixture[str]) -> None:
    hand_over(FIGURES, show, as_json=True, write=write, report=None)
    assert json.loads(capsys.readouterr().out) == FIGURES


@pytest.mark.parametrize("as_json", [True, False])
def test_a_report_is_written_beside_either(as_json: bool, tmp_path: Path) -> None:
    hand_over(FIGURES, show, as_json=as_json, write=write, report=tmp_path / "report.html")
    assert "città" in (tmp_path / "report.html").read_text(encoding="utf-8")
