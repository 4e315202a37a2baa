"""`salus eval traceability | compare | rate`: the evaluations of published chatbots, run on this one."""

from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from bot.errors import BotError
from bot.evaluation.endings import Report, hand_over
from bot.terminal import ERR, OUT, AsJson, start

_NEEDED = ("sklearn", "scipy", "sacrebleu", "rouge_score", "nltk", "matplotlib")

Limit = Annotated[int | None, typer.Option(min=1, help="Only the first so many questions.")]


class LibraryMissing(BotError):
    """What the evaluations measure with is not installed; the message names it."""


def register(evaluation: typer.Typer) -> None:
    """Add these commands to `salus eval`."""
    evaluation.command("traceability")(evaluate_traceability)
    evaluation.command("compare")(compare)
    evaluation.command("rate")(rate)


def evaluate_traceability(
    without_generator: Annotated[bool, typer.Option("--without-generator", help="Answers of quotes alone.")] = False,
    limit: Limit = None,
    report: Report = None,
    as_json: AsJson = False,
) -> None:
    """Measure how far answers can be traced to evidence, under three uses of the intended topic; goes on where it was killed."""
    settings = start(quiet=True)
    check(report)
    from bot.evaluation.seed_runs import run_traceability
    from bot.evaluation.seed_tables import print_traceability
    from bot.progress import counted_progress
    from rag.evaluation.traceability_report import write_traceability_report
    from rag.models.load import NO_MODEL

    if without_generator:
        settings = settings.model_copy(update={"generator": NO_MODEL})
    with counted_progress(ERR) as progress:
        figures = run_traceability(settings, progress, limit=limit)
    hand_over(figures, print_traceability, as_json=as_json, write=write_traceability_report, report=report)


def compare(
    system: Annotated[
        list[str] | None,
        typer.Option(help="No-RAG, R+Q+RR, R+Q+RR+S, Fast or Precise; give it again for more. All but the last if not given."),
    ] = None,
    limit: Limit = None,
    report: Report = None,
    as_json: AsJson = False,
) -> None:
    """Compare the generator alone, from passages, and from summaries with verified answers; goes on where it was killed."""
    settings = start(quiet=True)
    check(report)
    from bot.evaluation.seed_runs import run_comparison
    from bot.evaluation.seed_tables import print_comparison
    from bot.progress import counted_progress
    from rag.evaluation.comparison_report import write_comparison_report

    with counted_progress(ERR) as progress:
        figures = run_comparison(settings, progress, systems=system or (), limit=limit)
    hand_over(figures, print_comparison, as_json=as_json, write=write_comparison_report, report=report)


def rate(
    files: Annotated[
        list[Path], typer.Argument(exists=True, help="Records of answers, as `compare` keeps them; with --analyse, sheets.")
    ],
    key: Annotated[Path, typer.Option(dir_okay=False, help="Tells which system each answer is of; never among the sheets.")],
    analyse: Annotated[bool, typer.Option("--analyse", help="Read sheets that came back.")] = False,
    out: Annotated[Path, typer.Option(file_okay=False, help="The folder of the sheets; made new.")] = Path("sheets"),
    system: Annotated[
        list[str] | None, typer.Option(help="A system that is rated; give it again for more. All if not given.")
    ] = None,
    raters: Annotated[int, typer.Option(min=1, help="Sheets a language.")] = 3,
    limit: Annotated[int | None, typer.Option(min=1, help="Most questions a language, drawn by chance.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Of all that is drawn and shuffled.")] = 0,
    report: Report = None,
    as_json: AsJson = False,
) -> None:
    """Make blind sheets on which clinicians rate answers, or analyse the sheets that came back."""
    start(quiet=True)
    check(report)
    if not analyse:
        from bot.evaluation.rating_sheets import draw_sheets, read_answers, write_sheets

        sheets = draw_sheets(read_answers(files), systems=system or (), raters=raters, limit=limit, seed=seed)
        for path in write_sheets(sheets, out, key):
            OUT.print(str(path), markup=False, highlight=False, soft_wrap=True)
        return
    from bot.evaluation.rating import analyse as measure
    from bot.evaluation.rating_returns import Key, read_returned
    from bot.evaluation.seed_tables import print_rating
    from rag.evaluation.rating_report import write_rating_report

    names = Key.read(key)
    figures = measure(read_returned(files, names), names)
    hand_over(figures, partial(print_rating, err=ERR), as_json=as_json, write=write_rating_report, report=report)


def check(report: Path | None) -> None:
    """See that all is there, before hours of measuring."""
    missing = [name for name in _NEEDED if find_spec(name) is None]
    if missing:
        raise LibraryMissing(f"{missing[0]} is not installed: `pip install 'salus[eval]'`.")
    if report:
        from rag.evaluation.report import check_report

        check_report(report)
