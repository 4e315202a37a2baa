"""Questions on many matters, of which an index covers some: what is asked is judged by which of them it resembles.

A question on glaucoma is near to a page on conjunctivitis, but nearer to other questions on glaucoma. The bank is data
(`locales/{it,es}/question_bank.tsv`); which of its topics an index covers is told by the names of the pages.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import numpy as np
import numpy.typing as npt

from locales.language import Language
from rag.models.protocols import Vectors
from rag.text import content_tokens, stop_words, words

_NEAREST = 3
_FEWEST_LETTERS = 4  # of a word that has an ending

Labels = npt.NDArray[np.int8]

COVERED, OPEN, UNCOVERED = 1, 0, -1
"""What is known of a question: an index covers it, may (a page has its topic as another name only), or does not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BankQuestion:
    """A question; `names` are those by which a page on its topic may be titled, and there are none if it is not on health."""

    topic: str
    names: tuple[str, ...]
    text: str


Name = frozenset[str]
"""The words of a topic's name, folded and without the endings of plurals: stems take "mano" for "mania"."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnsweredBank:
    """Embedded questions, shape ``(n, dimension)``, unit rows, what is known of each, ``(n,)``, and names of uncovered topics."""

    vectors: Vectors
    labels: Labels
    uncovered: frozenset[Name] = frozenset()

    def lean(self, vector: Vectors, without: int | None = None) -> float:
        """How much nearer a question is to covered questions than to uncovered ones, as a difference of cosines.

        Args:
            vector: The embedded question, unit length.
            without: The place of a question of the bank that is left out, for judging itself.
        """
        cosines, labels = self.vectors @ vector, self.labels
        if without is not None:
            cosines, labels = np.delete(cosines, without), np.delete(labels, without)
        near, far = cosines[labels == COVERED], cosines[labels == UNCOVERED]
        return _nearest(near) - _nearest(far) if len(near) and len(far) else 0.0

    def names_uncovered(self, question: str, language: Language) -> bool:
        """Whether a question holds all words of a name of a topic that the index does not cover."""
        said = _name(question, language)
        return any(name <= said for name in self.uncovered)


@cache
def bank(language: Language) -> tuple[BankQuestion, ...]:
    """The questions of a language."""
    written = files("locales").joinpath(language.value, "question_bank.tsv").read_text(encoding="utf-8")
    rows = [line.split("\t") for line in written.splitlines() if line and not line.startswith("#")]
    return tuple(BankQuestion(topic=topic, names=_split(names), text=text) for topic, names, text in rows)


def pages_on(
    questions: Sequence[BankQuestion], pages: Sequence[tuple[str, Sequence[str]]], language: Language
) -> tuple[list[frozenset[int]], Labels]:
    """Find the pages on the topic of each question: those whose title holds all words of one of its names.

    Args:
        questions: Questions of a bank.
        pages: Title and synonyms of each page.
        language: That of both.

    Returns:
        The places of the pages, one set a question, and what that makes of each question.
    """
    titled: dict[str, set[int]] = defaultdict(set)
    called: set[frozenset[str]] = set()
    for place, (title, synonyms) in enumerate(pages):
        for token in content_tokens(title, language):
            titled[token].add(place)
        called.update(frozenset(content_tokens(synonym, language)) for synonym in synonyms)
    found: dict[tuple[str, ...], tuple[frozenset[int], int]] = {}
    for question in questions:
        if question.names not in found:
            stems = [name for each in question.names if (name := frozenset(content_tokens(each, language)))]
            on = frozenset[int]().union(*(set.intersection(*(titled[token] for token in name)) for name in stems))
            label = COVERED if on else OPEN if not called.isdisjoint(stems) else UNCOVERED
            found[question.names] = (on, label)
    answers = [found[question.names] for question in questions]
    return [on for on, _ in answers], np.array([label for _, label in answers], dtype=np.int8)


def uncovered_names(
    questions: Sequence[BankQuestion], labels: Labels, pages: Sequence[tuple[str, Sequence[str]]], language: Language
) -> frozenset[Name]:
    """Gather the names of the topics that an index does not cover; what also names a page, or a topic that it covers, is none.

    Args:
        questions: Questions of a bank.
        labels: What is known of each, as `pages_on` found it.
        pages: Title and synonyms of each page.
        language: That of both.
    """
    names: dict[int, set[Name]] = {COVERED: set(), OPEN: set(), UNCOVERED: set()}
    for topic, label in {(question.names, int(label)) for question, label in zip(questions, labels, strict=True)}:
        names[label].update(_name(name, language) for name in topic)
    of_pages = {_name(name, language) for title, synonyms in pages for name in (title, *synonyms)}
    return frozenset(names[UNCOVERED] - names[COVERED] - names[OPEN] - of_pages - {frozenset()})


def _name(text: str, language: Language) -> Name:
    stop = stop_words(language)
    return frozenset(_singular(word, language) for word in words(text, language) if word not in stop and not word.isdigit())


def _singular(word: str, language: Language) -> str:
    """A word without what its plural changes: nearly, and the same for both."""
    if len(word) < _FEWEST_LETTERS:
        return word
    if language is Language.ITALIAN:
        return word[:-1] if word[-1] in "aeio" else word
    return word.removesuffix("s").removesuffix("e")


def _split(names: str) -> tuple[str, ...]:
    return tuple(name for name in names.split("|") if name)


def _nearest(cosines: npt.NDArray[np.float32]) -> float:
    count = min(_NEAREST, len(cosines))
    return float(np.partition(cosines, -count)[-count:].mean())
