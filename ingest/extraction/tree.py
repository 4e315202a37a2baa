"""Pages as trees: parsed so that no page can make it dear."""

from collections.abc import Iterator

from lxml import etree, html
from lxml.html import HtmlElement

# The longest article has a few thousand elements; a page with more marks than this is no article, and would take half a minute.
_MOST_MARKS = 250_000

HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})


def parse(text: str) -> HtmlElement | None:
    """The tree of a page, comments left out, or None if there is none, or one of more elements than any article has.

    The parser knows no entities of a page's own, asks the network for nothing, and goes no deeper than 255 elements: what lies
    below is lost, so whoever walks a tree may recurse only with that in mind.
    """
    if text.count("<") > _MOST_MARKS:
        return None
    parser = html.HTMLParser(encoding="utf-8", remove_comments=True, remove_pis=True, no_network=True, huge_tree=False)
    try:
        tree = html.document_fromstring(text.replace("\0", "").encode("utf-8", "replace"), parser=parser)
    except (etree.LxmlError, ValueError):
        return None
    return tree if isinstance(tree, HtmlElement) else None


def elements(tree: HtmlElement) -> Iterator[HtmlElement]:
    """All elements, in order; nothing else that a tree may hold."""
    for element in tree.iter(etree.Element):
        if isinstance(element, HtmlElement):
            yield element


def drop(element: HtmlElement) -> None:
    """Take an element out and leave the text after it."""
    if element.getparent() is not None:
        element.drop_tree()


def text_of(element: HtmlElement) -> str:
    """The words of an element in one line."""
    return " ".join("".join(element.itertext()).split())


def within(element: HtmlElement, *tags: str) -> bool:
    """Whether an element stands in one of `tags`."""
    return next(element.iterancestors(*tags), None) is not None
