"""The red-flag data as the gate uses it: which concepts together are a red flag, and what each of them looks like."""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

import locales
from bot.red_flag_patterns import PatternMatcher
from locales.language import Language

_DIRECTORY = Path(locales.__file__).parent
_WITHIN = 40


class RedFlagDataError(Exception):
    """The red-flag data is missing, empty or malformed: the product must not start."""


class Level(StrEnum):
    """What a red flag calls for."""

    CALL_NOW = "call_now"
    GO_TODAY = "go_today"
    POISON = "poison"
    CRISIS = "crisis"
    ABUSE = "abuse"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """Concepts that together are a red flag; `locales/red_flag_rules.toml` says what each field means."""

    category: str
    level: Level
    all_of: tuple[tuple[str, ...], ...]
    unless: tuple[str, ...]
    within: int
    alone: bool
    under_way: bool
    asked_counts: bool
    past_counts: bool
    animals_count: bool
    third_person: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class RedFlagData:
    """Everything that the gate knows, of both languages at once."""

    matcher: PatternMatcher
    rules: tuple[Rule, ...]
    negators: frozenset[str]
    emoji: Mapping[str, str]

    @classmethod
    def load(cls, directory: Path = _DIRECTORY) -> "RedFlagData":
        """Read rules and patterns.

        Raises:
            RedFlagDataError: If a file is missing, malformed or empty, or a rule names a concept that has no pattern.
        """
        try:
            table = tomllib.loads((directory / "red_flag_rules.toml").read_text(encoding="utf-8"))
            words = [
                tomllib.loads((directory / language.value / "red_flags.toml").read_text(encoding="utf-8"))
                for language in Language
            ]
            rules = tuple(_rule(category, row) for category in table["categories"] for row in category["rules"])
            concepts = _merged_lists(words)
            _check(rules, concepts)
            negators = frozenset(word for part in words for word in part["negators"])
            matcher = PatternMatcher(
                concepts,
                classes=_merged_classes(words),
                spelling={key: value for part in words for key, value in part.get("spelling", {}).items()},
                numbers={key: value for part in words for key, value in part.get("numbers", {}).items()},
                negators=negators,
                never_corrected=[word for part in words for word in part.get("never_corrected", ())],
            )
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise RedFlagDataError(f"the red-flag data cannot be used: {error}") from error
        return cls(matcher=matcher, rules=rules, negators=negators, emoji=table.get("emoji", {}))


def _rule(category: Mapping[str, Any], row: Mapping[str, Any]) -> Rule:
    level = Level(row.get("level", category["level"]))
    return Rule(
        category=category["name"],
        level=level,
        all_of=tuple(tuple(names.split("|")) for names in row["all"]),
        unless=tuple(row.get("unless", ())),
        within=row.get("within", _WITHIN),
        alone=row.get("alone", False),
        under_way=row.get("under_way", False),
        asked_counts=row.get("asked_counts", category.get("asked_counts", False)),
        past_counts=row.get("past_counts", category.get("past_counts", False)),
        animals_count=category.get("animals_count", False),
        third_person=row.get("third_person", category.get("third_person", False)),
    )


def _check(rules: Sequence[Rule], concepts: Mapping[str, Sequence[str]]) -> None:
    named = {name for rule in rules for names in rule.all_of for name in names} | {name for rule in rules for name in rule.unless}
    missing = sorted(name for name in named if not concepts.get(name))
    if missing or not rules:
        raise RedFlagDataError(f"no pattern for: {', '.join(missing) or 'any rule'}")


def _merged_lists(parts: Sequence[Mapping[str, Any]]) -> dict[str, list[str]]:
    merged: dict[str, list[str]] = {}
    for part in parts:
        for name, patterns in part["concepts"].items():
            merged.setdefault(name, []).extend(patterns)
    return merged


def _merged_classes(parts: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    merged: dict[str, str] = {}
    for part in parts:
        for name, words in part.get("classes", {}).items():
            merged[name] = f"{merged[name]}|{words}" if name in merged else words
    return merged
