"""A sentence as the sequence of what it claims: its content words, numbers with units, and the words that limit it.

The aligner compares such sequences. Function words drop out; negations, modals, conditions, populations and quantities become
markers that may be neither lost nor added. The word lists are data: `locales/{it,es}/alignment.toml`.
"""

import re
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from functools import cache
from importlib.resources import files
from itertools import groupby, pairwise

from locales.language import Language
from rag.text import normalise, stem

_TOKEN = re.compile(
    r"\d+(?:[.,]\d+)*(?:\s?[-–/]\s?\d+(?:[.,]\d+)*)?|°\s?[cC]\b|%|\{\w+\}|[^\W\d_]+(?:'(?=[^\W\d_]))?|"
    r"[,;:().!?¿¡–—]|[^\s\w'\"«»“”-]"  # any other sign is a claim too: "> 38 °C" is not "38 °C"
)
PUNCTUATION = frozenset(",;:().!?¿¡–—")
NUMBERS = {
    "due": "2", "tre": "3", "quattro": "4", "cinque": "5", "sei": "6", "sette": "7", "otto": "8", "nove": "9", "dieci": "10",
    "dos": "2", "tres": "3", "cuatro": "4", "cinco": "5", "seis": "6", "siete": "7", "ocho": "8", "nueve": "9", "diez": "10",
    "dodici": "12", "doce": "12", "quindici": "15", "quince": "15", "venti": "20", "veinte": "20",
    "trenta": "30", "treinta": "30", "quaranta": "40", "cuarenta": "40", "sessanta": "60", "sesenta": "60",
}  # fmt: skip
_ONE = frozenset({"un", "uno", "una"})  # a number only in "da uno a quattro", "una o due"; else an article
_TO = frozenset({"a", "o", "e", "y"})
_ENCLITIC = {
    Language.ITALIAN: re.compile(r"([^\W\d_]{2,}[aei]r)(si|ne|lo|la|li|le|gli|ci|vi)"),
    Language.SPANISH: re.compile(r"([^\W\d_]{2,}[aeiáéí]r)(se|lo|la|los|las|le|les)"),
}
_INFINITIVE_END = {Language.ITALIAN: "e", Language.SPANISH: ""}
_RELATIVE = frozenset({"che", "que"})  # "lo que, con el tiempo, …"
_CONDITIONS = frozenset({"if", "when", "provided"})
_OPENERS = _CONDITIONS | {"because", "therefore", "but", "while", "although"}
_CAUSAL = frozenset({"because", "therefore"})  # they join clauses and claim nothing on their own: see `Segment.reason`


@dataclass(frozen=True, slots=True)
class Item:
    """One unit of a claim: `key` compares across sentences, `marker` names its class when it limits the claim.

    `form` is the word as it was written, where only its stem is compared.
    """

    key: str
    marker: str | None = None
    form: str | None = field(default=None, compare=False)


class Link(Enum):
    """How a segment is joined to the one before."""

    PUNCTUATION = auto()
    AND = auto()
    OR = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """A clause or a member of an enumeration.

    `conditional` is true inside an if- or when-clause, `reason` in what is given as the reason for the rest. `reflexives` counts
    its "si" or "se": without it, what is cured would cure.
    """

    items: tuple[Item, ...]
    link: Link = Link.PUNCTUATION
    conditional: bool = False
    reason: bool = False
    reflexives: int = 0


