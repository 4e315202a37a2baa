"""Words written as they sound: "apendicite", "buelve", "febbreeee". Only words that no list knows are put right."""

import re
import tomllib
from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from typing import Any

from rapidfuzz.distance import OSA

from locales.language import Language
from rag import text

_SHORTEST = 5  # shorter words sound like too many others
_WORD = re.compile(r"[^\W\d_]{5,}")
_DOUBLED = (r"(.)\1+", r"\1")

# What sounds alike is written alike, in this order, on folded words.
_SOUNDS = {
    Language.ITALIAN: (
        (r"k(?=[ei])", "ch"),
        ("k", "c"),
        (r"(?<![cg])h", ""),
        (r"cq|q", "c"),
        (r"gni(?=[aeou])", "gn"),
        (r"(?<=[cg])i(?=e)", ""),
        (r"n(?=[bp])", "m"),
        ("[jy]", "i"),
        _DOUBLED,
    ),
    Language.SPANISH: (
        (r"^ps", "s"),
        (r"(?<!c)h", ""),
        (r"c(?=[ei])|[zx]", "s"),
        (r"qu|c", "k"),
        (r"g(?=[ei])", "j"),
        (r"gu(?=[ei])", "g"),
        ("v", "b"),
        (r"n(?=[bp])", "m"),
        ("ll|y", "i"),
        _DOUBLED,
    ),
}
_PATTERNS = {language: [(re.compile(sound), letters) for sound, letters in sounds] for language, sounds in _SOUNDS.items()}


class Spelling:
    """The words of one language by their sound."""

    def __init__(self, language: Language, words: Iterable[str], others: Iterable[str] = ()) -> None:
        """Take the words that are right; one of the `others` stands for a sound that none of the `words` has."""
        self._language = language
        self._known: set[str] = set()
        self._by_sound: dict[str, dict[str, str]] = {}
        self._add(words)
        taken = frozenset(self._by_sound)
        self._add(others, taken)

    @classmethod
    @cache
    def load(cls, language: Language) -> "Spelling":
        """Take the lexicon's words, and the everyday ones of `ordinary_words.toml`, which patients' own spelling is among."""
        entries = _table(language, "lexicon.toml").get("entry", [])
        forms = " ".join(form for entry in entries for form in (*entry["lay"], *entry["clinical"]))
        plain = _table(language, "ordinary_words.toml")
        return cls(language, _words(forms), _words(f"{plain['ordinary']} {plain['capitalised']}"))

    def corrected(self, question: str) -> str:
        """A normalised question with each unknown word that sounds as a known one in its place; the nearest, if several do."""
        for word, start, end in reversed(text.word_spans(question, self._language)):
            alike = {} if self._is_known(word) else self._by_sound.get(_sound(word, self._language), {})
            if alike:
                nearest = min(alike, key=lambda folded: OSA.distance(word, folded))
                question = question[:start] + alike[nearest] + question[end:]
        return question

    def _add(self, words: Iterable[str], taken: frozenset[str] = frozenset()) -> None:
        for word in words:
            folded = text.fold(word)
            self._known |= {folded, text.stem(folded, self._language)}
            sound = _sound(folded, self._language)
            if sound not in taken:
                self._by_sound.setdefault(sound, {}).setdefault(folded, word)

    def _is_known(self, word: str) -> bool:
        if len(word) < _SHORTEST or not word.isalpha() or word in self._known:
            return True
        return word in text.stop_words(self._language) or text.stem(word, self._language) in self._known


def _sound(word: str, language: Language) -> str:
    for pattern, letters in _PATTERNS[language]:
        word = pattern.sub(letters, word)
    return word


def _words(listed: str) -> list[str]:
    return _WORD.findall(text.normalise(listed).lower())


def _table(language: Language, name: str) -> dict[str, Any]:
    return tomllib.loads(files("locales").joinpath(language.value, name).read_text(encoding="utf-8"))
