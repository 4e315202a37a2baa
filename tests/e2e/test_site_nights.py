"""Night after night over a whole site: crawled by the real Scrapy, judged by what lies in the index.

Field cases H21, H29, H31 to H35 and H39. Each night is a fixture that follows the one before it on the same home, and its tests
read what it left.
"""

import re
import shutil
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

import pytest
from starlette.responses import RedirectResponse
from starlette.types import Receive, Scope, Send

from ingest.report import RunStatus
from ingest.run import index_directory
from ingest.sources import SourceRow
from ingest.staging import StagedPage
from locales.language import Language
from rag.build import build_answerer
from rag.documents import Chunk, Document, DocumentKind
from rag.settings import RagSettings
from rag.types import Question
from tests.doubles.health_site import ExpectedDocument, ExpectedSource, HealthSite
from tests.doubles.health_site.markup import page_html, paragraphs
from tests.doubles.health_site.pages import Host, Page
from tests.doubles.health_site.texts import words
from tests.e2e.crawled_home import CrawledHome, Night, one
from tests.fakes import HashEmbedder

ITALIAN, SPANISH = Language.ITALIAN, Language.SPANISH
ENCYCLOPAEDIA = "enciclopedia-it"
FOLDER = "/salute/enciclopedia/"


@pytest.fixture(scope="module")
def site() -> Iterator[HealthSite]:
    with HealthSite() as running:
        yield running


@pytest.fixture(scope="module")
def home(site: HealthSite, tmp_path_factory: pytest.TempPathFactory) -> CrawledHome:
    return CrawledHome(tmp_path_factory.mktemp("site"), site)


# The first night.


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstNight:
    """What the first night left, before anything changed."""

    night: Night
    expected: tuple[ExpectedSource, ...]
    documents: dict[str, Document]
    chunks: list[Chunk]
    staged: list[StagedPage]
    finds: dict[str, list[str]]

    def pairs(self) -> Iterator[tuple[Document, ExpectedDocument]]:
        """Each document with what it should be."""
        for source in self.expected:
            for path, right in source.documents.items():
                if document := self.documents.get(source.base + path):
                    yield document, right


@pytest.fixture(scope="module")
def first(home: CrawledHome, site: HealthSite) -> FirstNight:
    night = home.night()
    expected = tuple(site.expected()[row.id] for row in site.sources())
    markers = {right.marker: right.language for source in expected for right in source.documents.values() if right.marker}
    return FirstNight(
        night=night,
        expected=expected,
        documents=home.documents(),
        chunks=home.chunks(),
        staged=home.staged(),
        finds={marker: home.found(marker, language) for marker, language in markers.items()},
    )


def test_exactly_the_right_documents_are_in_the_index(first: FirstNight) -> None:
    assert (first.night.report.status, first.night.report.problems) == (RunStatus.COMPLETE, ())
    assert len(first.documents) >= 300
    for source in first.expected:
        mine = {
            url.removeprefix(source.base) for url, document in first.documents.items() if document.source_id == source.source_id
        }
        for group in source.one_of:
            assert len(mine & group) == 1, group
        either = frozenset().union(*source.one_of, source.optional)
        assert mine - either == set(source.documents) - either, source.source_id


def test_ledger_and_index_hold_the_same(first: FirstNight) -> None:
    assert {page.document.url: page.document for page in first.staged} == first.documents
    in_ledger = {chunk.chunk_id: chunk for page in first.staged for chunk in page.chunks}
    assert {chunk.chunk_id: chunk for chunk in first.chunks} == in_ledger


