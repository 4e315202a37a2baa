"""The test site is what its manifest says: otherwise whatever is judged by it is judged wrongly."""

import gzip
import io
import itertools
import re
import zlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import httpx
import pypdf
import pytest
from lxml import html

from ingest.extraction.results import Refusal
from ingest.sources import SourceKind, load_sources
from locales.language import Language
from rag.documents import Authority, DocumentKind
from tests.doubles.health_site import ExpectedDocument, HealthSite
from tests.doubles.health_site.transport import SITEMAP_SIZE, gzip_bomb

_CHROME = ".cookie-banner, header:not([class]), footer.site-footer, .social-share, .related, script, style, template"


@pytest.fixture(scope="module")
def site() -> Iterator[HealthSite]:
    """For tests that change nothing."""
    with HealthSite() as running:
        yield running


@pytest.fixture
def own_site() -> Iterator[HealthSite]:
    with HealthSite() as running:
        yield running


@pytest.fixture(scope="module")
def client() -> Iterator[httpx.Client]:
    with httpx.Client(trust_env=False, timeout=5) as running:
        yield running


def seen_text(body: bytes, charset: str = "utf-8") -> str:
    """The words of a page without its frame; hidden parts are among them."""
    tree = html.fromstring(body.decode(charset))
    for element in tree.cssselect(_CHROME):
        element.drop_tree()
    return " ".join(" ".join(tree.itertext()).split())


def text_of(site: HealthSite, source_id: str, document: ExpectedDocument) -> str:
    page = site.hosts[source_id].pages[document.path]
    if page.content_type == "application/pdf":
        return " ".join(" ".join(sheet.extract_text() for sheet in pypdf.PdfReader(io.BytesIO(page.body)).pages).split())
    charset = "cp1252" if page.changeable is None and b"\xc3" not in page.body else "utf-8"
    return seen_text(page.body, charset).replace("\u200b", "")


def conditional(answer: httpx.Response) -> dict[str, str]:
    """Headers that ask whether the page is still as it was answered."""
    given = {"If-None-Match": answer.headers.get("etag"), "If-Modified-Since": answer.headers.get("last-modified")}
    return {name: value for name, value in given.items() if value}


def shingles(text: str) -> set[tuple[str, ...]]:
    tokens = re.findall(r"\w+", text.lower())
    return set(itertools.pairwise(zip(tokens, tokens[1:], tokens[2:], strict=False)))  # type: ignore[arg-type]


def test_the_publishers_have_three_hundred_documents_and_more_in_two_languages(site: HealthSite) -> None:
    expected = site.expected()
    rows = site.sources()
    counts = Counter(document.kind for source, document in expected.documents() if site.hosts[source.source_id].is_content)
    assert sum(expected[row.id].count for row in rows) >= 300
    assert {row.language for row in rows} == set(Language)
    assert counts[DocumentKind.ARTICLE] >= 140
    assert counts[DocumentKind.FORUM] >= 80
    assert counts[DocumentKind.FAQ] >= 20


def test_every_expected_document_is_served(site: HealthSite, client: httpx.Client) -> None:
    waiting = {"attesa-data", "attesa-negativa", "attesa-una"}  # ask for a wait first
    bad = [
        (source.source_id, document.path)
        for source, document in site.expected().documents()
        if source.source_id not in waiting and client.get(source.base + document.path).status_code != 200
    ]
    assert bad == []


def test_every_expected_sentence_stands_on_its_page(site: HealthSite) -> None:
    missing = [
        (document.path, sentence)
        for source, document in site.expected().documents()
        for text in [text_of(site, source.source_id, document)]
        for sentence in (document.title, *document.sentences, *document.never_evidence, *document.headings)
        if sentence not in text
    ]
    assert missing == []


def test_what_must_be_absent_is_never_a_part_of_what_must_be_present(site: HealthSite) -> None:
    clashes = [
        (document.path, absent, sentence)
        for _, document in site.expected().documents()
        for sentence in (document.title, *document.sentences, *document.headings)
        for absent in document.absent
        if absent in sentence
    ]
    assert clashes == []


def test_names_towns_and_ages_of_askers_stand_in_question_or_greeting_alone(site: HealthSite) -> None:
    for source, document in site.expected().documents():
        if document.kind is DocumentKind.FORUM:
            page = seen_text(site.hosts[source.source_id].pages[document.path].body)
            assert sum(absent in page for absent in document.absent) >= 4, document.path


def test_a_marker_stands_on_one_page_alone(site: HealthSite) -> None:
    markers = Counter(
        document.marker
        for source, document in site.expected().documents()
        if document.marker and not any(document.path in group for group in source.one_of)
    )
    assert len(markers) > 200
    assert max(markers.values()) == 1


