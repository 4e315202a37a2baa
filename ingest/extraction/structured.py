"""Reads what a page says of itself for machines, in the words of schema.org: JSON-LD and microdata, as one form of node.

A node is a dictionary with "@type" and properties, as JSON-LD writes it; a reference to another node of the page is replaced by
that node. Values are plain text, whatever markup the page put into them.
"""

import json
import re
from collections.abc import Iterator, Mapping
from copy import copy
from dataclasses import dataclass
from datetime import date
from html import unescape
from typing import Any

from lxml import etree
from lxml.html import HtmlElement

from ingest.extraction.blocks import lines_of, plain_form, plain_of_markup
from ingest.extraction.dates import read_date
from ingest.extraction.hidden import visible
from ingest.extraction.tables import unfold
from ingest.extraction.tree import text_of
from locales.language import Language

Node = dict[str, Any]

_PAGE_TYPES = "MedicalWebPage MedicalScholarlyArticle Article NewsArticle BlogPosting WebPage FAQPage HealthTopicContent"
_CONDITION_TYPES = (
    "MedicalCondition Disease InfectiousDisease MedicalSymptom MedicalSignOrSymptom Drug MedicalTest MedicalProcedure"
)
_CONDITIONS = frozenset(_CONDITION_TYPES.split())
_ARTICLES = frozenset(_PAGE_TYPES.split()) | _CONDITIONS

_LONGEST_BLOCK = 2_000_000
_MOST_NODES = 3_000
_MOST_LETTERS = 3_000_000
_DEEPEST = 12
_MARKUP = re.compile(r"</?[a-zA-Z][^<>]*>|&#?\w+;")
_WRAPPING = re.compile(
    r"^\s*(?:<!--|//\s*<!\[CDATA\[|<!\[CDATA\[|/\*\s*<!\[CDATA\[\s*\*/)|(?:-->|//\s*\]\]>|\]\]>|/\*\s*\]\]>\s*\*/|;)\s*$"
)
_LOOSE_COMMA = re.compile(r",(?=\s*[}\]])")
_TAG = re.compile(r"<[^<>]{1,200}>")
_LONGEST_NAME = 200
_MOST_SYNONYMS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class PageFacts:
    """What the structured data of an article tell about it."""

    title: str | None = None
    synonyms: tuple[str, ...] = ()
    reviewed_on: date | None = None
    published_on: date | None = None
    language: str | None = None


def linked_data(tree: HtmlElement) -> list[Node]:
    """The nodes of a page's JSON-LD that stand alone or in a graph; a block that cannot be read is passed over."""
    return _resolved([node for block in _json_blocks(tree) for node in _standing(block, 0)][:_MOST_NODES])


def types_of(node: Mapping[str, Any]) -> frozenset[str]:
    """The types of a node without their vocabulary's address."""
    return frozenset(str(name).rstrip("/").rpartition("/")[2].rpartition(":")[2] for name in _listed(node.get("@type")))


def facts(found: list[Node], language: Language) -> PageFacts:
    """What the nodes of articles among `found` tell; what says more about the page's subject goes before a mere web page."""
    articles = sorted((node for node in found if types_of(node) & _ARTICLES), key=_rank)
    subjects = [*articles, *(part for node in articles for part in _subjects(node))]
    named = next((name for node in articles if (name := _name(node))), None)
    synonyms = [name for node in subjects for name in _texts(node.get("alternateName"))]
    return PageFacts(
        title=named,
        synonyms=_distinct(synonyms, named)[:_MOST_SYNONYMS],
        reviewed_on=_first_date(articles, "lastReviewed", language),
        published_on=_first_date(articles, "datePublished", language),
        language=next((text for node in articles for text in _texts(node.get("inLanguage"))), None),
    )


def plain(value: str) -> str:
    """A short value as text: entities and tags resolved, in one line, without invisible characters."""
    return " ".join(visible(_TAG.sub("", unescape(value))).split())


def _rank(node: Node) -> int:
    types = types_of(node)
    return 0 if types & _CONDITIONS else 2 if types <= {"WebPage", "FAQPage"} else 1


def _subjects(node: Node) -> list[Node]:
    parts = [
        part for key in ("mainEntity", "about", "mainEntityOfPage") for part in _listed(node.get(key)) if isinstance(part, dict)
    ]
    return [part for part in parts if types_of(part) & _ARTICLES]


def _name(node: Node) -> str | None:
    texts = [*_texts(node.get("headline")), *_texts(node.get("name"))]
    return next((text for text in texts if len(text) <= _LONGEST_NAME), None)


