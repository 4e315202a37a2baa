"""Finds the article in a page and writes it in the plain form, with its headings, lists and tables whole.

trafilatura says where the article is. Its own text is not taken: it drops lists of links and levels of lists, and an item lost
from "do not take it if you have" is no loss that a reader could see.
"""

import logging
import re
from collections.abc import Iterable
from copy import deepcopy
from typing import Any

from lxml.cssselect import CSSSelector
from lxml.html import HtmlElement

from ingest.extraction.blocks import Line, lines_of
from ingest.extraction.tables import unfold
from ingest.extraction.tree import drop, elements, text_of, within
from ingest.extraction.web_words import WebWords, bare, has_any
from ingest.sources import Selectors

# Beyond these a page is read without trafilatura, whose time grows faster than the page.
_MOST_ELEMENTS = 15_000
_MOST_LETTERS = 400_000
_MOST_OF_PAGE = 0.5  # an <aside> or a "share" box with more of the text than this is the article
_SHARE_OF_ARTICLE = 0.9
_SHORTEST_KEY = 8

# It warns of every page without an article, and a crawl meets many.
logging.getLogger("trafilatura").setLevel(logging.CRITICAL)

_NAME_PARTS = re.compile(r"[^a-z]+")
_CHROME_WORDS = (
    "share sharing social breadcrumb breadcrumbs related correlati correlate correlated relacionados newsletter sidebar toc "
    "pagination pager comments comment advert adv ads sponsor sponsored cookie cookies skip"
)
_CHROME_NAMES = frozenset(_CHROME_WORDS.split())
_CONSENT_NAMES = re.compile(
    r"cookie|consent|gdpr|onetrust|iubenda|cookiebot|cybot|didomi|usercentrics|qc-cmp|cmplz|klaro|osano|truste|borlabs|cc-window",
    re.IGNORECASE,
)
_WHOLE_PAGE = frozenset({"html", "body", "main", "article"})


def article(tree: HtmlElement, selectors: Selectors, words: WebWords) -> tuple[list[Line], int]:
    """Read the article of a page after `remove_hidden`; the tree is used up by it.

    Returns:
        Its lines without its first title, some of them maybe chrome still, and how many words stood in consent banners.
    """
    for selector in selectors.remove:
        for element in select(tree, selector):
            drop(element)
    is_narrowed = selectors.body is not None and _narrow(_body(tree), select(tree, selectors.body))
    banner = _remove_banners(tree, words)
    unfold(tree)
    _remove_chrome(tree)
    if not is_narrowed:
        _keep_article(tree)
    return _below_title(lines_of(_body(tree))), banner


def select(tree: HtmlElement, selector: str) -> list[HtmlElement]:
    """What a source's own selector finds; nothing if the selector is wrong."""
    try:
        found = CSSSelector(selector, translator="html")(tree)
    except Exception:  # noqa: BLE001 - cssselect and lxml have several errors for it, and a page is read without it
        return []
    return [element for element in found if isinstance(element, HtmlElement)]


def _body(tree: HtmlElement) -> HtmlElement:
    body = tree.find("body")
    return body if isinstance(body, HtmlElement) else tree


def _narrow(body: HtmlElement, parts: list[HtmlElement]) -> bool:
    """Leave in the body only what a source's own selector found, if it found anything."""
    chosen = set(parts)
    outermost = [part for part in parts if part is not body and not any(above in chosen for above in part.iterancestors())]
    if not outermost:
        return False
    for child in list(body):
        body.remove(child)
    body.text = None
    for part in outermost:
        part.tail = None
        body.append(part)
    return True


def _below_title(lines: list[Line]) -> list[Line]:
    """Lines without the first h1, which is the page's title, and what stands above it; another h1 is a heading as any other."""
    first = next((index for index, line in enumerate(lines) if line.heading == 1), None)
    if first is not None:
        above = [line for line in lines[:first] if line.heading or len(line.text.split()) > 12]
        lines = [*above, *lines[first + 1 :]]
    return [Line(text=line.text, heading=2, linked=line.linked) if line.heading == 1 else line for line in lines]


def _remove_banners(tree: HtmlElement, words: WebWords) -> int:
    removed = 0
    for element in list(elements(tree)):
        names = f"{element.get('id', '')} {element.get('class', '')}"
        is_named = _CONSENT_NAMES.search(names) or element.get("role") in {"dialog", "alertdialog"}
        if not is_named or element.tag in _WHOLE_PAGE or next(element.iter("h1", "main", "article"), None) is not None:
            continue
        text = text_of(element)
        if has_any(bare(text), words.cookie):
            removed += len(text.split())
            drop(element)
    return removed


