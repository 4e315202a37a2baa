"""What a message wants and whom it is about, read from the word lists and patterns of a language."""

import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Self

import regex

from locales.language import Language
from rag.text import fold, normalise
from rag.types import Intent, Population

Pattern = regex.Pattern[str]
Match = regex.Match[str]

_WORD = regex.compile(r"[\p{L}\p{N}]+")
_MARKS = regex.compile(r"^[\s\p{P}\p{S}]+|[\s\p{P}\p{S}]+$")
_CONDITION = regex.compile(r"(?:e se|y si)\b")
_OLD = 65
_GROWN = 18
_TODDLER_MONTHS = 12

# The order in which populations win when a message names several: a pregnancy changes the answer most, and who says
# "mia moglie dice che il bambino …" asks about the child.
_YOUNG = (Population.INFANT, Population.CHILD)
_ORDER = (Population.PREGNANCY, Population.INFANT, Population.CHILD, Population.ELDERLY, Population.ADULT)


@dataclass(frozen=True, slots=True)
class Prefixes:
    """Beginnings of words; a longer beginning is a surer one."""

    pattern: Pattern

    @classmethod
    def parse(cls, listed: str) -> Self:
        """Read blank-separated beginnings: `$` asks for the whole word, `_` stands for a blank."""
        longest_first = sorted(listed.split(), key=len, reverse=True)
        forms = [
            regex.escape(form.replace("_", " ").rstrip("$")) + (r"\b" if form.endswith("$") else "") for form in longest_first
        ]
        return cls(regex.compile(rf"\b(?:{'|'.join(forms)})"))

    def match_length(self, text: str, start: int) -> int:
        """Letters of the longest beginning found at `start`; 0 when there is none."""
        found = self.pattern.match(text, start)
        return found.end() - start if found else 0


@dataclass(frozen=True, slots=True)
class IntentWords:
    """The intents of one language, compiled. Every text given to it must be folded first (`folded`)."""

    greeting: Pattern
    thanks: Pattern
    courtesy: Pattern
    opening: Pattern
    closing: Pattern
    new_topic: Pattern
    openers: Pattern
    elliptic: Pattern
    determiners: Pattern  # what stands before a name and belongs to it, at the end of a text
    anaphora: Pattern
    frames: Pattern
    health: Prefixes
    generic: Prefixes
    common: Prefixes
    unspecific: Prefixes
    elsewhere: Prefixes
    off_topic: Pattern
    other_sense: Pattern
    complaint: Pattern
    injection: Pattern
    about: Pattern
    own_dose: Pattern
    reading: Pattern
    symptom: Pattern
    first_person: Pattern
    population: tuple[tuple[Population, Pattern], ...]
    age: Pattern
    own_age: Pattern
    person: Pattern
    month_units: frozenset[str]
    day_units: frozenset[str]

    @classmethod
    def load(cls, language: Language) -> "IntentWords":
        """Read the lists that ship with the language."""
        return _load(language)

    def health_spans(self, text: str) -> list[tuple[int, int]]:
        """Words of folded `text` that name a condition, a symptom, a part of the body: what a question can be about."""
        spans = []
        for word in _WORD.finditer(text):
            length = self.health.match_length(text, word.start())
            if length > self.generic.match_length(text, word.start()):
                spans.append((word.start(), max(word.end(), word.start() + length)))
        return spans

    def has_health_word(self, text: str) -> bool:
        """Whether folded `text` has any word of health, the general ones ("cura", "medico") among them."""
        return self.health.pattern.search(text) is not None

    def without_other_senses(self, text: str) -> str:
        """Folded `text` without the phrases in which a word of health means something else: "la pressione dell'acqua"."""
        return self.other_sense.sub(" ", text)

    def is_elsewhere(self, text: str) -> bool:
        """Whether folded `text` speaks of another field. A computer beside a complaint is only where it began."""
        return self.elsewhere.pattern.search(text) is not None and self.complaint.search(text) is None

    def unknown_words(self, text: str, ignored: frozenset[str]) -> list[str]:
        """Words of folded `text` that are neither function words (`ignored`) nor common in questions nor about health."""
        return [word for word, start in self._telling(text, ignored) if not self.health.match_length(text, start)]

    def telling_words(self, text: str, ignored: frozenset[str]) -> list[str]:
        """Words of folded `text` that say what it is about: neither function words (`ignored`) nor common in any question."""
        return [word for word, _ in self._telling(text, ignored)]

    def _telling(self, text: str, ignored: frozenset[str]) -> list[tuple[str, int]]:
        found = [(word.group(), word.start()) for word in _WORD.finditer(text)]
        return [
            (word, start)
            for word, start in found
            if len(word) > 1
            and word not in ignored
            and self.health.match_length(text, start)
            >= max(self.generic.match_length(text, start), self.common.match_length(text, start))  # all 0: any other word
        ]

    def population_of(self, text: str) -> Population | None:
        """Whom folded `text` names, by word or by age."""
        by_age = self._by_age(text)
        named = {population for population, pattern in self.population if pattern.search(text)}
        if by_age is not None and Population.PREGNANCY not in named:
            return by_age
        return next((population for population in _ORDER if population in named), None)

    def population_words(self, text: str, populations: Iterable[Population]) -> str | None:
        """The first word of folded `text` that names one of `populations`."""
        wanted = set(populations)
        found = (pattern.search(text) for population, pattern in self.population if population in wanted)
        return next((match.group() for match in found if match), None)

    def joins(self, text: str) -> bool:
        """Whether folded `text` adds a condition to what was asked before: "e se …", "y si …"."""
        return _CONDITION.match(text) is not None

    def age_in_months(self, text: str) -> int | None:
        """The age that folded `text` tells, in whole months."""
        found = self._age(text)
        if found is None or self._by_age(text) is None:
            return None
        number, unit = int(found["n"]), found["unit"]
        if unit in self.day_units:
            return 0
        return number if unit in self.month_units else 12 * number

    def _age(self, text: str) -> Match | None:
        return self.own_age.search(text) or (self.age.search(text) if self.person.search(text) else None)

    def _by_age(self, text: str) -> Population | None:
        found = self._age(text)
        if found is None:
            return None
        number, unit = int(found["n"]), found["unit"]
        if unit in self.day_units:
            # "il bimbo ha la febbre da 3 giorni" tells for how long, "di 3 giorni" how old.
            tells_age = found.group().startswith(("di ", "de ")) and self.population_words(text, _YOUNG) is not None
            return Population.INFANT if tells_age else None
        if unit in self.month_units:
            return Population.INFANT if number < _TODDLER_MONTHS else Population.CHILD
        if number < 1:
            return Population.INFANT
        if number < _GROWN:
            return Population.CHILD
        return Population.ELDERLY if number >= _OLD else Population.ADULT

    def personal_intent(self, text: str) -> Intent | None:
        """A dose, a value or a prescription of one's own, else None."""
        if self.own_dose.search(text):
            return Intent.OWN_DOSE
        return Intent.READING if self.reading.search(text) else None


