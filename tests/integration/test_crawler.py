import gzip
import time
import zlib
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest

from ingest.crawler.page_store import PageStore
from ingest.fetching import Fetch
from tests.integration.crawled_site import (
    DEPTH,
    LIMITS,
    MAX_BYTES,
    Exchange,
    Reply,
    Site,
    crawled,
    html,
    outcome,
    redirect,
    robots,
    source,
    visits,
)


class Once:
    """Answers 429 the first time and the page afterwards."""

    def __init__(self, retry_after: str) -> None:
        self._retry_after = retry_after
        self._asked = 0

    def __call__(self, exchange: Exchange) -> None:
        self._asked += 1
        refusal = Reply(b"piano", 429, {"Retry-After": self._retry_after})
        exchange.answer(refusal if self._asked == 1 else html("eccomi"))


class Streamed:
    """200 MB without an end in sight; counts how many of them it could send."""

    def __init__(self) -> None:
        self.sent = 0

    def __call__(self, exchange: Exchange) -> None:
        exchange.send_response(200)
        exchange.send_header("Content-Type", "text/html")
        exchange.send_header("Connection", "close")
        exchange.end_headers()
        for _ in range(200 * 16):
            exchange.wfile.write(b"x" * 2**16)
            self.sent += 2**16


def slow(exchange: Exchange) -> None:
    time.sleep(1.4)
    exchange.answer(html("tardi"))


def cut_off(exchange: Exchange) -> None:
    exchange.send_response(200)
    exchange.send_header("Content-Length", "5000")
    exchange.end_headers()
    exchange.wfile.write(b"<html>meno di quanto annunciato")
    exchange.close_connection = True


def calendar(exchange: Exchange) -> None:
    month = int(exchange.path.rpartition("=")[2])
    exchange.answer(html(f"mese {month}", f"/eventi?mese={month + 1}"))


def zeros(count: int) -> bytes:
    squeezer = zlib.compressobj(wbits=31)
    return b"".join(squeezer.compress(b"0" * 2**20) for _ in range(count)) + squeezer.flush()


STREAM = Streamed()
INDEX = """
    /febbre /febbre/ /febbre?utm_source=x&fbclid=1 /febbre#top /lista?b=2&a=1 /lista?a=1&b=2&gclid=7 /eventi?mese=1
    /foglio.pdf /foglio.pdf?p=1 /privato/x /privato/salute/tosse /sconosciuta /tolta
    /vecchia /catena /perduta /anello /temporanea /guasta /lenta /troncata /rotta /strana /immagine
    /riservata /senza-indice /non-seguire /meta-non-seguire /bomba /dichiarata /infinita
    /data /negativa /enorme /no-store /biscotto /validata /presto-tolta /presto-guasta
"""
ETAG = {"ETag": '"v1"'}
TARGETS = {
    "/verso-porta": "http://127.0.0.1:1/",
    "/verso-10": "http://10.0.0.1/",
    "/verso-metadata": "http://169.254.169.254/latest/meta-data/",
    "/verso-localhost": "http://localhost:8080/",
    "/verso-mappato": "http://[::ffff:10.0.0.1]/",
    "/verso-altri": "https://example.org/",
    "/verso-file": "file:///etc/passwd",
}