def test_no_two_documents_but_the_planned_ones_are_alike(site: HealthSite) -> None:
    expected = site.expected()
    planned = {path for source in expected.sources.values() for group in source.one_of for path in group}
    texts = [
        (document, shingles(text_of(site, source.source_id, document)))
        for source, document in expected.documents()
        if document.path not in planned and "ofenil" not in document.path
    ]
    alike = [
        (first.path, second.path)
        for (first, one), (second, other) in itertools.combinations(texts, 2)
        if first.language == second.language and len(one & other) > 0.6 * min(len(one), len(other))
    ]
    assert alike == []


def test_the_site_is_the_same_each_time(site: HealthSite) -> None:
    again = HealthSite()
    assert {name: {path: page.body for path, page in host.pages.items()} for name, host in site.hosts.items()} == {
        name: {path: page.body for path, page in host.pages.items()} for name, host in again.hosts.items()
    }


def test_reasons_are_those_of_the_extraction_or_of_a_visit(site: HealthSite) -> None:
    visits = {"private_address", "too_large", "reserved"}
    reasons = {reason for source in site.expected().sources.values() for some in source.refused.values() for reason in some}
    assert reasons <= visits | set(Refusal)
    assert reasons >= {str(refusal) for refusal in Refusal}


def test_an_unchanged_page_answers_304_to_whichever_validator_it_gave(site: HealthSite, client: httpx.Client) -> None:
    expected = site.expected()["enciclopedia-it"]
    kinds = set()
    for path in expected.documents:
        headers = conditional(client.get(expected.base + path))
        kinds.add(frozenset(headers))
        assert client.get(expected.base + path, headers=headers).status_code == 304
    assert len(kinds) == 3


def test_a_changed_page_has_a_new_sentence_and_new_validators(own_site: HealthSite, client: httpx.Client) -> None:
    for path in list(own_site.expected()["forum-it"].documents)[:2] + list(own_site.expected()["enciclopedia-es"].documents)[:8]:
        before = client.get(own_site.url(path))
        new = own_site.change(path)
        after = client.get(own_site.url(path), headers=conditional(before))
        assert after.status_code == 200
        assert new in after.text
        assert new not in before.text


def test_a_removed_page_is_gone_and_in_no_list(own_site: HealthSite, client: httpx.Client) -> None:
    expected = own_site.expected()["enciclopedia-it"]
    own_site.remove(path := next(iter(expected.documents)))
    first = gzip.decompress(client.get(expected.base + "/sitemap-1.xml.gz").content).decode()
    assert client.get(expected.base + path).status_code == 404
    assert f"{path}<" not in first + client.get(expected.base + "/sitemap-2.xml").text
    assert path in own_site.expected()["enciclopedia-it"].gone


def test_an_added_page_is_listed_and_expected(own_site: HealthSite, client: httpx.Client) -> None:
    path = "/salud/enciclopedia/fiebre-de-prueba"
    own_site.add(path, "Fiebre de prueba", "La palabra zarandonga aparece aquí.\n\nConviene consultar al médico.")
    listed = "".join(client.get(f"{own_site.url('/salud/')}?pagina={number}").text for number in range(1, 6))
    assert path in listed
    assert "zarandonga" in client.get(own_site.url(path)).text
    assert path in own_site.expected()["enciclopedia-es"].documents


def test_shrinking_takes_the_share_from_every_publisher(own_site: HealthSite) -> None:
    before = {row.id: len(own_site.expected()[row.id].documents) for row in own_site.sources()}
    removed = own_site.shrink(0.25)
    after = {row.id: len(own_site.expected()[row.id].documents) for row in own_site.sources()}
    assert all(after[name] <= 0.75 * before[name] for name in before)
    assert len(removed) == sum(before.values()) - sum(after.values())


def test_all_requests_fail_until_told_otherwise(own_site: HealthSite, client: httpx.Client) -> None:
    own_site.fail_all(503)
    assert client.get(own_site.url("/salud/")).status_code == 503
    assert client.get(own_site.hosts["faq-it"].base + "/robots.txt").status_code == 200
    own_site.fail_all(None)
    assert client.get(own_site.url("/salud/")).status_code == 200


def test_requests_are_recorded(own_site: HealthSite, client: httpx.Client) -> None:
    client.get(own_site.url("/salud/") + "?pagina=2", headers={"User-Agent": "prova"})
    (seen,) = own_site.requests
    assert (seen.host, seen.method, seen.path, seen.status) == ("enciclopedia-es", "GET", "/salud/?pagina=2", 200)
    assert (seen.user_agent, seen.is_conditional) == ("prova", False)


