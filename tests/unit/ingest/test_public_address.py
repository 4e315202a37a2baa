import pytest

from ingest.public_address import is_private_host, is_private_ip


@pytest.mark.parametrize(
    "address",
    [
        *("127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "0.0.0.0", "224.0.0.1"),
        *("255.255.255.255", "198.18.0.1", "192.0.2.1", "240.0.0.1", "127.0.0.1."),
        *("::1", "::", "[::1]", "fe80::1", "fe80::1%eth0", "fd00::1", "fec0::1", "ff02::1", "2001:db8::1"),
        *("::ffff:192.168.0.1", "::ffff:7f00:1", "::127.0.0.1", "64:ff9b::a00:1", "64:ff9b:1::1", "2002:a00:1::"),
        "2001:0:4136:e378:8000:63bf:3fff:fdd2",
        *("2130706433", "0x7f000001", "017700000001", "127.1", "0x7f.1", "0177.0.0.01", "10.1", "2852039166"),
    ],
)
def test_an_address_that_is_not_on_the_public_internet_is_private_however_it_is_written(address: str) -> None:
    assert is_private_ip(address) is True
    assert is_private_host(address)


@pytest.mark.parametrize("address", ["8.8.8.8", "134744072", "0x08080808", "2001:4860:4860::8888", "64:ff9b::808:808"])
def test_a_public_address_is_not(address: str) -> None:
    assert is_private_ip(address) is False
    assert not is_private_host(address)


@pytest.mark.parametrize(
    "name",
    ["localhost", "LOCALHOST", "localhost.", "router", "db.internal", "stampante.local", "a.localhost", "x.home.arpa", "a.lan."],
)
def test_a_name_that_only_a_private_network_has_is_private(name: str) -> None:
    assert is_private_ip(name) is None
    assert is_private_host(name)


@pytest.mark.parametrize(
    "name", ["esempio.it", "localhost.esempio.it", "127.0.0.1.esempio.it", "è.it", "local.it", "0x7f.example.org"]
)
def test_any_other_name_is_known_only_by_what_it_leads_to(name: str) -> None:
    assert is_private_ip(name) is None
    assert not is_private_host(name)
