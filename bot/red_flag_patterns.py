"""Reads a message the way frightened people type it, and finds in it the phrases that the red-flag data names.

A pattern is written as words separated by spaces, after the same normalisation as a message (no accents, no capitals):

    word      that word                    a|b|c*   any of these
    stem*     a word that starts so        @name    any word of a class
    a|b_c     a, or b followed by c        #38-42   a number in that range, in digits or letters
    word?     may be missing
    ..        up to three words between    ..6      up to six
    <!a|b     (first) not after these      !a|b     (last) not before these
"""

import itertools
import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
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
# Combining accents, soft hyphen, zero-width and direction marks, variation selectors, tags.
_INVISIBLE = re.compile(
    "[\u0300-\u036f\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufe00-\ufe0f\ufeff\U000e0000-\U000e007f]"
)
_STRETCHED_VOWEL = re.compile(r"([aeiou])\1{2,}")
_STRETCHED = re.compile(r"([^\W\d_])\1{2,}")
_COMPOUND_NUMBER = re.compile(r"(\d+)[ey](\d)")
_ORDINAL = re.compile(r"(\d+)(?:esim[ao]|er[ao]?|[aomnvt]{1,2})")
_LEET = str.maketrans({"0": "o", "1": "i", "3": "e", "4": "a", "5": "s", "7": "t", "@": "a", "$": "s", "*": ""})
_SPELLED_OUT = 4

NOT_NEGATOR = "not_negator"
"""The concept whose patterns hold a negator that denies nothing ("non ce la faccio più")."""


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
    longest: int
    denies: bool
    not_before: int | None
    not_after: int | None


def fold(text: str) -> str:
    """Lower case, without accents, invisible characters, degree signs, apostrophes and stretched letters ("aiutooo")."""
    text = unicodedata.normalize("NFKC", _DEGREES.sub(" ", text)).casefold()
    if not text.isascii():
        text = _INVISIBLE.sub("", unicodedata.normalize("NFD", text))
    text = _STRETCHED.sub(r"\1\1", _STRETCHED_VOWEL.sub(r"\1", text))
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
    """Undo digits and signs used as letters ("su1c1dio", "su*cidio")."""
    if word.isalpha():
        return word
    compound = _COMPOUND_NUMBER.fullmatch(word)
    if compound:
        return f"{compound[1]}.{compound[2]}"
    ordinal = _ORDINAL.fullmatch(word)
    if ordinal:
        return ordinal[1]
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


def _choices(word: str) -> list[list[str]]:
    """What may stand in a place: words, several words ("infarto|ataque_al_corazon"), or nothing ("word?")."""
    optional = word.endswith("?")
    alternatives = word.removesuffix("?").split("|")
    single = [alternative for alternative in alternatives if "_" not in alternative]
    choices = [["|".join(single)]] if single else []
    choices += [alternative.split("_") for alternative in alternatives if "_" in alternative]
    return [*choices, []] if optional else choices


