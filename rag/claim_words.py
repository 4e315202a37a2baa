"""Which words and phrases of a language say the same thing in a health text: a free paraphrase is read with them.

The lists are data: `locales/{it,es}/paraphrases.toml` beside `alignment.toml`, whose markers are read too.
"""

import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any

from locales.language import Language
from rag.claims import ClaimWords, words_of
from rag.text import fold, stem

_MOST_PAIRS = 50_000  # of words, whose kinship is remembered
_MIN_ROOT = 5  # letters that two words of one family share at least: gastr-ite and gastr-oenterite end otherwise
_NEGATES = "!"
_GOVERNS = " >"
_CONJUGATES = "*"
# What is done and the act: sedato, sedazione.
_DONE_AND_ACT = {
    Language.ITALIAN: [(f"at{end}", act) for end in "oaei" for act in ("azione", "azioni", "amento", "amenti")],
    Language.SPANISH: [
        (f"ad{end}", act) for end in ("o", "a", "os", "as") for act in ("acion", "aciones", "amiento", "amientos")
    ],
}
# The forms that health pages use: the third person, what "Lei" and "usted" are told to do, participles, gerund, infinitive.
_FORMS = {
    (Language.ITALIAN, "are"): "a ano i ino ato ata ati ate ando are",
    (Language.ITALIAN, "ere"): "e ono a ano uto uta uti ute endo ere",
    (Language.ITALIAN, "ire"): "e ono a ano isce iscono isca iscano ito ita iti ite endo ire",
    (Language.SPANISH, "ar"): "a an e en ado ada ados adas ando ar",
    (Language.SPANISH, "er"): "e en a an ido ida idos idas iendo er",
    (Language.SPANISH, "ir"): "e en a an ido ida idos idas iendo ir",
}
_TOLD = {(Language.ITALIAN, "are"): "i", (Language.SPANISH, "ar"): "e"}  # the other verbs are told with "a"


@dataclass(frozen=True, slots=True)
class Meaning:
    """What a word or phrase stands for.

    `groups` are the meanings it may have, `marker` what it limits, `negates` is true of "sconsigliato", `governor` is the
    preposition that a phrase ends with, and `free` is true of what claims nothing.
    """

    groups: frozenset[str] = frozenset()
    marker: str | None = None
    negates: bool = False
    governor: str = ""
    free: bool = False


@dataclass(frozen=True, slots=True)
class Phrases:
    """Phrases by their first word, longest first, and single words by their stem."""

    several: dict[str, list[tuple[tuple[str, ...], Meaning]]] = field(default_factory=dict)
    single: dict[str, list[tuple[str, Meaning]]] = field(default_factory=dict)


