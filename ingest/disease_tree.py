"""Builds the disease information tree of a page from its plain form, with the words that mark what serves a diagnosis.

The words are data, `locales/{language}/disease_tree.toml`, and their notation is told there.
"""

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files

from locales.language import Language
from rag.disease_tree import Branch, DiseaseTree, Facet
from rag.documents import Document
from rag.text import fold, words

_HEADING = re.compile(r"(#{1,6}) (.+)")
_GAP = "…"
_GAP_WORDS = r"(?:\S+ ){0,5}"
_LONGEST_HEADING_WORDS = 40  # what is longer is a paragraph in disguise, and only its beginning is read


def disease_tree(document: Document) -> DiseaseTree:
    """Build the tree of a page.

    A level that is left out is no obstacle: a heading belongs to the nearest one before it of a higher rank. A single first
    heading of the highest rank is the page's own title and becomes the root, which is never marked: a title such as "Emicrania:
    sintomi e cure" would mark everything.
    """
    marks = DiagnosisWords.load(document.language)
    return DiseaseTree(root=_frozen(_grown(document), marks, is_root=True))


@dataclass(frozen=True, slots=True, kw_only=True)
class DiagnosisWords:
    """The heading words of one language."""

    facets: Mapping[Facet, re.Pattern[str]]
    not_meant: re.Pattern[str]
    other_subjects: re.Pattern[str]
    language: Language

    @classmethod
    def load(cls, language: Language) -> "DiagnosisWords":
        """Read the words that ship with the language; the file is read once."""
        return _load(language)

    def facet(self, heading: str) -> Facet | None:
        """What a heading tells for a diagnosis, the foremost if several; None if nothing."""
        meant = self.not_meant.sub("-", self._compared(heading))
        return next((facet for facet, pattern in self.facets.items() if pattern.search(meant)), None)

    def names_other_subject(self, heading: str) -> bool:
        """True for a heading about causes, treatment and the like, whatever else it names."""
        return bool(self.other_subjects.search(self._compared(heading)))

    def _compared(self, heading: str) -> str:
        return " ".join(words(heading, self.language)[:_LONGEST_HEADING_WORDS])


@dataclass(slots=True)
class _Growing:
    """A branch while its page is being read."""

    heading: str
    level: int
    lines: list[str] = field(default_factory=list)
    below: "list[_Growing]" = field(default_factory=list)


def _grown(document: Document) -> _Growing:
    lines = document.text.split("\n")
    own_title = _own_title(lines)
    root = _Growing(heading=document.title, level=0)
    path = [root]
    for number, line in enumerate(lines):
        heading = _HEADING.fullmatch(line)
        if heading is None:
            path[-1].lines.append(line)
        elif number != own_title:
            branch = _Growing(heading=heading[2].strip(), level=len(heading[1]))
            while path[-1].level >= branch.level:
                path.pop()
            path[-1].below.append(branch)
            path.append(branch)
    return root


def _own_title(lines: Iterable[str]) -> int | None:
    """The line of the first heading, if it alone has the highest rank."""
    headings = [(number, len(found[1])) for number, line in enumerate(lines) if (found := _HEADING.fullmatch(line))]
    if not headings or headings[0][1] != 1 or sum(level == 1 for _, level in headings) > 1:
        return None
    return headings[0][0]


def _frozen(growing: _Growing, marks: DiagnosisWords, *, is_root: bool = False) -> Branch:
    below = tuple(_frozen(branch, marks) for branch in growing.below)
    facet = None if is_root else marks.facet(growing.heading)
    if facet and marks.names_other_subject(growing.heading) and any(b.facet for branch in below for b in branch.walk()):
        facet = None  # "Diagnosi e cura" over "Diagnosi" and "Cura": the headings below tell the two apart
    return Branch(heading=growing.heading, level=growing.level, leaves=_leaves(growing.lines), branches=below, facet=facet)


def _leaves(lines: Iterable[str]) -> tuple[str, ...]:
    blocks = re.split(r"\n\s*\n", "\n".join(lines))
    return tuple(block.strip("\n") for block in blocks if block.strip())


@cache
def _load(language: Language) -> DiagnosisWords:
    path = files("locales") / language.value / "disease_tree.toml"
    data = tomllib.loads(path.read_text(encoding="utf-8"))
    return DiagnosisWords(
        facets={facet: _any_of(data["facets"][facet.value]) for facet in Facet},
        not_meant=_any_of(data["not_meant"]),
        other_subjects=_any_of(data["other_subjects"]),
        language=language,
    )


def _any_of(wordings: Iterable[str]) -> re.Pattern[str]:
    return re.compile("|".join(_pattern(wording) for wording in wordings))


def _pattern(wording: str) -> str:
    parts = []
    for token in wording.removeprefix("=").split():
        if token == _GAP:
            parts.append(_GAP_WORDS)
        else:
            choices = (re.escape(fold(choice)).replace(r"\*", r"[^\W_]*") for choice in token.split("/"))
            parts.append(f"(?:{'|'.join(choices)}) ")
    inner = "".join(parts).removesuffix(" ")
    return rf"\A{inner}\Z" if wording.startswith("=") else rf"(?<!\S){inner}(?!\S)"