def _remove_chrome(tree: HtmlElement) -> None:
    whole = _letters(_body(tree))
    for element in list(elements(tree)):
        if element.tag == "form" or element.tag == "label":  # some sites stand in one form as a whole
            element.tag = "div"
        elif _is_chrome(element) and (_letters(element) < _MOST_OF_PAGE * whole or _is_mostly_links(element)):
            drop(element)
    for aside in list(tree.iter("aside")):
        aside.tag = "div"  # trafilatura leaves out every <aside>, also one that is the article
    for listing in list(tree.iter("ul", "ol")):
        if _is_table_of_contents(listing):
            drop(listing)


def _is_chrome(element: HtmlElement) -> bool:
    if element.tag == "nav" or element.get("role") in {"navigation", "search", "contentinfo", "banner"}:
        return True
    if element.tag in {"header", "footer", "aside"}:
        has_title = next(element.iter("h1"), None) is not None
        return not has_title and (element.tag == "footer" or not within(element, "main", "article"))
    if element.tag in _WHOLE_PAGE or not element.attrib:
        return False
    names = f"{element.get('class', '')} {element.get('id', '')}".lower()
    return not _CHROME_NAMES.isdisjoint(_NAME_PARTS.split(names)) and next(element.iter("h1"), None) is None


def _is_table_of_contents(listing: HtmlElement) -> bool:
    links = list(listing.iter("a"))
    if len(links) < 2 or not all(link.get("href", "").startswith("#") for link in links):
        return False
    return sum(_letters(link) for link in links) >= _SHARE_OF_ARTICLE * _letters(listing)


def _letters(element: HtmlElement) -> int:
    return sum(len(text.strip()) for text in element.itertext())


def _keep_article(tree: HtmlElement) -> None:
    """Leave in a page the article and what belongs to it."""
    found = _found_by_trafilatura(tree)
    weights = _weights(tree, found) if found else {}
    path = _path_to_article(_body(tree), weights)
    if len(path) < 2:
        path = _path_to_landmark(tree)
    boundary = _boundary(path)
    for depth, below in enumerate(path[1:], start=1):
        for sibling in [*below.itersiblings(preceding=True), *below.itersiblings()]:
            if weights.get(sibling) or next(sibling.iter("h1"), None) is not None:
                continue
            if depth <= boundary or _is_mostly_links(sibling):
                drop(sibling)


def _boundary(path: list[HtmlElement]) -> int:
    """Index in a path of the element that is the article as a whole: the innermost landmark, or what also holds the title."""
    landmarks = [depth for depth, element in enumerate(path) if element.tag in {"main", "article"}]
    titled = [depth for depth, element in enumerate(path) if next(element.iter("h1"), None) is not None]
    return max(landmarks or titled, default=len(path))


def _is_mostly_links(element: HtmlElement) -> bool:
    return sum(_letters(link) for link in element.iter("a")) >= _MOST_OF_PAGE * _letters(element)


def _found_by_trafilatura(tree: HtmlElement) -> str:
    if sum(1 for _ in elements(tree)) > _MOST_ELEMENTS or _letters(tree) > _MOST_LETTERS:
        return ""
    from trafilatura import bare_extraction  # 0.4 s, only once pages are read

    document: Any = bare_extraction(
        deepcopy(tree), fast=True, favor_recall=True, include_comments=False, include_tables=True, with_metadata=False
    )
    return _key("".join(document.body.itertext())) if document is not None else ""


def _weights(tree: HtmlElement, found: str) -> dict[HtmlElement, int]:
    """How many letters of each element trafilatura took, where an own text of an element counts if it is found in one piece."""
    weights: dict[HtmlElement, int] = {}
    for element in elements(tree):
        own = _key(" ".join(_own_texts(element)))
        if len(own) < _SHORTEST_KEY or own not in found:
            continue
        for above in (element, *element.iterancestors()):
            weights[above] = weights.get(above, 0) + len(own)
    return weights


def _own_texts(element: HtmlElement) -> Iterable[str]:
    """The longest of the texts that stand directly in an element."""
    texts = [element.text or "", *(child.tail or "" for child in element)]
    return [max(texts, key=len)]


def _key(text: str) -> str:
    return "".join(c for c in text if c.isalnum()).lower()


def _path_to_article(body: HtmlElement, weights: dict[HtmlElement, int]) -> list[HtmlElement]:
    """From the body down to the deepest element with nearly all that was found."""
    path = [body]
    enough = _SHARE_OF_ARTICLE * weights.get(body, 0)
    while enough:
        heavy = [child for child in path[-1] if weights.get(child, 0) >= enough]
        if not heavy:
            break
        path.append(heavy[0])
    return path


def _path_to_landmark(tree: HtmlElement) -> list[HtmlElement]:
    for landmark in ("article", "main"):
        if len(found := list(tree.iter(landmark))) == 1:
            return [*reversed(list(found[0].iterancestors())), found[0]]
    return []
