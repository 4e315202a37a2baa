"""Which words of the red-flag data a word of a message stands for, misspelled or not."""

from collections.abc import Iterable, Iterator, Mapping

from rapidfuzz.distance import OSA

from bot.red_flag_tokens import fold

_FUZZY_FROM = 6  # shorter words are one letter away from too many others ("petto", "letto")
_STEM_FROM = 5
_LONGEST_STEM = 12
_RESPELLED_FROM = 4


class PatternError(ValueError):
    """A pattern in the red-flag data cannot be read."""


def _deletions(word: str) -> Iterator[str]:
    yield word
    for index in range(1, len(word)):  # the first letter is kept: "sviene" is not "viene", "muerte" not "suerte"
        yield word[:index] + word[index + 1 :]


class Vocabulary:
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
        for correct in (*self._spelling.get(word, ()), *_without_echo(word)):
            found |= self._exact(correct)
        if number is None and word not in self._words and word not in self._never_corrected:
            found |= self._corrected(word, alone=not found)
        return found

    def _corrected(self, word: str, *, alone: bool) -> set[int]:
        """Elements that `word` misspells; where it already has a meaning (`alone` is false), only those of whole words."""
        found = {element for candidate in self._nearby(word, self._neighbours) for element in self._words[candidate]}
        if alone:
            for variant in _respelled(word):
                found |= self._exact(variant)
            found |= self._nearby_stems(word)
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

    def _nearby(self, word: str, neighbours: Mapping[str, set[str]]) -> set[str]:
        return _one_letter_away(word, neighbours) if len(word) >= _FUZZY_FROM else set()

    def _nearby_stems(self, word: str) -> set[int]:
        """Elements whose stem is one letter away from the beginning of `word`."""
        found: set[int] = set()
        for length in range(_STEM_FROM, min(len(word), _LONGEST_STEM) if len(word) >= _FUZZY_FROM else 0):
            for stem in _one_letter_away(word[:length], self._stem_neighbours):
                if stem[-1] == word[length - 1]:  # else the word just goes on differently ("magnesio" is no "magnete")
                    found |= self._stems[stem]
        return found


def _without_echo(word: str) -> tuple[str, ...]:
    return (word[:-1],) if len(word) > _RESPELLED_FROM and word[-1] == word[-2] and word[-1] in "aeiou" else ()


def _one_letter_away(word: str, neighbours: Mapping[str, set[str]]) -> set[str]:
    candidates = {candidate for key in _deletions(word) for candidate in neighbours.get(key, ())}
    return {candidate for candidate in candidates if OSA.distance(word, candidate, score_cutoff=1) <= 1}


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
        ("mb", "nv"),
        ("ao", "aho"),
    ):
        if one in word:
            variants.add(word.replace(one, other, 1))
            variants.add(word.replace(one, other))
    if len(word) >= _RESPELLED_FROM and word[0] in "aeiou":
        variants.add("h" + word)
    variants.discard(word)
    return variants
