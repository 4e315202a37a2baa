import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ingest.crawler.page_store import PageStore
from ingest.errors import CrawlFailed
from ingest.fetching import Fetch
from ingest.sources import SourceRow
from tests.integration.crawled_site import LIMITS, Exchange, Reply, Site, crawled, html, outcome, redirect, robots, source, visits


def test_a_sitemap_of_100_000_addresses_is_read_up_to_the_cap_with_a_note(tmp_path: Path) -> None:
    with Site().serving() as site:
        entries = "".join(f"<url><loc>{site.url}/p{number}</loc></url>" for number in range(100_000))
        site.routes["/sitemap.xml"] = Reply(f"<urlset>{entries}</urlset>".encode(), headers={"Content-Type": "application/xml"})
        site.otherwise = html("pagina")
        row = source(start={"sitemaps": [f"{site.url}/sitemap.xml"]}, max_pages=30, deny=[r"/p[02]$"])
        summary = crawled(row, tmp_path / "s.sqlite", known=[f"{site.url}/nota"])
        found = visits(tmp_path / "s.sqlite", site)
    assert summary.fetched == 30
    assert {"/nota", "/p1", "/p3"} <= found.keys()
    assert not {"/p0", "/p2"} & found.keys()
    assert summary.notes == ("max_pages",)
    assert summary.is_whole


def test_only_the_addresses_that_are_asked_for_are_fetched_and_without_the_cache_nothing_is_conditional(tmp_path: Path) -> None:
    with Site().serving() as site:
        site.routes |= {"/a": html("a", "/b", ETag='"v1"'), "/b": html("b")}
        row = source(start={"pages": [f"{site.url}/b"]}, allow=["/b"])
        for _ in range(2):
            summary = crawled(row, tmp_path / "s.sqlite", only=[f"{site.url}/a"], ignore_cache=True)
    assert summary.fetched == 1
    assert site.paths == ["/robots.txt", "/a"] * 2
    assert "If-None-Match" not in site.headers_of("/a")


def test_a_start_page_that_the_patterns_leave_out_is_read_for_its_links_alone(tmp_path: Path) -> None:
    with Site().serving() as site:
        site.routes |= {"/indice": redirect(302, "/elenco"), "/elenco": html("", "/salute/1", "/altro"), "/salute/1": html("uno")}
        row = source(start={"pages": [f"{site.url}/indice"], "feeds": [f"{site.url}/feed"]}, allow=["/salute/"])
        summary = crawled(row, tmp_path / "s.sqlite")
        found = visits(tmp_path / "s.sqlite", site)
    assert found["/salute/1"].fetch is Fetch.FETCHED
    assert not {"/indice", "/elenco", "/altro"} & found.keys()
    assert outcome(found["/feed"]) == (Fetch.FAILED, "http_404")
    assert summary.notes == (f"unread: {site.url}/feed (http_404)",)


def endless(exchange: Exchange) -> None:
    time.sleep(0.01)
    number = int(exchange.path.strip("/p") or 0)
    exchange.answer(html("pagina", *(f"/p{number + step}" for step in (1, 2, 3))))


def is_alive(pid: int) -> bool:
    with contextlib.suppress(FileNotFoundError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


def children(pid: int) -> list[int]:
    found: list[int] = []
    for thread in Path(f"/proc/{pid}/task").iterdir():
        with contextlib.suppress(FileNotFoundError):  # a thread may end while it is looked at
            found += [int(child) for child in (thread / "children").read_text().split()]
    return found


def crawler_of(pid: int) -> int:
    """The crawling process below a process."""
    return next(child for child in children(pid) if b"ingest.crawler" in Path(f"/proc/{child}/cmdline").read_bytes())


def until(condition: Any, seconds: float = 15.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it took too long"
        time.sleep(0.05)


@pytest.fixture
def long_site() -> Iterator[Site]:
    with Site().serving() as site:
        site.routes["/robots.txt"] = robots("")
        site.otherwise = endless
        yield site


def long_source(site: Site) -> SourceRow:
    return source(start={"pages": [f"{site.url}/p1"]}, max_depth=50)


def test_a_cancelled_crawl_ends_its_process_and_is_not_whole(long_site: Site, tmp_path: Path) -> None:
    pids: list[int] = []

    def is_cancelled() -> bool:
        if len(long_site.paths) > 60 and not pids:
            pids.append(crawler_of(os.getpid()))
        return bool(pids)

    summary = crawled(long_source(long_site), tmp_path / "s.sqlite", cancelled=is_cancelled)
    assert not is_alive(pids[0])
    assert not summary.is_whole
    assert summary.fetched >= 50


def test_a_crawl_beyond_its_time_is_not_whole(long_site: Site, tmp_path: Path) -> None:
    summary = crawled(long_source(long_site), tmp_path / "s.sqlite", limits=LIMITS.model_copy(update={"max_seconds": 0.5}))
    assert not summary.is_whole
    assert 0 < summary.fetched < 100


def test_a_crawling_process_that_is_killed_is_told_and_leaves_a_store_that_can_be_read(long_site: Site, tmp_path: Path) -> None:
    def kill() -> bool:
        if len(long_site.paths) > 60:
            with contextlib.suppress(StopIteration):
                os.kill(crawler_of(os.getpid()), signal.SIGKILL)
        return False

    with pytest.raises(CrawlFailed, match="editore"):
        crawled(long_source(long_site), tmp_path / "s.sqlite", cancelled=kill)
    with PageStore.open(tmp_path / "s.sqlite") as store:
        found = list(store.visits())
        assert not store.is_whole
        assert len(found) >= 50
        assert store.page(found[0].url) is not None


PARENT = """
import asyncio, sys
from pathlib import Path
from ingest.crawler.crawl import crawl
from ingest.sources import SourceRow
row = SourceRow.model_validate_json(sys.argv[1])
asyncio.run(crawl(row, Path(sys.argv[2]), known=(), contact=None, cancelled=lambda: False, on_progress=lambda *_: None))
"""


def test_the_crawling_process_ends_with_a_parent_that_is_killed(long_site: Site, tmp_path: Path) -> None:
    store = tmp_path / "s.sqlite"
    row = long_source(long_site).model_dump_json()
    with subprocess.Popen([sys.executable, "-c", PARENT, row, str(store)]) as parent:
        until(lambda: len(long_site.paths) > 55)
        child = crawler_of(parent.pid)
        parent.kill()
    until(lambda: not is_alive(child), seconds=3)
    with PageStore.open(store) as pages:
        assert not pages.is_whole
        assert len(list(pages.visits())) >= 50
