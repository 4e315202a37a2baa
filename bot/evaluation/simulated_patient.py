"""A patient played by rules from a case file: opens with a complaint, then replies to each question by what the case says."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from bot.evaluation.shipped import Half, SetUnreadable, dialogue_cases, read_lines
from locales.language import Language
from rag.intake_features import ReplyKind
from rag.text import content_tokens, lexical_tokens

_KEYS = ("id", "lang", "condition", "opening", "facts", "story")
_UNSURE = {Language.ITALIAN: "non so", Language.SPANISH: "no sé"}

_WHOLE = 1 / 3  # of a question's words: who has a part of what is asked need not have all of it; who lacks a part lacks it

# They ask, and say nothing of what: by them "did it begin suddenly?" would be about "since when", and each pain about any other.
_ASKING = {
    Language.ITALIAN: "dolore dolori male mal fastidio sente sentire cominciato iniziato dura durata peggiora peggio migliora "
    "meglio viene venire giorno giorni volte spesso solito ultimamente",
    Language.SPANISH: "dolor dolores duele molestia siente sentir nota notar empezó comenzó dura duración empeora peor mejora "
    "mejor viene venir día días veces suele últimamente hora horas",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """Something that a questioner may ask a patient.

    A question is about it if it has one of the `words`, in any inflection; `reply` is what the patient then writes.
    """

    words: tuple[str, ...]
    has: bool
    reply: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A patient with a condition, which none of the texts names. `story` says everything at once, and more."""

    case_id: str
    language: Language
    condition: str
    opening: str
    facts: tuple[Fact, ...]
    story: str

    @property
    def told(self) -> str:
        """What the patient has, in the patient's words: the text that a good dialogue would bring to light."""
        return "\n".join(fact.reply for fact in self.facts if fact.has)


@dataclass(frozen=True, slots=True, kw_only=True)
class PatientReply:
    """What a patient replies to a question.

    Attributes:
        kind: What would be tapped: yes, no or unsure.
        text: What would be written instead.
        fact: The place of the fact in the case; None if the case says nothing of it.
    """

    kind: ReplyKind
    text: str
    fact: int | None


@dataclass(frozen=True, slots=True)
class SimulatedPatient:
    """Plays one case; remembers nothing, so that the same question always has the same reply."""

    case: Case
    _stems: tuple[frozenset[str], ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        stems = [_telling(" ".join(fact.words), self.case.language) for fact in self.case.facts]
        object.__setattr__(self, "_stems", tuple(stems))

    def reply(self, question: str) -> PatientReply:
        """The reply by the fact that shares most words with the question, of equals the first; unsure if none shares any.

        A yes needs a third of the question's words: whoever has a fever does not thereby have "a fever and a stiff neck".
        """
        asked = _telling(question, self.case.language)
        shared = [self._shared(place, asked) for place in range(len(self._stems))]
        place = _foremost(shared)
        if place is None:
            return PatientReply(kind=ReplyKind.UNSURE, text=_UNSURE[self.case.language], fact=None)
        fact = self.case.facts[place]
        return PatientReply(kind=ReplyKind.YES if fact.has else ReplyKind.NO, text=fact.reply, fact=place)

    def choose(self, choices: Sequence[str]) -> int | None:
        """The place of the choice that shares most words with something that the patient has, of equals the first.

        None where the patient would say yes to none of them.
        """
        asked = [_telling(choice, self.case.language) for choice in choices]
        has = [place for place, fact in enumerate(self.case.facts) if fact.has]
        return _foremost([max((self._shared(place, words) for place in has), default=0) for words in asked])

    def _shared(self, place: int, asked: frozenset[str]) -> int:
        shared = len(self._stems[place] & asked)
        return 0 if self.case.facts[place].has and shared < _WHOLE * len(asked) else shared


def read_cases(half: Half, limit: int | None = None) -> list[Case]:
    """The shipped cases of a half, or the first `limit` of them, languages in turn.

    Raises:
        SetUnreadable: If a file is missing or malformed, or two cases share an id.
    """
    by_language = [_read(dialogue_cases(language, half), language) for language in Language]
    longest = max(len(cases) for cases in by_language)
    cases = [cases[at] for at in range(longest) for cases in by_language if at < len(cases)]
    twice = {case.case_id for case in cases if sum(other.case_id == case.case_id for other in cases) > 1}
    if twice:
        raise SetUnreadable(f"Two cases share the id {min(twice)!r}.")
    return cases[:limit]


def _foremost(shared: Sequence[int]) -> int | None:
    """The first place of the largest number; None if nothing is shared."""
    most = max(shared, default=0)
    return shared.index(most) if most else None


def _telling(text: str, language: Language) -> frozenset[str]:
    """The stems of the words by which a question can be told from others."""
    return frozenset(content_tokens(text, language)) - _asking(language)


@cache
def _asking(language: Language) -> frozenset[str]:
    return frozenset(lexical_tokens(_ASKING[language], language))


def _read(path: Path, language: Language) -> list[Case]:
    cases = []
    for row in read_lines(path, *_KEYS):
        if row["lang"] != language.value:
            raise SetUnreadable(f"{path}: {row['id']} is not in {language.value}.")
        try:
            cases.append(_case(row, language))
        except (KeyError, TypeError) as error:
            raise SetUnreadable(f"{path}: a fact of {row['id']} is malformed.") from error
    return cases


def _case(row: dict[str, Any], language: Language) -> Case:
    facts = [Fact(words=tuple(one["words"]), has=bool(one["has"]), reply=one["reply"]) for one in row["facts"]]
    return Case(
        case_id=row["id"],
        language=language,
        condition=row["condition"],
        opening=row["opening"],
        facts=tuple(facts),
        story=row["story"],
    )
