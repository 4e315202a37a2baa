"""`salus eval …`: the evaluations as commands. Each imports what it needs, as in `bot/cli.py`."""

from pathlib import Path
from typing import Annotated

import typer

from bot.evaluation.answer_commands import register as register_answers
from bot.evaluation.dialogue_commands import register as register_dialogues
from bot.evaluation.endings import Report, hand_over
from bot.evaluation.seed_commands import register
from bot.evaluation.shipped import Half
from bot.tables import print_figures
from bot.terminal import ERR, OUT, AsJson, busy, start

evaluation = typer.Typer(help="Measure retrieval, the safety gate and answers.", no_args_is_help=True)
register_answers(evaluation)
register(evaluation)
register_dialogues(evaluation)

InputFile = Annotated[Path, typer.Option(exists=True, dir_okay=False, readable=True)]


@evaluation.command("retrieval")
def evaluate_retrieval(
    docs: Annotated[Path, typer.Option(exists=True, dir_okay=False, readable=True, help="Lines {id, lang, title, text, url?}.")],
    queries: Annotated[
        Path,
        typer.Option(exists=True, dir_okay=False, readable=True, help="Lines {id, lang, question, gold: list of ids, set?}."),
    ],
    config: Annotated[
        list[str] | None, typer.Option(help="A configuration; give it again for more. All that need no generator if not given.")
    ] = None,
    report: Report = None,
    as_json: AsJson = False,
) -> None:
    """Measure how well questions find their pages; a run that was killed goes on where it was when it is started again."""
    settings = start(quiet=True)
    from bot.evaluation.retrieval import CONFIGS, check_configs
    from bot.evaluation.retrieval import evaluate_retrieval as measure
    from bot.evaluation.retrieval_tables import print_problems, print_retrieval
    from bot.progress import counted_progress
    from rag.evaluation.report import check_report, write_report
    from rag.models.load import load_embedder, load_generator

    needs_generator = check_configs(config or CONFIGS)
    if report:
        check_report(report)
    with busy("Loading the models…"):
        embedder = load_embedder(settings.embedder, settings.home, settings.threads)
        generator = (
            load_generator(settings.generator, settings.home, threads=settings.threads, server=settings.generator_server)
            if needs_generator
            else None
        )
    with counted_progress(ERR) as progress:
        figures = measure(
            docs,
            queries,
            embedder,
            cache_dir=settings.home / "eval",
            configs=config or CONFIGS,
            generator=generator,
            progress=progress,
        )
    hand_over(figures, print_retrieval, as_json=as_json, write=write_report, report=report)
    print_problems(figures["problems"], ERR)


@evaluation.command("safety")
def evaluate_safety(phrases: InputFile, as_json: AsJson = False) -> None:
    """Measure what the safety gate catches and what it takes for an emergency wrongly."""
    start(quiet=True)
    from bot.evaluation.safety import evaluate_safety as measure

    print_figures(measure(phrases), OUT, as_json=as_json)


@evaluation.command("pages")
def evaluate_pages(questions: InputFile, as_json: AsJson = False) -> None:
    """Measure how well lay questions find the starter pages, and are answered from them."""
    settings = start(quiet=True)
    from dataclasses import replace

    from bot.asker import Asker
    from bot.evaluation.pages import evaluate_pages as measure
    from bot.loading import load_gate, load_renderer, rag_settings
    from bot.progress import counted_progress
    from rag.build import build_answerer
    from rag.models.load import NO_MODEL

    with busy("Loading the embedder…"):
        answerer = build_answerer(replace(rag_settings(settings), generator=NO_MODEL))
        asker = Asker(load_gate(answerer.embedder), load_renderer(settings), lambda: answerer)
    with counted_progress(ERR) as progress:
        figures = measure(questions, answerer, asker, progress)
    print_figures(figures, OUT, as_json=as_json)


