"""`salus eval dialogues | interpretation`: a simulated patient, asked back and searched for."""

from typing import Annotated

import typer

from bot.evaluation.endings import Report, hand_over
from bot.evaluation.seed_commands import Limit, check
from bot.evaluation.shipped import Half
from bot.terminal import ERR, AsJson, start

OfHalf = Annotated[Half, typer.Option(help="The half that is tuned on, or the one that is only reported.")]


def register(evaluation: typer.Typer) -> None:
    """Add these commands to `salus eval`."""
    evaluation.command("dialogues")(dialogues)
    evaluation.command("interpretation")(interpretation)


def dialogues(half: OfHalf = Half.DEV, limit: Limit = None, report: Report = None, as_json: AsJson = False) -> None:
    """Measure how well questions narrow down what a patient may have, round by round; goes on where it was killed."""
    settings = start(quiet=True)
    check(report)
    from bot.evaluation.dialogue_runs import run_dialogues
    from bot.evaluation.dialogue_tables import print_dialogues
    from bot.progress import counted_progress
    from rag.evaluation.dialogue_report import write_dialogue_report

    with counted_progress(ERR) as progress:
        figures = run_dialogues(settings, half, progress, limit=limit)
    hand_over(figures, print_dialogues, as_json=as_json, write=write_dialogue_report, report=report)


def interpretation(
    half: OfHalf = Half.DEV,
    with_generator: Annotated[
        bool, typer.Option("--with-generator", help="Also let the generator say each message anew.")
    ] = False,
    limit: Limit = None,
    report: Report = None,
    as_json: AsJson = False,
) -> None:
    """Measure how well long messages find their page, as written and said anew; goes on where it was killed."""
    settings = start(quiet=True)
    check(report)
    from bot.evaluation.dialogue_runs import run_interpretation
    from bot.evaluation.dialogue_tables import print_interpretation
    from bot.progress import counted_progress
    from rag.evaluation.interpretation_report import write_interpretation_report

    with counted_progress(ERR) as progress:
        figures = run_interpretation(settings, half, progress, with_generator=with_generator, limit=limit)
    hand_over(figures, print_interpretation, as_json=as_json, write=write_interpretation_report, report=report)
