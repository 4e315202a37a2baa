"""Reads a message the way frightened people type it, and finds in it the phrases that the red-flag data names.

A pattern is written as words separated by spaces, after the same normalisation as a message (no accents, no capitals):

    word      that word                    a|b|c*   any of these
    stem*     a word that starts so        @name    any word of a class
    word?     may be missing               #38-42   a number in that range, in digits or letters
    ..        up to three words between    ..6      up to six
    <!a|b     (first) not after these      !a|b     (last) not before these
"""

import itertools
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from rapidfuzz.distance import OSA

_FUZZY_FROM = 6  # shorter words are one letter away from too many others ("petto", "letto")
_STEM_FROM = 5
_DEFAULT_GAP = 3

COMMA, LINE, SENTENCE = 1, 2, 3
_BREAKS = {",": COMMA, ";": COMMA, ":": COMMA, "(": COMMA, ")": COMMA, "\n": LINE, ".": SENTENCE, "!": SENTENCE, "?": SENTENCE}

_TOKEN = re.compile(r"\d+[.,]\d+|[^\W_](?:[^\W_]|[@$*](?=[^\W_]))*|\.{2,}|[,;:().!?\n]|[^\w\s]")
_DEGREES = re.compile(r"[°º]")
_APOSTROPHES = re.compile(r"['’‘`´ʼ]")
_STRETCHED = re.compile(r"([^\W\d_])\1{2,}")
_COMPOUND_NUMBER = re.compile(r"(\d+)[ey](\d)")
_LEET = str.maketrans({"0": "o", "1": "i", "3": "e", "4": "a", "5": "s", "7": "t", "@": "a", "$": "s", "*": ""})
_SPELLED_OUT = 4


class PatternError(ValueError):
    """A pattern in the red-flag data cannot be read."""


@dataclass(frozen=True, slots=True)
class Span:
    """Tokens `start` (included) to `end` (excluded)."""

    start: int
    end: int


@dataclass(slots=True)
class Tokens:
    """A message as words; `breaks[i]` is the punctuation between word i-1 and word i."""

    words: list[str] = field(default_factory=list)
    breaks: list[int] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Gap:
    most: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pattern:
    concept: str
    elements: tuple[int | _Gap, ...]
    required: frozenset[int]
    not_before: int | None
    not_after: int | None


def fold(text: str) -> str:
    """Lower case, without accents, invisible characters, degree signs and apostrophes."""
    text = unicodedata.normalize("NFKC", _DEGREES.sub(" ", text)).casefold()
    text = "".join(
        character for character in unicodedata.normalize("NFD", text) if unicodedata.category(character) not in {"Mn", "Cf"}
    )
    return _APOSTROPHES.sub(" ", text)


def tokenise(text: str, emoji: Mapping[str, str]) -> Tokens:
    """Split a message into words; an emoji of `emoji` becomes the word it stands for, other symbols disappear."""
    tokens = Tokens()
    pending = 0
    for match in _TOKEN.finditer(fold(text)):
        raw = match.group()
        if raw[0].isalnum():
            word = _plain(raw)
        elif raw in emoji:
            word = emoji[raw]
        else:
            pending = max(pending, COMMA if raw[:2] == ".." else _BREAKS.get(raw, 0))
            continue
        tokens.words.append(word)
        tokens.breaks.append(pending)
        pending = 0
    return _joined_letters(tokens)


def _plain(word: str) -> str:
    """Undo stretched letters ("aiutooo") and digits used as letters ("su1c1dio")."""
    if word.isalpha():
        return _STRETCHED.sub(r"\1" if word.isascii() else r"\1\1", word) if len(word) > 3 else word
    compound = _COMPOUND_NUMBER.fullmatch(word)
    if compound:
        return f"{compound[1]}.{compound[2]}"
    letters = sum(character.isalpha() for character in word)
    if letters >= _SPELLED_OUT - 1 and letters * 2 > len(word) and word[0].isalpha():
        return word.translate(_LEET)
    return word


def _joined_letters(tokens: Tokens) -> Tokens:
    """Join words that were spelled out letter by letter ("s u i c i d i o")."""
    if sum(len(word) == 1 for word in tokens.words) < _SPELLED_OUT:
        return tokens
    joined = Tokens()
    for single, group in itertools.groupby(zip(tokens.words, tokens.breaks, strict=True), key=lambda pair: len(pair[0]) == 1):
        pairs = list(group)
        if single and len(pairs) >= _SPELLED_OUT:
            pairs = [("".join(word for word, _ in pairs), pairs[0][1])]
        joined.words.extend(word for word, _ in pairs)
        joined.breaks.extend(pause for _, pause in pairs)
    return joined


