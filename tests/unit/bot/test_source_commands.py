import asyncio
import json
import os
import re
import sys
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import typer

from bot.source_check import check_source
from bot.source_commands import show_runs, sources
from ingest.documents import new_document
from ingest.errors import CrawlFailed, SourceUnreadable
from ingest.extraction.results import Extraction, Refusal
from ingest.fetching import Fetch, RawPage, Visit
from ingest.ledger import Ledger
from ingest.report import RunProgress, RunStatus
from ingest.run import ledger_path
from ingest.sources import SHIPPED_SOURCES, SourceRow, load_sources
from locales.language import Language
from rag.documents import Authority, DocumentKind
from tests.logging_state import restored_logging

SAMPLE = Path(__file__).parents[2] / "data" / "medlineplus_sample.xml"
Run = Callable[..., tuple[int, str, str]]

SITE = """
[[source]]
id = "clinic"
kind = "forum"
publisher = "Clinica"
language = "it"
start.pages = ["https://clinica.example/domande/"]
terms = "Chiedere prima."
enabled = false
disabled_because = "needs consent"

[[source]]
id = "letters"
kind = "cms"
publisher = "Redazione"
language = "it"
"""
FOLDER = '\n[[source]]\nid = "asl"\nkind = "folder"\npath = "pages"\npublisher = "ASL"\n'
PAGE = "---\ntitle: La tosse\nlanguage: it\n---\n## Che cos'è\n\nLa tosse è un riflesso. Dura poco. È utile. Non è altro.\n"


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Iterator[Run]:
    """Runs the commands in this process with a source file of three rows; gives exit code, output and errors."""
    for name in [name for name in os.environ if name.startswith("SALUS_")]:
        monkeypatch.delenv(name)
    (tmp_path / "pages").mkdir()
    (tmp_path / "pages" / "tosse.md").write_text(PAGE, encoding="utf-8")
    (tmp_path / "sources.toml").write_text(FOLDER + SITE, encoding="utf-8")
    monkeypatch.setenv("SALUS_HOME", str(tmp_path))
    monkeypatch.setenv("SALUS_SOURCES", str(tmp_path / "sources.toml"))
    monkeypatch.setenv("COLUMNS", "200")
    app = typer.Typer(pretty_exceptions_enable=False)
    app.add_typer(sources, name="sources")
    app.command("runs")(show_runs)

    def call(*arguments: str) -> tuple[int, str, str]:
        code = 0
        try:
            app(list(arguments))
        except SystemExit as ended:
            code = int(ended.code or 0)
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    with restored_logging():
        yield call


def in_ledger(home: Path, do: Callable[[Ledger], Any]) -> None:
    async def work() -> None:
        async with Ledger.open(ledger_path(home)) as ledger:
            await do(ledger)

    asyncio.run(work())


def columns(out: str, first: str) -> list[str]:
    """The cells of the table row that begins with a word."""
    (line,) = [line for line in out.splitlines() if line.strip().startswith(f"{first} ")]
    return re.split(r" {2,}", line.strip())


class Site:
    """Takes the place of crawler, store and extraction: `pages` are bodies by address, `visits` what else a crawl says."""

    def __init__(self, pages: dict[str, str], visits: Collection[Visit] = (), failure: str | None = None) -> None:
        self._pages, self._visits, self._failure = pages, tuple(visits), failure
        self._fetched: dict[str, str] = {}
        self.crawls: list[dict[str, Any]] = []

    async def crawl(self, source: SourceRow, store: Path, **options: Any) -> None:
        self.crawls.append({"source": source, "store": store, **options})
        if self._failure:
            raise CrawlFailed(self._failure)
        only = options["only"]
        self._fetched = {url: body for url, body in self._pages.items() if not only or url in only}

    @contextmanager
    def open(self, path: Path) -> Iterator["Site"]:
        yield self

    def visits(self) -> list[Visit]:
        return [*self._visits, *(Visit(url=url, fetch=Fetch.FETCHED) for url in self._fetched)]

    def page(self, url: str) -> RawPage | None:
        body = self._fetched.get(url)
        return RawPage(url=url, body=body.encode(), headers={}, fetched_at=datetime.now(UTC)) if body is not None else None

    def extract(self, page: RawPage, source: SourceRow) -> Extraction:
        text = page.body.decode()
        if not text.startswith("## "):
            return Extraction(refusal=Refusal.TOO_SHORT)
        document = new_document(
            document_id="clinic-1",
            source_id=source.id,
            url=page.url,
            title="Febbre",
            publisher=source.publisher,
            authority=Authority.PUBLISHER,
            language=Language.ITALIAN,
            text=text,
            reviewed_on=None,
            kind=DocumentKind.FORUM,
            asked=("Mio figlio scotta", "E adesso?"),
            answered_by="pediatra",
        )
        return Extraction(documents=(document,))


