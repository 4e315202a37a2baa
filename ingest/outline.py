"""Reads the plain form of a page into sections and units: the sentences and list items that a chunk is made of, never torn.

A list item is a unit that knows its lead-ins: "antibiotici" says one thing under "Può aiutare:" and another under "Non prenda:".
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from rag.text import split_sentences

_HEADING = re.compile(r"(#{1,6}) (.+)")
_ITEM = re.compile(r"( *)- (.+)", re.DOTALL)
_END_MARKS = (".", "!", "?", "…", ":", ".»", ".”", '."')
# A list quoted whole is longer than an answer may be (75 words): beyond this it is searched, but is no evidence.
_LONGEST_LIST_QUOTE_WORDS = 80
# One item of a list, quoted with its lead-in, reads as if it were all: "Chiami se: ha le labbra blu." A list of at most so many
# words, lead-ins counted, is quoted whole; a longer one would leave an answer of 75 words no room for a second sentence.
_LONGEST_WHOLE_LIST_WORDS = 60

_SPEAKING_MARKS = ("!", "?", "…", ":")
_LOOSE_END = re.compile(r"(?:\s*[;,]\s*(?:e|ed|o|od|oppure|y|u)?|(?<!\.)\.)$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """A sentence or a list item.

    Units of one `block` (a paragraph and the list below it) belong together. `level` is None for a sentence and the depth of an
    item. `leads` are the units that introduce this one, outermost first. A unit that is not `quotable` is searched but is no
    evidence: a lead-in alone, or a piece of a sentence. A unit that is not `shown` stands in the heading, not in the text.
    """

    text: str
    block: int
    level: int | None = None
    leads: "tuple[Unit, ...]" = ()
    quotable: bool = True
    shown: bool = True

    @property
    def quote(self) -> str:
        """The unit with its lead-ins as it may be quoted alone."""
        words = " ".join(part.text for part in (*self.leads, self))
        if self.level is None and not self.leads:
            return words
        return _closed(_in_one_line(words))


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """What stands under one heading; `heading_path` is empty before the first."""

    heading_path: tuple[str, ...]
    units: tuple[Unit, ...]


def sections(text: str, title: str) -> Iterator[Section]:
    """Yield the sections of a page in the plain form that have text, in order; `title` introduces a list without a lead-in."""
    path: list[tuple[int, str]] = []
    lines: list[str] = []
    for line in [*text.split("\n"), "# "]:
        heading = _HEADING.fullmatch(line)
        if not heading and line != "# ":
            lines.append(line)
            continue
        names = tuple(name for _, name in path)
        if units := _units(lines, introduction=names[-1] if names else title):
            yield Section(heading_path=names, units=units)
        lines = []
        if heading:
            level = len(heading[1])
            path = [*(entry for entry in path if entry[0] < level), (level, heading[2])]


def _units(lines: Sequence[str], *, introduction: str) -> tuple[Unit, ...]:
    units: list[Unit] = []
    lead = _heading_lead(introduction)
    open_items: list[Unit] = []
    dangling: Unit | None = None
    block = -1
    for line in _without_blanks_and_loose_lists(lines):
        if item := _ITEM.fullmatch(line):
            level = len(item[1]) // 2
            open_items = [parent for parent in open_items if (parent.level or 0) < level]
            unit = Unit(
                text=item[2],
                block=max(block, 0),
                level=level,
                leads=(lead, *open_items),
                quotable=_is_quotable_item(item[2]),
            )
            units.append(unit)
            open_items.append(unit)
            dangling = None
        elif spans := split_sentences(line):
            block += 1
            open_items = []
            found = [line[start:end] for start, end in spans]
            leads = (dangling,) if dangling else ()
            units.append(Unit(text=found[0], block=block, leads=leads, quotable=not found[0].endswith(":")))
            units.extend(Unit(text=sentence, block=block, quotable=not sentence.endswith(":")) for sentence in found[1:])
            lead = units[-1]
            dangling = lead if lead.text.endswith(":") else None
    return tuple(_with_short_lists_whole(units))


def _with_short_lists_whole(units: Sequence[Unit]) -> Iterator[Unit]:
    """Make one unit of the items of a short list, those below one lead-in that follow each other."""
    for (level, leads), siblings in groupby(units, key=lambda unit: (unit.level, unit.leads)):
        items = list(siblings)
        words = sum(len(unit.text.split()) for unit in (*leads, *items))
        if level is None or words > _LONGEST_WHOLE_LIST_WORDS or not all(unit.quotable for unit in items):
            yield from items
        else:
            yield replace(items[0], text=f"\n{'  ' * level}- ".join(unit.text for unit in items))


def _is_quotable_item(text: str) -> bool:
    return not text.endswith(":") and ("\n" not in text or len(text.split()) <= _LONGEST_LIST_QUOTE_WORDS)


def _heading_lead(heading: str) -> Unit:
    ended = heading.endswith(("?", "!", ":", "."))
    return Unit(text=heading if ended else heading + ":", block=-1, quotable=False, shown=False)


def _without_blanks_and_loose_lists(lines: Sequence[str]) -> Iterator[str]:
    """Drop blank lines, and join a list from an item that ends in a colon on, where the next item is no deeper.

    Such a list has lost its levels, and nothing tells where the inner list ends: its items may be quoted together, not apart.
    """
    kept = [line for line in lines if line.strip()]
    index = 0
    while index < len(kept):
        line = kept[index]
        index += 1
        item = _ITEM.fullmatch(line)
        if item and line.endswith(":"):
            rest = []
            while index < len(kept) and _level_of(kept[index]) >= len(item[1]):
                rest.append(kept[index])
                index += 1
            if rest and _level_of(rest[0]) == len(item[1]):
                line = "\n".join([line, *rest])
            else:
                index -= len(rest)
        yield line


def _level_of(line: str) -> int:
    item = _ITEM.fullmatch(line)
    return len(item[1]) if item else -1


def _in_one_line(text: str) -> str:
    first, *rest = re.split(r"\n *- ", text)
    joined = first
    for part in rest:
        joined = f"{joined} {part}" if joined.endswith(_SPEAKING_MARKS) else f"{_LOOSE_END.sub('', joined)}; {part}"
    return joined


def _closed(text: str) -> str:
    text = _LOOSE_END.sub("", text)
    return text if text.endswith(_END_MARKS) else text + "."
