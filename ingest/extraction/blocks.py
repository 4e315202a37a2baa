"""Writes a part of a page as lines: headings, paragraphs and items, each with what tells text from chrome."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from lxml import etree, html
from lxml.html import HtmlElement

from ingest.extraction.hidden import remove_hidden, visible
from ingest.extraction.tables import unfold
from ingest.extraction.tree import HEADINGS, text_of
from ingest.importers.plain import plain_lines

_BLOCK_NAMES = (
    "address article aside blockquote body center dd details dialog dir div dl dt fieldset figcaption figure footer form h1 h2 "
    "h3 h4 h5 h6 head header hgroup hr html legend li main menu nav ol optgroup option p pre search section summary table tbody "
    "td tfoot th thead title tr ul"
)
_BLOCKS = frozenset(_BLOCK_NAMES.split())
_LISTS = frozenset({"ul", "ol", "menu", "dir"})
_BULLETS = "-*+•·▪◦–—►▶■●○✓✔→ \t\u00a0"
_SUPERSCRIPTS = str.maketrans("0123456789+-−n", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻ⁿ")
_POWER = re.compile(r"[-+−]?\d+|n")
_ORDINALS = {"o": "º", "a": "ª"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One line of a page: `heading` is its level or 0, `item` its depth in lists or 0; `linked` if all of it is links.

    `broken` if only a line break parts it from the line before.
    """

    text: str
    heading: int = 0
    item: int = 0
    linked: bool = False
    broken: bool = False

    @property
    def marked(self) -> str:
        """The line with its marker, as the plain form has it."""
        if self.heading:
            return f"{'#' * self.heading} {self.text}"
        return f"{'  ' * (self.item - 1)}- {self.text}" if self.item else self.text


def lines_of(part: HtmlElement) -> list[Line]:
    """The lines of a part of a page, in order, after `remove_hidden` and `unfold`."""
    writer = _Writer()
    _respell(part)
    for event, element in etree.iterwalk(part, events=("start", "end")):
        if event == "start":
            writer.start(element)
        else:
            writer.end(element, is_last=element is part)
    writer.flush()
    return writer.lines


def plain_form(lines: Iterable[Line]) -> str:
    """Lines in the plain form; a list of lines loses nothing but its empty ones."""
    return plain_lines("\n".join(_spaced(lines)))


def plain_of_markup(markup: str) -> str:
    """A value that holds markup, as structured data often do, in the plain form."""
    try:
        part = html.fragment_fromstring(markup, create_parent="div")
    except (etree.LxmlError, ValueError):
        return ""
    remove_hidden(part)
    unfold(part)
    return plain_form(lines_of(part))


class _Writer:
    """Collects lines as a tree is walked."""

    def __init__(self) -> None:
        self.lines: list[Line] = []
        self._words: list[str] = []
        self._loose = False  # whether a word outside of a link has been read in this line
        self._broken = False  # whether a line break ended the line before
        self._lists = 0
        self._links = 0
        self._heading = 0
        self._items: list[_Item] = []

    def start(self, element: HtmlElement) -> None:
        tag = element.tag
        if tag in _BLOCKS or "-" in tag:
            self.flush()
            self._broken = False
        if tag in _LISTS:
            self._lists += 1
        elif tag == "li":
            self._items.append(_Item(depth=0 if _is_card(element) else max(1, self._lists)))
        elif tag in HEADINGS:
            self._heading = int(tag[1])
        elif tag == "a":
            self._links += 1
        elif tag == "br":
            self._break()
        self._add(element.text)

    def end(self, element: HtmlElement, *, is_last: bool) -> None:
        tag = element.tag
        if tag in _BLOCKS or "-" in tag:
            self.flush()
            self._broken = False
        if tag in _LISTS:
            self._lists -= 1
        elif tag == "li":
            self._items.pop()
        elif tag in HEADINGS:
            self._heading = 0
        elif tag == "a":
            self._links -= 1
        if not is_last:
            self._add(element.tail)

    def _break(self) -> None:
        if self._heading or self._items:
            self._words.append(" ")
            return
        count = len(self.lines)
        self.flush()
        self._broken = len(self.lines) > count

    def flush(self) -> None:
        """End the line that is open, if it has words."""
        text = " ".join(visible("".join(self._words)).split())
        linked = not self._loose
        self._words, self._loose = [], False
        if not any(c.isalnum() for c in text):
            return
        item = self._items[-1] if self._items else None
        if self._heading:
            self.lines.append(Line(text=text.lstrip("# "), heading=self._heading, linked=linked))
        elif item and item.depth:
            self._write_item(item, text.lstrip(_BULLETS), linked=linked)
        else:
            self.lines.append(Line(text=text.lstrip("#"), linked=linked, broken=self._broken))

    def _write_item(self, item: "_Item", text: str, *, linked: bool) -> None:
        if item.line is not None and item.line == len(self.lines) - 1:
            before = self.lines[-1]
            self.lines[-1] = Line(text=f"{before.text} {text}", item=item.depth, linked=before.linked and linked)
        else:
            item.line = len(self.lines)
            self.lines.append(Line(text=text, item=item.depth, linked=linked))

    def _add(self, text: str | None) -> None:
        if text:
            self._words.append(text)
            self._loose = self._loose or (not self._links and any(c.isalnum() for c in text))


@dataclass(slots=True)
class _Item:
    """An open list item: its depth, 0 if it is no item but a card with a heading, and the line that it began."""

    depth: int
    line: int | None = None


def _is_card(item: HtmlElement) -> bool:
    return next(item.iter(*HEADINGS), None) is not None


def _respell(part: HtmlElement) -> None:
    """Raised and lowered text in characters of its own: "10" and a raised "9" must not become 109; a reference mark goes."""
    for raised in list(part.iter("sup")):
        text = text_of(raised)
        is_reference = next(raised.iter("a"), None) is not None or text.startswith(("[", "(", "*"))
        for child in list(raised):
            raised.remove(child)
        is_power = _POWER.fullmatch(text) is not None
        raised.text = "" if is_reference else text.translate(_SUPERSCRIPTS) if is_power else _ORDINALS.get(text.lower(), text)
    for quoted in part.iter("q"):
        quoted.text = "«" + (quoted.text or "")
        quoted.tail = "»" + (quoted.tail or "")


def _spaced(lines: Iterable[Line]) -> Iterator[str]:
    """Blank lines part what stands apart on the page, so that no line is taken for the end of the one before."""
    for line in lines:
        if not (line.item or line.broken):
            yield ""
        yield line.marked
        if line.heading:
            yield ""
