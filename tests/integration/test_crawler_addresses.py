"""Names, redirects and listings that lead into private networks, crawled for real: no request arrives there."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ingest.fetching import Fetch
from tests.integration.crawled_site import Reply, Site, crawled, html, outcome, redirect, robots, source, visits

# Names end in `.esempio.test` here; each leads to the address before it, as a name server of somebody else's would say.
_NAMES = """
import socket

_real = socket.getaddrinfo


def getaddrinfo(host, *args, **kwargs):
    name = host.decode() if isinstance(host, bytes) else host
    address, _, rest = name.partition(".esempio.test")
    return _real(host if address == name else address.replace("-", "."), *args, **kwargs)


socket.getaddrinfo = getaddrinfo
"""
FORMS = {
    "loopback": "http://127.0.0.1:{port}/",
    "decimal": "http://2130706433:{port}/",
    "octal": "http://0177.0.0.1:{port}/",
    "hexadecimal": "http://0x7f.0.0.1:{port}/",
    "shortened": "http://127.1:{port}/",
    "mapped": "http://[::ffff:127.0.0.1]:{port}/",
    "six": "http://[::1]:{port}/",
    "name": "http://localhost:{port}/",
    "dot": "http://localhost.:{port}/",
    "metadata": "http://169.254.169.254/latest/meta-data/",
    "user": "http://127.0.0.2@127.0.0.1:{port}/",
}


@pytest.fixture
def names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sitecustomize.py").write_text(_NAMES, encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:{':'.join(path for path in sys.path if path)}")
    for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def inside() -> Iterator[Site]:
    """A server of the private network that nobody named."""
    with Site("127.0.0.1").serving() as site:
        site.otherwise = html("segreto")
        yield site


def named(site: Site, name: str) -> str:
    """The address of a site under a public name that leads to it."""
    host, _, port = site.url.removeprefix("http://").partition(":")
    return f"http://{host.replace('.', '-')}{name}.esempio.test:{port}"


def test_a_public_name_that_leads_into_a_private_network_is_refused(names: None, inside: Site, tmp_path: Path) -> None:
    start = named(inside, "")
    summary = crawled(source(start={"pages": [f"{start}/a"]}), tmp_path / "a.sqlite", contact="x@esempio.it")

    assert inside.asked == []
    assert summary.refused["private_address"] == 1


def test_a_public_name_of_an_intranet_is_read_where_the_row_allows_it(names: None, inside: Site, tmp_path: Path) -> None:
    inside.routes["/robots.txt"] = robots("")
    start = named(inside, "")
    crawled(source(start={"pages": [f"{start}/a"]}, allow_private=True), tmp_path / "a.sqlite", contact="x@esempio.it")

    assert inside.paths == ["/robots.txt", "/a"]
    assert inside.headers_of("/a")["Host"] == start.removeprefix("http://")


@pytest.fixture(scope="module")
def led_astray(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """A crawl of a site whose redirects, links, sitemap and feed all lead to a server next door."""
    folder = tmp_path_factory.mktemp("astray")
    with Site("127.0.0.1").serving() as other, Site("127.0.0.2").serving() as site:
        other.otherwise = html("segreto")
        targets = {name: form.format(port=other.url.rpartition(":")[2]) for name, form in FORMS.items()}
        listed = "".join(f"<url><loc>{target}</loc></url>" for target in targets.values())
        further = "".join(f"<sitemap><loc>{target}</loc></sitemap>" for target in targets.values())
        entries = "".join(f"<item><link>{target}</link></item>" for target in targets.values())
        space = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
        xml = {"Content-Type": "application/xml"}
        site.routes |= {
            "/robots.txt": robots(f"User-agent: *\nAllow: /\nSitemap: {targets['loopback']}"),
            "/": html("", *targets.values(), *(f"/verso/{name}" for name in targets)),
            **{f"/verso/{name}": redirect(301, target) for name, target in targets.items()},
            "/sitemap.xml": Reply(f"<urlset {space}>{listed}</urlset>".encode(), headers=xml),
            "/index.xml": Reply(f"<sitemapindex {space}>{further}</sitemapindex>".encode(), headers=xml),
            "/feed.xml": Reply(f'<rss version="2.0"><channel>{entries}</channel></rss>'.encode(), headers=xml),
        }
        start = {"pages": [f"{site.url}/"], "sitemaps": [f"{site.url}/sitemap.xml", f"{site.url}/index.xml"]}
        crawled(source(start=start | {"feeds": [f"{site.url}/feed.xml"]}), folder / "a.sqlite")
        yield {"asked": other.paths, "visits": visits(folder / "a.sqlite", site), "read": site.paths}


@pytest.mark.parametrize("form", FORMS)
def test_a_redirect_into_a_private_network_is_refused_in_every_form(led_astray: dict[str, Any], form: str) -> None:
    reason = "off_site" if form == "user" else "private_address"  # an address with a user name is none
    assert outcome(led_astray["visits"][f"/verso/{form}"]) == (Fetch.REFUSED, reason)


def test_neither_links_nor_listings_lead_into_a_private_network(led_astray: dict[str, Any]) -> None:
    assert led_astray["asked"] == []
    assert {"/sitemap.xml", "/index.xml", "/feed.xml"} <= set(led_astray["read"])


def test_a_robots_txt_elsewhere_in_a_private_network_is_not_fetched(inside: Site, tmp_path: Path) -> None:
    with Site("127.0.0.2").serving() as site:
        site.routes |= {"/robots.txt": redirect(302, f"{inside.url}/robots.txt"), "/": html("x")}
        summary = crawled(source(start={"pages": [f"{site.url}/"]}), tmp_path / "a.sqlite")

    assert inside.asked == []
    assert summary.refused["robots_unreachable"] == 1
