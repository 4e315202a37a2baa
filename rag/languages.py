"""Which of the two languages a message is in, if any: the session's language decides whatever is too short to tell."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import regex

from locales.language import Language
from rag.text import fold, normalise, stop_words

_WORD = regex.compile(r"\p{L}+(?:'\p{L}+)?")
_LETTER = regex.compile(r"\p{L}")
_LATIN = regex.compile(r"\p{Latin}")

# py3langid without this restriction takes short Italian for Corsican or Latin and short Spanish for Galician or Aragonese.
_FAMILY = ("it", "es", "en", "fr", "pt", "de", "ro", "ca")

# The weights below were set by hand on short questions in eight languages; tests/unit/rag/test_languages.py holds them.
_PRIOR = 2.0  # what the session's language is worth, in function words
_STATISTICS = 3.0  # what py3langid's share is worth, in function words; reached at _SURE_WORDS words
_SURE_WORDS = 6
_HEALTH_WORD = 0.7
_SPELLING = 1.0
_THIRD_MARGIN = 1.6
_SPELLINGS = {
    Language.ITALIAN: regex.compile(r"[àèìòù]|\b(?:gli|l'|dell'|un'|c'|cos'|com'|dov')|zz|cch|ggi|tt\p{L}\b|zion[ei]\b"),
    Language.SPANISH: regex.compile(r"[ñ¿¡áíóú]|\b(?:ll)\p{L}|cion(?:es)?\b|ción\b|\p{L}{3}(?:os|as|es)\b"),
}


@dataclass(frozen=True, slots=True)
class LanguageReading:
    """The language to answer in, and whether the message is in neither of the two."""

    language: Language
    is_other: bool = False


@dataclass(frozen=True, slots=True)
class _Evidence:
    """Words that speak for each language, with their weight."""

    own: Mapping[Language, Mapping[str, float]]
    third: Mapping[str, Mapping[str, float]]
    letters: Mapping[str, frozenset[str]]


def identify(text: str, prior: Language | None = None) -> LanguageReading:
    """Tell the language of a patient's message.

    Args:
        text: The message as it was written, accents or not.
        prior: The language of the session so far; it decides a single word, and whatever is undecided.

    Returns:
        Italian when neither the words nor a prior decide. A message in a third language reads `is_other`, with the prior.
    """
    plain = normalise(text)
    fallback = prior or Language.ITALIAN
    letters = _LETTER.findall(plain)
    if not letters:
        return LanguageReading(fallback)
    if len(_LATIN.findall(plain)) * 2 < len(letters):
        return LanguageReading(fallback, is_other=True)
    words = [fold(word) for word in _WORD.findall(plain)]
    if len(words) == 1 and prior is not None:
        return LanguageReading(prior)
    return _weigh(plain, words, prior)


def _weigh(plain: str, words: list[str], prior: Language | None) -> LanguageReading:
    evidence = _evidence()
    shares = _shares(plain)
    trust = _STATISTICS * min(1.0, len(words) / _SURE_WORDS)
    lowered = plain.lower()
    scores = {
        language: _sum(words, evidence.own[language])
        + trust * shares.get(language.value, 0.0)
        + _SPELLING * bool(_SPELLINGS[language].search(lowered))
        for language in Language
    }
    heard = {
        code: _sum(words, table) + _SPELLING * bool(evidence.letters[code] & set(lowered))
        for code, table in evidence.third.items()
    }
    third_words = max(heard.values())
    third = max(heard[code] + trust * shares.get(code, 0.0) for code in heard)
    own = max(scores.values())
    if third_words >= min(2.0, len(words)) and third > own + (_THIRD_MARGIN if prior else _THIRD_MARGIN / 2):
        return LanguageReading(prior or Language.ITALIAN, is_other=True)
    if prior is not None:
        scores[prior] += _PRIOR
    # Italian comes first in the enumeration, so it also wins a tie.
    return LanguageReading(max(Language, key=lambda language: scores[language]))


def _sum(words: list[str], weights: Mapping[str, float]) -> float:
    total = 0.0
    for word in words:
        if word in weights:
            total += weights[word]
        elif "'" in word:
            total += max(weights.get(part, 0.0) for part in word.split("'"))
    return total


def _shares(text: str) -> dict[str, float]:
    ranked: list[tuple[str, float]] = _identifier().rank(text.lower())
    return dict(ranked)


@cache
def _identifier() -> Any:  # noqa: ANN401  # the library carries no types
    from py3langid.langid import MODEL_FILE, LanguageIdentifier  # 0.25 s, only once a bot starts

    identifier = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    identifier.set_languages(list(_FAMILY))
    return identifier


@cache
def _evidence() -> _Evidence:
    own: dict[Language, dict[str, float]] = {}
    for language in Language:
        weights = dict.fromkeys(_lexicon_words(language), _HEALTH_WORD)
        weights.update(dict.fromkeys(stop_words(language) | _intent_words(language), 1.0))
        own[language] = weights
    italian, spanish = own[Language.ITALIAN], own[Language.SPANISH]
    for word in italian.keys() & spanish.keys():
        # A function word of one that is only a health word of the other still speaks for the first.
        low = min(italian[word], spanish[word])
        italian[word], spanish[word] = italian[word] - low, spanish[word] - low
    third, letters = {}, {}
    for code, table in _load("third_languages.toml").items():
        weights = {fold(word): 1.0 for word in table["words"].split()}
        weights.update({fold(word): 0.5 for word in table["shared"].split()})
        third[code] = weights
        letters[code] = frozenset(table["letters"])
    return _Evidence(own=own, third=third, letters=letters)


def _lexicon_words(language: Language) -> set[str]:
    entries = _load(f"{language.value}/lexicon.toml")["entry"]
    forms = [form for entry in entries for form in (*entry["lay"], *entry["clinical"])]
    return {fold(word) for form in forms for word in _WORD.findall(form)}


def _intent_words(language: Language) -> set[str]:
    listed: list[str] = _load(f"{language.value}/intents.toml")["language_words"]
    return {fold(word) for line in listed for word in line.split()}


def _load(name: str) -> dict[str, Any]:
    root = files("locales")
    for part in name.split("/"):
        root = root.joinpath(part)
    return tomllib.loads(root.read_text(encoding="utf-8"))
