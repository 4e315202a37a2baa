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
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from bot.red_flag_tokens import APOSTROPHES, COMMA, SENTENCE, Span, Tokens
from bot.red_flag_vocabulary import PatternError, Vocabulary

_DEFAULT_GAP = 3

NOT_NEGATOR = "not_negator"
"""The concept whose patterns hold a negator that denies nothing ("non ce la faccio più")."""


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
        self._vocabulary = Vocabulary(spelling, numbers, never_corrected)
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
        places: dict[str, list[int]] = {}
        for index, word in enumerate(tokens.words):
            places.setdefault(word, []).append(index)
        meanings = {word: self._vocabulary.elements_of(word) for word in places}
        positions = _Positions(places, meanings)
        candidates = [
            pattern
            for element in positions.words
            for pattern in self._by_element.get(element, ())
            if pattern.required <= positions.words.keys()
        ]
        candidates.sort(key=lambda pattern: pattern.concept != NOT_NEGATOR)
        found: dict[str, set[Span]] = {}
        denied = {index for index, word in enumerate(tokens.words) if word in self._negators}
        text = _Text(at=[meanings[word] for word in tokens.words], breaks=tokens.breaks, denied=denied)
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
        return [word] if word[0] in "<!#@" or ".." in word else APOSTROPHES.sub(" ", word).split()

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


class _Positions:
    """Where each element stands in a message, worked out only for the elements that are asked for."""

    def __init__(self, places: Mapping[str, list[int]], meanings: Mapping[str, set[int]]) -> None:
        self._places = places
        self._known: dict[int, list[int]] = {}
        self.words: dict[int, list[str]] = {}
        for word, elements in meanings.items():
            for element in elements:
                self.words.setdefault(element, []).append(word)

    def of(self, element: int) -> list[int]:
        if element not in self._known:
            words = self.words[element]
            merged = self._places[words[0]] if len(words) == 1 else sorted(itertools.chain(*map(self._places.__getitem__, words)))
            self._known[element] = merged
        return self._known[element]


def _starts(pattern: _Pattern, positions: _Positions) -> Iterable[int]:
    """Where the pattern may begin: its first word, near its rarest one."""
    first = pattern.elements[0]
    if not isinstance(first, int):
        return ()
    begins = positions.of(first)
    rarest = min((positions.of(element) for element in pattern.required), key=len)
    if len(begins) <= len(rarest):
        return begins
    near: set[int] = set()
    for position in rarest:
        near.update(begins[bisect_left(begins, position - pattern.longest) : bisect_right(begins, position)])
    return near


def _match(pattern: _Pattern, start: int, text: _Text) -> Span | None:
    if pattern.not_before is not None and start > 0 and text.breaks[start] < COMMA and pattern.not_before in text.at[start - 1]:
        return None
    # One negation in the gap of a pattern that has none denies it. A second one only stresses the first ("non fa nessun suono"),
    # and a frame ("mask", "question") reads across any.
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
