"""Addresses that are made anew at each request from the pages that a host has at that moment: sitemaps, indexes, feeds."""

import gzip
from urllib.parse import parse_qs
from xml.sax.saxutils import escape

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from tests.doubles.health_site.markup import listing
from tests.doubles.health_site.news import feed
from tests.doubles.health_site.pages import Host, Page
from tests.doubles.health_site.texts import words

_NAMESPACE = "http://www.sitemaps.org/schemas/sitemap/0.9"
_ON_A_PAGE = 20


async def sitemap_index(host: Host, scope: Scope, receive: Receive, send: Send) -> None:
    """Two parts, the first of which is compressed."""
    parts = "".join(f"<sitemap><loc>{host.base}/{name}</loc></sitemap>" for name in ("sitemap-1.xml.gz", "sitemap-2.xml"))
    text = f'<?xml version="1.0" encoding="UTF-8"?><sitemapindex xmlns="{_NAMESPACE}">{parts}</sitemapindex>'
    await Response(text, media_type="application/xml")(scope, receive, send)


async def sitemap_first_half(host: Host, scope: Scope, receive: Receive, send: Send) -> None:
    body = gzip.compress(_sitemap(host, host.listed()[::2]), mtime=0)
    await Response(body, media_type="application/gzip")(scope, receive, send)


async def sitemap_second_half(host: Host, scope: Scope, receive: Receive, send: Send) -> None:
    await Response(_sitemap(host, host.listed()[1::2]), media_type="application/xml")(scope, receive, send)


async def index(host: Host, scope: Scope, receive: Receive, send: Send) -> None:
    """The list of the host's pages, twenty at a time, with links to all other parts of the list."""
    pages = host.listed()
    number = int(parse_qs(scope["query_string"].decode()).get("pagina", ["1"])[0])
    part = pages[(number - 1) * _ON_A_PAGE : number * _ON_A_PAGE]
    more = [(str(other), f"{scope['path']}?pagina={other}") for other in range(1, -(-len(pages) // _ON_A_PAGE) + 1)]
    vocabulary = words(host.language)
    html = listing(vocabulary, vocabulary.odd["index"], [(page.title, page.path) for page in part], more)
    await Response(html, media_type="text/html")(scope, receive, send)


async def feed_of_pages(host: Host, scope: Scope, receive: Receive, send: Send) -> None:
    body, media_type = feed(host)
    await Response(body, headers={"content-type": media_type})(scope, receive, send)


def sitemap_pages() -> list[Page]:
    """A sitemap index and its two parts."""
    answers = {"/sitemap.xml": sitemap_index, "/sitemap-1.xml.gz": sitemap_first_half, "/sitemap-2.xml": sitemap_second_half}
    return [Page(path=path, answer=answer, is_navigation=True) for path, answer in answers.items()]


def _sitemap(host: Host, pages: list[Page]) -> bytes:
    rows = "".join(f"<url><loc>{escape(host.base + page.path)}</loc><lastmod>2026-01-05</lastmod></url>" for page in pages)
    return f'<?xml version="1.0" encoding="UTF-8"?><urlset xmlns="{_NAMESPACE}">{rows}</urlset>'.encode()
