"""Which number to call, in which country, and which help lines answer at this hour."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, time
from enum import StrEnum
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from locales.language import Language

_FILE = Path(__file__).with_name("emergency_numbers.toml")


class DirectoryError(Exception):
    """The table of emergency numbers is missing or malformed: the product must not start."""


class LineKind(StrEnum):
    """What a line is for."""

    EMERGENCY = "emergency"
    CRISIS = "crisis"
    POISON = "poison"
    POISON_CHILDREN = "poison_children"
    VIOLENCE = "violence"
    MINORS = "minors"
    NON_URGENT = "non_urgent"


class LineChannel(StrEnum):
    """How a line is reached."""

    PHONE = "phone"
    WHATSAPP = "whatsapp"
    SMS = "sms"
    APP = "app"


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One number that helps; `always`, or open from `opens` to `closes` in the country's time, or at hours not known."""

    kind: LineKind
    number: str
    channel: LineChannel = LineChannel.PHONE
    always: bool = False
    opens: time | None = None
    closes: time | None = None
    free: bool = False
    name: Mapping[Language, str] = field(default_factory=dict, hash=False)
    note: Mapping[Language, str] = field(default_factory=dict, hash=False)
    source: str = ""
    verified_on: str = ""
    recheck: bool = False
    reviewer: str = ""

    @property
    def hours_known(self) -> bool:
        """Whether it is known when this line answers."""
        return self.always or self.opens is not None

    def is_open(self, local_time: time) -> bool:
        """Whether it surely answers at `local_time` of its country; a line of unknown hours never surely answers."""
        if self.always or self.opens is None or self.closes is None:
            return self.always
        if self.opens < self.closes:
            return self.opens <= local_time < self.closes
        return local_time >= self.opens or local_time < self.closes


@dataclass(frozen=True, slots=True, kw_only=True)
class Country:
    """A country whose lines are known; `code` is ISO 3166."""

    code: str
    time_zone: ZoneInfo
    phone_prefix: str
    lines: tuple[Line, ...]


class EmergencyDirectory:
    """The lines of every known country."""

    def __init__(self, countries: tuple[Country, ...], unknown_country: Mapping[Language, str]) -> None:
        self._unknown_country = dict(unknown_country)
        self._countries = {country.code: country for country in countries}

    @classmethod
    def load(cls, path: Path = _FILE) -> "EmergencyDirectory":
        """Read the table of numbers.

        Raises:
            DirectoryError: If it is missing, malformed or empty.
        """
        try:
            table = tomllib.loads(path.read_text(encoding="utf-8"))
            countries = tuple(_country(code, row) for code, row in table["countries"].items())
            unknown_country = {language: str(table["unknown_country"][language.value]) for language in Language}
        except (OSError, ValueError, KeyError, TypeError, ZoneInfoNotFoundError) as error:
            raise DirectoryError(f"cannot read {path}: {error}") from error
        if not any(line.kind is LineKind.EMERGENCY for country in countries for line in country.lines):
            raise DirectoryError(f"{path} holds no emergency number")
        return cls(countries, unknown_country)

    @property
    def countries(self) -> tuple[str, ...]:
        """ISO 3166 codes, in the order of the table."""
        return tuple(self._countries)

    def country(self, code: str | None) -> Country | None:
        """The country of this ISO 3166 code, None when it is not known."""
        return self._countries.get(code.upper()) if code else None

    def knows_emergency_number(self, code: str | None) -> bool:
        """Whether this country has an emergency number of its own in the table."""
        return any(line.kind is LineKind.EMERGENCY for line in self.lines(code))

    def lines(self, code: str | None, kind: LineKind | None = None) -> tuple[Line, ...]:
        """All lines of a country, best first, whatever the hour."""
        country = self.country(code)
        return tuple(line for line in country.lines if kind in (None, line.kind)) if country else ()

    def emergency_number(self, code: str | None, language: Language) -> str:
        """What to put after "call": one number, or for Spanish without a country the number of each country.

        It is never empty: a country without a number in the table is treated as unknown.
        """
        for line in self.lines(code, LineKind.EMERGENCY):
            if line.channel is LineChannel.PHONE:
                return line.number
        return self._unknown_country[language]

    def open_lines(self, code: str | None, kind: LineKind, now: datetime) -> tuple[Line, ...]:
        """The lines that surely answer at `now` (an aware datetime), in the country's own time."""
        country = self.country(code)
        if country is None:
            return ()
        local = now.astimezone(country.time_zone).time()
        return tuple(line for line in self.lines(code, kind) if line.is_open(local))

    def lines_of_unknown_hours(self, code: str | None, kind: LineKind) -> tuple[Line, ...]:
        """Lines that may be offered after another one, never first."""
        return tuple(line for line in self.lines(code, kind) if not line.hours_known)

    def country_from_phone_prefix(self, number: str) -> str | None:
        """ISO 3166 code of an international number ("+39 333…", "0039…", "whatsapp:+52…"); None when it is not known.

        +1 is taken for the United States although Canada and others share it: 911 is right for them too.
        """
        digits = number.removeprefix("whatsapp:").strip()
        international = digits.startswith(("+", "00"))
        digits = "".join(character for character in digits if character.isdecimal()).removeprefix("00")
        if not international:
            return None
        matches = [country for country in self._countries.values() if digits.startswith(country.phone_prefix)]
        return max(matches, key=lambda country: len(country.phone_prefix)).code if matches else None


def _country(code: str, row: Mapping[str, Any]) -> Country:
    return Country(
        code=code,
        time_zone=ZoneInfo(row["time_zone"]),
        phone_prefix=row["phone_prefix"],
        lines=tuple(_line(line) for line in row["lines"]),
    )


def _line(row: Mapping[str, Any]) -> Line:
    values = dict(row)
    for clock in ("opens", "closes"):
        if clock in values:
            values[clock] = time.fromisoformat(values[clock])
    for text in ("name", "note"):
        values[text] = {Language(language): value for language, value in values.get(text, {}).items()}
    values["kind"] = LineKind(values["kind"])
    values["channel"] = LineChannel(values.get("channel", "phone"))
    return Line(**values)
