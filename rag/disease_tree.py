"""A page as a disease information tree: headings are inner nodes, text is leaves, and what serves a diagnosis is marked."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from rag.text import split_sentences


class Facet(StrEnum):
    """What a marked heading tells of a disease, in the order in which it says most to somebody who does not know its name."""

    SYMPTOMS = "symptoms"
    DIAGNOSIS = "diagnosis"
    EXAMINATIONS = "examinations"
    CARE = "care"  # when to see a doctor


@dataclass(frozen=True, slots=True, kw_only=True)
class Branch:
    """A heading with the text and the headings below it.

    A leaf is a paragraph or a list, a list together with its lead-in. A `facet` marks the branch and all below it.
    """

    heading: str
    level: int
    leaves: tuple[str, ...] = ()
    branches: tuple["Branch", ...] = ()
    facet: Facet | None = None

    def walk(self) -> Iterator["Branch"]:
        """This branch and all below it, in the order of the page."""
        yield self
        for branch in self.branches:
            yield from branch.walk()


@dataclass(frozen=True, slots=True, kw_only=True)
class DiseaseTree:
    """The tree of one page. Its root is the title, with the text before the first heading as its leaves."""

    root: Branch

    @property
    def is_marked(self) -> bool:
        """True if any heading serves a diagnosis; without one, `diagnosis_text` falls back on the whole page."""
        return any(branch.facet for branch in self.root.walk())

    def walk(self) -> Iterator[tuple[tuple[str, ...], Branch]]:
        """Each branch with the headings that lead to it, its own last and the title left out, in the order of the page."""
        yield from _walk(self.root, ())

    def diagnostic(self) -> tuple[Branch, ...]:
        """The marked subtrees, none inside another: by facet, and in the order of the page where that is the same."""
        order = list(Facet)
        return tuple(sorted(_marked(self.root), key=lambda branch: order.index(branch.facet or order[-1])))

    def diagnosis_text(self, max_words: int, *, with_headings: bool = True) -> str:
        """What serves a diagnosis: a line a heading, a paragraph or an item.

        Args:
            max_words: What is longer is cut after a sentence or an item; only a first sentence that alone is longer is torn.
            with_headings: Whether each heading that has text stands above it.

        Returns:
            The marked subtrees, symptoms first; the whole page where none is marked. Empty when there is no text.
        """
        lines = [line for branch in self.diagnostic() or (self.root,) for line in self._lines(branch, with_headings)]
        return _cut("\n".join(lines), max_words)

    def _lines(self, top: Branch, with_headings: bool) -> Iterator[str]:
        for branch in top.walk():
            if with_headings and branch.leaves and branch is not self.root:
                yield branch.heading if branch.heading.endswith(("?", "!", ".", ":")) else f"{branch.heading}:"
            for leaf in branch.leaves:
                yield from (line for line in leaf.split("\n") if line.strip())


def _walk(branch: Branch, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Branch]]:
    yield path, branch
    for below in branch.branches:
        yield from _walk(below, (*path, below.heading))


def _marked(branch: Branch) -> Iterator[Branch]:
    if branch.facet:
        yield branch
        return
    for below in branch.branches:
        yield from _marked(below)


def _cut(text: str, max_words: int) -> str:
    if len(text.split()) <= max_words:
        return text
    words = end = 0
    for _, stop in split_sentences(text):
        words += len(text[end:stop].split())
        if words > max_words:
            break
        end = stop
    lines = text[:end].split("\n")
    while lines and lines[-1].endswith(":"):  # a heading or a lead-in that has lost what it introduces
        lines.pop()
    return "\n".join(lines).rstrip() or " ".join(text.split()[: max(0, max_words)])