def test_titles_kinds_and_dates_are_right(first: FirstNight) -> None:
    wrong = [
        (right.path, name, getattr(document, name), value)
        for document, right in first.pairs()
        for name in ("title", "kind", "language", "reviewed_on", "published_on", "category", "synonyms")
        if (value := getattr(right, name)) and getattr(document, name) != value
    ]
    assert wrong == []
    roles = [(d.answered_by or "", right.answered_by) for d, right in first.pairs() if right.answered_by]
    assert all(told.casefold() == role.casefold() for told, role in roles)
    kinds = Counter(document.kind for document in first.documents.values())
    assert set(kinds) == {DocumentKind.ARTICLE, DocumentKind.FORUM, DocumentKind.FAQ}


def test_every_sentence_and_heading_that_should_be_there_is_h31_h32(first: FirstNight) -> None:
    missing = []
    for document, right in first.pairs():
        text, asked = one(document.text), one(" ".join(document.asked)).lower()
        missing += [(right.path, sentence) for sentence in right.sentences if one(sentence) not in text]
        missing += [(right.path, part) for part in right.asked if one(part).lower() not in asked]
        headings = re.findall(r"(?m)^#+ (.+)$", document.text)
        missing += [(right.path, heading) for heading in right.headings if heading not in headings]
    assert missing == []


def test_nothing_that_should_not_be_there_is_in_index_or_ledger_h39(first: FirstNight) -> None:
    """Frames of pages, planted instructions, askers' names, ages and places, and replies of users."""
    right = {document.document_id: right for document, right in first.pairs()}
    present = [
        (right[page.document.document_id].path, absent)
        for page in first.staged
        if page.document.document_id in right
        for absent in right[page.document.document_id].absent
        if absent.lower() in _all_of(page)
    ]
    assert present == []


def _all_of(page: StagedPage) -> str:
    document = page.document
    texts = [document.title, document.text, *document.asked, *(surface.text for surface in page.surfaces)]
    return one(" ".join([*texts, *(chunk.text for chunk in page.chunks)])).lower()


def test_what_a_doctor_said_to_the_asker_is_never_evidence(first: FirstNight) -> None:
    right = {document.document_id: right for document, right in first.pairs() if right.never_evidence}
    quoted = [
        (chunk.document_id, one(sentence.text))
        for chunk in first.chunks
        if chunk.document_id in right
        for sentence in chunk.sentences
        for never in right[chunk.document_id].never_evidence
        if one(never) in one(sentence.text) or (one(sentence.text) in one(never) and len(sentence.text.split()) > 4)
    ]
    assert len(right) > 60
    assert quoted == []
    forum = {document.document_id for document in first.documents.values() if document.kind is DocumentKind.FORUM}
    assert len({chunk.document_id for chunk in first.chunks if chunk.document_id in forum and chunk.sentences}) > 20


def test_wrong_pages_are_refused_with_their_reasons_h35(first: FirstNight, home: CrawledHome) -> None:
    for source in first.expected:
        addresses = home.addresses(source.source_id) if source.refused else {}
        for path, reasons in source.refused.items():
            address = addresses.get(path)
            if address is not None and address.document_ids:  # folded into its canonical address, or read as it was meant
                (document,) = [d for d in first.documents.values() if d.document_id == address.document_ids[0]]
                assert path in source.optional or not document.url.endswith(path), path  # type: ignore[union-attr]
            elif address is not None:
                assert address.refusal in reasons, path
            else:  # never read at all: the visit told the reason
                told = set(first.night.report.refusals[source.source_id])
                assert reasons & told, path


def test_refusals_are_counted_by_source_and_reason(first: FirstNight) -> None:
    for source_id in ("varie-it", "varias-es"):
        told = first.night.report.refusals[source_id]
        assert {"reserved", "not_found_page", "wrong_language", "duplicate", "script_shell", "too_short"} <= set(told)
        assert told["reserved"] == 4
    assert first.night.report.refusals["forum-it"]["no_answer"] >= 10


def test_page_whose_letters_were_taken_for_others_is_refused_or_mended_h31(first: FirstNight) -> None:
    for source in first.expected:
        for path, right in source.optional.items():
            if document := first.documents.get(source.base + path):
                assert one(right.sentences[0]) in one(document.text)
    assert not any("\ufffd" in document.text or "Ã" in document.text for document in first.documents.values())


