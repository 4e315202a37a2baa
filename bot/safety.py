"""Recognises an emergency in a patient's own words before anything else reads them.

The knowledge is data (`locales/red_flag_rules.toml`, `locales/{it,es}/red_flags.toml`): concepts, and rules that say which concepts
together are a red flag. This module only decides which occurrences count: not what is denied, long past, asked about in general,
said of an animal or part of a figure of speech.
"""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

import locales
from bot.red_flag_patterns import COMMA, LINE, NOT_NEGATOR, PatternMatcher, Span, Tokens, tokenise
from locales.language import Language

_DIRECTORY = Path(locales.__file__).parent
_NEGATION_REACH = 4
_EARLIER = 2
_WITHIN = 40


class Level(StrEnum):
    """What a red flag calls for."""

    CALL_NOW = "call_now"
    GO_TODAY = "go_today"
    POISON = "poison"
    CRISIS = "crisis"
    ABUSE = "abuse"


# A person in danger from themselves or from others needs the words for that, with the emergency number first (`under_way`).
_SEVERITY = {Level.CRISIS: 5, Level.ABUSE: 4, Level.CALL_NOW: 3, Level.POISON: 2, Level.GO_TODAY: 1}


class RedFlagDataError(Exception):
    """The red-flag data is missing, empty or malformed: the product must not start."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RedFlag:
    """An emergency that a message describes; the fields beside `category` and `level` choose the words of the reply."""

    category: str
    level: Level
    third_person: bool = False
    minor: bool = False
    under_way: bool = False  # crisis or abuse: it is happening now, or something has been taken
    follow_up: bool = False  # an unclear message after a crisis one ("basta", "da igual")
    sexual_violence: bool = False
    strangulation: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class GateReading:
    """What the gate saw: a red flag, or an information question about an emergency condition (`about`), or neither."""

    red_flag: RedFlag | None = None
    about: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rule:
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
class _Occurrence:
    span: Span
    past: bool
    asked: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class _Scene:
    """One message with everything that was found in it; only tokens from `new_from` on are new."""

    tokens: Tokens
    found: Mapping[str, list[Span]]
    occurrences: Mapping[str, list[_Occurrence]]
    new_from: int
    about_animal: bool

    def has(self, concept: str) -> bool:
        return concept in self.found


class SafetyGate:
    """Reads every arriving text, with the patterns of both languages at once."""

    def __init__(
        self, matcher: PatternMatcher, rules: Sequence[_Rule], negators: frozenset[str], emoji: Mapping[str, str]
    ) -> None:
        self._matcher = matcher
        self._rules = tuple(rules)
        self._categories = tuple(dict.fromkeys(rule.category for rule in rules))
        self._judged = {name for rule in rules for names in rule.all_of for name in names} | {
            f"{name}.topic" for name in self._categories
        }
        self._negators = negators
        self._emoji = dict(emoji)

    @classmethod
    def load(cls, directory: Path = _DIRECTORY) -> "SafetyGate":
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
            concepts = _merged_lists(words, "concepts")
            rules = [_rule(category, row) for category in table["categories"] for row in category["rules"]]
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
        return cls(matcher, rules, negators, table.get("emoji", {}))

    def read(self, text: str, earlier: Sequence[str] = ()) -> GateReading:
        """Read a message alone and joined with the two before it, and return the gravest red flag.

        Args:
            text: The message that has just arrived.
            earlier: The patient's own messages before it, oldest first. They only complete the new one: what they say alone has
                been read when they arrived.
        """
        alone = self._scene(text)
        flags = self._flags(alone)
        before = [message for message in earlier[-_EARLIER:] if message.strip()]
        if before and alone.tokens.words:
            flags += self._flags(self._scene(text, before))
            flags += self._follow_up(alone, before)
        if flags:
            return GateReading(red_flag=_gravest(flags))
        return GateReading(about=self._about(alone))

    def _follow_up(self, alone: _Scene, before: Sequence[str]) -> list[RedFlag]:
        if not _is_whole(alone, "crisis.unclear"):
            return []
        for message in reversed(before):
            for flag in self._flags(self._scene(message)):
                if flag.level is Level.CRISIS:
                    return [replace(flag, follow_up=True)]
        return []

    def _scene(self, text: str, before: Sequence[str] = ()) -> _Scene:
        tokens = tokenise(text, self._emoji)
        new_from = 0
        if before:
            joined = tokenise("\n".join(before), self._emoji)
            new_from = len(joined.words)
            joined.words.extend(tokens.words)
            joined.breaks.extend([max(LINE, tokens.breaks[0]), *tokens.breaks[1:]] if tokens.breaks else [])
            tokens = joined
        found = self._matcher.find(tokens)
        return _Scene(
            tokens=tokens,
            found=found,
            occurrences=self._occurrences(tokens, found),
            new_from=new_from,
            about_animal="animal" in found and not found.keys() & {"person.any", "person.first"},
        )

    def _occurrences(self, tokens: Tokens, found: Mapping[str, list[Span]]) -> dict[str, list[_Occurrence]]:
        masked = {index for span in found.get("mask", ()) for index in range(span.start, span.end)}
        inside = {
            index
            for concept, spans in found.items()
            if "." in concept or concept == NOT_NEGATOR
            for span in spans
            if span.end - span.start > 1
            for index in range(span.start, span.end)
        }
        past = _around(found.get("past", ()), _clauses(tokens, found.get("clause_start", ())))
        sentences = _runs(tokens, LINE)
        asked = _rest(found.get("question", ()), sentences) - _around(found.get("personal", ()), sentences)
        asked |= _rest(found.get("conditional", ()), sentences)
        occurrences: dict[str, list[_Occurrence]] = {}
        for concept in self._judged & found.keys():
            kept = [
                _Occurrence(span=span, past=span.start in past, asked=span.start in asked)
                for span in found[concept]
                if masked.isdisjoint(range(span.start, span.end)) and not self._negated(span, tokens, inside)
            ]
            if kept:
                occurrences[concept] = kept
        return occurrences

    def _negated(self, span: Span, tokens: Tokens, inside: set[int]) -> bool:
        """Whether a denial reaches this occurrence; a denial that is part of a pattern ("no respira") reaches nothing else."""
        words, breaks = tokens.words, tokens.breaks
        if any(word in self._negators for word in words[span.start : span.end]):
            return False
        if words[span.end : span.end + 1] == ["no"] and (span.end + 1 == len(words) or breaks[span.end + 1] >= COMMA):
            return breaks[span.end] < COMMA
        reach = span.start - _NEGATION_REACH
        for index in range(span.start - 1, -1, -1):
            if index < reach or breaks[index + 1] >= COMMA or words[index] in _SCOPE_ENDS:
                return False
            if words[index] in self._negators and index not in inside:
                return True
            if words[index] in _ALTERNATIVES:
                reach = index - _NEGATION_REACH
        return False

    def _flags(self, scene: _Scene) -> list[RedFlag]:
        return [_red_flag(rule, scene) for rule in self._rules if _fires(rule, scene, asked=False)]

    def _about(self, scene: _Scene) -> str | None:
        if scene.about_animal:
            return None
        for rule in self._rules:
            if _fires(rule, scene, asked=True):
                return rule.category
        for category in self._categories:
            if any(not occurrence.past for occurrence in scene.occurrences.get(f"{category}.topic", ())):
                return category
        return None


_ALTERNATIVES = frozenset({"o", "oppure", "ne", "u"})  # "non ho febbre o dolore al petto": the denial goes on
_SCOPE_ENDS = frozenset(
    {"ma", "pero", "sino", "e", "y", "ed", "solo", "perche", "porque", "aunque", "anche", "invece", "que", "che", "but"}
)


def _fires(rule: _Rule, scene: _Scene, *, asked: bool) -> bool:
    if scene.about_animal and not rule.animals_count:
        return False
    if any(scene.has(concept) for concept in rule.unless):
        return False
    lists = [_counting(rule, scene, names, asked=asked) for names in rule.all_of]
    if not all(lists):
        return False
    if rule.alone:
        return any(occurrence.span == Span(0, len(scene.tokens.words)) for occurrence in lists[0])
    return any(_together(occurrence, lists[1:], rule.within, scene.new_from) for occurrence in lists[0])


def _counting(rule: _Rule, scene: _Scene, names: Sequence[str], *, asked: bool) -> list[_Occurrence]:
    return [
        occurrence
        for name in names
        for occurrence in scene.occurrences.get(name, ())
        if (rule.past_counts or not occurrence.past) and (asked or rule.asked_counts or not occurrence.asked)
    ]


def _together(first: _Occurrence, others: Sequence[Sequence[_Occurrence]], within: int, new_from: int) -> bool:
    """Whether every other concept occurs near `first`, and at least one of them in the new message."""
    is_new = first.span.end > new_from
    for occurrences in others:
        near = [other for other in occurrences if _distance(first.span, other.span) <= within]
        if not near:
            return False
        is_new = is_new or any(other.span.end > new_from for other in near)
    return is_new


def _distance(one: Span, other: Span) -> int:
    return max(one.start, other.start) - min(one.end, other.end)


def _red_flag(rule: _Rule, scene: _Scene) -> RedFlag:
    first_person = scene.has("person.first") or (rule.level is Level.ABUSE and scene.has("person.me"))
    return RedFlag(
        category=rule.category,
        level=rule.level,
        third_person=not first_person and (rule.third_person or scene.has("person.third")),
        minor=scene.has("person.minor"),
        under_way=rule.under_way,
        sexual_violence=scene.has("abuse.sexual"),
        strangulation=scene.has("abuse.strangled"),
    )


def _gravest(flags: Sequence[RedFlag]) -> RedFlag:
    gravest = max(flags, key=lambda flag: (_SEVERITY[flag.level], flag.under_way, not flag.follow_up))
    if gravest.level in (Level.CRISIS, Level.ABUSE):
        bodily = any(flag.level in (Level.CALL_NOW, Level.POISON) for flag in flags)
        return replace(gravest, under_way=gravest.under_way or bodily)
    return gravest


def _is_whole(scene: _Scene, concept: str) -> bool:
    return Span(0, len(scene.tokens.words)) in scene.found.get(concept, ())


def _runs(tokens: Tokens, strength: int) -> list[int]:
    """For each word the number of its run; a run ends at a break of at least `strength`."""
    number, numbers = 0, []
    for pause in tokens.breaks:
        number += pause >= strength
        numbers.append(number)
    return numbers


def _clauses(tokens: Tokens, starts: Sequence[Span]) -> list[int]:
    begins = {span.start for span in starts}
    number, numbers = 0, []
    for index, pause in enumerate(tokens.breaks):
        number += pause >= COMMA or index in begins
        numbers.append(number)
    return numbers


def _around(spans: Sequence[Span], runs: Sequence[int]) -> set[int]:
    """Every word of the runs that hold one of `spans`."""
    holding = {runs[span.start] for span in spans} | {runs[span.end - 1] for span in spans}
    return {index for index, run in enumerate(runs) if run in holding} if holding else set()


def _rest(spans: Sequence[Span], runs: Sequence[int]) -> set[int]:
    """Every word from the beginning of one of `spans` to the end of its run."""
    starts: dict[int, int] = {}
    for span in spans:
        starts[runs[span.start]] = min(span.start, starts.get(runs[span.start], span.start))
    return {index for index, run in enumerate(runs) if index >= starts.get(run, len(runs))}


def _rule(category: Mapping[str, Any], row: Mapping[str, Any]) -> _Rule:
    level = Level(row.get("level", category["level"]))
    return _Rule(
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


def _check(rules: Sequence[_Rule], concepts: Mapping[str, Sequence[str]]) -> None:
    named = {name for rule in rules for names in rule.all_of for name in names} | {name for rule in rules for name in rule.unless}
    missing = sorted(name for name in named if not concepts.get(name))
    if missing or not rules:
        raise RedFlagDataError(f"no pattern for: {', '.join(missing) or 'any rule'}")


def _merged_lists(parts: Sequence[Mapping[str, Any]], section: str) -> dict[str, list[str]]:
    merged: dict[str, list[str]] = {}
    for part in parts:
        for name, patterns in part[section].items():
            merged.setdefault(name, []).extend(patterns)
    return merged


def _merged_classes(parts: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    merged: dict[str, str] = {}
    for part in parts:
        for name, words in part.get("classes", {}).items():
            merged[name] = f"{merged[name]}|{words}" if name in merged else words
    return merged
