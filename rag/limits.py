"""Which sentences of a source belong together, because one limits the other: a warning is never cut from what it warns of."""

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import regex

from locales.language import Language
from rag.documents import Sentence
from rag.planted import planted_from
from rag.sentences import may_be_shown
from rag.text import normalise
from rag.types import Evidence


@dataclass(frozen=True, slots=True)
class LimitWords:
    """How a limiting sentence begins in one language."""

    begins: regex.Pattern[str]

    @classmethod
    def load(cls, language: Language) -> "LimitWords":
        """Read the beginnings that ship with the language."""
        return _load(language)

    def limits(self, text: str) -> bool:
        """Whether a sentence limits the one before it."""
        return self.begins.match(normalise(text).lower()) is not None

    def whole(self, item: Evidence) -> tuple[Evidence, ...]:
        """A sentence with those beside it that it limits or that limit it, in the order of the page.

        Returns:
            At least the sentence itself; nothing when one of them may not be shown, as one that holds a dose.
        """
        sentences = item.chunk.sentences
        place = next((number for number, sentence in enumerate(sentences) if sentence.start == item.sentence.start), None)
        if place is None:
            return (item,)
        first, last = place, place
        while first > 0 and self.limits(sentences[first].text):
            first -= 1
        while last + 1 < len(sentences) and self.limits(sentences[last + 1].text):
            last += 1
        beside, end = [*sentences[first:place], *sentences[place + 1 : last + 1]], planted_from(item.chunk) if last > first else 0
        if not all(may_be_shown(sentence) and sentence.end <= end for sentence in beside):
            return ()
        return tuple(
            item if sentence.start == item.sentence.start else _beside(item, sentence) for sentence in sentences[first : last + 1]
        )


def _beside(item: Evidence, sentence: Sentence) -> Evidence:
    return Evidence(
        chunk=item.chunk, sentence=sentence, strength=item.strength, is_advice=item.is_advice, similarity=item.similarity
    )


@cache
def _load(language: Language) -> LimitWords:
    data = tomllib.loads((files("locales") / language.value / "limits.toml").read_text(encoding="utf-8"))
    told = sorted((normalise(beginning) for beginning in data["begins"]), key=len, reverse=True)
    return LimitWords(regex.compile(rf"\W*(?:{'|'.join(map(regex.escape, told))})\b"))