@evaluation.command("fit-gate")
def fit_gate(as_json: AsJson = False) -> None:
    """Fit the gate's second reading to the phrases that ship with the project, and write it into `locales/`."""
    settings = start(quiet=True)
    from bot.evaluation.cached_embedder import CachedEmbedder
    from bot.evaluation.gate_fitting import fit_gate as fit
    from bot.progress import counted_progress
    from rag.models.e5 import E5Embedder

    with counted_progress(ERR) as progress:
        embedder = CachedEmbedder(E5Embedder(settings.threads), settings.home / "eval")
        figures = fit(embedder, progress)
        embedder.save()
    print_figures(figures, OUT, as_json=as_json)


@evaluation.command("fit-coverage")
def fit_coverage() -> None:
    """Fit the decision whether a question is covered to the shipped questions, and print coefficients and figures."""
    settings = start(quiet=True)
    from bot.evaluation.cached_embedder import CachedEmbedder
    from bot.evaluation.coverage_fitting import fit_coverage as fit
    from bot.evaluation.shipped import coverage_questions
    from bot.progress import counted_progress
    from rag.models.load import load_embedder
    from rag.store import IndexStore

    with busy("Loading the embedder…"):
        embedder = CachedEmbedder(load_embedder(settings.embedder, settings.home, settings.threads), settings.home / "eval")
    store = IndexStore(settings.home / "index")
    with counted_progress(ERR) as progress:
        figures = fit(coverage_questions(), lambda language: store.open(language, embedder.fingerprint), embedder, progress)
    embedder.save()
    print_figures(figures, OUT, as_json=True)


