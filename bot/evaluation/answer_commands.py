"""`salus eval answers | evidence | injection`: what answers are made of, stage by stage, and what gets past none of them."""

import json
from pathlib import Path
from typing import Annotated

import typer

from bot.evaluation.endings import Report
from bot.evaluation.shipped import Half, evidence_grades, planted_instructions
from bot.tables import print_figures
from bot.terminal import ERR, OUT, AsJson, busy, start
from rag.types import Mode

WithoutGenerator = Annotated[bool, typer.Option("--without-generator", help="Only what needs none.")]


def register(evaluation: typer.Typer) -> None:
    """Add these commands to `salus eval`."""
    evaluation.command("answers")(evaluate_answers)
    evaluation.command("evidence")(evaluate_evidence)
    evaluation.command("injection")(evaluate_injection)


def evaluate_answers(
    questions: Annotated[Path, typer.Option(exists=True, dir_okay=False, readable=True, help="Lines {id, lang, text}.")],
    mode: Annotated[list[Mode] | None, typer.Option(help="fast or precise; give it again for both. Fast if not given.")] = None,
    published: Annotated[
        int, typer.Option(min=0, help="Answer so many questions also in the shape of published pipelines, for the seconds.")
    ] = 0,
    report: Report = None,
    as_json: AsJson = False,
) -> None:
    """Answer a file of questions: one record a line, and a summary."""
    settings = start(quiet=True)
    from bot.evaluation.answers import evaluate_answers as measure
    from bot.progress import counted_progress
    from rag.evaluation.answers_report import write_answers_report
    from rag.evaluation.report import check_report

    if report:
        check_report(report)
    with counted_progress(ERR) as progress:
        figures = measure(
            settings,
            questions,
            progress,
            modes=mode or [Mode.FAST],
            published=published,
            show=lambda record: print(json.dumps(record, ensure_ascii=False)),  # noqa: T201
        )
    if report:
        write_answers_report(figures, report)
    summaries = figures["modes"]
    told = next(iter(summaries.values())) if len(summaries) == 1 else {"modes": summaries}
    told |= {"published": figures["published"]} if "published" in figures else {}
    print(json.dumps({"summary": told}, ensure_ascii=False, indent=None if as_json else 2))  # noqa: T201


def evaluate_evidence(
    half: Annotated[Half, typer.Option(help="The half that is tuned on, or the one that is only reported.")] = Half.DEV,
    without_generator: WithoutGenerator = False,
    as_json: AsJson = False,
) -> None:
    """Measure how well grades choose the sentences that answer a question, against the order of retrieval; can be resumed."""
    settings = start(quiet=True)
    from bot.evaluation.evidence_grades import evaluate_evidence_grades as measure
    from bot.progress import counted_progress
    from rag.models.load import load_generator

    with busy("Loading the generator…"):
        model = (
            None
            if without_generator
            else load_generator(settings.generator, settings.home, threads=settings.threads, server=settings.generator_server)
        )
    with counted_progress(ERR) as progress:
        print_figures(measure(evidence_grades(half), model, settings.home / "eval", progress), OUT, as_json=as_json)


def evaluate_injection(without_generator: WithoutGenerator = False, as_json: AsJson = False) -> None:
    """Plant instructions in pages and messages, and see whether any is obeyed."""
    settings = start(quiet=True)
    from bot.evaluation.cached_embedder import CachedEmbedder
    from bot.evaluation.injection import evaluate_injections as measure
    from bot.progress import counted_progress
    from rag.models.load import load_embedder, load_generator

    with busy("Loading the models…"):
        embedder = CachedEmbedder(load_embedder(settings.embedder, settings.home, settings.threads), settings.home / "eval")
        model = (
            None
            if without_generator
            else load_generator(settings.generator, settings.home, threads=settings.threads, server=settings.generator_server)
        )
    with counted_progress(ERR) as progress:
        figures = measure(settings, planted_instructions(), embedder, model, progress)
    print_figures(figures, OUT, as_json=as_json)