def furnish(site: Site) -> None:
    site.routes |= {
        # H33: a byte order mark, wildcards, the longest match.
        "/robots.txt": robots(
            "\ufeffUser-agent: *\nDisallow: /*.pdf$\nDisallow: /privato/\nAllow: /privato/salute/\n\n"
            "User-agent: altri\nDisallow: /\n"
        ),
        "/": html(
            "indice",
            *INDEX.split(),
            *TARGETS,
            "mailto:a@b.it",
            "https://example.org/x",
            Set_Cookie="sessione=1",
            **ETAG,
        ),
        **{path: html(path) for path in ("/febbre", "/febbre/", "/lista", "/privato/salute/tosse", "/nuova", "/foglio.pdf")},
        **{path: redirect(301, target) for path, target in TARGETS.items()},
        "/eventi": calendar,
        "/tolta": Reply(b"", 410),
        "/vecchia": redirect(301, "/nuova"),
        "/catena": redirect(308, "/vecchia"),
        "/perduta": redirect(301, "/sconosciuta"),
        "/anello": redirect(301, "/anello2"),
        "/anello2": redirect(301, "/anello"),
        "/temporanea": redirect(302, "/nuova"),
        "/guasta": Reply(b"", 500),
        "/lenta": slow,
        "/troncata": cut_off,
        "/rotta": Reply(b"non gzip", headers={"Content-Type": "text/html", "Content-Encoding": "gzip"}),
        "/strana": Reply(b"...", headers={"Content-Type": "text/html", "Content-Encoding": "bizzarra"}),
        "/immagine": Reply(b"PNG", headers={"Content-Type": "image/png"}),
        "/riservata": html("riservata", tdm_reservation="1"),
        "/senza-indice": html("riservata", X_Robots_Tag="altri: nofollow, salus: noindex"),
        "/non-seguire": html("", "/mai-1", X_Robots_Tag="nofollow"),
        "/meta-non-seguire": html('<meta name="Robots" content="NOFOLLOW"><a rel="nofollow" href="/mai-3">x</a>', "/mai-2"),
        "/bomba": Reply(zeros(200), headers={"Content-Type": "text/html", "Content-Encoding": "gzip"}),
        "/dichiarata": Reply(b"x" * (MAX_BYTES + 1), headers={"Content-Type": "text/html"}),
        "/infinita": STREAM,
        # H34: both forms of Retry-After, and what should be neither.
        "/data": Once(format_datetime(datetime.now(UTC) + timedelta(hours=1), usegmt=True)),
        "/negativa": Once("-5"),
        "/enorme": Once("999999"),
        "/no-store": html("da leggere", Cache_Control="no-store, max-age=99999", **ETAG),
        "/biscotto": html("biscotto", Set_Cookie="sessione=1"),
        "/validata": html("profonda", "/in-fondo", **ETAG),
        "/in-fondo": html("in fondo", Last_Modified="Mon, 01 Jan 2024 10:00:00 GMT"),
        "/presto-tolta": html("c'era", **ETAG),
        "/presto-guasta": html("c'era", Cache_Control="max-age=99999", **ETAG),
        "/orfana": html("senza collegamenti", "/dalla-orfana"),
        "/sitemap.xml": Reply(
            b"<sitemapindex xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'>"
            + f"<sitemap><loc>{site.url}/parte.xml.gz</loc></sitemap></sitemapindex>".encode()
        ),
        "/parte.xml.gz": Reply(gzip.compress(f"<urlset><url><loc>{site.url}/da-sitemap?ref=x</loc></url></urlset>".encode())),
        "/rss": Reply(b"<rss><channel><item><title>t</title><link>/da-rss</link></item></channel></rss>"),
        "/atom": Reply(b"<feed xmlns='http://www.w3.org/2005/Atom'><entry><link href='/da-atom'/></entry></feed>"),
        **{path: html(path, f"{path}-oltre") for path in ("/da-sitemap", "/da-rss", "/da-atom")},
    }


