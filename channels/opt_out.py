"""Whole messages by which a patient asks to be written to no more, or again (H17)."""

import re
import tomllib
import unicodedata
from functools import lru_cache
from importlib.resources import files
from typing import NamedTuple


class _Phrases(NamedTuple):
    stop: frozenset[str]
    start: frozenset[str]
    polite: re.Pattern[str]


def is_opt_out(text: str) -> bool:
    """True if a message says, as a whole and unmistakably, that nothing more is to be sent; politeness aside.

    "STOP alle sigarette" asks something; "basta", "ya basta" and "no más" are what people in distress write: no opt-outs.
    Where the bot has just asked a question that "baja" answers ("¿alta o baja?"), the answer comes first.
    """
    return _bare(text) in _phrases().stop


def is_opt_in(text: str) -> bool:
    """True if a message only asks to be written to again; any other ordinary message reopens the conversation too."""
    return _bare(text) in _phrases().start


def _bare(text: str) -> str:
    """The words alone: folded, one space between them, without signs around them and without please and thanks."""
    if len(text) > 200:
        return ""
    folded = unicodedata.normalize("NFKD", text.casefold().replace("’", "'"))
    plain = "".join(sign for sign in folded if not unicodedata.combining(sign))
    words = " ".join(re.findall(r"\w+(?:'\w+)*'?", plain))
    return _phrases().polite.sub("", words).strip()


@lru_cache(maxsize=1)
def _phrases() -> _Phrases:
    languages = tomllib.loads(files("locales").joinpath("opt_out.toml").read_text(encoding="utf-8")).values()
    polite = "|".join(re.escape(phrase) for language in languages for phrase in language["polite"])
    return _Phrases(
        stop=frozenset(phrase for language in languages for phrase in language["stop"]),
        start=frozenset(phrase for language in languages for phrase in language["start"]),
        polite=re.compile(rf"^(?:(?:{polite}) )+|(?: (?:{polite}))+$"),
    )
