from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from scrapy.resolver import dnscache
from scrapy.settings import Settings
from twisted.internet.address import IPv4Address, IPv6Address

from ingest.crawler.resolver import PublicResolver


class Receiver:
    def __init__(self) -> None:
        self.hosts: list[str] = []
        self.is_complete = False

    def resolutionBegan(self, resolution: Any) -> None:
        pass

    def addressResolved(self, address: Any) -> None:
        self.hosts.append(address.host)

    def resolutionComplete(self) -> None:
        self.is_complete = True


class Names:
    """A resolver with a fixed answer."""

    def __init__(self, *hosts: str) -> None:
        self._hosts = hosts

    def resolveHostName(self, receiver: Any, *_: Any) -> None:
        receiver.resolutionBegan(None)
        for host in self._hosts:
            receiver.addressResolved((IPv6Address if ":" in host else IPv4Address)("TCP", host, 0))
        receiver.resolutionComplete()


@pytest.fixture(autouse=True)
def empty_cache(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    dnscache.clear()
    yield
    dnscache.clear()


def resolver(*hosts: str) -> PublicResolver:
    crawler: Any = SimpleNamespace(settings=Settings({"CRAWL_PRIVATE_ORIGINS": [("intranet.it", 8080)]}))
    reactor: Any = SimpleNamespace(nameResolver=Names(*hosts))
    return PublicResolver.from_crawler(crawler, reactor)


def resolved(made: PublicResolver, name: str, port: int) -> Receiver:
    receiver = Receiver()
    made.resolveHostName(receiver, name, port)  # type: ignore[arg-type]
    return receiver


@pytest.mark.parametrize("address", ["10.0.0.1", "127.0.0.1", "169.254.169.254", "::1", "fe80::1%eth0", "::ffff:10.0.0.1"])
def test_a_name_that_leads_into_a_private_network_does_not_resolve(address: str) -> None:
    made = resolver(address)
    receiver = resolved(made, "www.esempio.it", 443)
    assert (receiver.hosts, receiver.is_complete) == ([], True)
    assert made.has_refused("https://www.esempio.it/x")


def test_the_answer_is_the_same_from_the_cache() -> None:
    made = resolver("10.0.0.1", "8.8.8.8")
    resolved(made, "intranet.it", 8080)
    assert resolved(made, "intranet.it", 443).hosts == resolved(made, "intranet.it", 443).hosts == ["8.8.8.8"]


def test_public_addresses_of_a_name_are_passed_on() -> None:
    made = resolver("8.8.8.8", "2001:4860:4860::8888")
    assert resolved(made, "www.esempio.it", 443).hosts == ["8.8.8.8", "2001:4860:4860::8888"]
    assert not made.has_refused("https://www.esempio.it/x")


def test_a_start_address_may_be_private_at_its_own_port() -> None:
    made = resolver("10.0.0.1")
    assert resolved(made, "intranet.it", 8080).hosts == ["10.0.0.1"]
    assert resolved(made, "intranet.it", 80).hosts == []


def test_the_operators_own_proxy_may_be_private(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("https_proxy", "http://proxy.lan:3128")
    assert resolved(resolver("10.0.0.9"), "proxy.lan", 3128).hosts == ["10.0.0.9"]
