import base64
import re
from pathlib import Path
from typing import Any

import pytest

from rag.evaluation import report
from rag.evaluation.report import ReportUnwritable, check_report, render_report, write_report

EVIL = "<script>alert(1)</script> & $x_1$"


def row(name: str, config: str, mrr: float, n: int = 10) -> dict[str, Any]:
    times = {"p50_ms": 12.0, "p95_ms": 30.0}
    hits = {f"hit@{k}": value for k, value in zip((1, 3, 5, 10), (0.5, 0.7, 0.8, 0.9), strict=True)}
    bounds = {"hit@5_low": 0.6, "hit@5_high": 1.0, "mrr@10_low": mrr - 0.1, "mrr@10_high": mrr + 0.1}
    stages = {"embed": times, "dense": times}
    return {"set": name, "config": config, **hits, "mrr@10": mrr, "ndcg@10": 0.7, "n": n, **times, **bounds, "stages": stages}


def figures(*names: str) -> dict[str, Any]:
    compared = {"mrr@10_gain": 0.1, "mrr@10_low": 0.05, "mrr@10_high": 0.15, "mrr@10_p": 0.0004, "mrr@10_is_clear": True}
    changed = {"hit@5_gained": 4, "hit@5_lost": 1, "hit@5_p": None}
    problem = {"file": "queries", "line": 3, "id": EVIL, "problem": "no_gold", "detail": "no right document", "left_out": True}
    return {
        "about": {"embedder": EVIL, "docs_sha256": "ab" * 32, "queries_sha256": "cd" * 32, "documents": 5, "measured": 10},
        "rows": [row(name, config, 0.6) for config in ("lexical", "dense") for name in (*names, "all")],
        "comparisons": [{"set": name, "first": "lexical", "second": "dense", "n": 10, **compared, **changed} for name in names],
        "problems": [problem],
    }


def test_a_report_tells_what_was_measured_and_how_well() -> None:
    page = render_report(figures("uno", "due"))
    assert page.count("data:image/svg+xml;base64,") == 3
    for told in ("ab" * 32, "cd" * 32, "<td class=id>dense</td>", "0.600", "[0.500, 0.700]", "12.0 / 30.0", "+4 −1", "&lt;0.001"):
        assert told in page


def test_a_report_needs_nothing_from_elsewhere_and_runs_nothing() -> None:
    page = render_report(figures(EVIL))
    assert not re.search(r"<script|https?:|<link|@import|url\(", page)
    assert "&lt;script&gt;alert(1)&lt;/script&gt; &amp; $x_1$" in page
    for image in re.findall(r"base64,([^\"]+)", page):
        assert b"<script" not in base64.b64decode(image)


def test_the_same_figures_give_the_same_report() -> None:
    assert render_report(figures("uno")) == render_report(figures("uno"))


@pytest.mark.parametrize("names", [("uno",), tuple(f"set {number}" for number in range(12)), ("名前",)])
def test_charts_are_drawn_for_one_set_and_for_many(names: tuple[str, ...]) -> None:
    assert render_report(figures(*names)).count("<img") == 3


def test_figures_at_the_ends_of_their_scale_are_drawn() -> None:
    told = figures("uno")
    for one in told["rows"]:
        worst = one["config"] == "lexical"
        one |= {key: float(not worst) for key in one if key.startswith(("hit@", "mrr@"))}
        one |= {"p50_ms": 0.0, "p95_ms": 0.0, "stages": {}}
    assert render_report(told | {"comparisons": [], "problems": []}).count("<img") == 3


def test_a_report_is_written_in_one_move(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    write_report(figures("uno"), path)
    assert path.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert list(tmp_path.iterdir()) == [path]


def test_what_cannot_be_written_is_said_before_anything_is_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check_report(tmp_path / "report.html")
    with pytest.raises(ReportUnwritable, match="no folder"):
        check_report(tmp_path / "absent" / "report.html")
    with pytest.raises(ReportUnwritable):
        write_report(figures("uno"), tmp_path / "absent" / "report.html")
    monkeypatch.setattr(report, "find_spec", lambda _name: None)
    with pytest.raises(ReportUnwritable, match="pip install matplotlib"):
        check_report(tmp_path / "report.html")
