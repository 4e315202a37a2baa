"""The words of the site: templates, conditions and how one is filled with the other."""

import functools
import random
import re
import tomllib
import unicodedata
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from locales.language import Language

_FOLDER = Path(__file__).with_name("texts")
_OF = {"il": "del ", "lo": "dello ", "la": "della ", "l'": "dell'", "el": "del "}
_TO = {"il": "al ", "lo": "allo ", "la": "alla ", "l'": "all'", "el": "al "}
_ON = {"il": "sul ", "lo": "sullo ", "la": "sulla ", "l'": "sull'"}
_Y_BEFORE_I = re.compile(r"\by(?= (?:i|hi(?!e)))")


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """One disease with what is said of it; causes, tests and care come with their article."""

    language: Language
    article: str
    name: str
    other_names: tuple[str, ...]
    area: str
    symptoms: tuple[str, ...]
    causes: tuple[str, ...]
    tests: tuple[str, ...]
    care: tuple[str, ...]
    alarms: tuple[str, ...]

    @property
    def title(self) -> str:
        return _capitalised(self.name)

    @property
    def slug(self) -> str:
        return slug(self.name)

    @property
    def slots(self) -> dict[str, str]:
        gap = "" if self.article.endswith("'") else " "
        the = self.article + gap + self.name
        spanish = self.language is Language.SPANISH
        words = {
            "the": the,
            "of": (f"de {the}" if spanish and self.article == "la" else _OF[self.article] + self.name),
            "to": (f"a {the}" if spanish and self.article == "la" else _TO[self.article] + self.name),
            "on": f"sobre {the}" if spanish else _ON[self.article] + self.name,
            "name": self.name,
            "t1": self.tests[0],
        }
        for letter, values in (("s", self.symptoms), ("c", self.causes), ("k", self.care), ("a", self.alarms)):
            words |= {f"{letter}{number}": value for number, value in enumerate(values, 1)}
        return words | {_capitalised(key): _capitalised(value) for key, value in words.items()}


class Words:
    """The templates of one language."""

    def __init__(self, language: Language) -> None:
        self.language = language
        self.data: dict[str, Any] = tomllib.loads((_FOLDER / f"{language}.toml").read_text(encoding="utf-8"))
        self.odd: dict[str, Any] = tomllib.loads((_FOLDER / f"odd_{language}.toml").read_text(encoding="utf-8"))
        self.conditions = tuple(_conditions(language))
        self.surnames: tuple[str, ...] = tuple(
            start + end for start in self.data["article"]["surname"] for end in self.data["article"]["surname_end"]
        )

    def one(self, rng: random.Random, section: str, key: str) -> str:
        """One of the templates under a key, still with its slots."""
        chosen: str = rng.choice(self.data[section][key])
        return chosen

    def filled(self, template: str, condition: Condition, **more: object) -> str:
        text = template.format(**condition.slots, area=self.data["area"][condition.area], **more)
        return _Y_BEFORE_I.sub("e", text) if self.language is Language.SPANISH else text

    def chrome(self, key: str) -> Any:
        return self.data["chrome"][key]


@functools.cache
def words(language: Language) -> Words:
    return Words(language)


def rng_for(*parts: object) -> random.Random:
    """A generator that depends on these parts alone, so that one page more changes no other page."""
    return random.Random("/".join(map(str, parts)))


def slug(text: str) -> str:
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9]+", "-", plain).strip("-")


def parsed_condition(line: str, language: Language) -> Condition:
    """A condition from a line of nine fields between bars."""
    article, name, others, area, *lists = line.split("|")
    symptoms, causes, tests, care, alarms = (tuple(part.split(";")) for part in lists)
    return Condition(
        language=language,
        article=article,
        name=name,
        other_names=tuple(filter(None, others.split(";"))),
        area=area,
        symptoms=symptoms,
        causes=causes,
        tests=tests,
        care=care,
        alarms=alarms,
    )


def _conditions(language: Language) -> list[Condition]:
    lines = (_FOLDER / f"conditions_{language}.txt").read_text(encoding="utf-8").splitlines()
    return [parsed_condition(line, language) for line in lines if not line.startswith("#")]


def _capitalised(text: str) -> str:
    return text[:1].upper() + text[1:]