def folded(text: str) -> str:
    """One spelling for matching: lower case, no accents but ñ, plain apostrophes, single blanks."""
    return fold(normalise(text)).replace("\n", " ")


def stripped(text: str) -> str:
    """`text` without blanks, marks and symbols around it."""
    return str(_MARKS.sub("", text))


def _any(patterns: Iterable[str]) -> Pattern:
    return regex.compile("|".join(f"(?:{pattern})" for pattern in patterns))


def _alternatives(forms: Iterable[str]) -> str:
    return "|".join(regex.escape(form) for form in sorted(forms, key=len, reverse=True))


def _words(forms: Iterable[str]) -> Pattern:
    return regex.compile(rf"(?<![\p{{L}}\p{{N}}])(?:{_alternatives(forms)})(?![\p{{L}}\p{{N}}])")


@cache
def _load(language: Language) -> IntentWords:
    source = files("locales") / language.value / "intents.toml"
    data: dict[str, Any] = tomllib.loads(source.read_text(encoding="utf-8"))
    patterns, population = data["patterns"], data["population"]

    around = r"[\s,.;:!…-]*"
    greetings, thanks, address = (_alternatives(data[name]) for name in ("greetings", "thanks", "address"))

    def with_words(pattern: str) -> str:
        for name, words in data["words"].items():
            pattern = pattern.replace(f"{{{name}}}", words)
        return pattern

    return IntentWords(
        greeting=_words(data["greetings"]),
        thanks=_words(data["thanks"]),
        courtesy=_words([*data["courtesy"], *data["greetings"], *data["thanks"]]),
        # Thanks count as an opening only before a mark or a conjunction: "va bene il ghiaccio?" asks about ice.
        opening=regex.compile(
            rf"(?:{around}(?:{greetings})\b(?:\s+(?:{address})\b)*{around}"
            rf"|{around}(?:{thanks})(?!\w)(?:\s+(?:{address})\b)*\s*(?:[,.;:!…-]+\s*|(?=(?:e|y|ma|pero)\b)))+"
        ),
        closing=regex.compile(rf"(?:{around}\b(?:{thanks})(?!\w)(?:\s+(?:{address})\b)*)+{around}$"),
        new_topic=regex.compile(data["new_topic"]),
        openers=regex.compile(data["openers"]),
        elliptic=regex.compile(data["elliptic"]),
        determiners=regex.compile(rf"\s*(?:\b(?:{'|'.join(data['determiners'].split())})\s*)*$"),
        anaphora=_any(data["anaphora"]),
        frames=regex.compile(data["frames"]),
        health=Prefixes.parse(data["health"]),
        generic=Prefixes.parse(data["generic"]),
        common=Prefixes.parse(data["common"]),
        unspecific=Prefixes.parse(data["unspecific"]),
        elsewhere=Prefixes.parse(data["elsewhere"]),
        off_topic=_any(data["off_topic"]),
        other_sense=_any(patterns["other_sense"]),
        complaint=_any(patterns["complaint"]),
        injection=_any(patterns["injection"]),
        about=_any(patterns["about"]),
        own_dose=_any(map(with_words, patterns["own_dose"])),
        reading=_any(map(with_words, patterns["reading"])),
        symptom=_any(patterns["symptom"]),
        first_person=regex.compile(population["first_person"]),
        population=tuple((kind, regex.compile(population[kind.value])) for kind in _ORDER),
        age=regex.compile(population["age"]),
        own_age=regex.compile(population["own_age"]),
        person=regex.compile(population["person"]),
        month_units=frozenset(population["months"]),
        day_units=frozenset(population["days"]),
    )
