"""What a source's sentence is: which section it answers for, whom it is limited to, and whether it may be shown at all."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from importlib.resources import files
from typing import Any

import regex

from locales.language import Language
from rag.documents import Chunk, Sentence
from rag.intents import IntentWords, Pattern, folded
from rag.types import Population


class Section(StrEnum):
    """What a part of a page is for."""

    NATURE = "nature"
    SYMPTOMS = "symptoms"
    CAUSES = "causes"
    REMEDIES = "remedies"
    DOCTOR = "doctor"
    EMERGENCY = "emergency"


# What wins in a heading such as "Quando chiamare il medico".
_LATE_SECTIONS = (Section.EMERGENCY, Section.DOCTOR)

# Numbers and number words before what a dose is counted in; "126 mg/dl" is a laboratory value.
_COUNT = (
    r"(?:\d+(?:[.,]\d+)?|un|una|uno|due|tre|quattro|cinque|sei|mezz[ao]|dos|tres|cuatro|cinco|seis|medi[ao])(?:\s?[-–o]\s?\d+)?"
)
_DOSE_UNIT = (
    r"(?:mg|mcg|µg|ug|ml|g|ui|milligramm\w+|milligram\w+|microgramm\w+|microgram\w+|miligramos?|mililitr\w+|millilitr\w+|"
    r"gocc\w+|gotas?|compress\w+|comprimidos?|pastigli\w+|pastillas?|tabletas?|capsul\w+|bustin\w+|sobres?|suppost\w+|supositori\w+|"
    r"misurin\w+|fial\w+|ampoll\w+|puff|inalazioni|inhalaciones|spruzzi|disparos|dosi|dosis|unita|unidades|cucchiai\w*|cucharad\w+)"
)
_DOSE = regex.compile(
    rf"\b{_COUNT}\s?{_DOSE_UNIT}\b(?!\s?(?:/|per|por)\s?(?:d?l|100)\b)|\b(?:mg|ml|mcg)\s?/\s?kg\b|\bmg per kg\b|\bmg por kg\b"
)
# The number of any country: which one the reader is in is not known here, and "{emergency}" stands where it is filled in later.
_TELEPHONE = regex.compile(
    r"\+\d{2}[\d\s.-]{5,}|\b(?:800|900|1-800|0800|018000)[\s.-]?\d{2,}[\d\s.-]*|\b\d{2,4}[\s.-]\d{3,4}[\s.-]\d{3,4}\b|"
    r"\b(?:chiam\w*|llam\w*|telefon\w*|numer\w*|marc\w*|marque|compon\w*|digit\w*)\b[^.]{0,40}?"
    r"(?<![\d,.])\b(?:0\d{2}|1\d{2,3}|911|988|024|061|065)\b(?![.,]\d|\s?(?:mg|ml|°|%))|"
    r"\b(?:112|113|115|118|911|061|1522|116\s?117)\b(?=[^\d]|$)(?!\s?(?:mg|mm|su|sobre|/))"
)


# Only the links of pages themselves are shown: one inside a sentence may be planted, and nobody has looked where it leads.
_ADDRESS = regex.compile(r"https?://|\bwww\.|\b[\w.+-]+@[\w-]+\.\w{2,}")


@dataclass(frozen=True, slots=True)
class Aim:
    """Something in particular that a question may be after, as a duration, and how a sentence tells it."""

    asks: Pattern
    tells: Pattern
    only_if_asked: bool


@dataclass(frozen=True, slots=True)
class SentenceWords:
    """The patterns of one language for sections and limits."""

    asks: tuple[tuple[Section, Pattern], ...]
    headings: tuple[tuple[Section, Pattern], ...]
    others: Pattern
    aims: Mapping[str, Aim]
    asking: Pattern
    infant: Pattern
    advisers: Pattern
    months: Pattern
    numbers: Mapping[str, int]
    unsuitable: Mapping[Population, Pattern]
    intents: IntentWords

    @classmethod
    def load(cls, language: Language) -> "SentenceWords":
        """Read the patterns that ship with the language."""
        return _load(language)

    def asked(self, question: str) -> frozenset[Section]:
        """The sections that would answer a question; empty when it asks for nothing in particular."""
        lower = folded(question)
        return frozenset(section for section, pattern in self.asks if pattern.search(lower))

    def asked_aims(self, question: str) -> frozenset[str]:
        """The names of the aims of a question."""
        lower = folded(question)
        return frozenset(name for name, aim in self.aims.items() if aim.asks.search(lower))

    def section(self, chunk: Chunk) -> Section | None:
        """What a chunk is for, from its nearest heading."""
        for heading in reversed(chunk.heading_path):
            lower = folded(heading)
            found = [section for section, pattern in self.headings if pattern.search(lower)]
            if found:
                return next((section for section in _LATE_SECTIONS if section in found), found[0])
        return None

    def limits(self, text: str) -> frozenset[Population]:
        """Whom a sentence is limited to; empty for a general one, or one that names further groups beside."""
        lower = folded(text)
        whom = self.advisers.sub(" ", lower)  # "senta il pediatra" limits nothing to children
        named = {population for population, pattern in self.intents.population if pattern.search(whom)}
        if self.infant.search(lower):
            named.add(Population.INFANT)
        return frozenset() if self.others.search(lower) else frozenset(named)

    def fits_age(self, text: str, months: int | None) -> bool | None:
        """Whether a sentence about babies of so many months is for somebody of `months`; None if either age is not told."""
        found = self.months.search(folded(text))
        if found is None or months is None:
            return None
        low, high = (self._number(found[name]) for name in ("low", "high"))
        below = self._number(found["below"])
        return (low or 0) <= months < (below or high or months + 1)

    def _number(self, word: str | None) -> int | None:
        return None if word is None else self.numbers.get(word) or (int(word) if word.isdigit() else None)

    def suits(self, text: str, population: Population | None) -> bool:
        """False for a sentence about a medicine that harms a group, unless it names the group: a pregnancy and ibuprofen."""
        harmful = self.unsuitable.get(population) if population else None
        return harmful is None or harmful.search(folded(text)) is None or population in self.limits(text)


def may_be_shown(sentence: Sentence) -> bool:
    """False for a sentence with a dose, a telephone number or an address in it, and for one that asks."""
    lower = folded(sentence.text)
    names_place = _TELEPHONE.search(lower) or _ADDRESS.search(lower)
    return not (_DOSE.search(lower) or names_place or lower.endswith(("?", ":")))


@cache
def _load(language: Language) -> SentenceWords:
    source = files("locales") / language.value / "intents.toml"
    data: dict[str, Any] = tomllib.loads(source.read_text(encoding="utf-8"))
    sections = data["sections"]
    return SentenceWords(
        asks=tuple((section, regex.compile(sections[section.value]["asks"])) for section in Section),
        headings=tuple((section, regex.compile(sections[section.value]["headings"])) for section in Section),
        others=regex.compile(data["limits"]["others"]),
        infant=regex.compile(data["limits"]["infant"]),
        advisers=regex.compile(data["limits"]["advisers"]),
        months=regex.compile(data["limits"]["months"]),
        numbers={word: number for number, word in enumerate(data["limits"]["numbers"].split(), 1)},
        aims={
            name: Aim(regex.compile(aim["asks"]), regex.compile(aim["tells"]), aim.get("only_if_asked", False))
            for name, aim in data["aims"].items()
        },
        asking=regex.compile(data["asking"]["words"]),
        unsuitable={Population(group): regex.compile(pattern) for group, pattern in data["unsuitable"].items()},
        intents=IntentWords.load(language),
    )