def _deletions(word: str) -> Iterator[str]:
    yield word
    for index in range(1, len(word)):  # the first letter is kept: "sviene" is not "viene", "muerte" not "suerte"
        yield word[:index] + word[index + 1 :]


class _Vocabulary:
    """Which pattern elements a word stands for, misspelled or not."""

    def __init__(self, spelling: Mapping[str, str], numbers: Mapping[str, float], never_corrected: Iterable[str]) -> None:
        self._spelling = {fold(word): tuple(fold(correct).split()) for word, correct in spelling.items()}
        self._numbers = {fold(word): value for word, value in numbers.items()}
        self._never_corrected = {fold(word) for word in never_corrected}
        self._words: dict[str, set[int]] = {}
        self._stems: dict[str, set[int]] = {}
        self._ranges: list[tuple[float, float, int]] = []
        self._neighbours: dict[str, set[str]] = {}
        self._stem_neighbours: dict[str, set[str]] = {}
        self._elements: dict[str, int] = {}

    def element(self, text: str) -> int:
        """The number of a pattern element, the same for the same text."""
        known = self._elements.get(text)
        if known is not None:
            return known
        element = self._elements[text] = len(self._elements)
        for alternative in text.split("|"):
            self._add(alternative, element)
        return element

    def _add(self, alternative: str, element: int) -> None:
        if alternative.startswith("#"):
            low, _, high = alternative[1:].partition("-")
            self._ranges.append((float(low), float(high or low), element))
        elif alternative.endswith("*"):
            stem = fold(alternative[:-1])
            self._stems.setdefault(stem, set()).add(element)
            if len(stem) >= _STEM_FROM:
                for key in _deletions(stem):
                    self._stem_neighbours.setdefault(key, set()).add(stem)
        elif alternative:
            word = fold(alternative)
            self._words.setdefault(word, set()).add(element)
            if len(word) >= _FUZZY_FROM:
                for key in _deletions(word):
                    self._neighbours.setdefault(key, set()).add(word)
        else:
            raise PatternError(f"an empty alternative in {element!r}")

    def elements_of(self, word: str) -> set[int]:
        """Every element that `word` can stand for."""
        found = self._exact(word)
        number = self._number(word)
        if number is not None:
            found |= {element for low, high, element in self._ranges if low <= number <= high}
        for correct in self._spelling.get(word, ()):
            found |= self._exact(correct)
        if not found and number is None and word not in self._never_corrected:
            for variant in (word, *_respelled(word)):
                found |= self._exact(variant) if variant != word else self._nearby(word)
        return found

    def _exact(self, word: str) -> set[int]:
        found = set(self._words.get(word, ()))
        for length in range(2, len(word) + 1):
            stem = self._stems.get(word[:length])
            if stem:
                found |= stem
        return found

    def _number(self, word: str) -> float | None:
        if word[0].isdecimal():
            try:
                return float(word.replace(",", "."))
            except ValueError:
                return None
        return self._numbers.get(word)

    def _nearby(self, word: str) -> set[int]:
        found: set[int] = set()
        if len(word) < _FUZZY_FROM:
            return found
        for key in _deletions(word):
            for candidate in self._neighbours.get(key, ()):
                if OSA.distance(word, candidate, score_cutoff=1) <= 1:
                    found |= self._words[candidate]
        for length in range(_STEM_FROM, min(len(word), 12)):
            beginning = word[:length]
            for key in _deletions(beginning):
                for stem in self._stem_neighbours.get(key, ()):
                    if len(stem) >= _STEM_FROM and OSA.distance(beginning, stem, score_cutoff=1) <= 1:
                        found |= self._stems[stem]
        return found


def _respelled(word: str) -> set[str]:
    """Spellings by ear: "kuore", "pexo", "boy", "aogo", "yorar", "asfixia"."""
    variants = {word}
    for heard, written in (("k", "c"), ("k", "ch"), ("k", "qu"), ("x", "ch"), ("sh", "ch"), ("w", "gu")):
        variants |= {variant.replace(heard, written) for variant in variants if heard in variant}
    for one, other in (
        ("b", "v"),
        ("v", "b"),
        ("s", "z"),
        ("z", "s"),
        ("s", "c"),
        ("c", "s"),
        ("y", "ll"),
        ("ll", "y"),
        ("j", "g"),
        ("g", "j"),
    ):
        if one in word:
            variants.add(word.replace(one, other, 1))
            variants.add(word.replace(one, other))
    if len(word) >= _SPELLED_OUT and word[0] in "aeiou":
        variants.add("h" + word)
    variants.discard(word)
    return variants


