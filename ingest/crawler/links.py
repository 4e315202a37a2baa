"""The links of a page that may be followed."""

from collections.abc import Iterator

from scrapy.http import HtmlResponse, Response
from scrapy.linkextractors import IGNORED_EXTENSIONS, LinkExtractor

from ingest.crawler.cache import plain_headers
from ingest.crawler.reservations import is_nofollow

# Leaflets are PDF files.
_EXTRACTOR = LinkExtractor(deny_extensions=[extension for extension in IGNORED_EXTENSIONS if extension != "pdf"])
_META_ROBOTS = "//meta[translate(@name, 'ABCDEFGHIJKLMNOPQRSTUVWXYZ', 'abcdefghijklmnopqrstuvwxyz')='robots']/@content"


def links_of(response: Response) -> Iterator[str]:
    """Addresses that an HTML page links to, unless page, header or link ask not to follow."""
    if not isinstance(response, HtmlResponse) or is_nofollow(plain_headers(response.headers)):
        return
    try:
        asked = {word.strip().lower() for content in response.xpath(_META_ROBOTS).getall() for word in content.split(",")}
        found = [] if asked & {"nofollow", "none"} else _EXTRACTOR.extract_links(response)
    except ValueError:  # bytes that lxml does not take for a page
        return
    for link in found:
        if not link.nofollow:
            yield link.url
