"""Recognises an emergency in a patient's own words before anything else reads them.

The knowledge is data: concepts, and rules that say which concepts together are a red flag (`bot/red_flag_rules.py`). This module
only decides which occurrences count: not what is denied, long past, asked about in general, said of an animal or part of a figure
of speech.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from bot.red_flag_patterns import NOT_NEGATOR
from bot.red_flag_rules import Level, RedFlagData, RedFlagDataError, Rule
from bot.red_flag_tokens import COMMA, LINE, Span, Tokens, tokenise

__all__ = ["GateReading", "Level", "RedFlag", "RedFlagDataError", "SafetyGate"]

_NEGATION_REACH = 4
_EARLIER = 2


# A person in danger from themselves or from others needs the words for that, with the emergency number first (`under_way`).
_SEVERITY = {Level.CRISIS: 5, Level.ABUSE: 4, Level.CALL_NOW: 3, Level.POISON: 2, Level.GO_TODAY: 1}


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

    def __init__(self, data: RedFlagData) -> None:
        self._data = data
        self._categories = tuple(dict.fromkeys(rule.category for rule in data.rules))
        self._judged = {name for rule in data.rules for names in rule.all_of for name in names}
        self._judged |= {f"{name}.topic" for name in self._categories}

    @classmethod
    def load(cls) -> "SafetyGate":
        """Read the data of the product.

        Raises:
            RedFlagDataError: If it is missing, malformed or empty.
        """
        return cls(RedFlagData.load())

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
        tokens = tokenise(text, self._data.emoji)
        new_from = 0
        if before:
            joined = tokenise("\n".join(before), self._data.emoji)
            new_from = len(joined.words)
            joined.words.extend(tokens.words)
            joined.breaks.extend([max(LINE, tokens.breaks[0]), *tokens.breaks[1:]] if tokens.breaks else [])
            tokens = joined
        found = self._data.matcher.find(tokens)
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
        if any(word in self._data.negators for word in words[span.start : span.end]):
            return False
        if words[span.end : span.end + 1] == ["no"] and (span.end + 1 == len(words) or breaks[span.end + 1] >= COMMA):
            return breaks[span.end] < COMMA
        reach = span.start - _NEGATION_REACH
        for index in range(span.start - 1, -1, -1):
            if index < reach or breaks[index + 1] >= COMMA or words[index] in _SCOPE_ENDS:
                return False
            if words[index] in self._data.negators and index not in inside:
                return True
            if words[index] in _ALTERNATIVES:
                reach = index - _NEGATION_REACH
        return False

    def _flags(self, scene: _Scene) -> list[RedFlag]:
        return [_red_flag(rule, scene) for rule in self._data.rules if _fires(rule, scene, asked=False)]

    def _about(self, scene: _Scene) -> str | None:
        if scene.about_animal:
            return None
        for rule in self._data.rules:
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


def _fires(rule: Rule, scene: _Scene, *, asked: bool) -> bool:
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


def _counting(rule: Rule, scene: _Scene, names: Sequence[str], *, asked: bool) -> list[_Occurrence]:
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


def _red_flag(rule: Rule, scene: _Scene) -> RedFlag:
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