def _distinct(names: list[str], title: str | None) -> tuple[str, ...]:
    unlike = {name.casefold(): name for name in reversed(names) if len(name) <= _LONGEST_NAME}
    unlike.pop((title or "").casefold(), None)
    return tuple(reversed(unlike.values()))


def _first_date(found: list[Node], key: str, language: Language) -> date | None:
    texts = (text for node in found for text in _texts(node.get(key)))
    return next((day for text in texts if (day := read_date(text, language))), None)


def _texts(value: object) -> list[str]:
    values = [entry.get("name", entry.get("@value")) if isinstance(entry, dict) else entry for entry in _listed(value)]
    return [text for entry in values if isinstance(entry, str) and (text := plain(entry))]


def _listed(value: object) -> list[Any]:
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


def _json_blocks(tree: HtmlElement) -> Iterator[object]:
    for script in tree.iter("script"):
        if "ld+json" not in script.get("type", "").lower():
            continue
        text = (script.text or "")[: _LONGEST_BLOCK + 1]
        if len(text) > _LONGEST_BLOCK:
            continue
        text = _WRAPPING.sub("", _WRAPPING.sub("", text))
        for attempt in (text, _LOOSE_COMMA.sub("", text)):
            try:
                block = json.loads(attempt, strict=False)
            except (ValueError, RecursionError):
                continue
            yield block
            break


def _standing(block: object, depth: int) -> Iterator[Node]:
    """The nodes of a block: itself, those of a list, and those of a graph."""
    if depth > _DEEPEST:
        return
    if isinstance(block, list):
        for entry in block:
            yield from _standing(entry, depth + 1)
    elif isinstance(block, dict):
        if "@type" in block:
            yield block
        if "@graph" in block:
            yield from _standing(block["@graph"], depth + 1)


def _resolved(found: list[Node]) -> list[Node]:
    by_id = {node["@id"]: node for node in found if isinstance(node.get("@id"), str)}
    left = [_MOST_NODES * 10]

    def follow(value: object, depth: int) -> Any:  # noqa: ANN401 - JSON
        left[0] -= 1
        if depth > _DEEPEST or left[0] < 0:
            return None if isinstance(value, dict | list) else value
        if isinstance(value, list):
            return [follow(entry, depth + 1) for entry in value]
        if isinstance(value, str):
            return _as_text(value)
        if not isinstance(value, dict):
            return value
        is_reference = value.keys() <= {"@id", "@type"} and isinstance(value.get("@id"), str)
        node = by_id.get(value["@id"], value) if is_reference else value
        return {key: follow(entry, depth + 1) for key, entry in node.items()}

    return [follow(node, 0) for node in found]


def _as_text(value: str) -> str:
    """A value as a reader would see it: structured data often hold markup, and what it hides is no text."""
    if not _MARKUP.search(value):
        return visible(value)
    return plain_of_markup(value)


def microdata(tree: HtmlElement) -> list[Node]:
    """Items in `itemscope` that are no property of another, each with the items below it.

    Read after `remove_hidden`: here what a reader sees and what a machine is told are the same text.
    """
    roots: list[Node] = []
    items: dict[HtmlElement, tuple[Node, int]] = {}
    letters = _MOST_LETTERS
    for element in tree.iter(etree.Element):
        is_item, names = "itemscope" in element.attrib, element.get("itemprop", "").split()
        if not (is_item or names):
            continue
        owner, depth = next((items[above] for above in element.iterancestors() if above in items), (None, 0))
        if depth > _DEEPEST or len(items) > _MOST_NODES or letters < 0:
            continue
        value: Any = {"@type": [kind.rpartition("/")[2] for kind in element.get("itemtype", "").split()]}
        if is_item:
            items[element] = value, depth + 1
        else:
            value = _property(element)
            letters -= len(value)
        if names and owner is not None:
            for name in names:
                owner.setdefault(name, []).append(value)
        elif is_item:
            roots.append(value)
    return [_single(root) for root in roots if root["@type"]]


def _property(element: HtmlElement) -> str:
    for attribute in ("content", "datetime"):
        if attribute in element.attrib:
            return visible(str(element.get(attribute)))
    if next(element.iter("p", "li", "br", "div"), None) is None:
        return visible(text_of(element)) or str(element.get("href", ""))
    part = copy(element)
    unfold(part)
    return plain_form(lines_of(part))


def _single(value: Any) -> Any:  # noqa: ANN401 - JSON
    """Lists of one made the one, as JSON-LD writes them. Items nest no deeper than elements do."""
    if isinstance(value, dict):
        return {
            key: _single(entry[0]) if isinstance(entry, list) and len(entry) == 1 else _single(entry)
            for key, entry in value.items()
        }
    return [_single(entry) for entry in value] if isinstance(value, list) else value
