import socket
from typing import Any

import pytest

from rag.errors import ModelError, ModelUnavailable
from rag.models.server_address import GeneratorServer, addresses_of, is_on_server, is_private


def leads_to(monkeypatch: pytest.MonkeyPatch, *addresses: str) -> None:
    def found(_host: str, port: int, **_: Any) -> list[Any]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in addresses]

    monkeypatch.setattr(socket, "getaddrinfo", found)


@pytest.mark.parametrize(
    "address",
    [
        *("127.0.0.1", "127.8.8.8", "10.1.2.3", "172.16.0.1", "172.31.255.255", "192.168.1.1", "169.254.1.1"),
        *("::1", "fe80::1", "fe80::1%eth0", "fd12::1", "::ffff:10.0.0.1"),
    ],
)
def test_an_address_of_the_own_network_is_private(address: str) -> None:
    assert is_private(address)


@pytest.mark.parametrize(
    "address",
    [
        *("8.8.8.8", "172.32.0.1", "172.15.0.1", "192.169.0.1", "100.64.0.1", "0.0.0.0", "198.18.0.1"),
        *("2001:db8::1", "2a00::1", "::", "::ffff:8.8.8.8", "64:ff9b::a00:1", "2002:a00:1::"),
    ],
)
def test_every_other_address_is_not(address: str) -> None:
    assert not is_private(address)


@pytest.mark.parametrize("host", ["2130706433", "0x7f000001", "127.1"])
def test_the_odd_forms_of_the_loopback_address_are_what_they_lead_to(host: str) -> None:
    assert addresses_of(GeneratorServer(url=f"http://{host}:8000/v1")) == ("127.0.0.1",)


def test_a_name_that_leads_beyond_the_own_network_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    leads_to(monkeypatch, "8.8.8.8")
    with pytest.raises(ModelError, match="SALUS_REMOTE_GENERATOR"):
        addresses_of(GeneratorServer(url="https://llm.example/v1"))


def test_a_name_of_which_one_address_lies_beyond_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    leads_to(monkeypatch, "10.0.0.1", "8.8.8.8")
    with pytest.raises(ModelError):
        addresses_of(GeneratorServer(url="https://llm.example/v1"))


def test_a_remote_server_is_reached_where_the_operator_accepts_it(monkeypatch: pytest.MonkeyPatch) -> None:
    leads_to(monkeypatch, "8.8.8.8")
    assert addresses_of(GeneratorServer(url="https://llm.example/v1", may_be_public=True)) == ("8.8.8.8",)


def test_nothing_is_sent_to_a_remote_server_without_encryption(monkeypatch: pytest.MonkeyPatch) -> None:
    leads_to(monkeypatch, "8.8.8.8")
    with pytest.raises(ModelError, match="https://"):
        addresses_of(GeneratorServer(url="http://llm.example/v1", may_be_public=True))


def test_a_name_that_leads_nowhere_may_lead_somewhere_later() -> None:
    with pytest.raises(ModelUnavailable):
        addresses_of(GeneratorServer(url="http://nowhere.invalid/v1"))


def test_a_key_is_not_shown() -> None:
    assert "secret" not in repr(GeneratorServer(url="http://10.0.0.1/v1", key="secret"))


@pytest.mark.parametrize(("spec", "is_so"), [("openai:qwen3", True), (" OpenAI:x ", True), ("openai", False), ("a.gguf", False)])
def test_a_generator_on_a_server_is_known_by_its_name(spec: str, is_so: bool) -> None:
    assert is_on_server(spec) is is_so