@evaluation.command("ingestion")
def evaluate_ingestion(
    docs: Annotated[
        Path | None, typer.Option(exists=True, help="A folder or JSON Lines file; the starter texts if not given.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, help="Most pages.")] = 60,
    answers: Annotated[bool, typer.Option("--answers", help="Also measure answers beside a run; needs the generator.")] = False,
    as_json: AsJson = False,
) -> None:
    """Measure how fast nights are, and how much a run slows answers down."""
    settings = start(quiet=True)
    from bot.evaluation.ingestion import measure_answers_beside_a_run, measure_nights
    from bot.progress import counted_progress
    from rag.models.load import load_embedder

    with busy("Loading the embedder…"):
        embedder = load_embedder(settings.embedder, settings.home, settings.threads)
    with counted_progress(ERR) as progress:
        figures = {"nights": measure_nights(embedder, docs, limit, progress)}
        if answers:
            figures["answers"] = measure_answers_beside_a_run(settings, progress)
    print_figures(figures, OUT, as_json=as_json)


@evaluation.command("diseases")
def evaluate_diseases(
    without_generator: Annotated[
        bool, typer.Option("--without-generator", help="Measure the index on diagnosis texts alone.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Measure how well patients' first words find their condition, by diagnosis texts and by pseudo medical histories."""
    settings = start(quiet=True)
    from bot.evaluation.cached_embedder import CachedEmbedder
    from bot.evaluation.diseases import evaluate_diseases as measure
    from bot.evaluation.diseases import load_writer
    from bot.progress import counted_progress
    from rag.models.load import load_embedder

    with busy("Loading the models…"):
        embedder = CachedEmbedder(load_embedder(settings.embedder, settings.home, settings.threads), settings.home / "eval")
        writer = None if without_generator else load_writer(settings)
    with counted_progress(ERR) as progress:
        figures = measure(embedder, writer=writer, cache_dir=settings.home / "eval", progress=progress)
    embedder.save()
    print_figures(figures, OUT, as_json=as_json)


@evaluation.command("cross-language")
def evaluate_cross_language(
    half: Annotated[Half, typer.Option(help="The half that is tuned on, or the one that is only reported.")] = Half.DEV,
    as_json: AsJson = False,
) -> None:
    """Measure how well questions find their page in the other language, and who is pointed there, rightly and wrongly."""
    settings = start(quiet=True)
    from dataclasses import replace

    from bot.evaluation.cached_embedder import CachedEmbedder
    from bot.evaluation.cross_language import Lines
    from bot.evaluation.cross_language import evaluate_cross_language as measure
    from bot.evaluation.shipped import lay_other_questions, lay_questions, page_questions
    from bot.loading import rag_settings
    from bot.progress import counted_progress
    from rag.build import build_answerer
    from rag.models.load import NO_MODEL, load_embedder
    from rag.store import IndexStore

    with busy("Loading the embedder…"):
        embedder = CachedEmbedder(load_embedder(settings.embedder, settings.home, settings.threads), settings.home / "eval")
    store, quoting = IndexStore(settings.home / "index"), replace(rag_settings(settings), generator=NO_MODEL)
    lines = Lines.of(
        lambda language: store.open(language, embedder.fingerprint),
        embedder,
        lambda open_reader: build_answerer(quoting, embedder=embedder, open_reader=open_reader),
    )
    with counted_progress(ERR) as progress:
        figures = measure([lay_questions(half), page_questions(half)], [lay_other_questions(half)], lines, progress)
    embedder.save()
    print_figures(figures, OUT, as_json=as_json)


@evaluation.command("scale")
def evaluate_scale(
    surfaces: Annotated[int, typer.Option(min=100, help="How many texts can be found in the index.")] = 385_000,
    as_json: AsJson = False,
) -> None:
    """Measure how fast an index of a large deployment is built, changed and searched; takes some minutes and gigabytes."""
    settings = start(quiet=True)
    from functools import partial

    from bot.evaluation.scale import evaluate_scale as measure
    from bot.progress import counted_progress
    from rag.models.load import load_embedder

    load = partial(load_embedder, settings.embedder, settings.home, settings.threads)
    with counted_progress(ERR) as progress:
        figures = measure(settings.home, load, surfaces, progress)
    print_figures(figures, OUT, as_json=as_json)


@evaluation.command("all")
def evaluate_all(
    half: Annotated[Half, typer.Option(help="The half that is tuned on, or the one that is only reported.")] = Half.DEV,
    pin: Annotated[bool, typer.Option("--pin", help="Pin the floors of the benchmark to what is measured.")] = False,
    lower_floors: Annotated[bool, typer.Option("--lower-floors", help="Pin also what is lower than before.")] = False,
    as_json: AsJson = False,
) -> None:
    """Run every evaluation that needs no generator on the sets that ship with the project, against their floors."""
    settings = start(quiet=True)
    from bot.evaluation.everything import evaluate_all as measure
    from bot.progress import counted_progress

    with counted_progress(ERR) as progress:
        measure(settings, half, as_json=as_json, progress=progress, pin=pin, may_lower=lower_floors)


@evaluation.command("abstention")
def evaluate_abstention(
    half: Annotated[Half, typer.Option(help="The half that is tuned on, or the one that is only reported.")] = Half.DEV,
    report: Report = None,
    as_json: AsJson = False,
) -> None:
    """Measure how well covered questions are told from others, and whether probabilities and similarity mean what they say."""
    settings = start(quiet=True)
    from bot.evaluation.abstention import evaluate_abstention as measure
    from bot.evaluation.abstention_tables import print_abstention
    from bot.evaluation.cached_embedder import CachedEmbedder
    from bot.evaluation.shipped import lay_other_questions, lay_questions, page_questions
    from bot.progress import counted_progress
    from rag.evaluation.abstention_report import write_abstention_report
    from rag.evaluation.report import check_report
    from rag.models.load import load_embedder
    from rag.store import IndexStore

    if report:
        check_report(report)
    with busy("Loading the embedder…"):
        embedder = CachedEmbedder(load_embedder(settings.embedder, settings.home, settings.threads), settings.home / "eval")
    store = IndexStore(settings.home / "index")
    covered, others = [lay_questions(half), page_questions(half)], [lay_other_questions(half)]
    with counted_progress(ERR) as progress:
        figures = measure(covered, others, lambda language: store.open(language, embedder.fingerprint), embedder, progress)
    embedder.save()
    figures["about"]["half"] = half.value
    hand_over(figures, print_abstention, as_json=as_json, write=write_abstention_report, report=report)
