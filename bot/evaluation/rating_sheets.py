"""Makes blind sheets of answers for clinicians, and the key that tells afterwards which system each answer is of."""

import csv
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from bot.errors import BotError
from bot.evaluation.rating_words import ASPECTS, RatingWords, rating_words
from bot.evaluation.shipped import SetUnreadable
from locales.language import Language
from rag.evaluation.report import document

_FORMULA = ("=", "+", "-", "@")  # a spreadsheet would compute what begins with one


class SheetsRefused(BotError):
    """Sheets cannot be made so; the message says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedAnswer:
    """An answer of a system to a question; an empty text is a refusal."""

    system: str
    question_id: str
    language: Language
    question: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Two answers to one question, by the codes of the sheet."""

    a: RecordedAnswer
    b: RecordedAnswer


@dataclass(frozen=True, slots=True, kw_only=True)
class Sheets:
    """What is rated, by code, and who rates: `{language}-{number}`."""

    answers: Mapping[str, RecordedAnswer]
    pairs: Mapping[str, Pair]
    raters: Sequence[str]
    seed: int


def read_answers(paths: Sequence[Path]) -> list[RecordedAnswer]:
    """Read records `{id, system, lang, question, text}`, one a line, as `salus eval compare` keeps them.

    Lines that are empty, torn, or no answer are passed over; of two records of a question and system the last holds.

    Raises:
        SetUnreadable: If a file cannot be read or holds no record.
    """
    found: dict[tuple[str, str], RecordedAnswer] = {}
    for path in paths:
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise SetUnreadable(f"{path} cannot be read ({type(error).__name__}).") from error
        own = [answer for line in lines if (answer := _answer(line)) is not None]
        if not own:
            raise SetUnreadable(f"{path} holds no answer: lines {{id, system, lang, question, text}} are wanted.")
        found |= {(answer.system, answer.question_id): answer for answer in own}
    return list(found.values())


def draw_sheets(
    answers: Sequence[RecordedAnswer], *, systems: Sequence[str] = (), raters: int = 3, limit: int | None = None, seed: int = 0
) -> Sheets:
    """Give every answer, and every pair of answers to a question, a code that tells nothing.

    Args:
        answers: Of two systems or more.
        systems: Those that are rated; all if not given.
        raters: Sheets a language.
        limit: Most questions a language, drawn by chance.
        seed: Of all that is drawn.

    Raises:
        SheetsRefused: If there are not two systems, or they have no question in common.
    """
    chosen = list(dict.fromkeys(systems or (answer.system for answer in answers)))
    by_question: dict[str, dict[str, RecordedAnswer]] = {}
    for answer in answers:
        if answer.system in chosen:
            by_question.setdefault(answer.question_id, {})[answer.system] = answer
    absent = [name for name in chosen if not any(name in own for own in by_question.values())]
    if absent:
        raise SheetsRefused(f"There is no answer of {absent[0]!r}; there are {', '.join({one.system for one in answers})}.")
    common = {name: own for name, own in by_question.items() if len(own) == len(chosen)}
    if len(chosen) < 2 or not common:
        raise SheetsRefused("Two systems that answered the same questions are needed.")
    chance = np.random.default_rng(seed)
    drawn = _drawn(common, limit, chance)
    rated = [drawn[name][system] for name in drawn for system in chosen]
    pairs = [
        Pair(a=own[first], b=own[second]) if chance.random() < 0.5 else Pair(a=own[second], b=own[first])
        for own in drawn.values()
        for first, second in combinations(chosen, 2)
    ]
    languages = sorted({answer.language.value for answer in rated})
    return Sheets(
        answers={f"R{number:03}": rated[at] for number, at in enumerate(chance.permutation(len(rated)), start=1)},
        pairs={f"C{number:03}": pairs[at] for number, at in enumerate(chance.permutation(len(pairs)), start=1)},
        raters=[f"{language}-{number}" for language in languages for number in range(1, raters + 1)],
        seed=seed,
    )


def write_sheets(sheets: Sheets, folder: Path, key: Path) -> list[Path]:
    """Write a CSV of scores, one of preferences and a page to read for each rater, and the key elsewhere.

    Each rater has an order of their own.

    Raises:
        SheetsRefused: If the key would lie beside the sheets, or anything would be overwritten.
    """
    if folder.resolve() in (key.resolve().parent, *key.resolve().parents):
        raise SheetsRefused(f"The key {key} would lie with the sheets in {folder}: raters must not see it.")
    if key.exists() or (folder.exists() and any(folder.iterdir())):
        raise SheetsRefused(f"{key if key.exists() else folder} is there already, and nothing is overwritten.")
    folder.mkdir(parents=True, exist_ok=True)
    key.parent.mkdir(parents=True, exist_ok=True)
    key.write_text(json.dumps(_key(sheets), ensure_ascii=False, indent=1), encoding="utf-8")
    written = []
    for number, rater in enumerate(sheets.raters):
        chance = np.random.default_rng([sheets.seed, number])
        language = Language(rater.partition("-")[0])
        words = rating_words(language)
        codes = _shuffled([code for code, one in sheets.answers.items() if one.language is language], chance)
        pairs = _shuffled([code for code, one in sheets.pairs.items() if one.a.language is language], chance)
        for name, content in (
            (f"{rater}-scores.csv", _scores(sheets, rater, codes, words)),
            (f"{rater}-preferences.csv", _preferences(sheets, rater, pairs, words)),
            (f"{rater}.html", _page(sheets, rater, codes, pairs, words)),
        ):
            (folder / name).write_text(content, encoding="utf-8-sig" if name.endswith("csv") else "utf-8", newline="")
            written.append(folder / name)
    return written


