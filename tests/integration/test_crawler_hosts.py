import contextlib
import ipaddress
import ssl
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from ingest.fetching import Fetch
from tests.integration.crawled_site import LIMITS, Exchange, Reply, Site, crawled, html, outcome, robots, source, visits


def self_signed(folder: Path, host: str) -> ssl.SSLContext:
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.now(UTC)
    name = x509.Name([x509.NameAttribute(x509.oid.NameOID.COMMON_NAME, host)])
    certificate = (
        x509.CertificateBuilder(issuer_name=name, subject_name=name, public_key=key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(host))]), critical=False)
        .sign(key, hashes.SHA256())
    )
    form, no_password = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    (folder / "key.pem").write_bytes(key.private_bytes(serialization.Encoding.PEM, form, no_password))
    (folder / "cert.pem").write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "cert.pem", folder / "key.pem")
    return context


def hang_up(exchange: Exchange) -> None:
    exchange.close_connection = True


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    folder = tmp_path_factory.mktemp("hosts")
    sites = {
        "error": Site("127.0.0.2"),
        "silent": Site("127.0.0.3"),
        "missing": Site("127.0.0.4"),
        "delayed": Site("127.0.0.5"),
        "busy": Site("127.0.0.6"),
        "forged": Site("127.0.0.7", self_signed(folder, "127.0.0.7")),
        "throttled": Site("127.0.0.8"),
        "down": Site("127.0.0.9"),
    }
    sites["error"].routes["/robots.txt"] = Reply(b"", 503, {"Retry-After": "0"})
    sites["silent"].routes["/robots.txt"] = hang_up
    sites["delayed"].routes["/robots.txt"] = robots("User-agent: Salus\nCrawl-delay: 0.25\n")
    sites["busy"].routes["/a"] = Reply(b"", 429, {"Retry-After": "999999"})
    sites["throttled"].routes["/robots.txt"] = Reply(b"", 429, {"Retry-After": "0"})
    for site in sites.values():
        site.routes |= {path: html(path) for path in ("/a", "/b", "/c", "/d") if path not in site.routes}
    sites["down"].otherwise = hang_up
    sites["down"].routes = {"/robots.txt": robots("")}
    known = [site.url + path for site in sites.values() for path in ("/a", "/b", "/c", "/d")]
    known += [f"{sites['down'].url}/{number}" for number in range(60)]
    row = source(start={"pages": [f"{site.url}/a" for site in sites.values()]})
    limits = LIMITS.model_copy(update={"retries": 1, "max_retry_after_s": 1.0, "max_failures_in_a_row": 3})
    with contextlib.ExitStack() as stack:
        for site in sites.values():
            stack.enter_context(site.serving())
        summary = crawled(row, folder / "hosts.sqlite", known=known, limits=limits)
        answers = {name: visits(folder / "hosts.sqlite", site) for name, site in sites.items()}
        yield {"sites": sites, "visits": answers, "summary": summary}


@pytest.mark.parametrize("name", ["error", "silent", "throttled"])
def test_h33_a_host_whose_robots_txt_cannot_be_had_is_not_crawled(hosts: dict[str, Any], name: str) -> None:
    assert {outcome(visit) for visit in hosts["visits"][name].values()} == {(Fetch.REFUSED, "robots_unreachable")}
    assert len(hosts["visits"][name]) == 4
    assert set(hosts["sites"][name].paths) == {"/robots.txt"}


def test_h33_a_host_without_robots_txt_may_be_crawled(hosts: dict[str, Any]) -> None:
    assert {visit.fetch for visit in hosts["visits"]["missing"].values()} == {Fetch.FETCHED}


def test_h33_a_crawl_delay_with_decimals_is_kept_although_the_throttle_would_go_faster(hosts: dict[str, Any]) -> None:
    times = [asked.at for asked in hosts["sites"]["delayed"].asked]
    assert len(times) == 5
    assert min(later - earlier for earlier, later in pairwise(times[1:])) >= 0.24


def test_h34_only_the_host_that_asks_to_wait_is_waited_for(hosts: dict[str, Any]) -> None:
    waits = [asked.at for asked in hosts["sites"]["busy"].asked if asked.path == "/a"]
    assert waits[1] - waits[0] >= 0.95
    others = [asked.at for name in ("missing", "delayed") for asked in hosts["sites"][name].asked]
    assert [at for at in others if waits[0] < at < waits[0] + 0.9]
    assert hosts["visits"]["busy"]["/b"].fetch is Fetch.FETCHED


def test_a_certificate_that_nobody_vouches_for_ends_the_connection(hosts: dict[str, Any]) -> None:
    assert hosts["sites"]["forged"].asked == []
    assert {visit.fetch for visit in hosts["visits"]["forged"].values()} == {Fetch.REFUSED}


def test_a_host_that_fails_again_and_again_is_left_alone(hosts: dict[str, Any]) -> None:
    down = hosts["sites"]["down"]
    assert {visit.reason for visit in hosts["visits"]["down"].values()} == {"connection", "host_down"}
    assert {visit.fetch for visit in hosts["visits"]["down"].values()} == {Fetch.FAILED}
    assert len(down.asked) < 50  # of 128, which all tries together would have been
    assert hosts["summary"].notes == (f"host_down: {down.url.removeprefix('http://')}",)