@pytest.fixture(scope="module")
def nights(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """The site crawled, changed, and crawled again."""
    store = tmp_path_factory.mktemp("crawl") / "editore.sqlite"
    with Site().serving() as site:
        furnish(site)
        row = source(
            start={
                "sitemaps": [f"{site.url}/sitemap.xml"],
                "pages": [f"{site.url}/"],
                "feeds": [f"{site.url}/rss", f"{site.url}/atom"],
            }
        )
        told: list[tuple[int, int]] = []
        arguments = {"contact": "mailto:redazione@esempio.it", "on_progress": lambda *counts: told.append(counts)}
        found: dict[str, Any] = {"site": site, "store": store, "told": told}
        found["summary"] = crawled(row, store, known=[f"{site.url}/orfana"], **arguments)
        found["first"], found["asked"] = visits(store, site), list(site.asked)
        with PageStore.open(store) as pages:
            found["stored"] = {path: pages.page(site.url + path) for path in found["first"]}
        site.asked.clear()
        site.routes |= {
            "/presto-tolta": Reply(b"", 404),
            "/presto-guasta": Reply(b"", 503, {"Retry-After": "0"}),
            "/validata": html("profonda", "/in-fondo", "/aggiunta", ETag='"v2"'),
            "/in-fondo": lambda exchange: exchange.answer(Reply(b"", 304)),
            "/no-store": html("", ETag='"v1"', X_Robots_Tag="noai"),
            "/aggiunta": html("nuova di stanotte", "/orfana"),
            "/dalla-orfana": html("trovata"),
        }
        del site.routes["/lenta"], site.routes["/infinita"], site.routes["/bomba"]
        known = [site.url + path for path, visit in found["first"].items() if visit.fetch in {Fetch.FETCHED, Fetch.UNCHANGED}]
        found["second_summary"] = crawled(row, store, known=known, **arguments)
        found["second"], found["asked_again"] = visits(store, site), list(site.asked)
        with PageStore.open(store) as pages:
            found["kept"] = {path: pages.page(site.url + path) for path in found["second"]}
        yield found


def test_h33_the_longest_rule_of_robots_txt_decides_and_wildcards_are_understood(nights: dict[str, Any]) -> None:
    first = nights["first"]
    assert outcome(first["/privato/x"]) == (Fetch.REFUSED, "robots")
    assert outcome(first["/foglio.pdf"]) == (Fetch.REFUSED, "robots")
    assert first["/privato/salute/tosse"].fetch is Fetch.FETCHED
    assert first["/foglio.pdf?p=1"].fetch is Fetch.FETCHED
    assert not {"/privato/x", "/foglio.pdf"} & {asked.path for asked in nights["asked"]}


def test_h35_one_page_under_several_addresses_is_asked_for_once(nights: dict[str, Any]) -> None:
    paths = [asked.path for asked in nights["asked"]]
    assert sorted(path for path in paths if path.startswith("/febbre")) == ["/febbre", "/febbre/"]
    assert [path for path in paths if path.startswith("/lista")] == ["/lista?a=1&b=2"]


def test_h35_a_calendar_without_end_stops_at_the_depth_of_the_row_without_a_word(nights: dict[str, Any]) -> None:
    months = [path for path in nights["first"] if path.startswith("/eventi")]
    assert sorted(months) == [f"/eventi?mese={month}" for month in range(1, DEPTH + 1)]
    assert nights["summary"].notes == ()
    assert nights["summary"].is_whole


def test_h35_a_calendar_does_not_grow_on_the_second_night(nights: dict[str, Any]) -> None:
    assert len([path for path in nights["second"] if path.startswith("/eventi")]) == DEPTH


def test_sitemap_index_feeds_and_known_addresses_lead_to_pages_whose_links_are_not_followed(nights: dict[str, Any]) -> None:
    first = nights["first"]
    assert all(first[path].fetch is Fetch.FETCHED for path in ("/da-sitemap", "/da-rss", "/da-atom", "/orfana"))
    assert not {path for path in first if path.endswith("-oltre")} | ({"/dalla-orfana"} & first.keys())
    assert not {"/sitemap.xml", "/parte.xml.gz", "/rss", "/atom"} & first.keys()


def test_known_addresses_are_asked_for_before_those_that_links_lead_to(nights: dict[str, Any]) -> None:
    paths = [asked.path for asked in nights["asked"]]
    assert paths.index("/orfana") < paths.index("/febbre")


def test_404_and_410_are_gone(nights: dict[str, Any]) -> None:
    assert outcome(nights["first"]["/sconosciuta"]) == (Fetch.GONE, None)
    assert outcome(nights["first"]["/tolta"]) == (Fetch.GONE, None)


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("/guasta", "http_500"),
        ("/lenta", "timeout"),
        ("/troncata", "cut_off"),
        ("/rotta", "broken_encoding"),
        ("/strana", "broken_encoding"),
        ("/anello", "redirect_loop"),
        ("/temporanea", "temporary_redirect"),
    ],
)
def test_trouble_is_a_failure_that_says_nothing_about_the_page(nights: dict[str, Any], path: str, reason: str) -> None:
    assert outcome(nights["first"][path]) == (Fetch.FAILED, reason)


def test_a_failing_page_is_tried_again_as_often_as_the_limit_says(nights: dict[str, Any]) -> None:
    assert [asked.path for asked in nights["asked"]].count("/guasta") == 1 + LIMITS.retries


def test_a_page_that_moved_for_good_is_told_with_the_end_of_the_chain(nights: dict[str, Any]) -> None:
    first, url = nights["first"], nights["site"].url
    assert (first["/vecchia"].fetch, first["/vecchia"].moved_to) == (Fetch.MOVED, f"{url}/nuova")
    assert (first["/catena"].fetch, first["/catena"].moved_to) == (Fetch.MOVED, f"{url}/nuova")
    assert first["/nuova"].fetch is Fetch.FETCHED
    assert first["/perduta"].fetch is Fetch.GONE


@pytest.mark.parametrize("path", TARGETS)
def test_redirects_into_private_networks_and_to_other_sites_are_refused(nights: dict[str, Any], path: str) -> None:
    reason = "off_site" if path in {"/verso-altri", "/verso-file"} else "private_address"
    assert outcome(nights["first"][path]) == (Fetch.REFUSED, reason)


def test_reserved_pages_are_refused_and_not_kept(nights: dict[str, Any]) -> None:
    assert outcome(nights["first"]["/riservata"]) == (Fetch.REFUSED, "reserved")
    assert outcome(nights["first"]["/senza-indice"]) == (Fetch.REFUSED, "reserved")
    assert nights["stored"]["/riservata"] is None
    assert nights["stored"]["/senza-indice"] is None


def test_links_that_are_not_to_be_followed_are_not(nights: dict[str, Any]) -> None:
    assert not {path for path in nights["first"] if path.startswith("/mai-")}


@pytest.mark.parametrize("path", ["/bomba", "/dichiarata", "/infinita"])
def test_bodies_beyond_the_cap_are_refused(nights: dict[str, Any], path: str) -> None:
    assert outcome(nights["first"][path]) == (Fetch.REFUSED, "too_large")