def _answer(line: str) -> RecordedAnswer | None:
    try:
        row: dict[str, Any] = json.loads(line)
        return RecordedAnswer(
            system=str(row["system"]),
            question_id=str(row["id"]),
            language=Language(row["lang"]),
            question=str(row["question"]),
            text=str(row["text"]),
        )
    except (ValueError, KeyError, TypeError):
        return None


def _drawn(
    common: Mapping[str, dict[str, RecordedAnswer]], limit: int | None, chance: np.random.Generator
) -> dict[str, dict[str, RecordedAnswer]]:
    drawn: dict[str, dict[str, RecordedAnswer]] = {}
    for language in Language:
        names = sorted(name for name, own in common.items() if next(iter(own.values())).language is language)
        drawn |= {name: common[name] for name in _shuffled(names, chance)[:limit]}
    return drawn


def _shuffled(names: Sequence[str], chance: np.random.Generator) -> list[str]:
    return [names[at] for at in chance.permutation(len(names))]


def _key(sheets: Sheets) -> dict[str, Any]:
    return {
        "seed": sheets.seed,
        "raters": list(sheets.raters),
        "answers": {
            code: {"system": one.system, "id": one.question_id, "lang": one.language.value}
            for code, one in sheets.answers.items()
        },
        "pairs": {
            code: {"a": pair.a.system, "b": pair.b.system, "id": pair.a.question_id, "lang": pair.a.language.value}
            for code, pair in sheets.pairs.items()
        },
    }


def _scores(sheets: Sheets, rater: str, codes: Sequence[str], words: RatingWords) -> str:
    columns = ("rater", "code", "question", "answer", *ASPECTS, "notes")
    rows = [
        (rater, code, sheets.answers[code].question, _shown(sheets.answers[code], words), *[""] * (len(ASPECTS) + 1))
        for code in codes
    ]
    return _table(columns, rows, words)


def _preferences(sheets: Sheets, rater: str, codes: Sequence[str], words: RatingWords) -> str:
    columns = ("rater", "code", "question", "answer_a", "answer_b", "preference", "notes")
    pairs = [(code, sheets.pairs[code]) for code in codes]
    rows = [(rater, code, pair.a.question, _shown(pair.a, words), _shown(pair.b, words), "", "") for code, pair in pairs]
    return _table(columns, rows, words)


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]], words: RatingWords) -> str:
    """A table that an Italian or Spanish spreadsheet opens as one: their decimal sign is the comma."""
    written = io.StringIO()
    writer = csv.writer(written, delimiter=";")
    writer.writerow([words.columns[name] for name in columns])
    writer.writerows([f"'{cell}" if cell.startswith(_FORMULA) else cell for cell in row] for row in rows)
    return written.getvalue()


def _page(sheets: Sheets, rater: str, codes: Sequence[str], pairs: Sequence[str], words: RatingWords) -> str:
    aspects = "".join(f"<li><b>{escape(words.columns[name])}</b>: {escape(words.meanings[name])}</li>" for name in ASPECTS)
    parts = [
        f"<h1>{escape(words.title)} {escape(rater)}</h1>",
        f"<p>{escape(words.introduction.format(file=f'{rater}-scores.csv'))}</p><ul>{aspects}</ul>",
    ]
    for code in codes:
        one = sheets.answers[code]
        parts.append(f"<h2>{code}</h2><p class=note>{escape(one.question)}</p>{_prose(_shown(one, words))}")
    parts.append(f"<h1>{escape(words.pairs_title)}</h1>")
    parts.append(f"<p>{escape(words.pairs_introduction.format(file=f'{rater}-preferences.csv'))}</p>")
    for code in pairs:
        pair = sheets.pairs[code]
        parts.append(f"<h2>{code}</h2><p class=note>{escape(pair.a.question)}</p>")
        parts += [f"<h3>{name}</h3>{_prose(_shown(one, words))}" for name, one in (("A", pair.a), ("B", pair.b))]
    return document(f"{words.title} {rater}", parts, language=rater.partition("-")[0])


def _prose(text: str) -> str:
    return "".join(f"<p>{escape(line)}</p>" for line in text.splitlines() if line.strip())


def _shown(one: RecordedAnswer, words: RatingWords) -> str:
    return one.text or words.refused
