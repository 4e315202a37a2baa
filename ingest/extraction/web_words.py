"""What web pages of a language say about themselves: the words by which chrome, banners and error pages are known."""

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from locales.language import Language
from rag.text import fold

_MARKS = re.compile(r"[^\w©]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class WebWords:
    """The lists of `web_pages.toml`, each in the form of `bare`."""

    not_found: tuple[str, ...]
    needs_script: tuple[str, ...]
    cookie: tuple[str, ...]
    consent: tuple[str, ...]
    lines: frozenset[str]
    line_begins: tuple[str, ...]
    related: tuple[str, ...]
    months: tuple[str, ...]


@cache
def web_words(language: Language) -> WebWords:
    """The words of one language."""
    table = tomllib.loads(files("locales").joinpath(language.value, "web_pages.toml").read_text(encoding="utf-8"))
    lists = {name: tuple(bare(entry) for entry in entries) for name, entries in table.items()}
    lines = frozenset(lists.pop("lines"))
    return WebWords(lines=lines, **lists)


def bare(text: str) -> str:
    """`text` in lower case, without accents and marks, its words parted by single blanks."""
    return _MARKS.sub(" ", fold(text)).strip()


def begins_with_any(text: str, begins: tuple[str, ...]) -> bool:
    """Whether `text`, in the form of `bare`, begins with one of `begins` as whole words."""
    return any(text == begin or text.startswith(begin + " ") for begin in begins)


def has_any(text: str, phrases: tuple[str, ...]) -> bool:
    """Whether one of `phrases` stands in `text`, both in the form of `bare`, as whole words."""
    padded = f" {text} "
    return any(f" {phrase} " in padded for phrase in phrases)
