"""How a terminal shows the evaluations of published chatbots, also one of 80 columns."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console

from bot.tables import narrow_table, show_table

_Rows = Sequence[Mapping[str, Any]]


def print_traceability(figures: Mapping[str, Any], out: Console) -> None:
    """Means by policy, then the policies against each other."""
    measures = {
        "retrieved": "found",
        "verified": "verified",
        "topic_matched": "on topic",
        "sentences": "sent.",
        "aligned": "aligned",
    }
    means = narrow_table("set, policy", *measures.values(), "answered", "n")
    for row in figures["rows"]:
        told = [f"{row[key]:.2f}" for key in measures]
        means.add_row(f"{row['set']}, {row['policy']}", *told, f"{row['answered']:.2f}", str(row["n"]))
    show_table(out, "means a question", means)
    show_comparisons(figures["comparisons"], out)


def print_comparison(figures: Mapping[str, Any], out: Console) -> None:
    """Measures by system, the matrices of informative difference, then the systems against each other."""
    table = narrow_table("set, system", "TF-IDF", "ROUGE-L", "BLEU", "emb. F1", "s", "acc.", "n")
    for row in figures["rows"]:
        accuracy = "—" if row["retrieval_accuracy"] is None else f"{row['retrieval_accuracy']:.2f}"
        told = (f"{row['tfidf']:.2f}", f"{row['rouge_l']:.3f}", f"{row['bleu']:.2f}", f"{row['embedding_f1']:.3f}")
        table.add_row(f"{row['set']}, {row['system']}", *told, f"{row['seconds']:.1f}", accuracy, str(row["n"]))
    show_table(out, "means an answer", table)
    for one in figures["matrices"]:
        matrix = narrow_table("row − column", *one["systems"])
        for name, cells in zip(one["systems"], one["cells"], strict=True):
            matrix.add_row(name, *(f"{cell:+.2f}" for cell in cells))
        show_table(out, f"informative difference, {one['set']}", matrix)
    show_comparisons(figures["comparisons"], out)


def print_rating(figures: Mapping[str, Any], out: Console, err: Console) -> None:
    """Scores, preferences and agreement; then what could not be counted."""
    aspects = ("accuracy", "relevance", "completeness", "clarity", "consistency", "overall")
    scores = narrow_table("set, system", *(name[:9] for name in aspects), "n")
    for row in figures["rows"]:
        scores.add_row(
            f"{row['set']}, {row['system']}",
            *("—" if row[name] is None else f"{row[name]:.2f}" for name in aspects),
            str(row["n"]),
        )
    show_table(out, "mean scores, 0 to 5", scores)
    show_comparisons(figures["comparisons"], out)
    votes = narrow_table("set, first : second", "votes", "equal", "questions", "p", "p, Holm")
    for row in figures["preferences"]:
        pair, counts = f"{row['set']}, {row['first']} : {row['second']}", f"{row['votes_first']} : {row['votes_second']}"
        questions = f"{row['questions_first']} : {row['questions_second']}"
        votes.add_row(pair, counts, str(row["votes_equal"]), questions, f"{row['p']:.3f}", f"{row['p_holm']:.3f}")
    show_table(out, "preferences, sign test over questions", votes)
    agreement = narrow_table("set, measure", "alpha", "kappa", "raters")
    for row in figures["agreement"]:
        told = ("—" if row[name] is None else f"{row[name]:.3f}" for name in ("alpha", "kappa"))
        agreement.add_row(f"{row['set']}, {row['measure']}", *told, str(row["raters"]))
    show_table(out, "agreement of the raters", agreement)
    for problem in figures["problems"]:
        place = ", ".join(str(part) for part in (problem["file"], problem["line"], problem["code"]) if part)
        err.print(f"! {place}{': ' if place else ''}{problem['problem']}", style="yellow", markup=False, soft_wrap=True)


def show_comparisons(rows: _Rows, out: Console) -> None:
    """Differences with their intervals and chances, of the last set: that is all questions together."""
    table = narrow_table("measure", "second − first", "difference", "p", "p, Holm")
    last = rows[-1]["set"] if rows else ""
    for row in (row for row in rows if row["set"] == last):
        interval = f"{row['difference']:+.3f} [{row['low']:+.3f}, {row['high']:+.3f}]"
        pair = f"{row['second']} − {row['first']}"
        table.add_row(row["measure"], pair, interval, f"{row['p']:.3f}", f"{row['p_holm']:.3f}")
    show_table(out, f"{last}, on the same questions: mean difference, 95 % interval, signed-rank test", table)
