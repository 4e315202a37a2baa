"""Which side of its subject a question asks about, and which a passage tells: its causes, how it is found, how it is treated.

Passages of one page are near to every question on its subject; their cosines hardly say which of them answers. The words that
such passages use do ("prueba", "biopsia"), and the one that begins "La gota es …" says what it is.
"""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import regex

from locales.language import Language
from rag.documents import Chunk
from rag.intents import folded
from rag.text import content_tokens, lexical_tokens, normalise, stem

_NATURE = "nature"
_NAMED = 0.7  # of a definition, that it begins with the page's own name
_BEGINS = 0.6  # of another aspect, that headings or first sentence tell it; the rest is how often its words return
_OFTEN = 25.0  # words, of which one tells
_OPENING = 200  # characters that stand for the first sentence of a passage without sentences
_SHORT = 20  # words of a passage that is counted as if it were longer
_ELSEWHERE = 0.5  # taken from a definition that tells as much about another aspect
_WORDS_BEFORE = 3  # beside its name, before the verb of a definition


@dataclass(frozen=True, slots=True)
class AspectWords:
    """The aspects of one language: how each is asked about, and the stems that tell it."""

    language: Language
    asks: Mapping[str, regex.Pattern[str]]
    tells: Mapping[str, frozenset[str]]
    defines: regex.Pattern[str]

    @classmethod
    def load(cls, language: Language) -> "AspectWords":
        """Read a language's `aspects.toml`."""
        return _load(language)

    def asked(self, question: str) -> tuple[str, ...]:
        """The aspects that a question asks about; mostly one, none for a complaint."""
        lower = folded(question)
        return tuple(name for name, pattern in self.asks.items() if pattern.search(lower))

    def told(self, asked: Sequence[str], chunk: Chunk, tokens: Sequence[str]) -> float:
        """How far a passage tells what is asked, from about -0.5 to 1; 0 when nothing in particular is.

        Args:
            asked: Aspects, as `asked` names them.
            chunk: The passage.
            tokens: Its lexical tokens (`rag.corpus.lexical_column`), which the caller has made already.
        """
        if not asked:
            return 0.0
        opening = normalise(chunk.sentences[0].text if chunk.sentences else chunk.text[:_OPENING]).lower()
        first = set(lexical_tokens(" ".join((*chunk.heading_path, opening)), self.language))
        told = {name: self._share(name, tokens, first) for name in (self.tells if _NATURE in asked else asked) if name != _NATURE}
        if _NATURE in asked:
            told[_NATURE] = self._defined(opening, chunk) - _ELSEWHERE * max(told.values())
        return sum(told[name] for name in asked) / len(asked)

    def _share(self, name: str, tokens: Sequence[str], first: set[str]) -> float:
        stems = self.tells[name]
        often = sum(token in stems for token in tokens) / max(len(tokens), _SHORT) * _OFTEN
        return _BEGINS * (not stems.isdisjoint(first)) + (1.0 - _BEGINS) * min(1.0, often)

    def _defined(self, opening: str, chunk: Chunk) -> float:
        verb = self.defines.search(opening)
        if verb is None:
            return 0.0
        named = set(content_tokens(chunk.title, self.language))
        before = content_tokens(opening[: verb.start()], self.language)
        is_named = not named.isdisjoint(before) and len(before) <= len(named) + _WORDS_BEFORE
        return 1.0 - _NAMED + _NAMED * is_named


@cache
def _load(language: Language) -> AspectWords:
    table = tomllib.loads(files("locales").joinpath(language.value, "aspects.toml").read_text(encoding="utf-8"))
    aspects = table["aspects"]
    return AspectWords(
        language=language,
        asks={name: regex.compile(row["asks"]) for name, row in aspects.items()},
        tells={
            name: frozenset(stem(folded(word), language) for word in row.get("tells", "").split())
            for name, row in aspects.items()
        },
        defines=regex.compile(table["defines"]),
    )
