"""Reads what a page declares in its head and headers: whether it may be read, its own address, its title."""

import re
from collections.abc import Mapping, Sequence
from urllib.parse import urldefrag, urljoin, urlsplit

from lxml.html import HtmlElement

from ingest.extraction.structured import plain
from ingest.extraction.tree import text_of
from ingest.extraction.web_words import bare

# "nosnippet" too: an answer quotes the page, and that is a snippet.
_RESERVING = frozenset({"noindex", "none", "noai", "nosnippet", "max-snippet:0"})
_ROBOT_NAMES = frozenset({"robots", "salus"})
_LONGEST_ADDRESS = 2_000
_LONGEST_TITLE = 250
_PARTING = re.compile(r"\s+[|•·»›]+\s+|\s+(?:::|[-–—])\s+|\s*\|\s*")


def is_reserved_by_headers(headers: Mapping[str, str]) -> bool:
    """Whether the headers of a page ask not to index it or reserve text and data mining (TDM Reservation Protocol)."""
    if headers.get("tdm-reservation", "").strip() == "1":
        return True
    # A rule after a robot's name is for that robot alone: "googlebot: noindex".
    rules = [rule.strip().lower() for rule in headers.get("x-robots-tag", "").split(",")]
    return not _RESERVING.isdisjoint(rule.removeprefix("salus:").strip().replace(": ", ":") for rule in rules)


def is_reserved_by_page(tree: HtmlElement) -> bool:
    """The same, as the page says it in `meta` elements."""
    for meta in tree.iter("meta"):
        name = meta.get("name", "").strip().lower()
        content = meta.get("content", "").strip().lower()
        if name == "tdm-reservation" and content == "1":
            return True
        if name in _ROBOT_NAMES and not _RESERVING.isdisjoint(re.split(r"[\s,;]+", content.replace(": ", ":"))):
            return True
    return False


def canonical_url(tree: HtmlElement, url: str) -> str | None:
    """The address that a page names as its own, if it names one, on its own host.

    The front page is no address of another page: some sites name it on all of them, and their pages would become one.
    """
    named = {link.get("href", "").strip() for link in tree.iter("link") if "canonical" in link.get("rel", "").lower().split()}
    named.discard("")
    if len(named) != 1:
        return None
    try:
        canonical = str(urldefrag(urljoin(url, named.pop())).url)
        ours, theirs = urlsplit(url), urlsplit(canonical)
        is_same_host = (ours.hostname, ours.port) == (theirs.hostname, theirs.port)
    except ValueError:
        return None
    if not is_same_host or theirs.scheme not in {"http", "https"} or theirs.username or len(canonical) > _LONGEST_ADDRESS:
        return None
    if (theirs.path in {"", "/"} and ours.path not in {"", "/"}) or any(c.isspace() or ord(c) < 32 for c in canonical):
        return None
    return canonical


def shown_titles(tree: HtmlElement) -> list[str]:
    """The titles that a page shows, in its order; that of the whole site may be one."""
    return [text for element in tree.iter("h1") if (text := plain(text_of(element)))]


def declared_titles(tree: HtmlElement) -> list[str]:
    """The titles in the head of a page: for those who share it, and for the window."""
    shared = [meta.get("content", "") for meta in tree.iter("meta") if meta.get("property", meta.get("name")) == "og:title"]
    window = [text_of(title) for title in tree.iter("title") if title.getparent() is not None and title.getparent().tag == "head"]
    return [text for title in (*shared, *window) if (text := plain(title))]


def site_names(url: str, publisher: str, tree: HtmlElement | None = None) -> list[str]:
    """What the site is called, in the form of `bare`."""
    metas = [] if tree is None else list(tree.iter("meta"))
    shown = [meta.get("content", "") for meta in metas if meta.get("property") == "og:site_name"]
    host = (urlsplit(url).hostname or "").removeprefix("www.").rpartition(".")[0]
    return [name for text in (publisher, *shown, host) if len(name := bare(text)) > 2]


def own_title(titles: Sequence[str], names: list[str]) -> str:
    """The first of some titles of a page that is not only the name of its site, or else the first; without that name."""
    shortened = [without_site_name(title, names) for title in titles]
    own = (title for title in shortened if not any(f" {bare(title)} " in f" {name} " for name in names))
    return next(own, next(iter(shortened), ""))


def without_site_name(title: str, names: list[str]) -> str:
    """A title without the name of the site before or after it; it keeps at least one of its parts."""
    parts = [part for part in _PARTING.split(title) if part.strip()]
    marks = _PARTING.findall(title)
    if len(parts) < 2 or len(marks) != len(parts) - 1:
        return title[:_LONGEST_TITLE]
    first, last = 0, len(parts)
    while last - first > 1 and (_is_site_name(parts[last - 1], names)):
        last -= 1
    while last - first > 1 and _is_site_name(parts[first], names):
        first += 1
    kept = parts[first] + "".join(
        mark + part for mark, part in zip(marks[first : last - 1], parts[first + 1 : last], strict=True)
    )
    return kept.strip()[:_LONGEST_TITLE]


def _is_site_name(part: str, names: list[str]) -> bool:
    plain_part = bare(part)
    if len(plain_part) < 3:
        return not plain_part
    squeezed = plain_part.replace(" ", "")
    return any(
        f" {plain_part} " in f" {name} " or f" {name} " in f" {plain_part} " or squeezed == name.replace(" ", "")
        for name in names
    )