def test_robots_txt_is_kept_on_every_host_h33(first: FirstNight) -> None:
    asked = {(request.host, request.path) for request in first.night.requests}
    for source in first.expected:
        assert not {path for path in source.never_requested if (source.source_id, path) in asked}
        assert (source.source_id, "/robots.txt") in asked
    assert all(CONTACT_IN_AGENT.search(request.user_agent) for request in first.night.requests)


CONTACT_IN_AGENT = re.compile(r"^Salus/\S+ \(\+prova@esempio\.it\)$")


def test_rare_word_of_each_page_finds_that_page(first: FirstNight) -> None:
    where = {right.marker: right.path for source in first.expected for right in source.documents.values() if right.marker}
    either = {path for source in first.expected for group in source.one_of for path in group}
    assert len(where) > 150
    assert [marker for marker, paths in first.finds.items() if where[marker] not in (*paths[:1], *either)] == []


# The second night: nothing changed.


@pytest.fixture(scope="module")
def second(first: FirstNight, home: CrawledHome) -> Night:
    night = home.night()
    for name, each in (("first", first.night), ("unchanged", night)):
        told = f"{each.pages_a_second:.0f} pages a second through the pipeline, {each.seconds:.1f} s in all"
        sys.stdout.write(f"{name} night: {told}\n")
    return night


def test_night_without_changes_embeds_nothing_and_loses_nothing_h34(second: Night, first: FirstNight, home: CrawledHome) -> None:
    assert second.embedded == ()
    assert (second.report.status, second.report.problems) == (RunStatus.COMPLETE, ())
    kinds = ("new", "changed", "moved", "retired", "unchanged")
    assert {kind: second.count(kind) for kind in kinds if second.count(kind)} == {"unchanged": len(first.documents)}
    assert {row.published_version for row in second.report.languages} == {None}
    assert home.documents() == first.documents


def test_pages_that_were_read_are_asked_for_conditionally_and_answered_304_h34(second: Night, first: FirstNight) -> None:
    paths = {(source.source_id, path) for source in first.expected for path in source.documents}
    asked = {(request.host, request.path): request for request in second.requests}
    assert {key for key in paths if not asked[key].is_conditional} == set()
    assert {asked[key].status for key in paths} == {304}


def test_unchanged_pages_go_through_the_pipeline_at_two_hundred_a_second(second: Night) -> None:
    assert second.pages_a_second >= 200


# The third night: one page in a hundred changed.


@pytest.fixture(scope="module")
def changed(second: Night, site: HealthSite, home: CrawledHome) -> tuple[Night, dict[str, str]]:
    paths = [path for path in site.expected()[ENCYCLOPAEDIA].documents][5:60:20]
    sentences = {path: site.change(path) for path in paths}
    return home.night(ENCYCLOPAEDIA), sentences


def test_of_one_page_in_a_hundred_only_the_new_texts_are_embedded(
    changed: tuple[Night, dict[str, str]], first: FirstNight, home: CrawledHome
) -> None:
    night, sentences = changed
    assert (night.count("changed"), night.count("new"), night.count("retired")) == (len(sentences), 0, 0)
    before = {text for page in first.staged for text in (surface.text for surface in page.surfaces)}
    assert night.embedded
    assert not before & set(night.embedded)
    assert len(night.embedded) <= 3 * len(sentences)
    assert all(any(sentence in text for sentence in sentences.values()) for text in night.embedded)
    for path, sentence in sentences.items():
        assert sentence in home.documents()[home.site.url(path)].text


# The fourth and fifth nights: pages come, go, move and break.


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """What happened to which page, and what was found after one night and after two."""

    paths: dict[str, str]
    markers: dict[str, str]
    nights: tuple[Night, Night]
    finds: tuple[dict[str, list[str]], dict[str, list[str]]]
    cited: tuple[dict[str, list[str]], dict[str, list[str]]]


