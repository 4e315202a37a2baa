import base64
import re
from pathlib import Path
from typing import Any

import pytest

from rag.evaluation.abstention_report import render_abstention_report, write_abstention_report
from rag.evaluation.report import ReportUnwritable

EVIL = "<script>alert(1)</script> & $x_1$"
KINDS = ("right", "astray", "near_miss", "off_topic")


def language(name: str, *wrong: str) -> dict[str, Any]:
    shares = {"right": 0.9, "astray": 0.4, "near_miss": 0.2, "off_topic": 0.05}
    told = {
        "n": 5,
        "brier": 0.123,
        "ece": 0.045,
        "bins": [{"n": 2, "predicted": 0.1, "observed": 0.0}, {"n": 3, "predicted": 0.8, "observed": 1.0}],
    }
    return {
        "language": name,
        "questions": dict.fromkeys(KINDS, 7),
        "auc": {kind: {"area": 0.953, "low": 0.911, "high": 0.987} for kind in KINDS[2:]},
        "threshold": 0.2761,
        "decided": shares,
        "at_thresholds": [{"threshold": at, **shares} for at in (0.2, 0.2761, 0.3)],
        "chosen": {kind: [0.2, 0.9] for kind in KINDS[2:]},
        "roc": {kind: [[0.0, 0.0], [0.2, 0.9], [1.0, 1.0]] for kind in KINDS[2:]},
        "reliability": {"coverage": told, "similarity": told},
        "wrong": {"refused": list(wrong), "answered": []},
    }


def figures(*languages: dict[str, Any]) -> dict[str, Any]:
    return {"about": {"embedder": EVIL, "questions": 28}, "languages": list(languages)}


def test_a_report_tells_areas_thresholds_and_reliability() -> None:
    page = render_abstention_report(figures(language("it", "b-it-flu-1"), language("es")))

    assert page.count("data:image/svg+xml;base64,") == 2
    for told in ("0.953", "[0.911, 0.987]", "<td class=id>0.276</td>", "0.123", "0.045", "it: b-it-flu-1", "es: none"):
        assert told in page


def test_the_threshold_of_the_index_is_marked() -> None:
    (line,) = re.findall(r"<tr class=all>.*0\.276.*", render_abstention_report(figures(language("it"))))

    assert "0.900" in line


def test_a_report_needs_nothing_from_elsewhere_and_runs_nothing() -> None:
    page = render_abstention_report(figures(language(EVIL, EVIL)))

    assert not re.search(r"<script|https?:|<link|@import|url\(", page)
    for image in re.findall(r"base64,([^\"]+)", page):
        assert b"<script" not in base64.b64decode(image)


def test_the_same_figures_give_the_same_report() -> None:
    assert render_abstention_report(figures(language("it"))) == render_abstention_report(figures(language("it")))


def test_a_report_is_written_in_one_move(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    write_abstention_report(figures(language("it")), path)

    assert path.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert list(tmp_path.iterdir()) == [path]
    with pytest.raises(ReportUnwritable):
        write_abstention_report(figures(language("it")), tmp_path / "absent" / "report.html")
