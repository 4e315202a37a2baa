import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from ingest.crawler.page_store import PageStore
from ingest.errors import CrawlFailed
from ingest.fetching import Fetch, Visit


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "crawl" / "x.sqlite"


@pytest.fixture
def store(path: Path) -> Iterator[PageStore]:
    with PageStore.open(path) as opened:
        opened.begin()
        yield opened


def record(store: PageStore, url: str, fetch: Fetch = Fetch.FETCHED, **fields: str) -> None:
    store.record(Visit(url=url, fetch=fetch, **fields))


def test_a_page_comes_back_as_it_was_put(store: PageStore) -> None:
    digest = store.put("u", b"\x00corpo", {"content-type": "Text/HTML; charset=x"}, is_new=True)
    page = store.page("u")
    assert page is not None
    assert (page.url, page.body, page.content_type) == ("u", b"\x00corpo", "text/html")
    assert store.hash_of("u") == digest
    assert store.page("altro") is None


def test_a_page_that_was_confirmed_keeps_the_time_at_which_it_came(store: PageStore) -> None:
    times = []
    for is_new in (True, False, True):
        store.put("u", b"corpo", {"x": str(is_new)}, is_new=is_new)
        page = store.page("u")
        assert page is not None
        assert page.headers == {"x": str(is_new)}
        times.append(page.fetched_at)
    assert times[0] == times[1] < times[2]


def test_visits_come_in_address_order(store: PageStore) -> None:
    for url in ("c", "a", "b"):
        record(store, url)
    assert [visit.url for visit in store.visits()] == ["a", "b", "c"]


def test_a_new_crawl_forgets_visits_and_keeps_pages(store: PageStore) -> None:
    record(store, "a")
    store.note("max_pages")
    store.put("a", b"corpo", {}, is_new=True)
    store.finish(is_whole=True)
    assert store.is_whole
    store.begin()
    assert not store.is_whole
    assert list(store.visits()) == []
    assert store.notes() == ()
    assert store.page("a") is not None


@pytest.mark.parametrize(
    ("end", "told"),
    [
        (Visit(url="c", fetch=Fetch.UNCHANGED), (Fetch.MOVED, None, "c")),
        (Visit(url="c", fetch=Fetch.GONE), (Fetch.GONE, None, None)),
        (Visit(url="c", fetch=Fetch.FAILED, reason="timeout"), (Fetch.FAILED, "timeout", None)),
        (Visit(url="c", fetch=Fetch.REFUSED, reason="robots"), (Fetch.REFUSED, "robots", None)),
        (Visit(url="c", fetch=Fetch.MOVED, moved_to="a"), (Fetch.FAILED, "redirect_loop", None)),
        (Visit(url="z", fetch=Fetch.FETCHED), (Fetch.FAILED, "redirect_unread", None)),
    ],
)
def test_what_a_redirect_means_is_decided_where_it_ends(store: PageStore, end: Visit, told: tuple[object, ...]) -> None:
    record(store, "a", Fetch.MOVED, moved_to="b")
    record(store, "b", Fetch.MOVED, moved_to="c")
    store.record(end)
    first = next(store.visits())
    assert (first.fetch, first.reason, first.moved_to) == told


def test_pages_that_are_not_kept_leave_no_byte_in_the_file(path: Path) -> None:
    store = PageStore.open(path)
    secret = os.urandom(3_000)
    store.put("a", secret, {}, is_new=True)
    store.put("b", b"resta", {"x-nota": "via-con-te"}, is_new=True)
    store.put("c", b"resta", {"x-nota": "sparita"}, is_new=True)
    store.begin()
    assert secret[500:600] in b"".join(file.read_bytes() for file in path.parent.iterdir())
    store.keep_only(["b", "mai vista"])
    assert (store.page("a"), store.page("c")) == (None, None)
    page = store.page("b")
    assert page is not None
    assert page.body == b"resta"
    store.close()
    data = b"".join(file.read_bytes() for file in path.parent.iterdir())
    assert b"via-con-te" in data
    assert b"sparita" not in data
    assert secret[500:600] not in data  # what cannot be squeezed lies in the file as it is


def test_a_file_that_shrank_much_is_written_anew(path: Path) -> None:
    store = PageStore.open(path)
    for number in range(40):
        store.put(str(number), os.urandom(100_000), {}, is_new=True)
    store.keep_only(["0"])
    store.close()
    assert path.stat().st_size < 400_000


def test_the_body_of_a_page_that_changed_is_dropped_unless_another_has_it_too(store: PageStore) -> None:
    first = store.put("a", b"uno", {}, is_new=True)
    store.put("b", b"uno", {}, is_new=True)
    store.put("a", b"due", {}, is_new=True)
    assert store.page("b") is not None
    store.put("b", b"tre", {}, is_new=True)
    store.put("c", b"uno", {}, is_new=True)
    store.forget("c")
    assert store.hash_of("c") is None
    assert first != store.hash_of("a")
    assert store._db.execute("SELECT count(*) FROM body").fetchone() == (2,)


def test_a_damaged_file_is_begun_anew(path: Path) -> None:
    path.parent.mkdir()
    path.write_bytes(b"non e' un database" * 500)
    with PageStore.open(path) as store:
        assert list(store.visits()) == []


def test_a_file_of_another_release_is_begun_anew(path: Path) -> None:
    with PageStore.open(path) as store:
        store.put("a", b"uno", {}, is_new=True)
        store._db.execute("PRAGMA user_version = 99")
    with PageStore.open(path) as store:
        assert store.page("a") is None


def test_a_place_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(CrawlFailed, match="crawl cache"):
        PageStore.open(tmp_path / "file" / "x.sqlite")
    (tmp_path / "folder").mkdir()
    with pytest.raises(CrawlFailed, match="crawl cache"):
        PageStore.open(tmp_path / "folder")
