"""Hosts that read robots.txt differently, redirect into private networks, never end or never answer: one run over all of them.

Field cases H33, H34 and H35. Each host is told with a reason, the run goes on, and the memory of its process stays flat.
"""

import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from ingest.crawler.job import CrawlLimits
from ingest.crawler.page_store import PageStore
from ingest.fetching import Fetch, Visit
from ingest.report import RunStatus
from ingest.source_reader import crawl_path
from rag.documents import Document
from tests.doubles.health_site import ExpectedSource, HealthSite
from tests.e2e.crawled_home import CrawledHome, Night

MEGABYTE = 2**20
TIGHT = CrawlLimits(
    max_bytes=2 * MEGABYTE,
    max_listing_bytes=16 * MEGABYTE,
    timeout_s=2,
    retries=1,
    max_delay_s=0.2,
    max_retry_after_s=0.5,
    retry_pause_s=0,
    max_failures_in_a_row=5,
    max_seconds=30,
)
MEMORY_MB = 150
CLOSED = {"robots-503": "robots_unreachable", "robots-chiuso": "robots"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What came of the one run."""

    site: HealthSite
    home: CrawledHome
    night: Night
    documents: dict[str, Document]
    grown_mb: float

    def expected(self, name: str) -> ExpectedSource:
        return self.site.expected()[name]

    def paths(self, name: str) -> set[str]:
        """Paths of the documents of a host that are live."""
        base = self.expected(name).base
        return {url.removeprefix(base) for url, document in self.documents.items() if document.source_id == name}

    def visits(self, name: str) -> dict[str, Visit]:
        """How each address of a host answered."""
        with PageStore.open(crawl_path(self.home.path, name)) as store:
            return {visit.url.removeprefix(self.expected(name).base): visit for visit in store.visits()}

    def problems(self, name: str) -> list[str]:
        return [problem for problem in self.night.report.problems if problem.startswith(f"{name}: ")]

    def asked(self, name: str) -> set[str]:
        return {request.path for request in self.night.requests if request.host == name}


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Result]:
    with HealthSite() as site:
        home = CrawledHome(tmp_path_factory.mktemp("hosts"), site, site.special_sources())
        home.night("robots-404", TIGHT)  # by now all libraries are loaded
        with Memory() as memory:
            night = home.night(limits=TIGHT)
        yield Result(site=site, home=home, night=night, documents=home.documents(), grown_mb=memory.grown_mb)


class Memory:
    """How much the resident memory of this process grows at most."""

    def __enter__(self) -> "Memory":
        self._start = self._most = _resident_mb()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    @property
    def grown_mb(self) -> float:
        return self._most - self._start

    def _watch(self) -> None:
        while not self._stop.wait(0.05):
            self._most = max(self._most, _resident_mb())


def _resident_mb() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096 / MEGABYTE


NAMES = [name for name, host in HealthSite().hosts.items() if not host.is_content and name not in {"riservata", *CLOSED}]


@pytest.mark.parametrize("name", NAMES)
def test_right_documents_of_the_host_are_in_the_index(result: Result, name: str) -> None:
    right, found = result.expected(name), result.paths(name)
    if right.at_most is not None:
        assert 0.8 * right.at_most <= len(found) <= right.at_most
    else:
        assert found == set(right.documents)


@pytest.mark.parametrize("name", NAMES)
def test_each_page_that_gave_nothing_has_its_reason(result: Result, name: str) -> None:
    right, visits = result.expected(name), result.visits(name)
    for path, reasons in right.refused.items():
        assert (visits[path].fetch, visits[path].reason in reasons) == (Fetch.REFUSED, True), (path, visits[path])
    for path, reasons in right.failed.items():
        assert (visits[path].fetch, visits[path].reason in reasons) == (Fetch.FAILED, True), (path, visits[path])
    for path in right.gone:
        assert visits[path].fetch is Fetch.GONE
    for path, target in right.moved.items():
        assert (visits[path].fetch, visits[path].moved_to) == (Fetch.MOVED, right.base + target)
    if right.failed:
        assert (
            f"{name}: {sum(v.fetch is Fetch.FAILED for v in visits.values())} addresses could not be" in result.problems(name)[0]
        )


@pytest.mark.parametrize("name", [*NAMES, *CLOSED, "riservata"])
def test_no_address_that_robots_txt_forbids_is_asked_for_h33(result: Result, name: str) -> None:
    assert not result.expected(name).never_requested & result.asked(name)


@pytest.mark.parametrize(("name", "reason"), CLOSED.items())
def test_closed_host_is_told_as_one_that_gave_nothing_h33(result: Result, name: str, reason: str) -> None:
    assert result.asked(name) == {"/robots.txt"}
    assert result.night.report.refusals[name] == {reason: 1}
    start = f"{result.expected(name).base}/salute/"
    assert f"{name}: gave no page at all" in result.problems(name)
    assert result.visits(name)["/salute/"].reason == reason, start


def test_disabled_source_is_never_asked_for_anything(result: Result) -> None:
    assert result.asked("riservata") == set()
    assert not crawl_path(result.home.path, "riservata").exists()


def test_redirects_to_private_addresses_are_refused(result: Result) -> None:
    assert result.night.report.refusals["trasporto"]["private_address"] == 3


def test_bodies_without_end_are_cut_off_and_counted(result: Result) -> None:
    assert result.night.report.refusals["grande"]["too_large"] == 3


def test_xml_bomb_is_told_and_the_rest_of_its_host_is_read(result: Result) -> None:
    sitemap = f"{result.expected('bomba-xml').base}/sitemap.xml"
    assert f"bomba-xml: unread: {sitemap} (entities)" in result.problems("bomba-xml")


def test_calendar_without_end_stops_quietly_h35(result: Result) -> None:
    assert len([path for path in result.asked("calendario") if path.startswith("/eventi")]) <= 60
    assert result.problems("calendario") == []


def test_only_the_host_that_asks_to_wait_is_waited_for_h34(result: Result) -> None:
    for name in ("attesa-data", "attesa-negativa", "attesa-una"):
        assert result.problems(name) == []
    assert result.problems("attesa-enorme")[0].startswith("attesa-enorme: 2 addresses could not be fetched")


def test_one_run_goes_through_all_of_them_in_time_and_in_little_memory(result: Result) -> None:
    assert result.night.report.status is RunStatus.PARTIAL
    assert result.night.report.failed_sources == ()
    assert result.night.seconds < 120
    sys.stdout.write(f"{result.night.seconds:.1f} s, {result.grown_mb:.0f} MB more at most\n")
    assert result.grown_mb < MEMORY_MB
    told = {problem.partition(":")[0] for problem in result.night.report.problems}
    assert told == {"trasporto", "lento", "bomba-xml", "attesa-enorme", *CLOSED}


def test_a_second_night_over_all_of_them_loses_nothing(result: Result) -> None:

    names = ("trasporto", "grande", "bomba-xml")
    result.home.configure([result.site.source(name) for name in names])
    night = result.home.night(limits=TIGHT)

    assert night.embedded == ()
    assert {d.url for d in result.home.documents().values()} == {
        url for url, document in result.documents.items() if document.source_id in names
    }