@dataclass(frozen=True, slots=True)
class ClaimWords:
    """The word lists of one language, ready for matching.

    `phrases` are tuples of normalised words by their first one, the longest first.
    """

    phrases: dict[str, tuple[tuple[tuple[str, ...], Item | None], ...]]
    articles: frozenset[str]
    prepositions: dict[str, str]
    possessives: frozenset[str]
    units: frozenset[str]
    conjunctions: dict[str, Link]
    reflexive: str
    inflections: frozenset[frozenset[str]]
    language: Language

    @classmethod
    def load(cls, language: Language) -> "ClaimWords":
        """Read the lists that ship with the language."""
        return _load(language)

    def may_inflect(self, word: str, other: str) -> bool:
        """Whether two words of one stem differ only in number, gender, or as the infinitive of each other.

        A stem alone would let a tense, a mood or the familiar form of address change: passa, passerà; prenda, prendi.
        """
        common = 0
        while common < min(len(word), len(other)) and word[common] == other[common]:
            common += 1
        return word == other or frozenset({word[common:], other[common:]}) in self.inflections


@cache
def _load(language: Language) -> ClaimWords:
    data = tomllib.loads((files("locales") / language.value / "alignment.toml").read_text(encoding="utf-8"))
    prepositions = {form: name for name, forms in data["prepositions"].items() for form in forms.split()}
    phrases: dict[tuple[str, ...], Item | None] = {(word,): None for word in [*words_of(data["ignored"]), *prepositions]}
    for name, forms in data["equivalents"].items():
        phrases.update({tuple(words_of(form)): Item(key=f"={name}") for form in forms})
    for name, forms in data["markers"].items():
        phrases.update({tuple(words_of(form)): Item(key=f"#{name}", marker=name) for form in forms})
    longest = sorted(phrases.items(), key=lambda entry: (entry[0][0], -len(entry[0])))
    return ClaimWords(
        phrases={first: tuple(entries) for first, entries in groupby(longest, key=lambda entry: entry[0][0])},
        articles=frozenset(data["articles"].split()),
        prepositions=prepositions,
        possessives=frozenset(data["possessives"].split()),
        units=frozenset(data["units"].split()),
        conjunctions=dict.fromkeys(data["conjunctions"], Link.AND) | dict.fromkeys(data["alternatives"], Link.OR),
        reflexive=data["reflexive"],
        inflections=frozenset(frozenset(pair.split("/")) for pair in data["inflections"].split()),
        language=language,
    )


def segments(sentence: str, words: ClaimWords) -> tuple[Segment, ...]:
    """Cut a sentence into its clauses, each as a sequence of items; empty clauses are left out."""
    cutter = _Cutter(words)
    tokens = words_of(sentence)
    position = 0
    while position < len(tokens):
        position += cutter.take(tokens, position)
    return cutter.finish()


def dangles(sentence: str, words: ClaimWords) -> bool:
    """Whether a word that joins two others stands at an end or before a pause: "la fiebre, la y el dolor"."""
    tokens = words_of(sentence)
    if tokens[:1] and tokens[0] in words.conjunctions:
        return True
    for word, following in pairwise([*tokens, "."]):
        joins = word in words.conjunctions or word in words.articles or (word in words.prepositions and word not in _RELATIVE)
        if joins and (following in PUNCTUATION or following in words.conjunctions):
            return True
        if word in words.articles and following in words.articles:
            return True
    return False


