"""Numbers with what bounds them and their unit, in one spelling: "più di tre giorni" and "> 72 ore" are the same quantity."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

from rag.claims import NUMBERS

_DIGITS = re.compile(r"\d+(?:[.,]\d+)*")
_RANGE = re.compile(r"(\d+(?:[.,]\d+)*)\s?[-–]\s?(\d+(?:[.,]\d+)*)")
_THOUSANDS = re.compile(r"[1-9]\d{0,2}(?:\.\d{3})+")
_ONE = frozenset({"un", "uno", "una"})
_FROM = frozenset({"da", "dai", "dalle", "dagli", "dal", "de", "tra", "fra", "entre", "desde"})
_TO = frozenset({"a", "ai", "alle", "agli", "al", "e", "y", "hasta", "o", "u", "ed"})
_PAIRS = {"o": "|", "u": "|"}
_SKIPPED = frozenset({"i", "gli", "le", "la", "lo", "il", "l", "los", "las", "el"})
# What one unit is in the smallest of its kind; only units that convert exactly.
_SCALE = {
    "mcg": ("mcg", "1"), "mg": ("mcg", "1000"), "g": ("mcg", "1000000"), "kg": ("mcg", "1000000000"),
    "ml": ("ml", "1"), "cl": ("ml", "10"), "dl": ("ml", "100"), "l": ("ml", "1000"),
    "mm": ("mm", "1"), "cm": ("mm", "10"), "m": ("mm", "1000"),
    "second": ("second", "1"), "minute": ("second", "60"), "hour": ("second", "3600"), "day": ("second", "86400"),
    "week": ("second", "604800"), "month": ("month", "1"), "year": ("month", "12"),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Quantity:
    """`key` compares across sentences, `unit` is empty for a bare number, `length` is how many tokens it took."""

    key: str
    unit: str
    length: int


def quantity(tokens: Sequence[str], position: int, units: Mapping[str, str]) -> Quantity | None:
    """Read the number, range or ratio that stands at `position`.

    Args:
        tokens: Lower-case words and signs of a sentence.
        position: Where to look.
        units: The unit that each word or sign stands for.

    Returns:
        None if no number stands there; "un" and "una" are numbers only before a unit or in a range.
    """
    start = position + (tokens[position] in _FROM)
    start = _past_articles(tokens, start)
    first = _value(tokens, start, units)
    if first is None:
        return None
    if match := _RANGE.fullmatch(first):
        return _with_unit(tokens, position, start + 1, (match.group(1), match.group(2)), "-", units)
    after = start + 1
    own = units.get(tokens[after], "") if after < len(tokens) else ""
    link = after + bool(own)
    if link < len(tokens) - 1 and tokens[link] in _TO:
        second_at = _past_articles(tokens, link + 1)
        second = _value(tokens, second_at, units)
        ranged = start > position or tokens[link] in _PAIRS or tokens[link] in {"a", "ai", "alle", "al", "hasta"}
        if second is not None and ranged and not (own and start == position):
            sign = _PAIRS.get(tokens[link], "-")
            return _with_unit(tokens, position, second_at + 1, (first, second), sign, units, own)
    if start > position:
        return None  # "da tre giorni" is a preposition and a number
    if tokens[position] in _ONE and not own:
        return None
    return _with_unit(tokens, position, after, (first,), "", units)


def _past_articles(tokens: Sequence[str], position: int) -> int:
    while position < len(tokens) - 1 and tokens[position] in _SKIPPED:
        position += 1
    return position


def _value(tokens: Sequence[str], position: int, units: Mapping[str, str]) -> str | None:
    if position >= len(tokens):
        return None
    token = tokens[position]
    if token[0].isdigit():
        return token
    if token in _ONE:
        following = tokens[position + 1] if position + 1 < len(tokens) else ""
        return "1" if following in units or following in _TO else None
    return NUMBERS.get(token)


def _with_unit(
    tokens: Sequence[str],
    position: int,
    after: int,
    values: tuple[str, ...],
    sign: str,
    units: Mapping[str, str],
    own: str = "",
) -> Quantity:
    unit = units.get(tokens[after], "") if after < len(tokens) else ""
    first_unit = own or unit
    scaled = [_scaled(value, first_unit if place == 0 else unit) for place, value in enumerate(values)]
    name = _SCALE.get(unit, (unit, ""))[0]
    return Quantity(key=f"{sign.join(scaled)} {name}".strip(), unit=name, length=after + bool(unit) - position)


def _scaled(value: str, unit: str) -> str:
    if not _DIGITS.fullmatch(value):
        return value
    bare = value.replace(".", "") if _THOUSANDS.fullmatch(value) else value.replace(",", ".")
    try:
        number = Decimal(bare)
    except InvalidOperation:  # "1.2.3"
        return value
    scaled = number * Decimal(_SCALE.get(unit, ("", "1"))[1])
    return f"{scaled.normalize():f}"
