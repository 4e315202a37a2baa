"""Reads the dates that pages give: as machines write them and as Italians and Spaniards do."""

import re
from datetime import date

from ingest.extraction.web_words import bare, web_words
from locales.language import Language

_ISO = re.compile(r"\b((?:19|20)\d{2})-(\d{1,2})-(\d{1,2})(?!\d)")
_NUMERIC = re.compile(r"\b(\d{1,2})[/.-](\d{1,2})[/.-]((?:19|20)\d{2})\b")
_WORDED = re.compile(r"\b(\d{1,2})\s*(?:o|º|°)?\s+(?:de\s+)?([a-z]{3,10})\s+(?:(?:de|del)\s+)?((?:19|20)\d{2})\b")


def read_date(text: str, language: Language) -> date | None:
    """The first date in `text`, or None; a day stands before its month, as in both languages, unless the year comes first."""
    text = text[:300]
    if found := _ISO.search(text):
        return _date(found[1], found[2], found[3])
    if found := _NUMERIC.search(text):
        return _date(found[3], found[2], found[1])
    for found in _WORDED.finditer(bare(text)):
        if month := _month(found[2], language):
            return _date(found[3], month, found[1])
    return None


def _month(word: str, language: Language) -> int | None:
    matches = [number for number, name in enumerate(web_words(language).months, start=1) if name.startswith(word)]
    return matches[0] if len(matches) == 1 else None


def _date(year: str, month: str | int, day: str) -> date | None:
    try:
        return date(int(year), int(month), int(day))
    except ValueError:
        return None