DRY = "La xerofagia è un'alimentazione di soli cibi secchi, che asciuga la bocca e affatica lo stomaco quando dura a lungo."
EVENTS = ("404", "410", "shrunk", "moved", "soft404", "banner", "shell", "forbidden", "untouched")


@pytest.fixture(scope="module")
def story(changed: tuple[Night, dict[str, str]], site: HealthSite, home: CrawledHome) -> Story:
    answerer = build_answerer(RagSettings(home=home.path, generator="none"), embedder=HashEmbedder())  # once, as in a bot

    def cited() -> dict[str, list[str]]:
        return {
            name: [home.site_path(hit.chunk.url) for hit in answerer.find(Question(text=text, language=ITALIAN))]
            for name, text in questions.items()
        }

    documents = site.expected()[ENCYCLOPAEDIA].documents
    # Even numbers name no canonical address, so that one of them can move.
    anywhere = [path for path in documents if not _names_itself(site, path)]
    paths = dict(zip(EVENTS, anywhere[8 : 8 + 2 * len(EVENTS) : 2], strict=True))
    markers = {name: documents[path].marker or "" for name, path in paths.items()}
    markers |= {"added": "xerofagia", "small": "Tavolini"}
    questions = {name: documents[path].sentences[0] for name, path in paths.items()} | {"added": DRY}
    assert all(name in ("added", "small") or home.found(markers[name])[:1] == [path] for name, path in paths.items())
    assert paths["404"] in cited()["404"]
    _happen(site, paths)
    nights, finds, quoted = [], [], []
    for _ in range(2):
        nights.append(home.night(ENCYCLOPAEDIA))
        finds.append({name: home.found(marker) for name, marker in markers.items()})
        quoted.append(cited())
    return Story(
        paths=paths,
        markers=markers,
        nights=(nights[0], nights[1]),
        finds=(finds[0], finds[1]),
        cited=(quoted[0], quoted[1]),
    )


def _names_itself(site: HealthSite, path: str) -> bool:
    return b'rel="canonical"' in site.hosts[ENCYCLOPAEDIA].pages[path].body


def _happen(site: HealthSite, paths: dict[str, str]) -> None:
    host, odd = site.hosts[ENCYCLOPAEDIA], site.hosts["varie-it"].pages.values()
    site.remove(paths["404"])
    site.remove(paths["410"], status=410)
    _rewrite(host, paths["shrunk"], _short(host.pages[paths["shrunk"]]))
    _move(host, paths["moved"], FOLDER + "trasferita")
    for name, reason in (("soft404", "not_found_page"), ("banner", "consent_banner"), ("shell", "script_shell")):
        _rewrite(host, paths[name], next(page.body for page in odd if reason in page.refused))
    host.robots = f"User-agent: *\nDisallow: /amministrazione/\nDisallow: {paths['forbidden']}\n".encode()
    site.add(
        FOLDER + "secchezza",
        "La secchezza da digiuno",
        f"{DRY}\n\nChi la pratica per giorni beve acqua a piccoli sorsi, mangia frutta appena può e ne parla con il suo medico.",
    )


def _rewrite(host: Host, path: str, body: bytes) -> None:
    page = host.pages[path]
    page.body, page.revision, page.changeable = body, page.revision + 1, None


def _short(page: Page) -> bytes:
    told = (
        "Questa scheda si è fatta breve: resta solo l'essenziale, con parole nuove e semplici per chi legge di fretta.",
        "Il disturbo dei Tavolini passa di solito da solo nel giro di qualche giorno, con riposo, acqua e un poco di pazienza.",
    )
    return page_html(words(ITALIAN), page.title, f"<h1>{page.title}</h1>" + paragraphs(*told)).encode()