def test_rows_are_ready_to_be_crawled_and_survive_a_file(site: HealthSite, tmp_path: Path) -> None:
    rows = (*site.sources(), *site.special_sources())
    assert load_sources(site.write_sources(tmp_path / "sources.toml", rows)) == rows
    assert all(row.delay_s == 0 for row in rows)
    assert Authority.DEMONSTRATION in {row.authority for row in rows}
    assert {row.kind for row in site.sources(SourceKind.FORUM)} == {SourceKind.FORUM}
    assert [row.id for row in rows if not row.enabled] == ["riservata"]


def test_robots_files_differ_by_host(site: HealthSite, client: httpx.Client) -> None:
    answers = {name: client.get(host.base + "/robots.txt") for name, host in site.hosts.items() if name.startswith("robots-")}
    assert [answers[name].status_code for name in ("robots-503", "robots-404", "robots-bom")] == [503, 404, 200]
    assert answers["robots-bom"].content.startswith(b"\xef\xbb\xbf")
    assert "Disallow: /*.pdf$" in answers["robots-asterisco"].text
    assert "Crawl-delay: 2.5" in answers["robots-ritardo"].text


def test_bytes_and_declared_charsets_disagree_where_they_should(site: HealthSite, client: httpx.Client) -> None:
    base = site.hosts["varie-it"].base
    names = ("latin1-senza-intestazione", "latin1-dichiarata-utf8", "virgolette-windows")
    bare, liar, windows = (client.get(f"{base}/varie/{name}") for name in names)
    assert [page.headers["content-type"] for page in (bare, liar)] == ["text/html", "text/html; charset=utf-8"]
    assert all(b"perch\xe9 l'et\xe0" in page.content for page in (bare, liar))
    assert b"\x93nebbia mentale\x94 \x96" in windows.content
    assert "perchÃ©" in client.get(base + "/varie/doppia-codifica").text
    assert "\ufffd" in client.get(base + "/varie/caratteri-perduti").text


@pytest.mark.parametrize("name", ["attesa-data", "attesa-negativa", "attesa-una", "attesa-enorme"])
def test_a_host_asks_for_a_wait(own_site: HealthSite, client: httpx.Client, name: str) -> None:
    url = own_site.hosts[name].base + "/salute/prima"
    first, second = client.get(url), client.get(url)
    assert (first.status_code, "retry-after" in first.headers) == (429, True)
    assert second.status_code == (429 if name == "attesa-enorme" else 200)


def test_redirects_lead_where_they_should(site: HealthSite, client: httpx.Client) -> None:
    base = site.hosts["trasporto"].base
    targets = {
        path: client.get(f"{base}/salute/{path}").headers["location"] for path in ("vecchia", "interna", "metadati", "vicina")
    }
    assert targets["vecchia"] == f"{base}/salute/nuova"
    assert targets["interna"].startswith("http://10.")
    assert targets["metadati"].startswith("http://169.254.")
    assert targets["vicina"] == site.hosts["riservata"].base + "/segreto"
    assert [client.get(f"{base}/salute/{path}").status_code for path in ("assente", "ritirata")] == [404, 410]


def test_a_silent_page_never_answers(site: HealthSite) -> None:
    with pytest.raises(httpx.ReadTimeout):
        httpx.get(site.hosts["lento"].base + "/salute/muta", timeout=0.3, trust_env=False)


def test_bodies_are_as_large_as_promised(site: HealthSite, client: httpx.Client) -> None:
    base = site.hosts["grande"].base
    with client.stream("GET", f"{base}/salute/enorme") as response:
        parts = response.iter_bytes(1 << 20)
        assert sum(len(next(parts)) for _ in range(5)) == 5 << 20
    with client.stream("GET", f"{base}/salute/enorme-annunciata") as response:
        assert int(response.headers["content-length"]) == 200 << 20
    assert len(gzip_bomb()) < 300_000
    unpacked = zlib.decompressobj(31)
    assert len(unpacked.decompress(gzip_bomb(), 10 << 20)) == 10 << 20


def test_the_endless_sitemap_and_the_calendar_answer(site: HealthSite, client: httpx.Client) -> None:
    endless, calendar = site.hosts["mappa-enorme"].base, site.hosts["calendario"].base
    assert client.get(f"{endless}/sitemap.xml").text.count("<loc>") == SITEMAP_SIZE
    assert client.get(f"{endless}/salute/scheda-099999").status_code == 200
    assert "mese=9999" in client.get(f"{calendar}/eventi?mese=9998").text
    assert "<!ENTITY b9" in client.get(site.hosts["bomba-xml"].base + "/sitemap.xml").text


async def test_the_site_runs_in_an_async_block_too() -> None:
    async with HealthSite() as running, httpx.AsyncClient(trust_env=False) as client:
        assert (await client.get(running.url("/domande/"))).status_code == 200
