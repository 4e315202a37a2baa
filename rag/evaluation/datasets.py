"""Question sets with known right pages, one JSON object a line, and what is wrong with them."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from locales.language import Language

ALL_SETS = "all"
"""The name under which all questions are counted together."""

_NAMED = 80  # characters of an id that is named


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedQuery:
    """A question and the ids of the documents that answer it."""

    query_id: str
    language: Language
    question: str
    gold: frozenset[str]
    set_name: str
    line: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """What is wrong with a line of a set. It names ids and lines, and never says what a question or a document says."""

    file: str
    line: int
    subject: str
    kind: str
    detail: str
    is_left_out: bool = False

    def as_row(self) -> dict[str, Any]:
        """The problem as a report holds it; `left_out` tells whether the line counts in no figure."""
        return {
            "file": self.file,
            "line": self.line,
            "id": self.subject[:_NAMED],
            "problem": self.kind,
            "detail": self.detail,
            "left_out": self.is_left_out,
        }


class MalformedLine(ValueError):
    """A line is not what it should be; the text says why, without what the line holds."""


def read_queries(path: Path) -> tuple[list[JudgedQuery], list[Problem]]:
    """Read `{id, lang, question, gold: [document ids], set?}` lines; a query without a set belongs to the set `default`.

    Returns:
        The questions in their order, and a problem for each line that is no question.
    """
    queries, problems = [], []
    for number, raw in numbered_lines(path):
        try:
            queries.append(_query(number, json_object(raw)))
        except MalformedLine as error:
            problems.append(malformed("queries", number, error))
    return queries, problems


def numbered_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """The lines that are not blank, with their numbers. Only a line feed ends one: texts may hold other separators."""
    with path.open("rb") as file:
        for number, raw in enumerate(file, start=1):
            line = raw.removeprefix(b"\xef\xbb\xbf").strip()
            if line:
                yield number, line


def json_object(raw: bytes) -> Mapping[str, Any]:
    """Read a line as a JSON object.

    Raises:
        MalformedLine: If it is none.
    """
    try:
        row = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise MalformedLine("not JSON in UTF-8") from error
    if not isinstance(row, dict):
        raise MalformedLine("not a JSON object")
    return row


def identity(row: Mapping[str, Any]) -> str:
    """The id of a line, which may be a number.

    Raises:
        MalformedLine: If it has none.
    """
    return _id(row.get("id"), "id")


def language_of(row: Mapping[str, Any]) -> Language:
    """The language of a line.

    Raises:
        MalformedLine: If `lang` is not one that Salus speaks.
    """
    try:
        return Language(str(row.get("lang")))
    except ValueError as error:
        raise MalformedLine(f"lang is none of {', '.join(Language)}") from error


def text_of(row: Mapping[str, Any], key: str) -> str:
    """A text of a line, without halves of characters, which nothing could store.

    Raises:
        MalformedLine: If it is missing or no text.
    """
    value = row.get(key)
    if not isinstance(value, str):
        raise MalformedLine(f"{key} is {'missing' if value is None else 'not a text'}")
    return _whole(value)


def malformed(file: str, line: int, error: MalformedLine) -> Problem:
    """The problem of a line that could not be read."""
    return Problem(file=file, line=line, subject="", kind="malformed", detail=str(error), is_left_out=True)


def _query(number: int, row: Mapping[str, Any]) -> JudgedQuery:
    gold = row.get("gold")
    if not isinstance(gold, list):
        raise MalformedLine("gold is not a list")
    set_name = _whole(str(row.get("set") or "default"))
    return JudgedQuery(
        query_id=identity(row),
        language=language_of(row),
        question=text_of(row, "question"),
        gold=frozenset(_id(one, "gold") for one in gold),
        set_name=f"{set_name} (set)" if set_name == ALL_SETS else set_name,
        line=number,
    )


def _id(value: object, key: str) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise MalformedLine(f"{key} is {'missing' if value is None else 'neither a text nor a number'}")
    return _whole(str(value))


def _whole(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8")
