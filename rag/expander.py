"""Another way to say what a patient said: clinical words for everyday ones and back, each as one more query."""

import tomllib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from importlib.resources import files

from locales.language import Language
from rag import text
from rag.spelling import Spelling
from rag.types import Interpretation, Query

# Each expansion costs an embedding (25 ms) and two searches; a second one found no more pages (ADR 0003).
_MAX_EXPANSIONS = 1
_SHORT = 3  # "pis" and "tac" have no ending


class Direction(StrEnum):
    """Whether clinical words may also be put in everyday ones: "angina" is said "dolore al petto", but not the reverse."""

    BOTH = "both"
    TO_CLINICAL = "to_clinical"


@dataclass(frozen=True, slots=True, kw_only=True)
class LexiconEntry:
    """Everyday and clinical words for one thing, where `countries` is empty in all countries alike."""

    lay: tuple[str, ...]
    clinical: tuple[str, ...]
    direction: Direction
    countries: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Occurrence:
    """A form found in a question, by its offsets, and the other words for it."""

    start: int
    end: int
    others: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Form:
    tokens: tuple[str, ...]
    others: tuple[str, ...]
    countries: frozenset[str]
    word: str | None  # a form of a single word, without its ending


class Lexicon:
    """The everyday and clinical words of one language."""

    def __init__(self, language: Language, entries: Iterable[LexiconEntry]) -> None:
        self.language = language
        self._forms: dict[str, list[_Form]] = defaultdict(list)
        for entry in entries:
            self._add(entry.lay, entry.clinical, entry.countries)
            if entry.direction is Direction.BOTH:
                self._add(entry.clinical, entry.lay, entry.countries)

    @classmethod
    def load(cls, language: Language) -> "Lexicon":
        """Read a language's `lexicon.toml`."""
        table = tomllib.loads(files("locales").joinpath(language.value, "lexicon.toml").read_text(encoding="utf-8"))
        return cls(
            language,
            [
                LexiconEntry(
                    lay=tuple(row["lay"]),
                    clinical=tuple(row["clinical"]),
                    direction=Direction(row["direction"]),
                    countries=frozenset(row.get("countries", ())),
                )
                for row in table.get("entry", [])
            ],
        )

    def find(self, question: str, country: str | None = None) -> list[Occurrence]:
        """Find the forms that stand in a normalised `question`, in its order, the longest where several overlap.

        Forms of several words are compared by their stems, single words by all but their ending: "tranquillante" is not meant
        by "tranquillo", nor "scottata" by "scotta". An entry marked with countries counts only when the patient's is known and
        among them.
        """
        spans = text.word_spans(question, self.language)
        tokens = [self._compared(word) for word, _, _ in spans]
        found = [
            (start, form)
            for start, token in enumerate(tokens)
            for form in self._forms.get(token, ())
            if tuple(tokens[start : start + len(form.tokens)]) == form.tokens
            and form.word in (None, _without_ending(spans[start][0]))
            and _holds_in(form.countries, country)
        ]
        found.sort(key=lambda item: -len(item[1].tokens))  # stable: the earlier one among equals
        taken: set[int] = set()
        occurrences = []
        for start, form in found:
            place = range(start, start + len(form.tokens))
            if taken.isdisjoint(place):
                taken.update(place)
                occurrences.append(Occurrence(start=spans[place[0]][1], end=spans[place[-1]][2], others=form.others))
        return sorted(occurrences, key=lambda occurrence: occurrence.start)

    def _add(self, forms: Sequence[str], others: Sequence[str], countries: frozenset[str]) -> None:
        for form in forms:
            words = text.words(form, self.language)
            tokens = tuple(self._compared(word) for word in words)
            if tokens:
                single = _without_ending(words[0]) if len(words) == 1 else None
                self._forms[tokens[0]].append(_Form(tokens=tokens, others=tuple(others), countries=countries, word=single))

    def _compared(self, word: str) -> str:
        """A word's stem, but a stop word as it is: "para" is no form of "parir"."""
        return word if word in text.stop_words(self.language) else text.stem(word, self.language)


class Expander:
    """Adds other words to a question, never in place of the patient's own."""

    def __init__(self, lexicons: Mapping[Language, Lexicon]) -> None:
        self._lexicons = lexicons
        self._spellings = {language: Spelling.load(language) for language in lexicons}

    def expand(self, interpretation: Interpretation, country: str | None = None) -> Query:
        """Make the query of an understood question, with an expansion where it can be said in other words.

        The expansion is the whole question, spelt right and with the lexicon's words in place of the patient's: alone, they would
        forget what is asked about them.
        """
        question, language = text.normalise(interpretation.self_contained), interpretation.language
        spelling, lexicon = self._spellings.get(language), self._lexicons.get(language)
        told = spelling.corrected(question) if spelling else question
        found = lexicon.find(told, country) if lexicon else []
        phrasings = [_rephrased(told, found, place) for place in range(_MAX_EXPANSIONS)]
        if interpretation.implied:
            # Its few words say what the message is about; the rest of "ha 38 e mezzo e mangia poco" would lead to other pages.
            phrasings = [interpretation.implied]
        own = text.lexical_tokens(question, language)
        return Query(
            question=interpretation.meaning,
            language=language,
            intent=interpretation.intent,
            expansions=tuple(phrasing for phrasing in dict.fromkeys(phrasings) if text.lexical_tokens(phrasing, language) != own),
        )


def _rephrased(question: str, found: Sequence[Occurrence], place: int) -> str:
    """The question with each form that has so many other words replaced; itself when none has."""
    for occurrence in reversed(found):
        if place < len(occurrence.others):
            question = question[: occurrence.start] + occurrence.others[place] + question[occurrence.end :]
    return question


def _without_ending(word: str) -> str:
    """A word without the vowel of its gender and number, and without the s of a Spanish plural."""
    return word.removesuffix("s").rstrip("aeio") if len(word) > _SHORT else word


def _holds_in(countries: frozenset[str], country: str | None) -> bool:
    return not countries or country in countries
