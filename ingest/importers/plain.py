"""Brings a publisher's text into the one plain form that the chunker reads.

The form: one line a heading (`## `), a paragraph, or a list item (`- `, two spaces more for each level below); a blank line
around headings and between paragraphs.
"""

import re
import unicodedata

_HEADING = re.compile(r"^ {0,3}(#{1,6})\s+(.+?)\s*#*\s*$")
_ITEM = re.compile(r"^(\s*)(?:[-*+•·▪◦–]|\d{1,2}[.)])\s+(.+)$")
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_IMAGE = re.compile(r"!\[[^\]]*\]\([^)]*\)")
_LINK = re.compile(r"\[([^\]]+)\]\([^)]*\)")
_STRONG = re.compile(r"(\*\*|__)(?=\S)(.+?)(?<=\S)\1")
_EMPHASIS = re.compile(r"(?<![\w*])([*_])(?=\S)([^*_\n]+?)(?<=\S)\1(?![\w*])")
_SPACES = re.compile(r"[^\S\n]+")
_SENTENCE_END = (".", "!", "?", "…", ".»", '."', ".”", ".)")


def normal(text: str) -> str:
    """NFC, with plain line ends and no control characters or soft hyphens: what is stored is what a patient will read."""
    text = unicodedata.normalize("NFC", text).replace("\r\n", "\n").replace("\r", "\n")
    return "".join(c for c in text if c in "\n\t" or unicodedata.category(c) not in {"Cc", "Cf", "Co", "Cs"} or c == "\u200d")


def plain_markdown(text: str) -> str:
    """Bring Markdown into the plain form: emphasis and links become words, wrapped lines become one."""
    text = _IMAGE.sub("", _COMMENT.sub("", normal(text)))
    text = _EMPHASIS.sub(r"\2", _STRONG.sub(r"\2", _LINK.sub(r"\1", text)))
    return _assemble(text, wrapped=True)


def plain_lines(text: str) -> str:
    """Bring plain text into the plain form: each line is a paragraph or an item.

    A line that begins in lower case after one without an end is taken for its continuation: a sentence torn in two could lose
    its "not".
    """
    return _assemble(normal(text), wrapped=False)


def _assemble(text: str, *, wrapped: bool) -> str:
    lines: list[str] = []
    indents: list[int] = []
    after_blank = True
    for raw in text.split("\n"):
        line = _SPACES.sub(" ", raw).strip()
        if not line or (set(line) <= set("-*_=") and len(line) >= 3):  # a rule between parts of a page says nothing
            after_blank = True
            continue
        if heading := _HEADING.match(raw):
            lines.append(f"{heading[1]} {_SPACES.sub(' ', heading[2])}")
            indents = []
        elif item := _ITEM.match(raw.expandtabs(4)):
            lines.append("  " * _level(indents, len(item[1])) + "- " + _SPACES.sub(" ", item[2]).strip())
        elif lines and not after_blank and _continues(lines[-1], line, wrapped=wrapped):
            lines[-1] += " " + line
            continue
        elif lines and not (after_blank or wrapped) and _is_bare_item(lines[-1], line):
            lines.append("- " + line)
        else:
            lines.append(line)
            indents = []
        after_blank = False
    return _spaced(lines)


def _level(indents: list[int], indent: int) -> int:
    """Depth of an item among the open items, whose indents are kept in `indents`."""
    while indents and indents[-1] > indent:
        indents.pop()
    if not indents or indents[-1] < indent:
        indents.append(indent)
    return len(indents) - 1


def _continues(previous: str, line: str, *, wrapped: bool) -> bool:
    if previous.startswith("#"):
        return False
    return wrapped or (line[0].islower() and not previous.endswith(_SENTENCE_END))


def _is_bare_item(previous: str, line: str) -> bool:
    """An item that has lost its bullet: a line without an end below a lead-in, or below another such item."""
    return not line.endswith((*_SENTENCE_END, ":")) and (previous.endswith(":") or _is_item(previous))


def _is_item(line: str) -> bool:
    return line.lstrip().startswith("- ")


def _spaced(lines: list[str]) -> str:
    parts: list[str] = []
    for index, line in enumerate(lines):
        if index and not (_is_item(line) and not lines[index - 1].startswith("#")):
            parts.append("")
        parts.append(line)
    return "\n".join(parts)