class PatternMatcher:
    """Finds every concept of the data in a message, in one pass over its words."""

    def __init__(
        self,
        concepts: Mapping[str, Sequence[str]],
        *,
        classes: Mapping[str, str],
        spelling: Mapping[str, str],
        numbers: Mapping[str, float],
        negators: Iterable[str] = (),
        never_corrected: Iterable[str] = (),
    ) -> None:
        self._classes = classes
        self._vocabulary = _Vocabulary(spelling, numbers, never_corrected)
        self._negators = frozenset(negators)
        self._first: list[_Pattern] = []
        self._by_element: dict[int, list[_Pattern]] = {}
        patterns = [
            pattern
            for concept, texts in concepts.items()
            for text in dict.fromkeys(texts)
            for pattern in self._compile(concept, text)
        ]
        used = Counter(element for pattern in patterns for element in pattern.required)
        for pattern in patterns:
            rarest = min(pattern.required, key=lambda element: used[element])
            self._by_element.setdefault(rarest, []).append(pattern)

    def find(self, tokens: Tokens) -> dict[str, list[Span]]:
        """Where each concept occurs, in no particular order; concepts that do not occur are absent."""
        memory: dict[str, set[int]] = {}
        positions: dict[int, list[int]] = {}
        for index, word in enumerate(tokens.words):
            if word not in memory:
                memory[word] = self._vocabulary.elements_of(word)
            for element in memory[word]:
                positions.setdefault(element, []).append(index)
        at = [memory[word] for word in tokens.words]
        candidates = [
            pattern
            for element in positions
            for pattern in self._by_element.get(element, ())
            if pattern.required <= positions.keys()
        ]
        candidates.sort(key=lambda pattern: pattern.concept != NOT_NEGATOR)
        found: dict[str, set[Span]] = {}
        denied = {index for index, word in enumerate(tokens.words) if word in self._negators}
        text = _Text(at=at, breaks=tokens.breaks, denied=denied)
        for pattern in candidates:
            for start in _starts(pattern, positions):
                span = _match(pattern, start, text)
                if span:
                    found.setdefault(pattern.concept, set()).add(span)
                    if pattern.concept == NOT_NEGATOR:
                        denied.difference_update(range(span.start, span.end))
        return {concept: list(spans) for concept, spans in found.items()}

    def _compile(self, concept: str, text: str) -> Iterator[_Pattern]:
        words = [part for word in text.split() for part in self._parts(word)]
        not_before = self._guard(words.pop(0)[2:]) if words and words[0].startswith("<!") else None
        not_after = self._guard(words.pop()[1:]) if words and words[-1].startswith("!") else None
        for choice in itertools.product(*(_choices(self._expanded(word)) for word in words)):
            elements = self._joined(word for words in choice for word in words)
            required = frozenset(element for element in elements if isinstance(element, int))
            if not elements or isinstance(elements[0], _Gap):
                raise PatternError(f"{concept}: {text!r} must start with a word")
            longest = sum(element.most if isinstance(element, _Gap) else 1 for element in elements)
            yield _Pattern(
                concept=concept,
                elements=elements,
                required=required,
                longest=longest,
                denies="." not in concept
                or any(not self._negators.isdisjoint(word.split("|")) for words in choice for word in words),
                not_before=not_before,
                not_after=not_after,
            )

    def _joined(self, words: Iterable[str]) -> tuple[int | _Gap, ...]:
        """Elements in order, with gaps that meet where a word is missing made one, and none at the end."""
        elements: list[int | _Gap] = []
        for element in map(self._element, words):
            last = elements[-1] if elements else None
            if isinstance(last, _Gap) and isinstance(element, _Gap):
                elements[-1] = _Gap(last.most + element.most)
            else:
                elements.append(element)
        while elements and isinstance(elements[-1], _Gap):
            elements.pop()
        return tuple(elements)

    def _parts(self, word: str) -> list[str]:
        """Split an elided word ("l'infarto") as a message is split."""
        return [word] if word[0] in "<!#@" or ".." in word else _APOSTROPHES.sub(" ", word).split()

    def _guard(self, text: str) -> int:
        return self._vocabulary.element(self._expanded(text))

    def _expanded(self, text: str) -> str:
        """The words of the classes that `text` names, in their place."""
        try:
            return "|".join(self._classes[part[1:]] if part.startswith("@") else part for part in text.split("|"))
        except KeyError as error:
            raise PatternError(f"no class of words is called {error}") from error

    def _element(self, word: str) -> int | _Gap:
        if word.startswith(".."):
            return _Gap(int(word[2:] or _DEFAULT_GAP))
        return self._vocabulary.element(word)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Text:
    at: Sequence[set[int]]
    breaks: Sequence[int]
    denied: set[int]  # words that deny: a gap does not reach across them


def _starts(pattern: _Pattern, positions: Mapping[int, list[int]]) -> Iterable[int]:
    """Where the pattern may begin: its first word, near its rarest one."""
    first = pattern.elements[0]
    if not isinstance(first, int):
        return ()
    begins = positions[first]
    rarest = min(pattern.required, key=lambda element: len(positions[element]))
    if len(begins) <= len(positions[rarest]):
        return begins
    near: set[int] = set()
    for position in positions[rarest]:
        near.update(begins[bisect_left(begins, position - pattern.longest) : bisect_right(begins, position)])
    return near


def _match(pattern: _Pattern, start: int, text: _Text) -> Span | None:
    if pattern.not_before is not None and start > 0 and text.breaks[start] < COMMA and pattern.not_before in text.at[start - 1]:
        return None
    # A frame ("mask", "question") reads across a denial. A second negation only stresses the first ("non fa nessun suono"); one in the gap of a pattern without any denies it.
    stops: Collection[int] = () if pattern.denies else text.denied
    end = _match_from(pattern.elements, 1, start + 1, text, stops)
    if end is None:
        return None
    if pattern.not_after is not None and end < len(text.at) and text.breaks[end] < SENTENCE and pattern.not_after in text.at[end]:
        return None
    return Span(start, end)


def _match_from(elements: Sequence[int | _Gap], index: int, position: int, text: _Text, stops: Collection[int]) -> int | None:
    if index == len(elements):
        return position
    element = elements[index]
    most = 0
    if isinstance(element, _Gap):
        most, index = element.most, index + 1
        element = elements[index]
    for place in range(position, min(position + most + 1, len(text.at))):
        if text.breaks[place] >= SENTENCE:
            return None
        if element in text.at[place]:
            end = _match_from(elements, index + 1, place + 1, text, stops)
            if end is not None:
                return end
        if place in stops:
            return None
    return None
