"""The labelled sets that ship with the project, each in a half for tuning and a half that is kept for reporting."""

import json
from enum import StrEnum
from pathlib import Path
from typing import Any

from bot.errors import BotError
from locales.language import Language

_ROOT = Path(__file__).resolve().parents[2] / "tests" / "data"


class Half(StrEnum):
    """Which half of a set: `dev` is for tuning, `test` for reporting, and nothing is tuned on it."""

    DEV = "dev"
    TEST = "test"


class SetUnreadable(BotError):
    """A set is missing or malformed; the message names the file and the line."""


def safety_phrases(half: Half) -> Path:
    """Urgent and harmless messages."""
    return _ROOT / "safety" / f"phrases_{half.value}.jsonl"


def category_phrases(half: Half) -> Path:
    """Urgent and harmless messages of all categories, the same number of each."""
    return _ROOT / "safety" / f"phrases_all_{half.value}.jsonl"


def page_questions(half: Half) -> Path:
    """A lay question a starter page and language."""
    return _ROOT / "questions" / f"starter_{half.value}.jsonl"


def lay_questions(half: Half) -> Path:
    """Two or three lay questions a starter page and language."""
    return _ROOT / "questions" / f"lay_{half.value}.jsonl"


def lay_other_questions(half: Half) -> Path:
    """Lay questions that no starter page answers: near misses, and other matters."""
    return _ROOT / "questions" / f"lay_other_{half.value}.jsonl"


def traceability_topics() -> Path:
    """Topics whose questions answers are traced for, with the string that names each."""
    return _ROOT / "questions" / "traceability_topics.toml"


def pinned_floors() -> Path:
    """What the development half of the benchmark reached, and with which texts."""
    return _ROOT / "floors.json"


def coverage_questions() -> tuple[Path, ...]:
    """All that the decision whether a question is covered may be fitted to: on a page's topic, near one, or on other matters."""
    names = ("coverage_topics", "coverage_more", "coverage_dev", "topicality_dev", "starter_dev")
    return tuple(_ROOT / "questions" / f"{name}.jsonl" for name in names)


def topicality_questions(half: Half) -> Path:
    """Questions that the starter corpus covers, and questions that are none of its business."""
    return _ROOT / "questions" / f"topicality_{half.value}.jsonl"


def alignment_pairs(half: Half) -> Path:
    """Sentences with the evidence that supports them or does not."""
    return _ROOT / "alignment" / f"pairs_{half.value}.jsonl"


def alignment_edits(half: Half) -> Path:
    """Sentences made from their evidence by one edit each, of 24 kinds that change it and five that do not."""
    return _ROOT / "alignment" / f"edits_{half.value}.jsonl"


def alignment_free(half: Half) -> Path:
    """Sentences in quite other words than their evidence, half of them with one change of what it says."""
    return _ROOT / "alignment" / f"free_{half.value}.jsonl"


def adversarial_drafts() -> Path:
    """What a careless writer drafts: sentences with a changed number, unit or negation among faithful ones."""
    return _ROOT / "alignment" / "drafts.jsonl"


def evidence_grades(half: Half) -> Path:
    """Questions with candidate sentences, each graded by a reader."""
    return _ROOT / "evidence" / f"evidence_{half.value}.jsonl"


def planted_instructions() -> Path:
    """Pages and messages that hold an instruction to the machine."""
    return _ROOT / "injection" / "injections.jsonl"


def follow_ups() -> Path:
    """Pairs of messages of which the second needs the first, or begins a new topic."""
    return _ROOT / "questions" / "followups.jsonl"


def dialogue_cases(language: Language, half: Half) -> Path:
    """Patients with a condition, for a simulated dialogue."""
    return _ROOT / "dialogues" / f"cases_{language.value}_{half.value}.jsonl"


def bench_questions() -> Path:
    """Everyday questions whose answers are timed."""
    return _ROOT / "questions" / "bench_questions.jsonl"


def read_lines(path: Path, *required: str) -> list[dict[str, Any]]:
    """Read one JSON object a line.

    Raises:
        SetUnreadable: If the file cannot be read, a line is no object, one of the `required` keys is missing, or `lang`, where it
            is required, names no language of the product.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SetUnreadable(f"{path} cannot be read ({type(error).__name__}).") from error
    rows = []
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except json.JSONDecodeError as error:
            raise SetUnreadable(f"{path}, line {number}: not JSON.") from error
        missing = [key for key in required if not isinstance(row, dict) or key not in row]
        if missing:
            raise SetUnreadable(f"{path}, line {number}: {missing[0]} is missing.")
        if "lang" in required and str(row["lang"]) not in set(Language):
            raise SetUnreadable(f"{path}, line {number}: no language has the name {str(row['lang'])[:20]!r}.")
        rows.append(row)
    if not rows:
        raise SetUnreadable(f"{path} is empty.")
    return rows
