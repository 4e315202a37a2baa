"""The features of everyday medicine that an intake may ask about, and how they are told in pages and in patients' words.

The words are data, `locales/{language}/intake.toml`, and their notation is told there.
"""

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from importlib.resources import files
from typing import Any

from locales.language import Language
from rag.text import fold, normalise, stem, stop_words, word_spans
from rag.types import Population

_STOP = "."
_COMMA = ","
_HARD = re.compile(r"[.;:!?\n()¿¡…]")
_GAP = "…"
_GAP_WORDS = r"(?:[^\s.]+ ){0,4}"
_NEGATION_REACHES = 6  # words
_ADDING = frozenset({"ma", "pero", "solo", "sino"})
_JOINING = frozenset({_COMMA, "e", "ed", "y"})
_OWN_LETTER = frozenset({"año", "años", "uña", "uñas"})  # hurried writers leave the tilde out of all other words
_LONGEST_REPLY = 3  # words, of the list of replies, that may open a longer message


class ReplyKind(StrEnum):
    """What a patient replies to a question."""

    YES = "yes"
    NO = "no"
    UNSURE = "unsure"
    STOP = "stop"  # no more questions


class Only(StrEnum):
    """Of whom alone a feature may be asked."""

    WOMEN = "women"
    BABIES = "babies"


@dataclass(frozen=True, slots=True)
class SpokenReply:
    """A reply in the patient's own words.

    `kind` is None when it is neither yes nor no; `rest` is what else it says; `chosen` are the places of choices that it names.
    """

    kind: ReplyKind | None
    rest: str = field(default="", repr=False)
    chosen: tuple[int, ...] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Feature:
    """Something that a patient has or has not.

    `question` asks for it; `statement` says it in the first person; `label` names it on a button, and is empty for one that
    `is_red_flag`, to which a yes is an emergency. `only` says whom it may be asked of, if not of everybody. `of` are features
    that it tells more of, and without which it makes no sense.
    """

    name: str
    question: str
    statement: str
    label: str
    is_red_flag: bool
    only: Only | None
    of: frozenset[str]
    pattern: re.Pattern[str] = field(repr=False)
    page_pattern: re.Pattern[str] = field(repr=False)

    def follows(self, told: Mapping[str, bool]) -> bool:
        """Whether what it tells more of has been affirmed, if it tells more of anything."""
        return not self.of or any(told.get(name) for name in self.of)