def _move(host: Host, old: str, new: str) -> None:
    page = host.pages[old]

    async def leave(host: Host, scope: Scope, receive: Receive, send: Send) -> None:
        await RedirectResponse(new, status_code=301)(scope, receive, send)

    assert page.document
    host.pages[old] = Page(path=old, answer=leave, moved_to=new, is_listed=False)
    host.put(replace(page, path=new, document=replace(page.document, path=new)))


@pytest.mark.parametrize("status", ["404", "410"])
def test_page_removed_at_the_source_is_cited_one_night_more_and_then_no_longer_h21(story: Story, status: str) -> None:
    path = story.paths[status]
    assert story.finds[0][status][:1] == [path]
    assert path in story.cited[0][status]
    assert path not in (*story.finds[1][status], *story.cited[1][status])


def test_added_page_is_found_by_its_rare_word_the_same_night_h29(story: Story) -> None:
    for night in range(2):
        assert story.finds[night]["added"] == [FOLDER + "secchezza"]
        assert FOLDER + "secchezza" in story.cited[night]["added"]


def test_page_that_shrinks_loses_its_old_chunks(story: Story) -> None:
    assert story.paths["shrunk"] not in story.finds[0]["shrunk"]
    assert story.finds[0]["small"][:1] == [story.paths["shrunk"]]


def test_page_that_moved_is_one_document_at_its_new_address(story: Story) -> None:
    assert story.finds[0]["moved"][:1] == [FOLDER + "trasferita"]
    assert story.paths["moved"] not in (*story.finds[0]["moved"], *story.finds[1]["moved"])
    assert story.nights[0].count("moved") == 1
    marker = story.markers["moved"]
    assert not [text for text in story.nights[0].embedded if marker in text]


@pytest.mark.parametrize("name", ["banner", "shell"])
def test_page_that_turns_into_a_banner_or_a_shell_keeps_its_old_text_h32(story: Story, name: str) -> None:
    for finds in story.finds:
        assert finds[name][:1] == [story.paths[name]]


@pytest.mark.parametrize("name", ["soft404", "forbidden"])
def test_page_that_says_not_found_or_is_forbidden_now_is_retired_after_two_nights_h33_h35(story: Story, name: str) -> None:
    assert story.finds[0][name][:1] == [story.paths[name]]
    assert story.paths[name] not in story.finds[1][name]


def test_untouched_pages_stay_as_they_were(story: Story) -> None:
    assert story.finds[1]["untouched"][:1] == [story.paths["untouched"]]
    assert story.nights[1].embedded == ()
    assert [night.count("retired") for night in story.nights] == [1, 4]  # what moved; then 404, 410, soft 404, forbidden
    assert [night.report.status for night in story.nights] == [RunStatus.COMPLETE] * 2


def test_nothing_of_a_retired_page_is_asked_for_or_kept_in_the_crawl(story: Story, home: CrawledHome) -> None:
    addresses = home.addresses(ENCYCLOPAEDIA)
    for name in ("404", "410", "soft404", "forbidden"):
        assert story.paths[name] not in addresses
        assert not home.holds([story.markers[name]])