class _Cutter:
    """Collects the segments of one sentence, token by token."""

    def __init__(self, words: ClaimWords) -> None:
        self._words = words
        self._found: list[Segment] = []
        self._items: list[Item] = []
        self._now = Segment(items=())  # how the segment began that `_items` belong to
        self._governor = ""  # the preposition before an item: "with flu" must not become "the flu"

    def take(self, tokens: Sequence[str], position: int) -> int:
        """Take what stands at `position`; returns how many tokens that was."""
        token = tokens[position]
        item, length = _item(tokens, position, self._words)
        marker = item.marker if item is not None else None
        link = self._words.conjunctions.get(token)
        if link is not None or token in PUNCTUATION or marker in _OPENERS:
            self._cut(link, marker)
        if length == 1 and _is_reflexive(token, self._words):
            self._now = replace(self._now, reflexives=self._now.reflexives + 1)
        if token in self._words.possessives:  # "your cough" is said of the reader; "to your doctor" is as good as "to the doctor"
            item = None if self._governor else Item(key="#own", marker="own")
        if item is None:
            self._governor = self._words.prepositions.get(token, self._governor)
        elif marker not in _CAUSAL:
            self._items.append(replace(item, key=f"{self._governor} {item.key}") if self._governor else item)
            self._governor = ""
        return length

    def finish(self) -> tuple[Segment, ...]:
        """The segments, once all tokens are taken."""
        self._close()
        return tuple(self._found)

    def _cut(self, link: Link | None, marker: str | None) -> None:
        before = self._now.link if not self._close() else Link.PUNCTUATION  # in "o se" the second word cuts nothing off
        if marker == "therefore":
            self._found = [replace(segment, reason=True) for segment in self._found]
        self._now = Segment(
            items=(),
            link=link or before,
            conditional=marker in _CONDITIONS or (link is not None and self._now.conditional),  # "if A and B"
            reason=marker == "because" or (link is not None and self._now.reason),
        )
        self._governor = ""

    def _close(self) -> bool:
        if not self._items:
            return False
        self._found.append(replace(self._now, items=tuple(self._items)))
        self._items = []
        return True


def _is_reflexive(token: str, words: ClaimWords) -> bool:
    match = _ENCLITIC[words.language].fullmatch(token)
    return token == words.reflexive or (match is not None and match.group(2) == words.reflexive)


def _item(tokens: Sequence[str], position: int, words: ClaimWords) -> tuple[Item | None, int]:
    """The item that starts at `position` and how many tokens it takes; None for a word that claims nothing."""
    token = tokens[position]
    if token in PUNCTUATION:
        return None, 1
    if _is_number(token) or (token in _ONE and _begins_range(tokens[position + 1 :])):
        return _number(tokens, position, words)
    for phrase, item in words.phrases.get(token, ()):
        if tuple(tokens[position : position + len(phrase)]) == phrase:
            return item, len(phrase)
    if token in words.conjunctions:
        return None, 1
    bare = _without_pronoun(token, words.language)
    return Item(key=stem(bare, words.language), form=bare), 1


def _without_pronoun(word: str, language: Language) -> str:
    """An infinitive without the pronoun that hangs on it: usarse, parlarne."""
    match = _ENCLITIC[language].fullmatch(word)
    return match.group(1) + _INFINITIVE_END[language] if match else word


def _is_number(token: str) -> bool:
    return token[0].isdigit() or token in NUMBERS


def _begins_range(following: Sequence[str]) -> bool:
    return len(following) > 1 and following[0] in _TO and _is_number(following[1])


def _number(tokens: Sequence[str], position: int, words: ClaimWords) -> tuple[Item, int]:
    value = NUMBERS.get(tokens[position], tokens[position]).replace(",", ".").replace("–", "-").replace(" ", "")
    following = tokens[position + 1] if position + 1 < len(tokens) else ""
    if following in words.units:
        return Item(key=f"#{value} {_unit(following, words.language)}", marker="number"), 2
    return Item(key=f"#{value}", marker="number"), 1


def _unit(word: str, language: Language) -> str:
    return "°c" if word in {"°c", "c", "gradi", "grado", "grados"} else stem(word, language)


def tokens_of(text: str) -> list[str]:
    """The words, numbers and signs of a sentence as they are written."""
    return [token.replace(" ", "").rstrip("'") for token in _TOKEN.findall(normalise(text))]


def words_of(text: str) -> list[str]:
    """The words, numbers and signs of a sentence in lower case."""
    return [token.lower() for token in tokens_of(text)]


def keys(parts: Iterable[Segment]) -> list[list[str]]:
    """The comparable form of segments: what is a condition, and what is joined by "or", compares with nothing else."""
    found = []
    for place, part in enumerate(parts):
        row = [f"if {item.key}" if part.conditional else item.key for item in part.items]
        if place > 0 and part.link is Link.OR:
            row[0] = f"or {row[0]}"
        found.append(row)
    return found
