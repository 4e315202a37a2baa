"""The command line. Each command imports what it needs, so that `salus --help` is there at once."""

import asyncio
import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from bot.errors import BotError
from bot.evaluation.commands import evaluation
from bot.ingest_request import Trigger, Wanted
from bot.source_commands import show_runs, sources
from bot.terminal import ERR, OUT, AsJson, busy, start
from channels.errors import ChannelError
from ingest.errors import IngestError
from locales.language import Language
from rag.errors import RagError
from rag.types import Mode

if TYPE_CHECKING:
    from bot.settings import Settings

cli = typer.Typer(
    name="salus",
    help="Health information in Italian and Spanish, every sentence proven by a source.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)
models = typer.Typer(help="The models: which there are, and fetching them.", no_args_is_help=True)
cli.add_typer(models, name="models")
cli.add_typer(evaluation, name="eval")
cli.add_typer(sources, name="sources")
cli.command("runs")(show_runs)


def main() -> None:
    """Run the command line: an error of ours is one sentence, and never a traceback, which could hold a patient's words."""
    try:
        cli()
    except (BotError, RagError, IngestError, ChannelError) as error:
        ERR.print(f"salus: {error}", markup=False, highlight=False, soft_wrap=True)
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:
        sys.exit(141)
    except Exception as error:  # noqa: BLE001 - its text may hold anything
        from bot.telemetry import error_name, place_of

        place = place_of(error.__traceback__)
        ERR.print(f"salus: unexpected {error_name(error)} at {place}. Please report it.", markup=False, highlight=False)
        sys.exit(1)


@cli.command()
def ask(
    question: Annotated[str, typer.Argument(help="What a patient would write.", show_default=False)],
    lang: Annotated[Language | None, typer.Option(help="Answer in this language; recognised when left out.")] = None,
    mode: Annotated[Mode | None, typer.Option(help="fast or precise; as SALUS_MODE says if not given.")] = None,
    country: Annotated[str | None, typer.Option(help="ISO 3166 code: whose emergency numbers are shown.")] = None,
    as_json: AsJson = False,
) -> None:
    """Ask one question and print the answer with its sources."""
    settings = start(quiet=True)
    from bot.asker import Asker
    from bot.loading import load_gate, load_renderer
    from bot.terminal_answer import TerminalAnswer

    with ERR.status("Thinking…") as status:
        answer = TerminalAnswer(OUT, status)
        on_growth = answer.grow if settings.streaming and not as_json else None
        asker = Asker(load_gate(), load_renderer(settings), lambda: _open_answerer(settings), country=country)
        asked = asker.ask(
            question,
            language=lang,
            mode=mode or settings.mode,
            deadline_s=settings.answer_deadline_s,
            on_growth=on_growth,
        )
    if as_json:
        print(json.dumps(asker.record(asked), ensure_ascii=False, indent=2))  # noqa: T201
        return
    answer.finish(replace(asked.message, buttons=()))


@cli.command()
def chat() -> None:
    """Talk to the bot in this terminal; Ctrl-D ends it and nothing is kept."""
    settings = start(quiet=True)
    from bot.app import build
    from channels.console_channel import ConsoleChannel

    console = ConsoleChannel(OUT, when_idle=lambda: app.conversation.idle())
    with busy("Loading the models…"):
        app = build(settings, channels=[console])
    if app.is_extractive:
        ERR.print("No generator is used: answers are quotes of the sources.", style="yellow")

    async def converse() -> None:
        with busy("Warming up…"):
            await app.start(with_web=False)
        try:
            await console.wait_closed()
        finally:
            await app.stop()

    asyncio.run(converse())


@cli.command()
def serve() -> None:
    """Run the bot: messengers, webhooks and source pages, until SIGTERM or Ctrl-C."""
    settings = start()
    from bot.app import build

    with busy("Loading the models…"):
        app = build(settings)
    if app.is_extractive:
        ERR.print("No generator is used: answers are quotes of the sources.", style="yellow")
    asyncio.run(app.serve())


@cli.command()
def ingest(
    source: Annotated[str | None, typer.Option(help="Read this source only.")] = None,
    full: Annotated[bool, typer.Option("--full", help="Read, embed and publish every page again.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Read the sources and say what would change; change nothing.")
    ] = False,
    accept_smaller: Annotated[
        bool, typer.Option("--accept-smaller", help="Believe a source that gives much fewer pages than before.")
    ] = False,
    background: Annotated[bool, typer.Option("--background", help="Yield to everything else on this machine.")] = False,
    trigger: Annotated[Trigger, typer.Option(help="Who began it, for the list of runs.")] = Trigger.COMMAND_LINE,
    events: Annotated[bool, typer.Option("--events", help="Carry out waiting content events only.")] = False,
    as_json: AsJson = False,
) -> None:
    """Read the sources and publish what changed."""
    settings = start(quiet=True)
    from bot.ingest_command import apply_waiting_events, run

    if events:
        problems = apply_waiting_events(settings, background=background)
    else:
        wanted = Wanted(
            source=source, full=full, dry_run=dry_run, accept_smaller=accept_smaller, background=background, trigger=trigger
        )
        problems = run(settings, wanted, as_json=as_json)
    if problems:
        sys.exit(1)


@models.command("list")
def list_models() -> None:
    """Show the models that Salus knows by name and whether they are here."""
    settings = start(quiet=True)
    from rag.models.load import is_local
    from rag.models.registry import rows

    table = Table("name", "role", "size", "licence", "here", "in use")
    for name, row in rows().items():
        size = f"{row.size / 1e6:,.0f} MB" if row.size else "in its package" if row.package else "—"
        used = name in {settings.generator, settings.embedder}
        table.add_row(name, row.role.value, size, row.licence, _mark(is_local(name, settings.home)), "✓" if used else "")
    OUT.print(table)


@models.command("pull")
def pull_models(
    names: Annotated[list[str] | None, typer.Argument(help="Registry or hub names; the configured models when left out.")] = None,
) -> None:
    """Fetch models that are not on this machine yet."""
    settings = start(quiet=True)
    from rag.models.download import pull
    from rag.models.load import NO_MODEL, is_local
    from rag.models.progress import shown

    wanted = names or [name for name in (settings.embedder, settings.generator) if name.lower() != NO_MODEL]
    for name in wanted:
        if not names and is_local(name, settings.home):
            OUT.print(f"{name}: already here", highlight=False, markup=False)
            continue
        with shown(ERR) as report:
            path = pull(name, settings.home, progress=report)
        OUT.print(f"{name}: {path}", highlight=False, markup=False, soft_wrap=True)


@cli.command()
def backup(
    file: Annotated[Path, typer.Argument(help="A .tar.gz or .tar file that does not exist yet, or - for standard output.")],
) -> None:
    """Write index and ledger to one file, also while the bot runs; nothing of any patient is in it."""
    settings = start(quiet=True)
    from bot.backup import back_up, write_backup

    if str(file) == "-":
        write_backup(settings.home, sys.stdout.buffer)
        return
    manifest = back_up(settings.home, file)
    OUT.print(f"{file}: {manifest.told}", highlight=False, markup=False, soft_wrap=True)


@cli.command()
def restore(
    file: Annotated[Path, typer.Argument(help="What `salus backup` wrote, or - for standard input.")],
) -> None:
    """Put a backup in the place of index and ledger, once it is proven whole; the bot must be stopped."""
    settings = start(quiet=True)
    from bot.restore import restore_backup, restore_file

    is_piped = str(file) == "-"
    manifest = restore_backup(settings.home, sys.stdin.buffer) if is_piped else restore_file(settings.home, file)
    OUT.print(f"restored: {manifest.told}", highlight=False, markup=False, soft_wrap=True)


@cli.command()
def doctor() -> None:
    """Check that everything the bot needs is in order."""
    settings = start(quiet=True)
    from bot.doctor import examine

    healthy = True
    for finding in examine(settings):
        healthy &= finding.is_ok or finding.is_advice
        style = "green" if finding.is_ok else "yellow" if finding.is_advice else "red"
        mark = "✓" if finding.is_ok else "!" if finding.is_advice else "✗"
        OUT.print(f"[{style}]{mark}[/] ", end="")
        OUT.print(f"{finding.subject}: {finding.text}", highlight=False, markup=False, soft_wrap=True)
    if not healthy:
        sys.exit(1)


@cli.command()
def bench(as_json: AsJson = False) -> None:
    """Measure how long answers take on this machine."""
    settings = start(quiet=True)
    from bot.evaluation.bench import bench as measure
    from bot.progress import counted_progress

    with counted_progress(ERR) as progress:
        measure(settings, as_json=as_json, progress=progress)


def _open_answerer(settings: "Settings") -> Any:  # noqa: ANN401 - importing its class takes seconds
    from bot.loading import rag_settings
    from rag.build import build_answerer

    return build_answerer(rag_settings(settings))


def _mark(is_true: bool) -> str:
    return "✓" if is_true else "—"


if __name__ == "__main__":
    main()
