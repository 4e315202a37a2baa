"""The words of the sheets on which clinicians rate answers, in `locales/{language}/rating.toml`."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from locales.language import Language

ASPECTS = ("accuracy", "relevance", "completeness", "clarity", "consistency")
"""What is scored, each from 0 to `BEST`."""

BEST = 5
EQUAL = "="
"""The preference for neither of two answers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RatingWords:
    """The words of one language; `columns` by the names that are used here."""

    title: str
    introduction: str
    pairs_title: str
    pairs_introduction: str
    refused: str
    equal: tuple[str, ...]
    columns: Mapping[str, str]
    meanings: Mapping[str, str]


@cache
def rating_words(language: Language) -> RatingWords:
    """Read the words that ship with a language."""
    source = files("locales") / language.value / "rating.toml"
    data: dict[str, Any] = tomllib.loads(source.read_text(encoding="utf-8"))
    return RatingWords(**(data | {"equal": tuple(data["equal"])}))


@cache
def column_names() -> dict[str, str]:
    """What each column is, by its title in any language."""
    known = {name: name for name in rating_words(Language.ITALIAN).columns}
    for language in Language:
        known |= {title.casefold(): name for name, title in rating_words(language).columns.items()}
    return known


@cache
def preferences() -> dict[str, str]:
    """`a`, `b` or `EQUAL` by what raters write for it."""
    equal = {word: EQUAL for language in Language for word in rating_words(language).equal}
    return {"a": "a", "b": "b", EQUAL: EQUAL} | equal
