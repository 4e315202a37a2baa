"""One message with everything that was found in it: which occurrences count, and which are denied, long past, or asked about."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bot.red_flag_patterns import NOT_NEGATOR
from bot.red_flag_rules import RedFlagData
from bot.red_flag_tokens import COMMA, LINE, Span, Tokens, tokenise

_NEGATION_REACH = 4
_ALTERNATIVES = frozenset({"o", "oppure", "ne", "u"})  # "non ho febbre o dolore al petto": the denial goes on
_SCOPE_ENDS = frozenset(
    {"ma", "pero", "sino", "e", "y", "ed", "solo", "perche", "porque", "aunque", "anche", "invece", "que", "che", "but"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Occurrence:
    """A concept found in a message, and whether it is told of the past or asked about."""

    span: Span
    past: bool
    asked: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """One message with everything that was found in it; only tokens from `new_from` on are new."""

    tokens: Tokens
    found: Mapping[str, list[Span]]
    occurrences: Mapping[str, list[Occurrence]]
    new_from: int
    about_animal: bool

    def has(self, concept: str) -> bool:
        """Whether a concept was found at all, denied or not."""
        return concept in self.found


class SceneReader:
    """Finds the concepts of both languages in a message."""

    def __init__(self, data: RedFlagData) -> None:
        self._data = data
        self._judged = {name for rule in data.rules for names in rule.all_of for name in names}
        self._judged |= {f"{rule.category}.topic" for rule in data.rules}

    def read(self, text: str, before: Sequence[str] = ()) -> Scene:
        """The scene of a message, or of a message joined with those before it."""
        tokens = tokenise(text, self._data.emoji)
        new_from = 0
        if before:
            joined = tokenise("\n".join(before), self._data.emoji)
            new_from = len(joined.words)
            joined.words.extend(tokens.words)
            joined.breaks.extend([max(LINE, tokens.breaks[0]), *tokens.breaks[1:]] if tokens.breaks else [])
            tokens = joined
        found = self._data.matcher.find(tokens)
        return Scene(
            tokens=tokens,
            found=found,
            occurrences=self._occurrences(tokens, found),
            new_from=new_from,
            about_animal="animal" in found and not found.keys() & {"person.any", "person.first"},
        )

    def _occurrences(self, tokens: Tokens, found: Mapping[str, list[Span]]) -> dict[str, list[Occurrence]]:
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
        occurrences: dict[str, list[Occurrence]] = {}
        for concept in self._judged & found.keys():
            kept = [
                Occurrence(span=span, past=span.start in past, asked=span.start in asked)
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
