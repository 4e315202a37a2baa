"""Tells a general statement from what a doctor said to one person: advice, diagnosis, dose, comfort.

What was said to one person is never evidence for another. The reading is deliberately one-sided: a sentence is general only if
it has the form of a general statement and nothing personal in it; a general one that is taken for personal costs a quote, the
reverse would hand a stranger's treatment to a patient.
"""

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import regex

from locales.language import Language
from rag.text import fold, normalise, split_sentences

Pattern = regex.Pattern[str]

_FEWEST_WORDS = 4
_OPENING = regex.compile(r"^[\s\"'«“(-]+")
_END_MARKS = (".", ";", "»", '"', ")")
_LAYOUT = regex.compile(r"(?<=\|)\n|^\n|\n$")


@dataclass(frozen=True, slots=True, kw_only=True)
class AdviceWords:
    """The patterns of one language; see `locales/{it,es}/personal_advice.toml`."""

    openers: Pattern
    verbs: Pattern
    folded: tuple[Pattern, ...]
    accented: tuple[Pattern, ...]


def is_personal(sentence: str, language: Language) -> bool:
    """Whether a sentence of a doctor's answer speaks to whom it was written or of their case; when in doubt, it does.

    Of several sentences, as a list quoted with its lead-in, one that is personal makes all so.
    """
    text = normalise(sentence)
    parts = [text[start:end] for start, end in split_sentences(text)]
    return not parts or any(_speaks_to_one_person(part, _load(language)) for part in parts)


def _speaks_to_one_person(sentence: str, words: AdviceWords) -> bool:
    lower = _OPENING.sub("", sentence).lower()
    if not _is_general_statement(lower, words):
        return True
    folded = fold(lower)
    return any(pattern.search(folded) for pattern in words.folded) or any(pattern.search(lower) for pattern in words.accented)


def _is_general_statement(lower: str, words: AdviceWords) -> bool:
    if len(lower.split()) < _FEWEST_WORDS or not lower.endswith(_END_MARKS):
        return False
    return words.openers.match(lower) is not None and words.verbs.search(lower) is not None


@cache
def _load(language: Language) -> AdviceWords:
    source = files("locales") / language.value / "personal_advice.toml"
    data: dict[str, Any] = tomllib.loads(source.read_text(encoding="utf-8"))
    return AdviceWords(
        openers=_compiled(data["general"]["openers"]),
        verbs=_compiled(data["general"]["verbs"]),
        folded=tuple(_compiled(pattern) for group in data["patterns"].values() for pattern in group),
        accented=tuple(_compiled(pattern) for group in data["accented"].values() for pattern in group),
    )


def _compiled(pattern: str) -> Pattern:
    return regex.compile(_LAYOUT.sub("", pattern))
