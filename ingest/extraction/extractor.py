"""The one entrance of the extraction: from a page as it came to documents, or to the reason why there are none."""

import logging
from dataclasses import dataclass, replace
from datetime import date

from lxml.html import HtmlElement

from ingest.documents import content_hash, new_document, web_document_id
from ingest.extraction.blocks import Line, plain_form
from ingest.extraction.body import article, select
from ingest.extraction.boilerplate import without_boilerplate
from ingest.extraction.dates import read_date
from ingest.extraction.declarations import (
    canonical_url,
    declared_titles,
    is_reserved_by_headers,
    is_reserved_by_page,
    own_title,
    shown_titles,
    site_names,
    without_site_name,
)
from ingest.extraction.encoding import decoded
from ingest.extraction.faq import faq_document, pairs_from_selectors, pairs_from_structured
from ingest.extraction.forum import forum_document, thread_from_selectors, thread_from_structured
from ingest.extraction.hidden import remove_hidden
from ingest.extraction.pdf import read_leaflet
from ingest.extraction.quality import FEWEST_WORDS, consent_words, is_not_found, is_shell, refusal_of_lines, refusal_of_text
from ingest.extraction.results import Extraction, Refusal
from ingest.extraction.structured import Node, PageFacts, facts, linked_data, microdata, plain, types_of
from ingest.extraction.tree import parse, text_of
from ingest.extraction.web_words import WebWords, web_words
from ingest.fetching import RawPage
from ingest.importers.plain import normal
from ingest.sources import SourceKind, SourceRow
from locales.language import Language
from rag.documents import Document
from rag.languages import identify

_log = logging.getLogger(__name__)

_PDF_MARK_WITHIN = 1_024
_LARGEST_PAGE = 10_000_000
_LARGEST_LEAFLET = 50_000_000
_MARKUP_TYPES = frozenset(
    {"", "text/html", "application/xhtml+xml", "text/plain", "application/octet-stream", "text/xml", "application/xml"}
)
_THREADS = frozenset({"QAPage", "DiscussionForumPosting"})
# Far above any article: a page with more is a dump of a site, and would be cut into thousands of chunks.
_LONGEST_TEXT = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reading:
    """A page on its way to a document."""

    source: SourceRow
    language: Language
    page: RawPage
    url: str
    tree: HtmlElement
    found: list[Node]
    facts: PageFacts
    title: str
    titles: tuple[str, ...]
    """All that the page calls itself."""
    shell: bool

    @property
    def words(self) -> WebWords:
        return web_words(self.language)


def extract(page: RawPage, source: SourceRow) -> Extraction:
    """Read a page.

    No bytes make it raise, and none take it long: what is deeper, longer or odder than a page can be is refused.

    Returns:
        One document, or a refusal. The document's id and address are those of `canonical_url`, if there is one.
    """
    try:
        return _extract(page, source)
    except Exception as error:  # noqa: BLE001 - pages are anyone's bytes, and one must not end a night's run
        _log.warning("page not readable", extra={"source": source.id, "url": page.url, "error": type(error).__name__})
        return Extraction(refusal=Refusal.NOT_READABLE)


def _extract(page: RawPage, source: SourceRow) -> Extraction:
    if is_reserved_by_headers(page.headers):
        return Extraction(refusal=Refusal.RESERVED)
    if page.content_type == "application/pdf" or b"%PDF-" in page.body[:_PDF_MARK_WITHIN]:
        return _extract_leaflet(page, source)
    if page.content_type not in _MARKUP_TYPES or len(page.body) > _LARGEST_PAGE:
        return Extraction(refusal=Refusal.NOT_READABLE)
    text = decoded(page.body, page.headers.get("content-type"))
    tree = parse(text) if "<" in text else None
    if tree is None or text.count("\0") > 3:
        return Extraction(refusal=Refusal.NOT_READABLE)
    if is_reserved_by_page(tree):
        return Extraction(refusal=Refusal.RESERVED)
    canonical = canonical_url(tree, page.url)
    result = _document_or_refusal(_read(page, source, tree, canonical or page.url))
    if isinstance(result, Refusal):
        return Extraction(refusal=result, canonical_url=canonical)
    return Extraction(documents=(result,), canonical_url=canonical)


def _read(page: RawPage, source: SourceRow, tree: HtmlElement, url: str) -> _Reading:
    found = linked_data(tree)
    language = source.language or _declared_language(tree, found)
    words = web_words(language)
    shell = is_shell(tree, words)
    remove_hidden(tree)
    found.extend(microdata(tree))
    told = facts(found, language)
    names = site_names(url, source.publisher, tree)
    named = (told.title, _selected(tree, source.selectors.title), *shown_titles(tree), *declared_titles(tree))
    titles = tuple(without_site_name(text, names) for text in named if text)
    return _Reading(
        source=source.model_copy(update={"language": language}),
        language=language,
        page=page,
        url=url,
        tree=tree,
        found=found,
        facts=told,
        title=normal(own_title(titles, names)),
        titles=titles,
        shell=shell,
    )


