import io
from typing import Any

from rich.console import Console

from bot.evaluation.retrieval_figures import comparison_rows, figure_rows
from bot.evaluation.retrieval_tables import print_problems, print_retrieval
from rag.evaluation.metrics import Judged


def judged(name: str, *ranks: int) -> list[Judged]:
    return [
        Judged(
            set_name=name,
            figures={**{f"hit@{k}": float(rank <= k) for k in (1, 3, 5, 10)}, "mrr@10": 1 / rank, "ndcg@10": 0.5},
            stages_s={"embed": 0.02, "dense": 0.01 * rank},
        )
        for rank in ranks
    ]


def figures(problems: int = 0) -> dict[str, Any]:
    answers = {"dense": judged("[uno]", 1, 2, 7, 9), "fused": judged("[uno]", 1, 1, 2, 3)}
    odd = {"file": "queries", "line": 3, "id": "q[7]", "problem": "no_gold", "detail": "no right document", "left_out": True}
    return {
        "rows": [row for name, found in answers.items() for row in figure_rows(name, found)],
        "comparisons": comparison_rows(answers),
        "problems": [odd] * problems,
    }


def test_times_are_told_by_stage_and_together() -> None:
    row = figures()["rows"][0]
    assert row["stages"] == {"embed": {"p50_ms": 20.0, "p95_ms": 20.0}, "dense": {"p50_ms": 20.0, "p95_ms": 90.0}}
    assert (row["p50_ms"], row["p95_ms"]) == (40.0, 110.0)


def test_a_comparison_counts_gained_and_lost_questions() -> None:
    compared = figures()["comparisons"][0]
    assert (compared["hit@5_gained"], compared["hit@5_lost"], compared["hit@5_p"]) == (2, 0, 0.5)
    assert compared["mrr@10_low"] <= compared["mrr@10_gain"] <= compared["mrr@10_high"]


def test_a_terminal_of_80_columns_shows_each_figure_whole() -> None:
    out = io.StringIO()
    print_retrieval(figures(), Console(file=out, width=80))
    shown = out.getvalue()
    for told in ("[uno]: 4 questions", "0.500 0.00–1.00", "dense → fused", "+2 −0", "20.0 / 90.0", "40.0 / 110.0"):
        assert told in shown


def test_the_first_problems_are_told_and_how_many_more_there_are() -> None:
    err = io.StringIO()
    print_problems(figures(problems=30)["problems"], Console(file=err, width=80))
    problems = err.getvalue().splitlines()
    assert problems[0] == "! queries, line 3, q[7]: no right document; left out"
    assert problems[-1] == "! and 10 more: --json names them all"