@pytest.fixture
def put_site(monkeypatch: pytest.MonkeyPatch) -> Callable[[Site], Site]:
    def put(site: Site) -> Site:
        for name, member, value in (
            ("ingest.crawler.crawl", "crawl", site.crawl),
            ("ingest.crawler.page_store", "PageStore", site),
            ("ingest.extraction.extractor", "extract", site.extract),
        ):
            module = ModuleType(name)
            setattr(module, member, value)
            monkeypatch.setitem(sys.modules, name, module)
        return site

    return put


# Which there are.


def test_a_list_before_the_first_run_shows_what_the_rows_say(run: Run) -> None:
    code, out, _ = run("sources", "list")

    assert code == 0
    assert columns(out, "asl") == ["asl", "folder", "—", "yes", "0", "never"]
    assert columns(out, "clinic") == ["clinic", "forum", "it", "no", "0", "never"]
    assert "clinic: needs consent\n" in out


def test_a_list_shows_what_was_read_and_what_went_wrong(run: Run, tmp_path: Path) -> None:
    in_ledger(tmp_path, lambda ledger: ledger.note_source("asl", "ASL", pages=3, problem="tosse.md, line 1: [key] is not UTF-8"))

    _, out, _ = run("sources", "list")

    *_, when = columns(out, "asl")
    assert "asl: tosse.md, line 1: [key] is not UTF-8\n" in out
    assert datetime.strptime(when, "%Y-%m-%d %H:%M").year >= 2025  # noqa: DTZ007


def test_a_list_as_json_holds_licence_and_terms_too(run: Run) -> None:
    _, out, _ = run("sources", "list", "--json")

    by_id = {record["id"]: record for record in json.loads(out)}
    assert by_id["clinic"]["terms"] == "Chiedere prima."
    assert (by_id["clinic"]["enabled"], by_id["clinic"]["chosen"], by_id["clinic"]["read_at"]) == (False, None, None)


# Which are read.


def test_a_choice_wins_over_the_row_until_it_is_taken_back(run: Run) -> None:
    run("sources", "enable", "clinic")
    assert columns(run("sources", "list")[1], "clinic")[3] == "yes (chosen)"

    run("sources", "disable", "clinic")
    assert columns(run("sources", "list")[1], "clinic")[3] == "no (chosen)"


def test_enabling_reminds_of_the_reason_the_terms_and_the_missing_contact(run: Run) -> None:
    code, out, err = run("sources", "enable", "clinic")

    assert code == 0
    assert "clinic: is read from the next run on" in out
    assert "needs consent" in err
    assert "Chiedere prima." in err
    assert "SALUS_CRAWL_CONTACT is not set" in err


def test_a_folder_is_enabled_without_more_words(run: Run) -> None:
    assert run("sources", "enable", "asl")[2] == ""


@pytest.mark.parametrize("command", ["enable", "disable", "check"])
def test_an_unknown_source_is_told_with_those_that_there_are(run: Run, command: str) -> None:
    with pytest.raises(SourceUnreadable, match="there is no source 'asI'; known are asl, clinic, letters"):
        run("sources", command, "asI")


# What they would give.


