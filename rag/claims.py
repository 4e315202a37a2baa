"""A sentence as the sequence of what it claims: its content words, numbers with units, and the words that limit it.

The aligner compares such sequences. Function words drop out; negations, modals, conditions, populations and quantities become
markers that may be neither lost nor added. The word lists are data: `locales/{it,es}/alignment.toml`.
"""

import re
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from locales.language import Language
from rag.text import normalise, stem

_TOKEN = re.compile(r"\d+(?:[.,]\d+)*(?:\s?[-–/]\s?\d+(?:[.,]\d+)*)?|°\s?[cC]\b|%|[^\W\d_]+(?:'(?=[^\W\d_]))?|[,;:().!?¿¡–—]")
_PUNCTUATION = frozenset(",;:().!?¿¡–—")
_NUMBERS = {
    "due": "2", "tre": "3", "quattro": "4", "cinque": "5", "sei": "6", "sette": "7", "otto": "8", "nove": "9", "dieci": "10",
    "dos": "2", "tres": "3", "cuatro": "4", "cinco": "5", "seis": "6", "siete": "7", "ocho": "8", "nueve": "9", "diez": "10",
    "dodici": "12", "doce": "12", "quindici": "15", "quince": "15", "venti": "20", "veinte": "20",
}  # fmt: skip
_ENCLITIC = {
    Language.ITALIAN: re.compile(r"([^\W\d_]{2,}[aei]r)(?:si|ne|lo|la|li|le|gli|ci|vi)"),
    Language.SPANISH: re.compile(r"([^\W\d_]{2,}[aeiáéí]r)(?:se|lo|la|los|las|le|les)"),
}
_INFINITIVE_END = {Language.ITALIAN: "e", Language.SPANISH: ""}


@dataclass(frozen=True, slots=True)
class Item:
    """One unit of a claim: `key` compares across sentences, `marker` names its class when it limits the claim."""

    key: str
    marker: str | None = None


@dataclass(frozen=True, slots=True)
class Segment:
    """A clause or a member of an enumeration.

    `conditional` is true inside an if- or when-clause; `alternative` when the segment is joined to the one before by "or".
    """

    items: tuple[Item, ...]
    conditional: bool
    alternative: bool


@dataclass(frozen=True, slots=True)
class ClaimWords:
    """The word lists of one language, ready for matching; phrases are tuples of normalised words, longest first."""

    phrases: tuple[tuple[tuple[str, ...], Item | None], ...]
    prepositions: dict[str, str]
    units: frozenset[str]
    separators: frozenset[str]
    alternatives: frozenset[str]
    language: Language

    @classmethod
    def load(cls, language: Language) -> "ClaimWords":
        """Read the lists that ship with the language."""
        return _load(language)


@cache
def _load(language: Language) -> ClaimWords:
    data = tomllib.loads((files("locales") / language.value / "alignment.toml").read_text(encoding="utf-8"))
    phrases: dict[tuple[str, ...], Item | None] = {(word,): None for word in _words(data["ignored"].replace("_", " "))}
    for name, forms in data["equivalents"].items():
        phrases.update({tuple(_words(form)): Item(key=f"={name}") for form in forms})
    for name, forms in data["markers"].items():
        phrases.update({tuple(_words(form)): Item(key=f"#{name}", marker=name) for form in forms})
    ordered = sorted(phrases.items(), key=lambda entry: -len(entry[0]))
    return ClaimWords(
        phrases=tuple(ordered),
        prepositions={form: name for name, forms in data["prepositions"].items() for form in forms.split()},
        units=frozenset(data["units"].split()),
        separators=frozenset(data["separators"]),
        alternatives=frozenset(data["alternatives"]),
        language=language,
    )


def segments(sentence: str, words: ClaimWords) -> tuple[Segment, ...]:
    """Cut a sentence into its clauses, each as a sequence of items; empty clauses are left out."""
    found: list[Segment] = []
    items: list[Item] = []
    conditional = alternative = False
    tokens = _words(sentence)
    governor = ""  # the preposition before an item: "with flu" must not become "the flu"
    position = 0
    while position < len(tokens):
        token = tokens[position]
        item, length = _item(tokens, position, words)
        opens_condition = item is not None and item.marker in ("if", "when")
        if token in _PUNCTUATION or token in words.separators or opens_condition:
            if items:
                found.append(Segment(tuple(items), conditional, alternative))
                alternative = False
            items = []
            alternative = token in words.alternatives
            conditional = opens_condition or (conditional and token in words.separators)
        if item is not None and token not in words.separators:
            items.append(_governed(item, governor))
        governor = words.prepositions.get(token, "" if item is not None else governor)
        position += length
    if items:
        found.append(Segment(tuple(items), conditional, alternative))
    return tuple(found)


def _governed(item: Item, governor: str) -> Item:
    return Item(key=f"{governor} {item.key}", marker=item.marker) if governor and item.marker is None else item


def _item(tokens: Sequence[str], position: int, words: ClaimWords) -> tuple[Item | None, int]:
    """The item that starts at `position` and how many tokens it takes; None for a word that claims nothing."""
    token = tokens[position]
    if token in _PUNCTUATION:
        return None, 1
    if token[0].isdigit() or token in _NUMBERS:
        return _number(tokens, position, words)
    for phrase, item in words.phrases:
        if tuple(tokens[position : position + len(phrase)]) == phrase:
            return item, len(phrase)
    return Item(key=stem(_without_pronoun(token, words.language), words.language)), 1


def _without_pronoun(word: str, language: Language) -> str:
    """An infinitive without the pronoun that hangs on it: usarse, parlarne."""
    match = _ENCLITIC[language].fullmatch(word)
    return match.group(1) + _INFINITIVE_END[language] if match else word


def _number(tokens: Sequence[str], position: int, words: ClaimWords) -> tuple[Item, int]:
    value = _NUMBERS.get(tokens[position], tokens[position]).replace(",", ".").replace("–", "-").replace(" ", "")
    following = tokens[position + 1] if position + 1 < len(tokens) else ""
    if following in words.units:
        return Item(key=f"#{value} {_unit(following, words.language)}", marker="number"), 2
    return Item(key=f"#{value}", marker="number"), 1


def _unit(word: str, language: Language) -> str:
    return "°c" if word in {"°c", "c", "gradi", "grado", "grados"} else stem(word, language)


def _words(text: str) -> list[str]:
    return [token.lower().replace(" ", "").rstrip("'") for token in _TOKEN.findall(normalise(text))]


def keys(items: Iterable[Item]) -> list[str]:
    """The comparable form of items, in order."""
    return [item.key for item in items]