def _document_or_refusal(reading: _Reading) -> Document | Refusal:
    result: Document | Refusal | None = None
    if reading.source.kind is SourceKind.FORUM or any(types_of(node) & _THREADS for node in reading.found):
        result = _thread(reading)
    elif reading.source.kind is SourceKind.FAQ:
        result = _questions(reading) or _article(reading)
    else:
        result = _article(reading)
        if result in {Refusal.TOO_SHORT, Refusal.SCRIPT_SHELL, Refusal.CONSENT_BANNER}:
            result = _questions(reading) or result
    if isinstance(result, Refusal):
        return result
    return refusal_of_text(f"{result.title}\n{result.text}", reading.language) or result


def _thread(reading: _Reading) -> Document | Refusal:
    threads = (thread_from_structured(node) for node in reading.found)
    thread = next((thread for thread in threads if thread), None) or thread_from_selectors(reading.tree, reading.source)
    if thread is None:
        refusal = _refusal_without_text(reading)
        return refusal if refusal is not Refusal.TOO_SHORT else Refusal.NO_ANSWER
    document = forum_document(thread, reading.source, reading.url, reading.page.fetched_at)
    return document or Refusal.NO_ANSWER


def _refusal_without_text(reading: _Reading) -> Refusal:
    """What a page is that has no thread: an error page or a shell, or else a list of threads."""
    _, refusal = _lines_or_refusal(reading)
    return refusal or Refusal.NO_ANSWER


def _lines_or_refusal(reading: _Reading) -> tuple[list[Line], Refusal | None]:
    raw, banner_words = article(reading.tree, reading.source.selectors, reading.words)
    lines = without_boilerplate(raw, reading.words)
    banner_words += consent_words(raw, reading.words)
    refusal = refusal_of_lines(lines, reading.titles, reading.words, shell=reading.shell, banner_words=banner_words)
    return lines, refusal


def _questions(reading: _Reading) -> Document | None:
    if is_not_found(reading.titles, (), 0, reading.words):
        return None
    pairs = [pair for node in reading.found for pair in pairs_from_structured(node)]
    pairs = pairs or list(pairs_from_selectors(reading.tree, reading.source))
    if not pairs:
        return None
    fetched_at = reading.page.fetched_at
    document = faq_document(pairs, title=reading.title, source=reading.source, url=reading.url, fetched_at=fetched_at)
    return document and _with_facts(document, reading)


def _with_facts(document: Document, reading: _Reading) -> Document:
    told = reading.facts
    dated = replace(document, reviewed_on=told.reviewed_on, published_on=told.published_on, synonyms=told.synonyms)
    return replace(dated, content_hash=content_hash(dated))


def _article(reading: _Reading) -> Document | Refusal:
    selectors = reading.source.selectors
    reviewed_on = reading.facts.reviewed_on or _selected_date(reading, selectors.reviewed_on)
    published_on = reading.facts.published_on or _selected_date(reading, selectors.published_on)
    lines, refusal = _lines_or_refusal(reading)
    if refusal:
        return refusal
    text = plain_form(_without_title(lines, reading.title))
    if len(text) > _LONGEST_TEXT:
        return Refusal.NOT_READABLE
    return _new_article(reading, text, reviewed_on, published_on)


def _without_title(lines: list[Line], title: str) -> list[Line]:
    if lines and lines[0].heading and lines[0].text.casefold() == title.casefold():
        return lines[1:]
    return lines


def _new_article(reading: _Reading, text: str, reviewed_on: date | None, published_on: date | None) -> Document:
    return new_document(
        document_id=web_document_id(reading.source.id, reading.url),
        source_id=reading.source.id,
        url=reading.url,
        title=reading.title or text.split("\n", 1)[0].lstrip("#- ")[:80],
        publisher=reading.source.publisher,
        authority=reading.source.authority,
        language=reading.language,
        text=text,
        reviewed_on=reviewed_on,
        published_on=published_on,
        synonyms=reading.facts.synonyms,
        fetched_at=reading.page.fetched_at,
    )


def _extract_leaflet(page: RawPage, source: SourceRow) -> Extraction:
    leaflet = read_leaflet(page.body) if len(page.body) <= _LARGEST_LEAFLET else None
    if leaflet is None:
        return Extraction(refusal=Refusal.NOT_READABLE)
    language = source.language or identify(leaflet.text[:2_000]).language
    title = without_site_name(leaflet.title, site_names(page.url, source.publisher))
    if len(leaflet.text.split()) < FEWEST_WORDS:
        return Extraction(refusal=Refusal.TOO_SHORT)
    if refusal := refusal_of_text(f"{title}\n{leaflet.text}", language):
        return Extraction(refusal=refusal)
    document = new_document(
        document_id=web_document_id(source.id, page.url),
        source_id=source.id,
        url=page.url,
        title=normal(title),
        publisher=source.publisher,
        authority=source.authority,
        language=language,
        text=leaflet.text,
        reviewed_on=None,
        fetched_at=page.fetched_at,
    )
    return Extraction(documents=(document,))


def _selected(tree: HtmlElement, selector: str | None) -> str | None:
    if not selector:
        return None
    return next((text for element in select(tree, selector) if (text := plain(text_of(element)))), None)


def _selected_date(reading: _Reading, selector: str | None) -> date | None:
    text = _selected(reading.tree, selector)
    return read_date(text, reading.language) if text else None


def _declared_language(tree: HtmlElement, found: list[Node]) -> Language:
    """For a source in both languages: what the page says of itself; its text is judged by it."""
    told = facts(found, Language.ITALIAN).language or tree.get("lang", "")
    return Language.SPANISH if told.lower().startswith("es") else Language.ITALIAN
