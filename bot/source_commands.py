"""The commands that show what is read, choose what is read, and tell what the runs did."""

import asyncio
import json
import re
import sys
from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any
from zoneinfo import ZoneInfo

import typer
from rich.box import SIMPLE
from rich.table import Table

from bot.terminal import ERR, OUT, AsJson, busy, start

if TYPE_CHECKING:
    from bot.ingestion_view import LedgerView
    from bot.settings import Settings
    from bot.source_check import Checked
    from ingest.ledger import RunRow, SourceState
    from ingest.sources import SourceRow

sources = typer.Typer(help="The sources: which there are, what they would give, and which are read.", no_args_is_help=True)

SourceArgument = Annotated[str, typer.Argument(metavar="ID", help="A source as `salus sources list` names it.")]

_COUNTS = ("new", "changed", "moved", "retired")
_SENTENCE_END = re.compile(r"(?<=[.!?…])\s+")
_MOST_HEADINGS = 6
_SHOWN_SENTENCES = 3
_SHOWN_CHARACTERS = 400


@sources.command("list")
def list_sources(as_json: AsJson = False) -> None:
    """Show the sources, which of them are read, and what they gave."""
    settings = start(quiet=True)
    from ingest.run import enabled_rows

    rows, states, counts = asyncio.run(_look(_view(settings)))
    enabled = enabled_rows(rows, states)
    records = [_source_record(row, states.get(row.id), counts.get(row.id, 0), is_enabled=row in enabled) for row in rows]
    if as_json:
        print(json.dumps(records, ensure_ascii=False, indent=2, default=str))  # noqa: T201
        return
    table = _table("id", "kind", "in", "enabled", "pages", "last tried")
    for record in records:
        reads = ("yes" if record["enabled"] else "no") + (" (chosen)" if record["chosen"] is not None else "")
        when = _moment(record["read_at"], settings)
        table.add_row(record["id"], record["kind"], record["language"] or "—", reads, str(record["pages"]), when)
    OUT.print(table)
    OUT.print(f"Times are those of {settings.nightly_zone}.", highlight=False, markup=False)
    for record in records:
        remark = record["problem"] or (None if record["enabled"] else record["disabled_because"])
        if remark:
            OUT.print(
                f"{record['id']}: {remark.removeprefix(record['id'] + ': ')}", markup=False, highlight=False, soft_wrap=True
            )


@sources.command()
def enable(source_id: SourceArgument) -> None:
    """Read a source from the next run on, whatever its row says."""
    settings, row = _choose(source_id, is_enabled=True)
    OUT.print(f"{row.id}: is read from the next run on", highlight=False, markup=False)
    if row.disabled_because:
        ERR.print(f"! It was disabled: {row.disabled_because}", style="yellow", markup=False, highlight=False, soft_wrap=True)
    if row.terms:
        ERR.print(f"! Terms: {row.terms}", style="yellow", markup=False, highlight=False, soft_wrap=True)
    if (row.kind.is_crawled or row.url) and not settings.crawl_contact:
        ERR.print("! SALUS_CRAWL_CONTACT is not set: it cannot be fetched yet", style="yellow", highlight=False, soft_wrap=True)


@sources.command()
def disable(source_id: SourceArgument) -> None:
    """Leave a source out from the next run on, whatever its row says; its pages leave the index with that run."""
    _, row = _choose(source_id, is_enabled=False)
    OUT.print(f"{row.id}: is left out from the next run on, and its pages leave the index", highlight=False, markup=False)


@sources.command()
def check(
    source_id: Annotated[
        str | None, typer.Argument(metavar="[ID]", help="Only this source, also if it is disabled; all enabled ones if left out.")
    ] = None,
    page: Annotated[str | None, typer.Option(help="Look at the page with this address instead of the first few.")] = None,
) -> None:
    """Fetch a page of each enabled source and show what would be extracted; nothing is kept."""
    if page and not source_id:
        raise typer.BadParameter("--page needs the source that the page belongs to")
    settings = start(quiet=True)
    from bot.source_check import check_source
    from ingest.run import enabled_rows
    from ingest.sources import SourceKind

    rows, states, _ = asyncio.run(_look(_view(settings)))
    enabled = [row for row in enabled_rows(rows, states) if row.kind is not SourceKind.CMS]  # which has nothing to fetch
    chosen = [_named(rows, source_id)] if source_id else enabled
    failed = False
    for row in chosen:
        with busy(f"{row.id}…"):
            checked = asyncio.run(check_source(row, settings.crawl_contact, page=page))
        _show_checked(checked)
        failed |= checked.document is None
    if failed:
        sys.exit(1)


def show_runs(
    limit: Annotated[int, typer.Option(min=1, max=1000, help="The latest so many.")] = 10,
    as_json: AsJson = False,
) -> None:
    """Show the latest runs of ingestion and what they did."""
    settings = start(quiet=True)
    runs = asyncio.run(_view(settings).runs(limit))
    if as_json:
        print(json.dumps([_run_record(run) for run in runs], ensure_ascii=False, indent=2, default=str))  # noqa: T201
        return
    table = _table("run", "started", "took", "by", "what", "status", "pages", "problems")
    for run in runs:
        record = _run_record(run)
        figures = ", ".join(f"{record[name]} {name}" for name in _COUNTS if record[name]) or "—"
        table.add_row(
            str(run.run_id),
            _moment(run.started, settings),
            _took(run),
            run.trigger.replace("_", " "),
            run.scope,
            _status(run),
            figures,
            str(record["problems"]),
        )
    OUT.print(table)
    OUT.print(f"Times are those of {settings.nightly_zone}.", highlight=False, markup=False)
    for problem in _problems(runs[0]) if runs else ():
        ERR.print(f"! {problem}", style="yellow", markup=False, highlight=False, soft_wrap=True)