@dataclass(frozen=True, slots=True, kw_only=True)
class FeatureLexicon:
    """The features of one language, the words of a reply, and `choosing`, the question which of some features one has."""

    language: Language
    features: Mapping[str, Feature]
    negators: frozenset[str]
    not_denying: re.Pattern[str]
    restarts: frozenset[str]
    contrast: re.Pattern[str]
    other_subject: re.Pattern[str]
    asking: re.Pattern[str]
    telling: re.Pattern[str]
    men: re.Pattern[str]
    choosing: str
    replies: Mapping[tuple[str, ...], ReplyKind]

    @classmethod
    def load(cls, language: Language) -> "FeatureLexicon":
        """Read the lexicon that ships with the language; the file is read once."""
        return _load(language)

    def told(self, text: str) -> dict[str, bool]:
        """The features that a text affirms or denies; one that it does both counts as affirmed."""
        return self._found(self._tokens(text), of_page=False)

    def told_by_page(self, text: str) -> dict[str, bool]:
        """`told` of a page's text, without what it says of other conditions to tell them from its own."""
        kept: list[str] = []
        for sentence in _sentences(self._tokens(text)):
            line = _line(sentence)
            if self.other_subject.search(line):
                continue
            cut = self.contrast.search(line)
            kept += [*(line[: cut.start()] if cut else line).split(), _STOP]
        return self._found(kept, of_page=True)

    def asks(self, text: str) -> bool:
        """Whether a message asks something, with or without its mark."""
        return "?" in text or self.asking.search(_line(self._tokens(text))) is not None

    def tells(self, text: str) -> bool:
        """Whether somebody tells of themselves or of somebody else."""
        return self.telling.search(_line(self._tokens(text))) is not None

    def suits(self, feature: Feature, text: str, population: Population | None) -> bool:
        """Whether a feature may be asked of whom a text is about."""
        if feature.only is Only.BABIES:
            return population in (Population.INFANT, Population.CHILD)
        if feature.only is Only.WOMEN:
            is_small = population in (Population.INFANT, Population.CHILD)
            return not is_small and self.men.search(_line(self._tokens(text))) is None
        return True

    def reply(self, text: str) -> SpokenReply:
        """Read a reply to a yes-or-no question: "sì, quando tossisco" is a yes, and says when."""
        tokens = self._tokens(text)
        bare = _bare(tokens)
        if bare in self.replies:
            return SpokenReply(self.replies[bare])
        for length in range(min(_LONGEST_REPLY, len(bare)), 0, -1):
            kind = self.replies.get(bare[:length])
            if kind is not None and self._opens(tokens, length, kind):
                return SpokenReply(kind, self._rest(text, length, kind))
        return SpokenReply(ReplyKind.NO) if self._only_denies(tokens, bare) else SpokenReply(None, text.strip())

    def is_listed_reply(self, text: str) -> bool:
        """Whether a message is word for word one of the replies of the lexicon: "non so", and not "non ce la faccio"."""
        return _bare(self._tokens(text)) in self.replies

    def adds(self, text: str, before: Sequence[str]) -> bool:
        """Whether a message says anything worth searching for that the earlier ones do not: a new content word or feature."""
        known = {word for earlier in before for word in self._content(earlier)}
        if self._content(text) - known:
            return True
        told = self.told("\n".join(before))
        return any(told.get(name) is not value for name, value in self.told(text).items())

    def _opens(self, tokens: Sequence[str], length: int, kind: ReplyKind) -> bool:
        """Whether the first words of a longer message are a reply: a mark or an own clause follows, or "no" and "sì" alone."""
        if kind is ReplyKind.STOP:
            return False
        place = seen = 0
        while seen < length:
            seen += tokens[place] not in (_STOP, _COMMA)
            place += 1
        after = tokens[place] if place < len(tokens) else _STOP
        if tokens[0] in self.negators and after not in (_STOP, _COMMA):  # "no tengo" replies, "no duermo" tells
            return self._only_denies(tokens, tokens)
        if after in (_STOP, _COMMA) or kind is ReplyKind.YES:
            return after in (_STOP, _COMMA) or tokens[0] in ("si", "claro", "certo")
        # "no la fiebre no": the same word closes it; "non riesco a dormire" opens with no reply at all.
        return tokens[0] in ("no", "nada", "niente", "boh", "mah", "nessuno", "nessuna", "ninguno", "ninguna") or after in _ADDING

    def _only_denies(self, tokens: Sequence[str], bare: Sequence[str]) -> bool:
        """Whether a sentence denies and affirms nothing: "non è gonfia", "no tengo", "febbre no"."""
        if bare and bare[-1] == "no" and len(bare) <= _LONGEST_REPLY:
            return True
        return bool(bare) and bare[0] in self.negators and not any(self._found(tokens, of_page=False).values())

    def _rest(self, text: str, length: int, kind: ReplyKind) -> str:
        spans = word_spans(normalise(text), self.language)
        rest = normalise(text)[spans[length - 1][2] :].strip(" ,.;:!?…-")
        if kind is ReplyKind.YES:
            return rest
        adding = [end for word, _, end in spans[length - 1 :] if word in _ADDING]
        return normalise(text)[adding[0] :].strip(" ,.;:!?…-") if adding else ""

    def _found(self, tokens: Sequence[str], *, of_page: bool) -> dict[str, bool]:
        line = _line(tokens)
        found: dict[str, bool] = {}
        for feature in self.features.values():
            pattern = feature.page_pattern if of_page else feature.pattern
            values = [not self._is_denied(tokens, line, match) for match in pattern.finditer(line)]
            if values:
                found[feature.name] = any(values)
        return found

    def _is_denied(self, tokens: Sequence[str], line: str, match: re.Match[str]) -> bool:
        place = line[: match.start()].count(" ") - 1  # the line begins with a blank
        last = place
        for back in range(place - 1, max(-1, place - 1 - _NEGATION_REACHES), -1):
            token = tokens[back]
            if token == _STOP or token in _ADDING:
                return False
            if token in _JOINING and tokens[min(back + 1, last)] in self.restarts:
                return False
            if token in self.negators:
                return self.not_denying.match(_line(tokens[back + 1 : place + 1]), 1) is None
        return False

    def _tokens(self, text: str) -> list[str]:
        """Folded words, with a full stop or a comma where one stands between them."""
        plain = normalise(text)
        tokens: list[str] = []
        end = 0
        for word, start, stop in word_spans(plain, self.language):
            between = plain[end:start]
            if tokens and _HARD.search(between):
                tokens.append(_STOP)
            elif tokens and _COMMA in between:
                tokens.append(_COMMA)
            tokens.append(_plain(word))
            end = stop
        return [*tokens, _STOP] if tokens and _HARD.search(plain[end:]) else tokens

    def _content(self, text: str) -> set[str]:
        ignored = stop_words(self.language) | {word for reply in self.replies for word in reply}
        words = (word for word, _, _ in word_spans(normalise(text), self.language))
        return {stem(word, self.language) for word in words if word not in ignored and len(word) > 2}


