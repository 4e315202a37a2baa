"""The publishers whose pages are worth reading: an encyclopaedia, a forum, questions, news and odd pages in each language."""

from collections.abc import Iterator

from ingest.sources import Selectors, SourceKind, SourceRow, Start
from locales.language import Language
from rag.documents import Authority
from tests.doubles.health_site import lists
from tests.doubles.health_site.articles import article_page
from tests.doubles.health_site.news import news_page
from tests.doubles.health_site.odd import OddPages
from tests.doubles.health_site.pages import Host, Page
from tests.doubles.health_site.questions import faq_page
from tests.doubles.health_site.texts import slug, words
from tests.doubles.health_site.threads import thread_page

THREADS = 54
NEWS = 8
_NEWS_FROM = 80  # surnames below are the encyclopaedia's
_ODD_FROM = 90
REST_FROM = 130

FOLDERS = {
    "enciclopedia-it": "/salute/enciclopedia/",
    "enciclopedia-es": "/salud/enciclopedia/",
    "forum-it": "/domande/",
    "foro-es": "/preguntas/",
    "faq-it": "/faq/",
    "faq-es": "/preguntas-frecuentes/",
    "novita-it": "/novita/",
    "novedades-es": "/novedades/",
}
_REVIEW = Selectors(reviewed_on=".review time")
_FORUM = Selectors(
    title=".thread-title",
    question=".question-text",
    answer="article.answer.by-doctor",
    answered_by="article.answer.by-doctor .answer-role",
    published_on="article.answer.by-doctor time",
    category=".thread-category",
    remove=(".answer-label", ".answer-name", ".answer-useful", ".question-by"),
)
_FAQ = Selectors(question="summary, .faq-question", answer=".faq-answer")


def publishers() -> Iterator[Host]:
    """The ten hosts, filled."""
    yield _encyclopaedia("enciclopedia-it", Language.ITALIAN)
    yield _encyclopaedia("enciclopedia-es", Language.SPANISH)
    yield _forum("forum-it", Language.ITALIAN)
    yield _forum("foro-es", Language.SPANISH)
    yield _faq("faq-it", Language.ITALIAN)
    yield _faq("faq-es", Language.SPANISH)
    yield _news("novita-it", Language.ITALIAN, "/feed.xml")
    yield _news("novedades-es", Language.SPANISH, "/atom.xml")
    yield _odd("varie-it", Language.ITALIAN)
    yield _odd("varias-es", Language.SPANISH)


def row_of(
    host: Host, *, pages: tuple[str, ...] = (), sitemaps: tuple[str, ...] = (), feeds: tuple[str, ...] = (), **more: object
) -> SourceRow:
    """A row for a host, ready to be crawled without a wait; start points are paths."""
    start = Start(
        pages=tuple(host.base + path for path in pages),
        sitemaps=tuple(host.base + path for path in sitemaps),
        feeds=tuple(host.base + path for path in feeds),
    )
    fields: dict[str, object] = {
        "id": host.name,
        "kind": host.kind,
        "publisher": f"Prova {host.name}",
        "language": host.language,
        "start": start,
        "delay_s": 0,
    }
    return SourceRow.model_validate(fields | more)


def _host(name: str, language: Language, kind: SourceKind) -> Host:
    return Host(name=name, language=language, kind=kind, is_content=True)


def _encyclopaedia(name: str, language: Language) -> Host:
    host, folder = _host(name, language, SourceKind.ENCYCLOPAEDIA), FOLDERS[name]
    vocabulary = words(language)
    for number, condition in enumerate(vocabulary.conditions):
        layout = "aside" if number == 9 else None
        host.put(article_page(vocabulary, condition, folder + condition.slug, number, layout=layout))
    if language is Language.ITALIAN:
        host.put(*lists.sitemap_pages())
        host.row = lambda host: row_of(host, sitemaps=("/sitemap.xml",), allow=(folder,), selectors=_REVIEW)
    else:
        host.put(Page(path="/salud/", answer=lists.index, is_navigation=True))
        host.row = lambda host: row_of(host, pages=("/salud/",), allow=("/salud/",), selectors=_REVIEW)
    return host


def _forum(name: str, language: Language) -> Host:
    host, folder = _host(name, language, SourceKind.FORUM), FOLDERS[name]
    vocabulary = words(language)
    for number, condition in enumerate(vocabulary.conditions[:THREADS]):
        host.put(thread_page(vocabulary, condition, f"{folder}{4100 + number}-{condition.slug}", number))
    host.put(Page(path=folder, answer=lists.index, is_navigation=True))
    host.row = lambda host: row_of(host, pages=(folder,), allow=(folder,), selectors=_FORUM)
    return host


def _faq(name: str, language: Language) -> Host:
    host, folder = _host(name, language, SourceKind.FAQ), FOLDERS[name]
    vocabulary = words(language)
    for number, area in enumerate(vocabulary.data["area"]):
        host.put(faq_page(vocabulary, area, folder + slug(area), number))
    if language is Language.ITALIAN:
        host.put(*lists.sitemap_pages())
        host.row = lambda host: row_of(host, sitemaps=("/sitemap.xml",), allow=(folder,), selectors=_FAQ)
    else:
        host.put(Page(path=folder, answer=lists.index, is_navigation=True))
        host.row = lambda host: row_of(host, pages=(folder,), allow=(folder,), selectors=_FAQ)
    return host


def _news(name: str, language: Language, feed: str) -> Host:
    host = _host(name, language, SourceKind.ENCYCLOPAEDIA)
    vocabulary = words(language)
    for number in range(NEWS):
        condition = vocabulary.conditions[6 + 8 * number]
        host.put(news_page(vocabulary, condition, FOLDERS[name], number, _NEWS_FROM + number))
    host.put(Page(path=feed, answer=lists.feed_of_pages, is_navigation=True))
    authority = Authority.DEMONSTRATION if language is Language.ITALIAN else Authority.PUBLISHER
    selectors = Selectors(published_on=".date time", remove=(".social-share",))
    host.row = lambda host: row_of(host, feeds=(feed,), allow=(FOLDERS[name],), selectors=selectors, authority=authority)
    return host


def _odd(name: str, language: Language) -> Host:
    host = _host(name, language, SourceKind.ENCYCLOPAEDIA)
    OddPages(host, _ODD_FROM).fill()
    folder = words(language).odd["folder"]
    host.row = lambda host: row_of(host, pages=(folder,), selectors=_REVIEW)
    return host
