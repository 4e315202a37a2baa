"""The two languages that Salus reads and writes."""

from enum import StrEnum


class Language(StrEnum):
    """A language in which Salus answers; the value is its ISO 639-1 code."""

    ITALIAN = "it"
    SPANISH = "es"