def test_another_extractor_reads_each_page_again_and_embeds_nothing(
    story: Story, home: CrawledHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = home.documents()
    monkeypatch.setattr("ingest.crawled_pages.EXTRACTOR_VERSION", "next")
    night = home.night("novita-it")

    assert night.embedded == ()
    assert {request.status for request in night.requests if "/novita/" in request.path} == {304}
    assert {a.extracted_with.partition(":")[0] for a in home.addresses("novita-it").values()} == {"next"}
    assert home.documents() == before


# The sixth night: trouble of a whole site.


@pytest.mark.parametrize("robots", [False, True], ids=["pages", "robots-too"])
def test_site_that_answers_503_loses_nothing_h33(story: Story, site: HealthSite, home: CrawledHome, robots: bool) -> None:
    before = home.documents()
    site.fail_all(503, robots=robots)
    try:
        night = home.night("novita-it")
    finally:
        site.fail_all(None)

    assert night.report.status is RunStatus.FAILED
    assert night.report.refused_sources == ("novita-it",)
    assert any(problem.startswith("novita-it: gave 0 pages, 8 before") for problem in night.report.problems)
    assert home.documents() == before
    assert all(address.misses == 0 for address in home.addresses("novita-it").values())


# The seventh: sources leave, and one shrinks.


@pytest.fixture(scope="module")
def fewer(story: Story, site: HealthSite, home: CrawledHome) -> tuple[Night, tuple[str, ...]]:
    """The operator keeps two sources, one of which has lost half of its pages."""
    _keep(home, site, "novita-it", "faq-it", "faq-es")
    gone = site.shrink(0.5, "faq-it")
    site.add("/novita/carestia", "La carestia", "La lipofuscina si accumula con gli anni nelle cellule. " * 8)
    return home.night(), gone


def _keep(home: CrawledHome, site: HealthSite, *names: str) -> None:
    rows: list[SourceRow] = [site.source(name) for name in names]
    home.configure(rows)


def test_source_that_shrinks_by_half_is_refused_and_the_others_go_on(
    fewer: tuple[Night, tuple[str, ...]], site: HealthSite, home: CrawledHome
) -> None:
    night, gone = fewer
    base = site.hosts["faq-it"].base
    assert night.report.refused_sources == ("faq-it",)
    assert night.report.status is RunStatus.PARTIAL
    assert [problem for problem in night.report.problems if problem.startswith("faq-it: gave 6 pages, 13 before")]
    assert {base + path for path in gone} <= set(home.documents())
    assert home.found("lipofuscina")[:1] == ["/novita/carestia"]


def test_sources_taken_out_of_the_file_are_withdrawn_with_all_their_bytes(
    fewer: tuple[Night, tuple[str, ...]], first: FirstNight, home: CrawledHome
) -> None:
    kept = {"novita-it", "faq-it", "faq-es"}
    canaries = [
        right.marker
        for source in first.expected
        if source.source_id not in {*kept, "varie-it", "varias-es"}
        for right in source.documents.values()
        if right.marker
    ]
    assert len(canaries) > 100
    assert {document.source_id for document in home.documents().values()} == kept
    assert home.holds(canaries) == []
    assert {path.name.partition(".")[0] for path in (home.path / "crawl").iterdir()} == kept
    assert not list(index_directory(home.path).rglob("_deletions/*"))


def test_operator_who_accepts_the_smaller_source_and_disables_another(
    fewer: tuple[Night, tuple[str, ...]], first: FirstNight, site: HealthSite, home: CrawledHome
) -> None:
    base = site.hosts["faq-it"].base
    home.choose("novita-it", enabled=False)
    canaries = [
        right.marker for s in first.expected if s.source_id == "novita-it" for right in s.documents.values() if right.marker
    ]
    assert home.holds(canaries) == canaries
    night = home.night(accept_smaller=True)

    assert (night.report.refused_sources, night.report.problems) == ((), ())
    assert not {base + path for path in fewer[1]} & set(home.documents())
    assert {document.source_id for document in home.documents().values()} == {"faq-it", "faq-es"}
    assert home.holds(canaries) == []
    assert not (home.path / "crawl/novita-it.sqlite").exists()
    assert not {request.host for request in night.requests} & {"novita-it"}


def test_deleted_crawl_cache_costs_fetching_and_nothing_else(
    fewer: tuple[Night, tuple[str, ...]], site: HealthSite, home: CrawledHome
) -> None:
    before = home.documents()
    shutil.rmtree(home.path / "crawl")
    night = home.night("faq-es")

    assert night.embedded == ()
    assert {request.status for request in night.requests if request.path.startswith("/preguntas-frecuentes/")} == {200}
    assert {url for url in home.documents() if "preguntas" in url} == {url for url in before if "preguntas" in url}