def _sentences(tokens: Sequence[str]) -> Iterable[list[str]]:
    sentence: list[str] = []
    for token in tokens:
        if token == _STOP:
            yield sentence
            sentence = []
        else:
            sentence.append(token)
    yield sentence


def _plain(word: str) -> str:
    return word if word in _OWN_LETTER else word.replace("ñ", "n")


def _line(tokens: Sequence[str]) -> str:
    return f" {' '.join(tokens)} "


@cache
def _load(language: Language) -> FeatureLexicon:
    source = files("locales") / language.value / "intake.toml"
    data: dict[str, Any] = tomllib.loads(source.read_text(encoding="utf-8"))
    replies = {
        tuple(_plain(word) for word, _, _ in word_spans(normalise(phrase), language)): ReplyKind(kind)
        for kind, phrases in data["replies"].items()
        for phrase in _listed(phrases)
    }
    return FeatureLexicon(
        language=language,
        features={name: _feature(name, row, language) for name, row in data["features"].items()},
        negators=frozenset(_listed(data["negators"])),
        not_denying=_any_of(data["not_denying"], language),
        restarts=frozenset(_listed(data["restarts"])),
        contrast=_any_of(data["contrast"], language),
        other_subject=_any_of(data["other"], language),
        asking=_any_of(data["asking"], language),
        telling=_any_of(data["telling"], language),
        men=_any_of(data["men"], language),
        choosing=data["choosing"],
        replies=replies,
    )


def _feature(name: str, row: Mapping[str, Any], language: Language) -> Feature:
    return Feature(
        name=name,
        question=row["ask"],
        statement=row["tell"],
        label=row.get("label", ""),
        is_red_flag=row.get("red_flag", False),
        only=Only(row["only"]) if "only" in row else None,
        of=frozenset(_listed(row.get("of", ""))),
        pattern=_any_of(row["found"], language),
        page_pattern=_any_of(f"{row['found']}, {row.get('page', '')}", language),
    )


def _listed(phrases: str) -> list[str]:
    return [phrase.strip() for phrase in phrases.split(",") if phrase.strip()]


def _any_of(phrases: str, language: Language) -> re.Pattern[str]:
    return re.compile("|".join(_pattern(phrase, language) for phrase in _listed(phrases)))


def _pattern(phrase: str, language: Language) -> str:
    parts = []
    for token in phrase.split():
        if token == _GAP:
            parts.append(_GAP_WORDS)
            continue
        choices = []
        for choice in token.split("/"):
            word = _plain(fold(choice))
            if language is Language.ITALIAN and "'" in word:
                word = word.rpartition("'")[2]  # as words are cut: "d'aria" is "aria"
            choices.append(re.escape(word).replace(r"\*", r"[^\W_]*"))
        parts.append(f"(?:{'|'.join(choices)}) ")
    return rf"(?<= ){''.join(parts).removesuffix(' ')}(?= )"


def _bare(tokens: Sequence[str]) -> tuple[str, ...]:
    """The words without the marks between them."""
    return tuple(token for token in tokens if token not in (_STOP, _COMMA))