class PatternMatcher:
    """Finds every concept of the data in a message, in one pass over its words."""

    def __init__(
        self,
        concepts: Mapping[str, Sequence[str]],
        *,
        classes: Mapping[str, str],
        spelling: Mapping[str, str],
        numbers: Mapping[str, float],
        never_corrected: Iterable[str] = (),
    ) -> None:
        self._classes = classes
        self._vocabulary = _Vocabulary(spelling, numbers, never_corrected)
        self._patterns = [
            pattern for concept, texts in concepts.items() for text in texts for pattern in self._compile(concept, text)
        ]

    def find(self, tokens: Tokens) -> dict[str, list[Span]]:
        """Where each concept occurs, in no particular order; concepts that do not occur are absent."""
        memory: dict[str, set[int]] = {}
        at: list[set[int]] = []
        positions: dict[int, list[int]] = {}
        for index, word in enumerate(tokens.words):
            if word not in memory:
                memory[word] = self._vocabulary.elements_of(word)
            at.append(memory[word])
            for element in memory[word]:
                positions.setdefault(element, []).append(index)
        present = positions.keys()
        found: dict[str, list[Span]] = {}
        for pattern in self._patterns:
            if pattern.required <= present:
                first = pattern.elements[0]
                for start in positions[first] if isinstance(first, int) else ():
                    span = _match(pattern, start, at, tokens.breaks)
                    if span:
                        found.setdefault(pattern.concept, []).append(span)
        return found

    def _compile(self, concept: str, text: str) -> Iterator[_Pattern]:
        words = [part for word in text.split() for part in self._parts(word)]
        not_before = self._guard(words.pop(0)[2:]) if words and words[0].startswith("<!") else None
        not_after = self._guard(words.pop()[1:]) if words and words[-1].startswith("!") else None
        choices = [(word[:-1], None) if word.endswith("?") else (word,) for word in words]
        for choice in itertools.product(*choices):
            elements = tuple(self._element(word) for word in choice if word is not None)
            required = frozenset(element for element in elements if isinstance(element, int))
            if not elements or isinstance(elements[0], _Gap) or isinstance(elements[-1], _Gap):
                raise PatternError(f"{concept}: {text!r} must start and end with a word")
            yield _Pattern(concept=concept, elements=elements, required=required, not_before=not_before, not_after=not_after)

    def _parts(self, word: str) -> list[str]:
        """Split an elided word ("l'infarto") as a message is split."""
        return [word] if word[0] in "<!#@" or ".." in word else _APOSTROPHES.sub(" ", word).split()

    def _guard(self, text: str) -> int:
        return self._vocabulary.element(self._expanded(text))

    def _expanded(self, text: str) -> str:
        try:
            return "|".join(self._classes[part[1:]] if part.startswith("@") else part for part in text.split("|"))
        except KeyError as error:
            raise PatternError(f"no class of words is called {error}") from error

    def _element(self, word: str) -> int | _Gap:
        if word.startswith(".."):
            return _Gap(int(word[2:] or _DEFAULT_GAP))
        return self._vocabulary.element(self._expanded(word))


def _match(pattern: _Pattern, start: int, at: Sequence[set[int]], breaks: Sequence[int]) -> Span | None:
    if pattern.not_before is not None and start > 0 and breaks[start] < COMMA and pattern.not_before in at[start - 1]:
        return None
    end = _match_from(pattern.elements, 1, start + 1, at, breaks)
    if end is None:
        return None
    if pattern.not_after is not None and end < len(at) and breaks[end] < SENTENCE and pattern.not_after in at[end]:
        return None
    return Span(start, end)


def _match_from(
    elements: Sequence[int | _Gap], index: int, position: int, at: Sequence[set[int]], breaks: Sequence[int]
) -> int | None:
    if index == len(elements):
        return position
    element = elements[index]
    most = 0
    if isinstance(element, _Gap):
        most, index = element.most, index + 1
        element = elements[index]
    for place in range(position, min(position + most + 1, len(at))):
        if breaks[place] >= SENTENCE:
            return None
        if element in at[place]:
            end = _match_from(elements, index + 1, place + 1, at, breaks)
            if end is not None:
                return end
    return None
