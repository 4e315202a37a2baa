"""A fever told without its name: "ha 38 e mezzo", "el niño está hirviendo"."""

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import regex

from locales.language import Language
from rag.types import Population

_Pattern = regex.Pattern[str]
_YOUNG = frozenset({Population.CHILD, Population.INFANT})


@dataclass(frozen=True, slots=True)
class FeverWords:
    """How a language tells a body temperature, and what sources call it."""

    named: _Pattern
    told: _Pattern
    of_other_things: _Pattern
    medicines: _Pattern
    name: str
    name_in_children: str

    @classmethod
    def load(cls, language: Language) -> "FeverWords":
        """Read the patterns that ship with the language."""
        return _load(language)

    def implied(self, text: str, population: Population | None) -> str:
        """What sources call the fever that folded `text` tells without naming it; empty when it tells none."""
        if self.named.search(text) or self.of_other_things.search(text) or not self.told.search(text):
            return ""
        return self.called(population)

    def called(self, population: Population | None) -> str:
        """What the pages on fever call it."""
        return self.name_in_children if population in _YOUNG else self.name


@cache
def _load(language: Language) -> FeverWords:
    source = files("locales") / language.value / "intents.toml"
    data: dict[str, Any] = tomllib.loads(source.read_text(encoding="utf-8"))["fever"]
    return FeverWords(
        named=regex.compile(data["named"]),
        told=regex.compile("|".join(f"(?:{pattern})" for pattern in data["told"])),
        of_other_things=regex.compile(data["of_other_things"]),
        medicines=regex.compile(data["medicines"]),
        name=data["name"],
        name_in_children=data["name_in_children"],
    )
