"""The words that tell who somebody is, and those that do not: `locales/{it,es}/deidentification.toml`, `ordinary_words.toml`."""

import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import regex

from locales.language import Language
from rag.text import fold

Pattern = regex.Pattern[str]

_CAPITAL = r"(?-i:\p{Lu}(?:\.(?=\s\p{Lu})|[\p{L}'-]*))"  # a word or an initial


@dataclass(frozen=True, slots=True, kw_only=True)
class IdentityWords:
    """Names, places and ages of one language, compiled.

    A pattern's group `keep` is what stays of a match, `name` a word that is looked at before it is taken for a name.
    """

    language: Language
    first_names: frozenset[str]
    ambiguous_names: frozenset[str]
    surnames: frozenset[str]
    not_names: frozenset[str]
    ordinary: frozenset[str]
    capitalised: frozenset[str]
    endings: Pattern
    adjectives: Pattern
    kept_after: Pattern
    treatments: Pattern
    after_a_name: Pattern
    address: Pattern
    places: tuple[Pattern, ...]
    name_cues: tuple[Pattern, ...]
    own: tuple[Pattern, ...]
    loose_name_cues: tuple[Pattern, ...]
    before_lower_names: tuple[Pattern, ...]
    before_lower_places: Pattern
    signatures: Pattern
    farewell: Pattern
    titled: Pattern
    ages: tuple[Pattern, ...]
    age_suffixes: Pattern
    birth: Pattern
    numbers: tuple[tuple[str, int], ...]
    month_unit: Pattern
    week_unit: Pattern
    coarse: dict[str, str]
    courtesy: Pattern
    texts: dict[str, str]

    @classmethod
    def load(cls, language: Language) -> "IdentityWords":
        """Read the lists that ship with the language."""
        return _load(language)

    def key(self, word: str) -> str:
        """A word as the name lists hold it.

        In Italian an accent tells "sarà" from "Sara"; in Spanish people leave accents out.
        """
        return word.lower() if self.language is Language.ITALIAN else fold(word)


@cache
def _load(language: Language) -> IdentityWords:
    data, plain = _read(language, "deidentification.toml"), _read(language, "ordinary_words.toml")
    names, ages = data["names"], data["ages"]

    def keys(listed: str) -> frozenset[str]:
        return frozenset(word if language is Language.ITALIAN else fold(word) for word in listed.split())

    return IdentityWords(
        language=language,
        first_names=keys(names["first"]),
        ambiguous_names=keys(names["ambiguous"]),
        surnames=keys(names["surnames"]),
        not_names=keys(names["not_names"]),
        ordinary=keys(plain["ordinary"]),
        capitalised=keys(plain["capitalised"]),
        endings=regex.compile(plain["endings"]),
        adjectives=regex.compile(plain["adjectives"]),
        kept_after=regex.compile(rf"(?i)\b(?:{names['kept_after']})(?<=')?\s*$"),
        treatments=regex.compile(rf"(?i)\b(?:{names['treatments']})(?<=')?\s*$"),
        after_a_name=regex.compile(
            rf"(?i)\s(?:{names['after_a_name']})\b|,?\s\(?(?:di |de )?{ages['number']}\b|(?:,| d[aie]| desde)\s(?-i:\p{{Lu}})"
        ),
        address=regex.compile(
            r"^[^\p{Lu}]*+(?P<name>\p{Lu}\p{L}{2,}),\s|^\P{Lu}*+\p{L}\P{Lu}*,\s(?P<name>\p{Lu}\p{L}{2,})\s*[.!?]*$"
        ),
        places=tuple(_place_patterns(data["places"])),
        name_cues=tuple(_name_patterns(names)),
        own=tuple(_own_patterns(names)),
        loose_name_cues=tuple(_loose_name_patterns(names)),
        before_lower_names=tuple(_lower_cues(names)),
        before_lower_places=regex.compile(rf"(?i)\b{data['places']['lower_cues']}\s+"),
        signatures=regex.compile(
            rf"(?i)(?P<keep>(?:^|(?<=[.!?,;]\s))(?:{names['closings']})[\s,.!:-]+)(?P<name>[^.!?\n]{{2,60}})[.!]?\s*$"
        ),
        farewell=regex.compile(rf"(?i)\W*(?:{names['farewells']})\b"),
        titled=regex.compile(rf"(?i)\b(?:{names['titles']})(?:\.|\b)\s*{_CAPITAL}"),
        ages=tuple(_age_patterns(ages)),
        age_suffixes=regex.compile(f"(?i){ages['suffixes']}"),
        birth=regex.compile(f"(?i){ages['birth']}"),
        numbers=tuple((word, int(number)) for word, _, number in (pair.partition("=") for pair in ages["words"].split())),
        month_unit=regex.compile(f"(?i)(?:{ages['months']})"),
        week_unit=regex.compile(f"(?i)(?:{ages['weeks']})"),
        coarse={key: ages[key] for key in ("infant", "child", "teenager", "adult", "elderly")},
        courtesy=regex.compile(f"(?i)(?:{data['sentences']['courtesy']})"),
        texts=data["texts"],
    )


