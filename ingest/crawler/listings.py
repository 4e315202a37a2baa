"""The addresses that a sitemap or a feed lists."""

import gzip
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO

from lxml import etree
from scrapy.utils.sitemap import Sitemap

_GZIP = b"\x1f\x8b\x08"


class ListingUnreadable(Exception):
    """The bytes are no sitemap or feed; the message is a short word in snake case."""


@dataclass(frozen=True, slots=True)
class Listed:
    """One address of a sitemap, and whether it is a further sitemap."""

    url: str
    is_sitemap: bool


def sitemap_entries(body: bytes, *, max_bytes: int) -> Iterator[Listed]:
    """Read a sitemap, a sitemap index or a plain list of addresses, one entry at a time, gzipped or not.

    Raises:
        ListingUnreadable: If it is none of these, or grows beyond `max_bytes`.
    """
    text = _plain(body, max_bytes)
    if text[:4].lower() == b"http":
        for line in text.splitlines():
            yield Listed(line.decode("utf-8", errors="replace").strip(), is_sitemap=False)
        return
    try:
        sitemap = Sitemap(text)
    except (etree.XMLSyntaxError, StopIteration) as error:
        raise ListingUnreadable("not_a_sitemap") from error
    if sitemap.type not in {"sitemapindex", "urlset"}:
        raise ListingUnreadable("not_a_sitemap")
    try:
        for entry in sitemap:
            yield Listed(str(entry["loc"]), is_sitemap=sitemap.type == "sitemapindex")
    except etree.XMLSyntaxError as error:  # what stood before the fault has been given
        raise ListingUnreadable("cut_off") from error


def feed_links(body: bytes, *, max_bytes: int) -> Iterator[str]:
    """Read the addresses of the entries of an RSS or Atom feed.

    Raises:
        ListingUnreadable: If it is no feed.
    """
    text = _plain(body, max_bytes)
    is_feed = False
    try:
        events = etree.iterparse(
            BytesIO(text), events=("start", "end"), resolve_entities=False, no_network=True, load_dtd=False, recover=True
        )
        for event, element in events:
            name = _local_name(element)
            is_feed = is_feed or name in {"rss", "feed", "RDF"}
            if event == "end" and name in {"item", "entry"}:
                link = _link_of(element)
                if link:
                    yield link
                element.clear()
    except etree.XMLSyntaxError as error:
        raise ListingUnreadable("not_a_feed") from error
    if not is_feed:
        raise ListingUnreadable("not_a_feed")


def _link_of(entry: etree._Element) -> str | None:
    permanent: str | None = None
    for child in entry:
        name, text = _local_name(child), (child.text or "").strip()
        if name == "link" and child.get("href") and child.get("rel", "alternate") == "alternate":
            return str(child.get("href")).strip()
        if name == "link" and text:
            return text
        if name == "guid" and child.get("isPermaLink", "true") == "true" and text.startswith("http"):
            permanent = text
    return permanent


def _local_name(element: etree._Element) -> str:
    return etree.QName(element).localname if isinstance(element.tag, str) else ""


def _plain(body: bytes, max_bytes: int) -> bytes:
    text = _unzipped(body, max_bytes).lstrip(b"\xef\xbb\xbf \t\r\n")
    if b"<!ENTITY" in text:  # no listing needs its own; they would not be unfolded, and what they stand for be missing
        raise ListingUnreadable("entities")
    return text


def _unzipped(body: bytes, max_bytes: int) -> bytes:
    if not body.startswith(_GZIP):
        return body
    try:
        with gzip.GzipFile(fileobj=BytesIO(body)) as file:
            text = file.read(max_bytes + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise ListingUnreadable("broken_encoding") from error
    if len(text) > max_bytes:
        raise ListingUnreadable("too_large")
    return text
