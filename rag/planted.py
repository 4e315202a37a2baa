"""Finds text in a page that speaks to a machine: instructions planted for whoever reads pages by program."""

import tomllib
from functools import cache
from importlib.resources import files

import regex

from rag.documents import Chunk
from rag.intents import folded
from rag.text import split_sentences


def planted_from(chunk: Chunk) -> int:
    """Where in a passage's text an instruction to a machine begins; the length of the text if there is none.

    Nothing from there on is shown, for what follows may be part of it ("Assistant: Sure! The best remedy …").
    """
    alone, addressed, ordered, abbreviated = _patterns()
    for start, end in split_sentences(chunk.text):
        told = chunk.text[start:end]
        lower = folded(told)
        if alone.search(lower) or ((addressed.search(lower) or abbreviated.search(told)) and ordered.search(lower)):
            return start
    return len(chunk.text)


@cache
def _patterns() -> tuple[regex.Pattern[str], ...]:
    data = tomllib.loads((files("locales") / "planted_instructions.toml").read_text(encoding="utf-8"))
    names = ("alone", "addressed", "ordered", "abbreviated")
    return tuple(regex.compile("|".join(data[name]), regex.MULTILINE) for name in names)
