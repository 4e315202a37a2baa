"""Question sets with known right pages, one JSON object a line."""

import json
from dataclasses import dataclass
from pathlib import Path

from locales.language import Language


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedQuery:
    """A question and the ids of the documents that answer it."""

    query_id: str
    language: Language
    question: str
    gold: frozenset[str]
    set_name: str


def read_queries(path: Path) -> list[JudgedQuery]:
    """Read `{id, lang, question, gold: [document ids], set?}` lines; a query without a set belongs to the set `default`.

    Raises:
        ValueError: If a line is not such an object; the message names the line.
    """
    queries = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
            queries.append(
                JudgedQuery(
                    query_id=str(row["id"]),
                    language=Language(row["lang"]),
                    question=row["question"],
                    gold=frozenset(row["gold"]),
                    set_name=row.get("set") or "default",
                )
            )
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(f"{path}, line {number}: {error!r}") from error
    return queries