class ParaphraseWords:
    """The word lists of one language, ready for reading sentences as concepts."""

    def __init__(self, language: Language) -> None:
        data = _read(language, "paraphrases")
        base = _read(language, "alignment")
        self.language = language
        self.claims = ClaimWords.load(language)
        self.articles = frozenset(data["articles"].split())
        self.ignored = frozenset(data["ignored"].split()) | frozenset(base["ignored"].split())
        self.resets = frozenset(data["resets"].split())
        self.second_person = frozenset(data["second_person"].split())
        self.openers = frozenset(data["openers"].split()) - {"non", "no", "si", "se"}
        forms = [form.strip() for line in data["groups"].splitlines() for form in line.split(",")]
        verbs = {form for form in [*forms, *data["verbs"].split()] if form.endswith(_CONJUGATES)}
        self.verbs = (
            self.openers
            | {form for form in data["verbs"].split() if not form.endswith(_CONJUGATES)}
            | {form for verb in verbs for form in conjugated(verb.removeprefix(_NEGATES), language)[1:5]}
        )
        told = {conjugated(verb.removeprefix(_NEGATES), language)[0] for verb in verbs}
        self.imperatives = told | set(data["imperatives"].split())
        self.familiar = {_familiar(form) for form in self.imperatives} - self.imperatives
        self.intransitive = frozenset(f"={name}" for name in data["intransitive"].split())
        self.weak = frozenset(data["weak"].split())
        self.generic = frozenset(data["generic"].split())
        self.units = {word: unit for unit, forms in data["units"].items() for word in forms.split()}
        self.suffixes = {word: sign for sign, forms in data["suffixes"].items() for word in forms.split()}
        self.copulas = frozenset(data["copulas"].split())
        self._endings = frozenset(data["endings"].split())
        self._of_family = lru_cache(maxsize=_MOST_PAIRS)(self._of_one_family)
        self._phrases = Phrases()
        for form, meaning in _meanings(language, base, data):
            self._add(form, meaning)
        for entries in self._phrases.several.values():
            entries.sort(key=lambda entry: -len(entry[0]))

    @classmethod
    def load(cls, language: Language) -> "ParaphraseWords":
        """Read the lists that ship with the language, once."""
        return _load(language)

    def phrase(self, tokens: Sequence[str], position: int) -> tuple[Meaning, int] | None:
        """The longest phrase of several words that starts at `position`, and how many tokens it takes."""
        for phrase, meaning in self._phrases.several.get(self._key(tokens[position]), ()):
            length = self._length(tokens, position, phrase)
            if length:
                return meaning, length
        return None

    def word(self, token: str) -> Meaning | None:
        """What a single word stands for; None for a word that is in no list."""
        known = self._phrases.single.get(self._key(token), ())
        found = [meaning for form, meaning in known if form == token]
        if limits := [meaning for meaning in found if meaning.marker or meaning.free]:
            return limits[-1]
        found = found or [meaning for form, meaning in known if meaning.marker is None and self.related(token, form)]
        if not found:
            return None
        return Meaning(
            groups=frozenset().union(*(meaning.groups for meaning in found)),
            negates=any(meaning.negates for meaning in found),
            governor=next((meaning.governor for meaning in found if meaning.governor), ""),
            free=all(meaning.free for meaning in found),
        )

    def related(self, word: str, other: str) -> bool:
        """Whether two words are forms of one word, or of one family: regolare, regolarità."""
        if word == other:
            return True
        return self._of_family(*((word, other) if word < other else (other, word)))

    def _of_one_family(self, word: str, other: str) -> bool:
        if stem(word, self.language) == stem(other, self.language) and self.claims.may_inflect(word, other):
            return True
        one, two = fold(word), fold(other)
        common = 0
        while common < min(len(one), len(two)) and one[common] == two[common]:
            common += 1
        for root in range(common, _MIN_ROOT - 1, -1):
            ends = {one[root:], two[root:]}
            if ends <= self._endings and max(map(len, ends)) > 2:
                return True
        return any(_are_done_and_act(*pair, self.language) for pair in ((one, two), (two, one)))

    def _add(self, form: str, meaning: Meaning) -> None:
        words = [word for word in words_of(form) if word not in self.articles]
        if len(words) == 1:
            self._phrases.single.setdefault(self._key(words[0]), []).append((words[0], meaning))
        elif words:
            entries = self._phrases.several.setdefault(self._key(words[0]), [])
            phrase = tuple(words)
            for place, (known, other) in enumerate(entries):
                if known == phrase and other.marker is None and meaning.marker is None and not (other.free or meaning.free):
                    meaning = Meaning(other.groups | meaning.groups, None, other.negates or meaning.negates, meaning.governor)
                if known == phrase:
                    entries[place] = (phrase, meaning)
                    return
            entries.append((phrase, meaning))

    def _key(self, token: str) -> str:
        return self.claims.prepositions.get(token) or stem(token, self.language)

    def _is_form(self, token: str, wanted: str) -> bool:
        prepositions = self.claims.prepositions
        if wanted == "al" and self.language is Language.SPANISH:
            return token == wanted  # "al menos" is not "a menos"
        if token in prepositions or wanted in prepositions:
            return prepositions.get(token) == prepositions.get(wanted)
        return token == wanted or (self._key(token) == self._key(wanted) and self.claims.may_inflect(token, wanted))

    def _length(self, tokens: Sequence[str], position: int, phrase: Sequence[str]) -> int:
        at = position
        for place, wanted in enumerate(phrase):
            while place and at < len(tokens) and tokens[at] in self.articles - {"un", "una", "uno", "unos", "unas"}:
                at += 1
            if at >= len(tokens) or not self._is_form(tokens[at], wanted):
                return 0
            at += 1
        return at - position


