"""Recognises an emergency in a patient's own words before anything else reads them.

The knowledge is data: concepts, and rules that say which concepts together are a red flag (`bot/red_flag_rules.py`). This module
only decides which occurrences count: not what is denied, long past, asked about in general, said of an animal or part of a figure
of speech.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from bot.red_flag_classifier import FittedWeights, RedFlagClassifier
from bot.red_flag_rules import Level, RedFlagData, RedFlagDataError, Rule
from bot.red_flag_scene import Occurrence, Scene, SceneReader
from bot.red_flag_tokens import Span
from rag.models.protocols import Embedder

__all__ = ["GateReading", "Level", "RedFlag", "RedFlagDataError", "SafetyGate"]

_EARLIER = 2
_MOST_BEFORE = 300  # characters of earlier messages that complete a new one for the second reading
_MOST_READ = 1_500  # of a long message the second reading takes beginning and end; the rules read all of it
_NAMED_SHARE = 0.5  # of a category that the second reading is not sure of, only the number is given, not its own words


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


class SafetyGate:
    """Reads every arriving text, with the patterns of both languages at once."""

    def __init__(self, data: RedFlagData, classifier: RedFlagClassifier | None = None) -> None:
        self._data = data
        self._classifier = classifier
        # What the classifier suspects is answered as gravely as the gravest rule of its category: it cannot tell degrees apart.
        self._levels = {rule.category: rule.level for rule in sorted(data.rules, key=lambda rule: _SEVERITY[rule.level])}
        self._categories = tuple(dict.fromkeys(rule.category for rule in data.rules))
        self._scenes = SceneReader(data)

    @classmethod
    def load(cls, embedder: Embedder | None = None) -> "SafetyGate":
        """Read the data of the product; the second reading needs the embedder that the classifier was fitted with.

        Raises:
            RedFlagDataError: If it is missing, malformed or empty.
            ClassifierDataError: If an embedder is given and the classifier is missing, malformed, or made for another one.
        """
        classifier = RedFlagClassifier(FittedWeights.load(), embedder) if embedder is not None else None
        return cls(RedFlagData.load(), classifier)

    def read(self, text: str, earlier: Sequence[str] = ()) -> GateReading:
        """Read a message alone and joined with the two before it, and return the gravest red flag.

        Args:
            text: The message that has just arrived.
            earlier: The patient's own messages before it, oldest first. They only complete the new one: what they say alone has
                been read when they arrived.
        """
        alone = self._scenes.read(text)
        flags = self._flags(alone)
        before = [message for message in earlier[-_EARLIER:] if message.strip()]
        if before and alone.tokens.words:
            flags += self._flags(self._scenes.read(text, before))
            flags += self._follow_up(alone, before)
        if flags:
            return GateReading(red_flag=_gravest(flags))
        return GateReading(about=self._about(alone))

    def reread(self, text: str, earlier: Sequence[str] = (), first: GateReading | None = None) -> GateReading:
        """Read a message once more with what was learned from phrases: it finds what no rule foresaw.

        It also overrules a rule where a message sounds wholly harmless ("my orchid gives no signs of life"), never in a crisis.
        Some tens of milliseconds, so not for the event loop. The message counts alone, and joined with the two before it when
        those alone did not sound urgent.

        Args:
            text: The message.
            earlier: The patient's own messages before it, oldest first.
            first: What `read` found in it.

        Returns:
            `first`, completed or corrected; `first` itself when there is no classifier.

        Raises:
            ModelError: If the embedder fails.
        """
        first = first or GateReading()
        if self._classifier is None:
            return first
        text = _shortened(text)
        suspicion = self._classifier.read(text)
        if first.red_flag is not None:
            overruled = suspicion.is_harmless and first.red_flag.level is not Level.CRISIS and not earlier
            return GateReading(about=first.red_flag.category) if overruled else first
        before = "\n".join(message for message in earlier[-_EARLIER:] if message.strip())[-_MOST_BEFORE:]
        if not suspicion.is_urgent and before and text.strip() and not self._was_urgent(before):
            suspicion = self._classifier.read(f"{before}\n{text}")
        if not suspicion.is_urgent:
            return first
        is_named = suspicion.category_share >= _NAMED_SHARE
        level = self._levels.get(suspicion.category, Level.CALL_NOW) if is_named else Level.CALL_NOW
        return GateReading(red_flag=_of_scene(self._scenes.read(text), suspicion.category, level))

    def _was_urgent(self, before: str) -> bool:
        """Whether earlier messages were answered as an emergency already: "thanks" after them is none."""
        if self.read(before).red_flag is not None:
            return True
        return self._classifier is not None and self._classifier.read(before).is_urgent

    def _follow_up(self, alone: Scene, before: Sequence[str]) -> list[RedFlag]:
        if not _is_whole(alone, "crisis.unclear"):
            return []
        for message in reversed(before):
            for flag in self._flags(self._scenes.read(message)):
                if flag.level is Level.CRISIS:
                    return [replace(flag, follow_up=True)]
        return []

    def _flags(self, scene: Scene) -> list[RedFlag]:
        return [_red_flag(rule, scene) for rule in self._data.rules if _fires(rule, scene, asked=False)]

    def _about(self, scene: Scene) -> str | None:
        if scene.about_animal:
            return None
        for rule in self._data.rules:
            if _fires(rule, scene, asked=True):
                return rule.category
        for category in self._categories:
            if any(not occurrence.past for occurrence in scene.occurrences.get(f"{category}.topic", ())):
                return category
        return None


def _shortened(text: str) -> str:
    half = _MOST_READ // 2
    return text if len(text) <= _MOST_READ else f"{text[:half]}\n{text[-half:]}"


def _fires(rule: Rule, scene: Scene, *, asked: bool) -> bool:
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


def _counting(rule: Rule, scene: Scene, names: Sequence[str], *, asked: bool) -> list[Occurrence]:
    return [
        occurrence
        for name in names
        for occurrence in scene.occurrences.get(name, ())
        if (rule.past_counts or not occurrence.past) and (asked or rule.asked_counts or not occurrence.asked)
    ]


def _together(first: Occurrence, others: Sequence[Sequence[Occurrence]], within: int, new_from: int) -> bool:
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


def _red_flag(rule: Rule, scene: Scene) -> RedFlag:
    return _of_scene(scene, rule.category, rule.level, third_person=rule.third_person, under_way=rule.under_way)


def _of_scene(scene: Scene, category: str, level: Level, *, third_person: bool = False, under_way: bool = False) -> RedFlag:
    first_person = scene.has("person.first") or (level is Level.ABUSE and scene.has("person.me"))
    return RedFlag(
        category=category,
        level=level,
        third_person=not first_person and (third_person or scene.has("person.third")),
        minor=scene.has("person.minor"),
        under_way=under_way,
        sexual_violence=scene.has("abuse.sexual"),
        strangulation=scene.has("abuse.strangled"),
    )


def _gravest(flags: Sequence[RedFlag]) -> RedFlag:
    gravest = max(flags, key=lambda flag: (_SEVERITY[flag.level], flag.under_way, not flag.follow_up))
    if gravest.level in (Level.CRISIS, Level.ABUSE):
        bodily = any(flag.level in (Level.CALL_NOW, Level.POISON) for flag in flags)
        return replace(gravest, under_way=gravest.under_way or bodily)
    return gravest


def _is_whole(scene: Scene, concept: str) -> bool:
    return Span(0, len(scene.tokens.words)) in scene.found.get(concept, ())
