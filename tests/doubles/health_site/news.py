"""Dated entries and the feeds that list them: RSS for Italian, Atom for Spanish."""

from datetime import UTC, date, datetime, timedelta
from email.utils import format_datetime
from xml.sax.saxutils import escape

from locales.language import Language
from rag.documents import DocumentKind
from tests.doubles.health_site.articles import surname_of
from tests.doubles.health_site.expected import ExpectedDocument
from tests.doubles.health_site.markup import chrome_strings, page_html, paragraphs
from tests.doubles.health_site.pages import Host, Page
from tests.doubles.health_site.texts import Condition, Words, rng_for

_FIRST = date(2025, 9, 3)


def news_page(words: Words, condition: Condition, folder: str, number: int, surname: int) -> Page:
    """An entry with its date in the address, in a meta element and in the text."""
    rng = rng_for("news", words.language, condition.name)
    published_on = _FIRST + timedelta(days=13 * number)
    title = words.filled(words.data["news"]["title"][number % 4], condition)
    path = f"{folder}{published_on.isoformat()}-{condition.slug}"
    body = [words.filled(text, condition) for text in words.data["news"]["body"]]
    further = [words.filled(words.one(rng, "article", key), condition) for key in ("causes2", "tests", "doctor2", "prevention")]
    name = surname_of(words, surname)
    marker = words.data["news"]["marker"].format(x=name)
    stamp = f'<p class="date"><time datetime="{published_on.isoformat()}">{published_on:%d/%m/%Y}</time></p>'
    main = f"<h1>{title}</h1>{stamp}" + paragraphs(
        body[0], body[1], " ".join(further[:2]), marker, body[2], " ".join(further[2:])
    )
    head = f'<meta property="article:published_time" content="{published_on.isoformat()}T09:00:00+01:00">'
    document = ExpectedDocument(
        path=path,
        language=words.language,
        kind=DocumentKind.ARTICLE,
        title=title,
        sentences=(marker, body[2]),
        absent=chrome_strings(words),
        published_on=published_on,
        marker=name,
    )
    html = page_html(words, title, main, head=head, layout="article", publisher="Notizie di Salute")
    return Page(path=path, title=title, body=html.encode(), document=document, changeable=further[3])


def feed(host: Host) -> tuple[bytes, str]:
    """The feed of a host's listed pages and its media type."""
    entries = [(page.title, host.base + page.path, _date_in(page)) for page in host.listed()]
    return _rss(entries) if host.language is Language.ITALIAN else _atom(host, entries)


def _date_in(page: Page) -> datetime:
    day = page.document.published_on if page.document else None
    day = day or _FIRST
    return datetime(day.year, day.month, day.day, 9, tzinfo=UTC)


def _rss(entries: list[tuple[str, str, datetime]]) -> tuple[bytes, str]:
    rows = "".join(
        f"<item><title>{escape(title)}</title><link>{escape(url)}</link><guid>{escape(url)}</guid>"
        f"<pubDate>{format_datetime(when)}</pubDate></item>"
        for title, url, when in entries
    )
    text = f'<?xml version="1.0" encoding="utf-8"?><rss version="2.0"><channel><title>Notizie</title>{rows}</channel></rss>'
    return text.encode(), "application/rss+xml; charset=utf-8"


def _atom(host: Host, entries: list[tuple[str, str, datetime]]) -> tuple[bytes, str]:
    rows = "".join(
        f'<entry><title>{escape(title)}</title><link rel="alternate" href="{escape(url)}"/><id>{escape(url)}</id>'
        f"<updated>{when.isoformat()}</updated></entry>"
        for title, url, when in entries
    )
    text = (
        f'<?xml version="1.0" encoding="utf-8"?><feed xmlns="http://www.w3.org/2005/Atom"><title>Noticias</title>'
        f'<link rel="self" href="{host.base}/atom.xml"/><id>{host.base}/</id>'
        f"<updated>2026-01-05T08:00:00+00:00</updated>{rows}</feed>"
    )
    return text.encode(), "application/atom+xml; charset=utf-8"