def _table(*columns: str) -> Table:
    """A table whose cells are never cut: an id is there to be copied."""
    table = Table(box=SIMPLE, padding=(0, 1, 0, 0))
    for column in columns:
        table.add_column(column, overflow="fold")
    return table


def _view(settings: "Settings") -> "LedgerView":
    from bot.ingestion_view import LedgerView
    from ingest.run import ledger_path

    return LedgerView(ledger_path(settings.home), settings.sources)


async def _look(view: "LedgerView") -> tuple[tuple["SourceRow", ...], "Mapping[str, SourceState]", dict[str, int]]:
    pages: dict[str, int] = {}
    for (source_id, _), count in (await view.page_counts()).items():
        pages[source_id] = pages.get(source_id, 0) + count
    return await view.configured(), await view.source_states(), pages


def _choose(source_id: str, *, is_enabled: bool) -> tuple["Settings", "SourceRow"]:
    settings = start(quiet=True)
    view = _view(settings)

    async def choose() -> "SourceRow":
        row = _named(await view.configured(), source_id)
        await view.choose_source(row.id, is_enabled)
        return row

    return settings, asyncio.run(choose())


def _named(rows: "tuple[SourceRow, ...]", source_id: str) -> "SourceRow":
    from ingest.errors import SourceUnreadable

    for row in rows:
        if row.id == source_id:
            return row
    raise SourceUnreadable(f"there is no source {source_id!r}; known are {', '.join(row.id for row in rows)}")


def _source_record(row: "SourceRow", state: "SourceState | None", pages: int, *, is_enabled: bool) -> dict[str, Any]:
    return {
        "id": row.id,
        "kind": row.kind.value,
        "publisher": row.publisher,
        "language": row.language.value if row.language else None,
        "enabled": is_enabled,
        "chosen": state.enabled if state else None,
        "pages": pages,
        "read_at": state.read_at if state else None,
        "problem": state.problem if state else None,
        "disabled_because": row.disabled_because,
        "licence": row.licence,
        "terms": row.terms,
    }


def _show_checked(checked: "Checked") -> None:
    OUT.print(checked.source_id, style="bold", markup=False, highlight=False)
    if document := checked.document:
        lines = document.text.split("\n")
        headings = [line.lstrip("# ") for line in lines if line.startswith("#")]
        words = sum(len(line.split()) for line in lines if not line.startswith("#"))
        told = [
            f"{document.title} · {document.url or document.document_id}",
            f"{document.kind.value}, {document.language.value}, {words} words, headings: {len(headings)}",
            *(f"  {heading}" for heading in headings[:_MOST_HEADINGS]),
            *(["  …"] if len(headings) > _MOST_HEADINGS else []),
            *([f"found by {len(document.asked)} pieces of a question"] if document.asked else []),
            *([f"answered by: {document.answered_by}"] if document.answered_by else []),
            _beginning(lines),
        ]
        OUT.print("\n".join(f"  {line}" for line in told), markup=False, highlight=False)
    if checked.refusals:
        counts = ", ".join(f"{reason} {count}" for reason, count in sorted(checked.refusals.items()))
        OUT.print(f"  not taken: {counts}", markup=False, highlight=False)
    if checked.problem:
        ERR.print(f"! {checked.source_id}: {checked.problem}", style="yellow", markup=False, highlight=False, soft_wrap=True)


def _beginning(lines: list[str]) -> str:
    text = " ".join(line.strip() for line in lines if line.strip() and not line.startswith("#"))
    beginning = " ".join(_SENTENCE_END.split(text)[:_SHOWN_SENTENCES])
    return beginning if len(beginning) <= _SHOWN_CHARACTERS else beginning[:_SHOWN_CHARACTERS].rstrip() + "…"


def _run_record(run: "RunRow") -> dict[str, Any]:
    languages: Any = (run.report or {}).get("languages") or ()
    return {
        "run_id": run.run_id,
        "started": run.started.isoformat(),
        "ended": run.ended.isoformat() if run.ended else None,
        "status": run.status.value,
        "trigger": run.trigger,
        "scope": run.scope,
        "done": run.done,
        "total": run.total,
        **{name: sum(int(language.get(name, 0)) for language in languages) for name in _COUNTS},
        "problems": len(_problems(run)),
        "report": run.report,
    }


def _problems(run: "RunRow") -> list[str]:
    problems: Any = (run.report or {}).get("problems") or ()
    return [str(problem) for problem in problems]


def _status(run: "RunRow") -> str:
    if run.ended is None and run.progress:
        of = f" of {run.progress.total}" if run.progress.total else ""
        return f"{run.status.value}: {run.progress.step} {run.progress.source}, {run.progress.done}{of}"
    return run.status.value


def _took(run: "RunRow") -> str:
    if run.ended is None:
        return "—"
    minutes, seconds = divmod(round((run.ended - run.started).total_seconds()), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{seconds:02}"


def _moment(moment: datetime | None, settings: "Settings") -> str:
    return f"{moment.astimezone(ZoneInfo(settings.nightly_zone)):%Y-%m-%d %H:%M}" if moment else "never"
