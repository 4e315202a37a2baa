"""Tells the lines of a page that speak of health from those that speak of the page."""

from collections.abc import Sequence

from ingest.extraction.blocks import Line
from ingest.extraction.web_words import WebWords, bare, begins_with_any, has_any

_SHORT_LINE_WORDS = 25
# A teaser of another page has no more; a section called "Vedi anche" that holds a longer paragraph is the article's own.
_LONGEST_TEASER_WORDS = 45


def without_boilerplate(lines: Sequence[Line], words: WebWords) -> list[Line]:
    """Drop lines of chrome, sections about other pages, consent texts, immediate repetitions, and headings left with nothing."""
    kept: list[Line] = []
    index = 0
    while index < len(lines):
        line = lines[index]
        section_end = _section_end(lines, index) if line.heading else index + 1
        if line.heading and _is_about_other_pages(lines[index:section_end], words):
            index = section_end
            continue
        index += 1
        if not is_chrome(line, words) and not (kept and kept[-1] == line):
            kept.append(line)
    return _without_bare_headings(kept)


def is_chrome(line: Line, words: WebWords) -> bool:
    """Whether a line alone is known to be no text about health."""
    plain = bare(line.text)
    if len(plain) < 2 or plain in words.lines:
        return True
    is_short = len(plain.split()) <= _SHORT_LINE_WORDS
    return (is_short and not line.heading and begins_with_any(plain, words.line_begins)) or is_consent(line.text, words)


def is_consent(text: str, words: WebWords) -> bool:
    """Whether a paragraph belongs to a consent banner."""
    lowered = text.lower()
    if not any(word in lowered for word in words.cookie):
        return False
    plain = bare(text)
    return has_any(plain, words.cookie) and has_any(plain, words.consent)


def _section_end(lines: Sequence[Line], start: int) -> int:
    level = lines[start].heading
    ends = (index for index in range(start + 1, len(lines)) if 0 < lines[index].heading <= level)
    return next(ends, len(lines))


def _is_about_other_pages(section: Sequence[Line], words: WebWords) -> bool:
    heading, *body = section
    plain = bare(heading.text)
    if has_any(plain, words.cookie):
        return True
    if not begins_with_any(plain, words.related) or len(plain.split()) > 8:
        return False
    return all(line.linked or line.heading or len(line.text.split()) <= _LONGEST_TEASER_WORDS for line in body)


def _without_bare_headings(lines: Sequence[Line]) -> list[Line]:
    kept: list[Line] = []
    level = 1
    for line in reversed(lines):
        if line.heading and level and line.heading >= level:
            continue
        level = line.heading
        kept.append(line)
    return kept[::-1]