def test_a_folder_is_checked_by_its_first_page(run: Run) -> None:
    code, out, err = run("sources", "check", "asl")

    assert code == 0
    assert "La tosse · asl-tosse" in out
    assert "article, it, 12 words, headings: 1" in out
    assert "La tosse è un riflesso. Dura poco. È utile." in out
    assert "Non è altro" not in out
    assert err == ""


def test_only_enabled_sources_are_checked_unless_one_is_named(run: Run, put_site: Callable[[Site], Site]) -> None:
    site = put_site(Site({"https://clinica.example/domande/1": "## Risposta\n\nPassa da sola."}))
    run("sources", "disable", "letters")

    assert "clinic" not in run("sources", "check")[1]
    assert site.crawls == []

    assert "Febbre" in run("sources", "check", "clinic")[1]


def test_a_site_is_checked_by_the_fullest_of_a_few_pages(
    run: Run, put_site: Callable[[Site], Site], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SALUS_CRAWL_CONTACT", "noi@asl.example")
    site = put_site(
        Site(
            {
                "https://clinica.example/domande/": "indice",
                "https://clinica.example/domande/1": "## Risposta\n\nNo.",
                "https://clinica.example/domande/2": "## Risposta di un medico a un'altra persona\n\nPassa da sola.",
            },
            [Visit(url="https://clinica.example/domande/3", fetch=Fetch.REFUSED, reason="robots")],
        )
    )

    code, out, _ = run("sources", "check", "clinic")

    assert code == 0
    assert "Febbre · https://clinica.example/domande/2" in out
    assert "forum, it, 3 words, headings: 1" in out
    assert "answered by: pediatra" in out
    assert "not taken: robots 1, too_short 1" in out
    (crawl,) = site.crawls
    assert (crawl["contact"], crawl["only"], crawl["source"].max_pages) == ("noi@asl.example", [], 6)
    assert not crawl["store"].is_relative_to(Path(os.environ["SALUS_HOME"]))
    assert not crawl["store"].parent.exists()


def test_what_a_person_asked_is_not_shown(run: Run, put_site: Callable[[Site], Site]) -> None:
    put_site(Site({"https://clinica.example/domande/1": "## Risposta\n\nNo."}))

    _, out, _ = run("sources", "check", "clinic")

    assert "found by 2 pieces of a question" in out
    assert "scotta" not in out


def test_one_page_can_be_named(run: Run, put_site: Callable[[Site], Site]) -> None:
    site = put_site(Site({"https://clinica.example/a": "## A\n\nLungo più di B.", "https://clinica.example/b": "## B\n\nUno."}))

    code, out, _ = run("sources", "check", "clinic", "--page", "https://clinica.example/b")

    assert code == 0
    assert "https://clinica.example/b" in out
    assert site.crawls[0]["only"] == ["https://clinica.example/b"]


def test_a_page_without_its_source_is_refused(run: Run) -> None:
    code, _, err = run("sources", "check", "--page", "https://clinica.example/b")

    assert code == 2
    assert "--page needs the source" in err


@pytest.mark.parametrize(
    ("site", "said"),
    [
        (Site({"https://clinica.example/domande/": "indice"}), "no page could be taken"),
        (Site({}), "no page was found"),
        (Site({}, failure="clinic: SALUS_CRAWL_CONTACT is not set"), "SALUS_CRAWL_CONTACT is not set"),
    ],
)
def test_a_site_that_gives_nothing_says_why_and_fails(run: Run, put_site: Callable[[Site], Site], site: Site, said: str) -> None:
    put_site(site)

    code, _, err = run("sources", "check", "clinic")

    assert code == 1
    assert f"clinic: {said}" in err or said in err


def test_events_cannot_be_fetched(run: Run) -> None:
    code, _, err = run("sources", "check", "letters")

    assert code == 1
    assert "letters: its pages arrive as events" in err


def health_topics(**fields: object) -> SourceRow:
    values = {"id": "mplus", "kind": "health_topics", "publisher": "MedlinePlus", "language": "es", **fields}
    return SourceRow.model_validate(values)


async def test_a_file_of_health_topics_is_checked_by_its_first_topic() -> None:
    checked = await check_source(health_topics(path=SAMPLE), None)

    assert checked.document is not None
    assert checked.document.title == "Sed mala"
    assert checked.problem is None


@pytest.mark.parametrize("address", ["https://ejemplo.gov/xml.html", "https://ejemplo.gov/xml/mplus_topics_2026-03-01.xml"])
async def test_health_topics_on_the_web_are_found_through_the_page_that_links_to_them(
    put_site: Callable[[Site], Site], address: str
) -> None:
    file = "https://ejemplo.gov/xml/mplus_topics_2026-03-01.xml"
    site = put_site(
        Site({"https://ejemplo.gov/xml.html": f'<a href="{file}">Topics</a>', file: SAMPLE.read_text(encoding="utf-8")})
    )

    checked = await check_source(health_topics(url=address), "noi@asl.example")

    assert checked.document is not None
    assert checked.document.document_id == "mplus-9001"
    assert [crawl["only"] for crawl in site.crawls] == [[url] for url in dict.fromkeys((address, file))]


async def test_health_topics_that_cannot_be_fetched_say_why(put_site: Callable[[Site], Site]) -> None:
    address = "https://ejemplo.gov/topics.zip"
    put_site(Site({}, [Visit(url=address, fetch=Fetch.REFUSED, reason="robots")]))

    checked = await check_source(health_topics(url=address), "noi@asl.example")

    assert checked.problem == f"{address}: could not be fetched (robots)"


def test_the_shipped_sources_that_are_enabled_can_all_be_checked() -> None:
    rows = [row for row in load_sources(SHIPPED_SOURCES) if row.enabled]

    checked = [asyncio.run(check_source(row, None)) for row in rows]

    assert [(item.source_id, item.problem) for item in checked] == [("starter-it", None), ("starter-es", None)]
    assert all(item.document for item in checked)


# What the runs did.


async def two_runs(ledger: Ledger) -> None:
    first = await ledger.begin_run("schedule")
    languages = [{"language": "it", "new": 2, "changed": 1, "moved": 1}, {"language": "es", "new": 3, "retired": 4}]
    report = {"languages": languages, "problems": ["asl: [one] page is torn"]}
    await ledger.end_run(first, RunStatus.PARTIAL, report)
    second = await ledger.begin_run("admin")
    await ledger.note_progress(second, RunProgress(source="asl", step="embed", done=7, total=20))


def test_runs_are_shown_newest_first_with_what_they_did(run: Run, tmp_path: Path) -> None:
    in_ledger(tmp_path, two_runs)

    code, out, err = run("runs")

    assert code == 0
    running, partial = columns(out, "2"), columns(out, "1")
    assert out.index("\n 2 ") < out.index("\n 1 ")
    assert running[2:] == ["—", "admin", "all", "running: embed asl, 7 of 20", "—", "0"]
    assert partial[2:] == ["0:00:00", "schedule", "all", "partial", "5 new, 1 changed, 1 moved, 4 retired", "1"]
    assert err == ""


def test_the_problems_of_the_latest_run_are_told(run: Run, tmp_path: Path) -> None:
    in_ledger(tmp_path, two_runs)
    in_ledger(tmp_path, lambda ledger: ledger.end_run(2, RunStatus.FAILED, {"problems": ["clinic: [host] is down"]}))

    _, out, err = run("runs", "--limit", "1")

    assert "schedule" not in out
    assert err == "! clinic: [host] is down\n"


def test_runs_as_json_hold_the_whole_report(run: Run, tmp_path: Path) -> None:
    in_ledger(tmp_path, two_runs)

    _, out, _ = run("runs", "--json")

    newest, first = json.loads(out)
    assert (newest["status"], newest["trigger"], newest["ended"]) == ("running", "admin", None)
    assert (first["new"], first["retired"], first["report"]["languages"][0]["moved"]) == (5, 4, 1)


def test_before_the_first_run_there_is_nothing_to_show(run: Run) -> None:
    assert run("runs", "--json")[:2] == (0, "[]\n")
    assert run("runs")[0] == 0
