import pytest

from ingest.crawler.site import Site
from ingest.sources import SourceRow


def site(*starts: str, **overrides: object) -> Site:
    row = {"id": "x", "kind": "faq", "publisher": "X", "language": "it", "start": {"pages": starts}}
    return Site.of(SourceRow.model_validate(row | overrides))


PUBLIC = site("https://www.esempio.it/salute")


@pytest.mark.parametrize(
    "url", ["https://www.esempio.it/x", "https://esempio.it/x", "http://www.esempio.it/x", "https://esempio.it:443/"]
)
def test_the_hosts_of_the_start_addresses_are_the_site_with_or_without_www(url: str) -> None:
    assert PUBLIC.refusal(url) is None


@pytest.mark.parametrize(
    "url",
    [
        *("https://altro.it/", "https://blog.esempio.it/", "https://esempio.it.altro.it/", "https://www.esempio.it:8443/"),
        *("file:///etc/passwd", "https:///x", "https://www.esempio.it:99999/"),
    ],
)
def test_other_hosts_and_ports_are_not(url: str) -> None:
    assert PUBLIC.refusal(url) == "off_site"


@pytest.mark.parametrize(
    "host",
    [
        *("127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "0.0.0.0", "224.0.0.1"),
        *("[::1]", "[fe80::1]", "[fd00::1]", "[::ffff:192.168.0.1]", "[64:ff9b::a00:1]", "[2002:a00:1::]"),
        *("localhost", "router", "db.internal", "stampante.local", "a.localhost"),
    ],
)
def test_private_addresses_are_refused(host: str) -> None:
    assert PUBLIC.refusal(f"http://{host}/") == "private_address"


def test_a_private_start_address_is_taken_at_its_own_port_alone() -> None:
    inside = site("http://127.0.0.1:8000/")
    assert inside.refusal("http://127.0.0.1:8000/x") is None
    assert inside.refusal("http://127.0.0.1:8001/x") == "private_address"
    assert inside.refusal("http://127.0.0.1/x") == "private_address"


def test_a_name_that_looks_public_may_lead_into_a_private_network_only_where_the_row_says_so() -> None:
    assert site("https://intranet.asl.it/").private_origins == frozenset()
    assert site("https://intranet.asl.it/", allow_private=True).private_origins == {("intranet.asl.it", 443)}
    assert site("http://10.1.2.3:8000/", "http://portale.lan/").private_origins == {("10.1.2.3", 8000), ("portale.lan", 80)}


def test_a_site_with_a_public_start_address_is_public() -> None:
    assert site("http://127.0.0.1:1/", "https://esempio.it/").is_public
    assert not site("http://127.0.0.1:1/").is_public


def test_patterns_decide_which_pages_are_read() -> None:
    chosen = site("https://esempio.it/", allow=["/malattie/", "/faq"], deny=[r"\?page="])
    assert chosen.reads("https://esempio.it/malattie/febbre")
    assert not chosen.reads("https://esempio.it/notizie")
    assert not chosen.reads("https://esempio.it/malattie/?page=2")
    assert site("https://esempio.it/").reads("https://esempio.it/qualsiasi")


def test_the_file_of_a_source_is_a_part_of_its_site() -> None:
    row = {"id": "x", "kind": "health_topics", "publisher": "X", "language": "es", "url": "https://ejemplo.es/temas.xml"}
    assert Site.of(SourceRow.model_validate(row)).refusal("https://ejemplo.es/temas.xml") is None