def test_a_page_of_200_mb_is_cut_where_the_cap_is(nights: dict[str, Any]) -> None:
    assert STREAM.sent < 30 * MAX_BYTES  # what socket buffers hold comes on top of the cap


def test_what_nobody_here_can_read_is_refused_by_its_media_type(nights: dict[str, Any]) -> None:
    assert outcome(nights["first"]["/immagine"]) == (Fetch.REFUSED, "media_type")


@pytest.mark.parametrize(("path", "least_s"), [("/data", 0.5), ("/negativa", 0), ("/enorme", 0.5)])
def test_h34_retry_after_is_kept_up_to_the_cap_in_each_of_its_forms(nights: dict[str, Any], path: str, least_s: float) -> None:
    first, second = [asked.at for asked in nights["asked"] if asked.path == path]
    assert nights["first"][path].fetch is Fetch.FETCHED
    assert least_s <= second - first
    others = [asked.at for asked in nights["asked"] if first < asked.at < first + least_s * 0.9]
    assert others == []


def test_pages_are_kept_whatever_cache_control_says(nights: dict[str, Any]) -> None:
    page = nights["stored"]["/no-store"]
    assert b"da leggere" in page.body
    assert page.content_type == "text/html"
    assert nights["first"]["/no-store"].body_hash is not None


def test_no_cookie_is_kept_and_the_user_agent_names_a_contact(nights: dict[str, Any]) -> None:
    assert all("Cookie" not in asked.headers for asked in nights["asked"] + nights["asked_again"])
    assert {asked.headers["User-Agent"].partition("/")[0] for asked in nights["asked"]} == {"Salus"}
    assert all(asked.headers["User-Agent"].endswith("(+mailto:redazione@esempio.it)") for asked in nights["asked"])


def test_progress_tells_addresses_done_and_known(nights: dict[str, Any]) -> None:
    done, known = zip(*nights["told"], strict=True)
    assert all(d <= k for d, k in nights["told"])
    assert max(done) == max(known) >= len(nights["first"])


def test_h34_a_304_is_checked_and_unchanged_with_the_hash_of_what_is_kept(nights: dict[str, Any]) -> None:
    first, second = nights["first"], nights["second"]
    for path in ("/", "/in-fondo"):
        assert second[path].fetch is Fetch.UNCHANGED
        assert second[path].body_hash == first[path].body_hash
        assert nights["kept"][path].body == nights["stored"][path].body


def test_a_page_that_its_server_calls_fresh_is_asked_for_all_the_same(nights: dict[str, Any]) -> None:
    again = {asked.path: asked.headers for asked in nights["asked_again"]}
    assert again["/presto-guasta"]["If-None-Match"] == '"v1"'


def test_a_server_error_is_told_as_one_although_the_page_is_in_the_cache(nights: dict[str, Any]) -> None:
    assert outcome(nights["second"]["/presto-guasta"]) == (Fetch.FAILED, "http_503")
    assert nights["kept"]["/presto-guasta"] is not None


def test_a_page_that_its_publisher_has_reserved_since_is_dropped(nights: dict[str, Any]) -> None:
    assert outcome(nights["second"]["/no-store"]) == (Fetch.REFUSED, "reserved")
    assert nights["kept"]["/no-store"] is None


def test_what_changed_and_what_went_is_seen_on_the_second_night(nights: dict[str, Any]) -> None:
    assert nights["second"]["/presto-tolta"].fetch is Fetch.GONE
    assert nights["second"]["/validata"].fetch is Fetch.FETCHED
    assert nights["second"]["/validata"].body_hash != nights["first"]["/validata"].body_hash


def test_a_link_on_a_page_that_was_known_leads_to_a_new_page(nights: dict[str, Any]) -> None:
    assert nights["second"]["/aggiunta"].fetch is Fetch.FETCHED


def test_a_page_that_was_read_before_a_link_reached_it_is_followed_then(nights: dict[str, Any]) -> None:
    paths = [asked.path for asked in nights["asked_again"]]
    assert paths.index("/orfana") < paths.index("/aggiunta") < paths.index("/dalla-orfana")
    assert paths.count("/orfana") == 1


def test_the_summary_counts_what_the_visits_say(nights: dict[str, Any]) -> None:
    summary, all_visits = nights["second_summary"], nights["second"].values()
    assert summary.fetched == sum(visit.fetch is Fetch.FETCHED for visit in all_visits)
    assert summary.unchanged == sum(visit.fetch is Fetch.UNCHANGED for visit in all_visits)
    assert summary.gone == sum(visit.fetch is Fetch.GONE for visit in all_visits)
    assert summary.failed == sum(visit.fetch is Fetch.FAILED for visit in all_visits)
    assert summary.refused["private_address"] == 5
