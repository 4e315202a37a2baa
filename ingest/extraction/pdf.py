"""Reads leaflets: PDF files with text, brought into the plain form."""

import logging
import re
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO

from ingest.extraction.hidden import visible
from ingest.importers.plain import plain_lines

_MOST_PAGES = 80
_MOST_SECONDS = 20.0
_MOST_LETTERS = 600_000
_REPEATED_ON = 0.6  # of the pages: a line among the first or last two of so many is a header or footer
_EDGE_LINES = 2
_FULL_LINE = 0.7  # of the longest usual line: a shorter one ends a paragraph

_DIGITS = re.compile(r"\d+")
_BULLET = re.compile(r"^\s*(?:[•·▪◦‣●○■□\uf0b7\uf0a7–—*-])\s*(?=\S)")
_NUMBERED_HEADING = re.compile(r"^\d{1,2}(?:\.\d{1,2})?\.?\s+[A-ZÀ-ÚÑ¿][^.;]{3,90}$")
_HYPHEN = re.compile(r"(?<=[a-zà-úñ])[-‐\u00ad]$")
_ENDED = re.compile(r"[.!?:;…][\"'”’»)]*$")
_FILE_NAME = re.compile(
    r"\.(?:docx?|pdf|indd|rtf|odt|qxd|pptx?)$|^(?:microsoft word|untitled|senza titolo|sin título|documento?\d*$)", re.IGNORECASE
)
_LIGATURES = str.maketrans({"ﬁ": "fi", "ﬂ": "fl", "ﬀ": "ff", "ﬃ": "ffi", "ﬄ": "ffl"})
_LONGEST_HEADING_WORDS = 14

# The library reports each oddity of a file, and a crawl meets many.
logging.getLogger("pypdf").setLevel(logging.CRITICAL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaflet:
    """The text of a PDF in the plain form, and its title."""

    title: str
    text: str


def read_leaflet(body: bytes) -> Leaflet | None:
    """Read a PDF, or None if it is damaged, locked, or has no text; of a very long one the beginning is read."""
    try:
        stated, pages = _pages(body)
    except Exception:  # noqa: BLE001 - a damaged file fails anywhere in the library, with any error
        return None
    lines = _joined(_without_edges([_lines(page) for page in pages]))
    if not any(any(c.isalpha() for c in line) for line in lines):
        return None
    title, lines = _title(stated, lines)
    return Leaflet(title=title, text=plain_lines("\n".join(lines)))


def _pages(body: bytes) -> tuple[str, list[str]]:
    from pypdf import PdfReader  # only once a leaflet is met

    reader = PdfReader(BytesIO(body))
    if reader.is_encrypted and not reader.decrypt(""):  # many leaflets are locked against changes alone
        return "", []
    stated = reader.metadata.title if reader.metadata else None
    started, letters = time.monotonic(), 0
    pages: list[str] = []
    for page in reader.pages[:_MOST_PAGES]:
        pages.append(page.extract_text())
        letters += len(pages[-1])
        if letters > _MOST_LETTERS or time.monotonic() - started > _MOST_SECONDS:
            break
    return visible(stated or "").strip(), pages


def _lines(page: str) -> list[str]:
    """The lines of a page; a soft hyphen at a line's end is a hyphen there."""
    kept = (re.sub("\u00ad\\s*$", "-", line) for line in page.translate(_LIGATURES).splitlines())
    return [" ".join(visible(line).split()) for line in kept]


def _without_edges(pages: Sequence[list[str]]) -> list[str]:
    """All lines without page numbers and what stands at the head or foot of most pages."""
    pages = [[line for line in page if line] for page in pages]
    edges = Counter(shape for page in pages for shape in {_shape(line) for line in (*page[:_EDGE_LINES], *page[-_EDGE_LINES:])})
    repeated = {shape for shape, count in edges.items() if len(pages) > 2 and count >= _REPEATED_ON * len(pages)}
    kept: list[str] = []
    for page in pages:
        last = len(page) - _EDGE_LINES
        for index, line in enumerate(page):
            is_edge = index < _EDGE_LINES or index >= last
            if not (is_edge and (_shape(line) in repeated or _is_page_number(line))):
                kept.append(line)
    return kept


def _shape(line: str) -> str:
    return _DIGITS.sub("0", line)


def _is_page_number(line: str) -> bool:
    return (
        re.fullmatch(r"(?:p[áa]g(?:ina|\.)?\s*)?[-–]?\s*\d{1,4}\s*[-–]?(?:\s*(?:/|di|de)\s*\d{1,4})?", line, re.IGNORECASE)
        is not None
    )


def _joined(lines: Sequence[str]) -> list[str]:
    """Paragraphs, items and headings of torn lines; blank lines part them."""
    widths = sorted(map(len, lines))
    full = _FULL_LINE * widths[int(len(widths) * 0.9)] if widths else 0
    joined: list[str] = []
    open_width = 0.0  # of the last line, if the next may continue it
    for line in lines:
        bullet = _BULLET.match(line)
        if bullet:
            joined.append("- " + line[bullet.end() :])
        elif open_width and _HYPHEN.search(joined[-1]):
            joined[-1] = _HYPHEN.sub("", joined[-1]) + line
        elif _is_heading(line, joined):
            joined.extend(["", "## " + line, ""])
            open_width = 0
            continue
        elif open_width and not _ENDED.search(joined[-1]) and (open_width >= full or line[0].islower()):
            joined[-1] += " " + line
        else:
            joined.extend(["", line])
        open_width = len(line)
    return joined


def _is_heading(line: str, before: Sequence[str]) -> bool:
    """Whether a line is surely a heading: numbered as in a package leaflet, a question alone, or in capitals."""
    is_torn = bool(before) and before[-1] != "" and not _ENDED.search(before[-1])
    if len(line.split()) > _LONGEST_HEADING_WORDS or len(line) < 4:
        return False
    if _NUMBERED_HEADING.match(line):
        return not is_torn or len(before[-1]) < len(line) * 3
    if is_torn:
        return False
    return line.endswith("?") or (line.isupper() and len(line) > 5 and not _ENDED.search(line) and not _DIGITS.search(line))


def _title(stated: str, lines: list[str]) -> tuple[str, list[str]]:
    """The title that a file states if it is one, else its first line, which then leaves the text."""
    if 3 < len(stated) < 200 and not _FILE_NAME.search(stated) and " " in stated:
        return stated, lines
    for index, line in enumerate(lines):
        if line:
            title = line.removeprefix("## ").removeprefix("- ")
            return title[:200], lines[index + 1 :] if len(title) <= 120 else lines
    return "", lines