def _read(language: Language, name: str) -> dict[str, Any]:
    return tomllib.loads((files("locales") / language.value / name).read_text(encoding="utf-8"))


def _place_patterns(places: dict[str, str]) -> Iterable[Pattern]:
    joiner = _either(places["joiners"])
    name = rf"{_CAPITAL}(?:[\s'](?:{joiner}\s?)*{_CAPITAL}){{0,4}}"
    cities, unsure, hospitals = (_either(places[key]) for key in ("cities", "ambiguous_cities", "hospitals"))
    listed = rf"(?:{cities}|{unsure}|{hospitals})\b"
    province = r"(?:\s*\((?-i:\p{Lu}{2})\))?"
    saint = r"(?:san|santa|sant'|santo)\s?\p{L}+(?:\s(?:di|de)\s\p{L}+)?"
    yield regex.compile(
        rf"(?i)(?P<keep>\b(?:{places['hospital']}))\b(?:\s+(?:(?:{joiner})\s*)*(?:{listed}|{saint}|{name}))+{province}"
    )
    yield regex.compile(rf"(?i)(?P<keep>\b(?:al|dal|del|nel|all'|dell'|en el|en la|al)\s?)(?-i:(?=\p{{Lu}}))(?:{hospitals})\b")
    yield regex.compile(rf"(?i)\b{places['live']}\s?(?:(?:{joiner})\s*)?(?:{listed}|{name}){province}")
    yield regex.compile(rf"(?i)(?P<keep>\b{places['live_any']}\s)\p{{L}}+(?:\s(?:{listed}))?{province}")
    yield regex.compile(rf"(?:{places['from_capital']})\s?{name}{province}")
    yield regex.compile(rf"(?i)(?:\b(?:a|ad|da|di|in|de|en|desde)\s)?\b(?:{cities})\b{province}")
    yield regex.compile(rf"(?P<keep>[\p{{L}}\p{{N}},]\s)(?=\p{{Lu}})(?i:{unsure})\b{province}")


def _name_patterns(names: dict[str, str]) -> Iterable[Pattern]:
    yield _own_patterns(names)[0]
    yield regex.compile(
        rf"(?i)(?P<keep>\b(?:{names['titles']})(?:\.|\b)\s*)"
        rf"(?P<name>{_CAPITAL}|(?:{_either(names['surnames'])})\b|{_either(names['first'])}\b){_rest_of_name(names)}"
    )
    relations = f"(?i:{names['relations']})"
    yield regex.compile(
        rf"(?P<keep>\b(?:{names['before_capital']}|{relations})\s)(?P<name>{_CAPITAL})(?i:{_rest_of_name(names)})"
    )


def _loose_name_patterns(names: dict[str, str]) -> Iterable[Pattern]:
    """After these an ordinary word with a capital is no name: "Salve, Soffro di …", "Sono Allergica"."""
    yield _own_patterns(names)[1]
    yield regex.compile(rf"(?P<keep>\b(?:{names['greetings']})\.?(?:\s+|\s*,\s*))(?P<name>{_CAPITAL})(?:\s{_CAPITAL}){{0,2}}")


def _own_patterns(names: dict[str, str]) -> tuple[Pattern, Pattern]:
    """Those in which people say who they are: whatever follows "mi chiamo", and what follows "sono" with a capital."""
    rest = _rest_of_name(names)
    told = regex.compile(rf"(?i)\b(?:{names['own']})\s*(?P<name>\p{{L}}[\p{{L}}\p{{N}}'-]*){rest}")
    return told, regex.compile(rf"\b(?:{names['own_capital']})\s(?P<name>{_CAPITAL})(?i:{rest})")


def _rest_of_name(names: dict[str, str]) -> str:
    return rf"(?:\s(?:(?:de|la|del|di|da|de la|de los|y)\s)?(?:{_CAPITAL}|(?:{_either(names['surnames'])})\b)){{0,3}}"


def _lower_cues(names: dict[str, str]) -> Iterable[Pattern]:
    follows = r"(?=\p{L}{2,}+(?:\s*(?:[,.;!]|$)|\s(?:di|da|d'|e|de|del|desde|y|ho|tengo|con)\b))"
    yield regex.compile(rf"(?i)\b(?:{names['relations']})\b,?\s")
    yield regex.compile(rf"(?i)\b(?:{names['titles']})\b\.?\s")
    yield regex.compile(rf"(?i)\b{names['own_lower']}\s{follows}")


def _age_patterns(ages: dict[str, Any]) -> Iterable[Pattern]:
    years = f"(?P<unit>{ages['years']})"
    units = f"(?P<unit>{ages['years']}|{ages['months']}|{ages['weeks']})"
    for pattern in ages["patterns"]:
        filled = pattern.replace("{N}", f"(?P<number>{ages['number']})").replace("{U}", years).replace("{M}", units)
        yield regex.compile(f"(?i){filled}")


def _either(listed: str) -> str:
    words = sorted(listed.split(), key=len, reverse=True)
    return "(?:" + "|".join(regex.escape(word.replace("_", " ")) for word in words) + ")"