def _are_done_and_act(one: str, two: str, language: Language) -> bool:
    pairs = [(done, act) for done, act in _DONE_AND_ACT[language] if one.endswith(done) and two.endswith(act)]
    return any(one.removesuffix(done) == two.removesuffix(act) and len(one) > len(done) + 2 for done, act in pairs)


def _familiar(told: str) -> str:
    """What one says to a friend where "Lei" or "usted" is told `told`: chiami, chiama; prenda, prendi."""
    return told[:-1] + ({"i": "a", "e": "a"}.get(told[-1]) or ("i" if told.endswith("a") else told[-1]))


def conjugated(verb: str, language: Language) -> list[str]:
    """The forms of a regular verb that is written with a star; the first is what "Lei" or "usted" is told to do."""
    infinitive = verb.removesuffix(_CONJUGATES)
    length = 3 if language is Language.ITALIAN else 2
    root, kind = infinitive[:-length], (language, infinitive[-length:])
    return [_spelled(root, end, kind) for end in [_TOLD.get(kind, "a"), *_FORMS[kind].split()]]


def _spelled(root: str, end: str, kind: tuple[Language, str]) -> str:
    if end[0] not in "ei" or kind[1] not in {"are", "ar"}:
        return root + end
    if kind[0] is Language.ITALIAN:
        return (root[:-1] if root.endswith("i") and end[0] == "i" else root + "h" * root.endswith(("c", "g"))) + end
    for hard, soft in (("c", "qu"), ("g", "gu"), ("z", "c")):
        if root.endswith(hard):
            return root[: -len(hard)] + soft + end
    return root + end


@cache
def _load(language: Language) -> ParaphraseWords:
    return ParaphraseWords(language)


def _read(language: Language, name: str) -> dict[str, Any]:
    return tomllib.loads((files("locales") / language.value / f"{name}.toml").read_text(encoding="utf-8"))


def _meanings(language: Language, base: dict[str, Any], data: dict[str, Any]) -> Iterator[tuple[str, Meaning]]:
    """All forms of all lists; what comes later takes the place of what came before."""
    for name, forms in base["equivalents"].items():
        yield from ((form, Meaning(groups=frozenset({f"={name}"}))) for form in forms)
    for name, forms in base["markers"].items():
        yield from ((form, Meaning(marker=name)) for form in forms)
    for line in data["groups"].splitlines():
        yield from _group([form.strip() for form in line.split(",") if form.strip()], language)
    for verb in (form for form in data["verbs"].split() if form.endswith(_CONJUGATES)):
        group = frozenset({f"={verb.removesuffix(_CONJUGATES)}"})
        yield from ((form, Meaning(groups=group)) for form in conjugated(verb, language))
    for name, forms in data["markers"].items():
        yield from ((form, Meaning(marker=name)) for form in forms)
    for form in [*data["free"].split(), *data["free_phrases"]]:
        yield form, Meaning(free=True)


def _group(forms: Sequence[str], language: Language) -> Iterator[tuple[str, Meaning]]:
    for form in forms:
        bare, _, governor = form.removeprefix(_NEGATES).partition(_GOVERNS)
        group = frozenset({f"={forms[0].removesuffix(_CONJUGATES)}"})
        for one in conjugated(bare, language) if bare.endswith(_CONJUGATES) else [bare]:
            yield one, Meaning(groups=group, negates=form.startswith(_NEGATES), governor=governor)
