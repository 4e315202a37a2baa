"""Tells who of a forum's people answers as a doctor, and what of their role may be shown: never a name."""

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import regex

from locales.language import Language
from rag.text import fold

Pattern = regex.Pattern[str]

_WORD = regex.compile(r"\p{L}+'?")
_TITLED_NAME = regex.compile(
    r"(?i:^\W*(?:dott\.?\s?ssa|dott|dr\.?\s?ssa|dra|dr|prof\.?\s?ssa|prof)\b)\.?\s+\p{Lu}\p{L}+\s+\p{Lu}"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RoleWords:
    """How one language names doctors and those who are none."""

    strong: Pattern
    titles: Pattern
    others: Pattern
    never: Pattern
    shown: tuple[str, ...]
    joiners: frozenset[str]


def is_doctor(role: str | None, name: str | None = None) -> bool:
    """Whether who writes beside this role, and under this name, is a doctor.

    A bare title counts ("Dott.ssa"), unless the role is another profession's: a psychologist has the title too, and is no
    doctor. In a name it counts only before a first name and a surname: "Dr House" is a nickname.
    """
    languages = [_load(language) for language in Language]
    text = role or ""
    if any(words.never.search(text) for words in languages):
        return False
    if any(words.strong.search(text) for words in languages):
        return True
    if any(words.others.search(f"{text} {name or ''}") for words in languages):
        return False
    return any(words.titles.search(text) for words in languages) or _TITLED_NAME.search(name or "") is not None


def shown_role(role: str | None, language: Language) -> str | None:
    """The words of a role that name a profession or a field of medicine, as they are written; None if there are none.

    "Dott. Mario Rossi, Specialista in Gastroenterologia, Milano" becomes "Specialista in Gastroenterologia".
    """
    words = _load(language)
    groups: list[list[str]] = [[]]
    for part in regex.split(r"([,;/|()\-–])", role or ""):
        for word in _WORD.findall(part):
            lower = word.lower()
            if lower in words.joiners or fold(lower).startswith(words.shown):
                groups[-1].append(word)
            else:
                groups.append([])
        groups.append([])
    found = [text for text in (_joined(group, words.joiners) for group in groups) if text]
    return ", ".join(dict.fromkeys(found)) or None


def _joined(group: list[str], joiners: frozenset[str]) -> str:
    while group and group[-1].lower() in joiners:
        group = group[:-1]
    while group and group[0].lower() in joiners:
        group = group[1:]
    return " ".join(group).replace("' ", "'")


@cache
def _load(language: Language) -> RoleWords:
    source = files("locales") / language.value / "deidentification.toml"
    data: dict[str, Any] = tomllib.loads(source.read_text(encoding="utf-8"))["doctors"]
    strong, titles, others, never = (regex.compile(f"(?i){data[key]}") for key in ("strong", "titles", "others", "never"))
    return RoleWords(
        strong=strong,
        titles=titles,
        others=others,
        never=never,
        shown=tuple(fold(word) for word in data["role_words"].split()),
        joiners=frozenset(data["role_joiners"].split()),
    )
