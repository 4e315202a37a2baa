"""A message as the words that its writer meant: without capitals, accents, stretched or disguised letters."""

import itertools
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field

from rag.look_alikes import in_latin

COMMA, LINE, SENTENCE = 1, 2, 3
_BREAKS = {",": COMMA, ";": COMMA, ":": COMMA, "(": COMMA, ")": COMMA, "\n": LINE, ".": SENTENCE, "!": SENTENCE, "?": SENTENCE}

_TOKEN = re.compile(r"\d+[.,]\d+|[^\W_](?:[^\W_]|[@$*](?=[^\W_]))*|\.{2,}|[,;:().!?\n]|[^\w\s]")
_DEGREES = re.compile(r"[°º]")
APOSTROPHES = re.compile(r"['’‘`´ʼ]")
# Combining accents, soft hyphen, zero-width and direction marks, variation selectors, tags.
_INVISIBLE = re.compile(
    "[\u0300-\u036f\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufe00-\ufe0f\ufeff\U000e0000-\U000e007f]"
)
_STRETCHED_VOWEL = re.compile(r"([aeiou])\1{2,}")
_STRETCHED = re.compile(r"([^\W\d_])\1{2,}")
_COMPOUND_NUMBER = re.compile(r"(\d+)[ey](\d)")
_ORDINAL = re.compile(r"(\d+)(?:esim[ao]|er[ao]?|[aomnvt]{1,2})")
_LEET = str.maketrans({"0": "o", "1": "i", "3": "e", "4": "a", "5": "s", "7": "t", "@": "a", "$": "s", "*": ""})
_SPELLED_OUT = 4


@dataclass(frozen=True, slots=True)
class Span:
    """Tokens `start` (included) to `end` (excluded)."""

    start: int
    end: int


@dataclass(slots=True)
class Tokens:
    """A message as words; `breaks[i]` is the punctuation between word i-1 and word i."""

    words: list[str] = field(default_factory=list)
    breaks: list[int] = field(default_factory=list)


def fold(text: str) -> str:
    """Lower case, without accents, look-alikes of Latin letters, invisible characters and stretched letters."""
    text = unicodedata.normalize("NFKC", _DEGREES.sub(" ", in_latin(text))).casefold()
    if not text.isascii():
        text = _INVISIBLE.sub("", unicodedata.normalize("NFD", text))
    text = _STRETCHED.sub(r"\1\1", _STRETCHED_VOWEL.sub(r"\1", text))
    return APOSTROPHES.sub(" ", text)


def tokenise(text: str, emoji: Mapping[str, str]) -> Tokens:
    """Split a message into words; an emoji of `emoji` becomes the word it stands for, other symbols disappear."""
    tokens = Tokens()
    pending = 0
    for match in _TOKEN.finditer(fold(text)):
        raw = match.group()
        if raw[0].isalnum():
            word = _plain(raw)
        elif raw in emoji:
            word = emoji[raw]
        else:
            pending = max(pending, COMMA if raw[:2] == ".." else _BREAKS.get(raw, 0))
            continue
        tokens.words.append(word)
        tokens.breaks.append(pending)
        pending = 0
    return _joined_letters(tokens)


def _plain(word: str) -> str:
    """Undo digits and signs used as letters ("su1c1dio", "su*cidio")."""
    if word.isalpha():
        return word
    compound = _COMPOUND_NUMBER.fullmatch(word)
    if compound:
        return f"{compound[1]}.{compound[2]}"
    ordinal = _ORDINAL.fullmatch(word)
    if ordinal:
        return ordinal[1]
    letters = sum(character.isalpha() for character in word)
    if letters >= _SPELLED_OUT - 1 and letters * 2 > len(word) and word[0].isalpha():
        return word.translate(_LEET)
    return word


def _joined_letters(tokens: Tokens) -> Tokens:
    """Join words that were spelled out letter by letter ("s u i c i d i o")."""
    if sum(len(word) == 1 for word in tokens.words) < _SPELLED_OUT:
        return tokens
    joined = Tokens()
    for single, group in itertools.groupby(zip(tokens.words, tokens.breaks, strict=True), key=lambda pair: len(pair[0]) == 1):
        pairs = list(group)
        if single and len(pairs) >= _SPELLED_OUT:
            pairs = [("".join(word for word, _ in pairs), pairs[0][1])]
        joined.words.extend(word for word, _ in pairs)
        joined.breaks.extend(pause for _, pause in pairs)
    return joined
