"""What the safety gate finds of the emergencies in a set of phrases, and what it takes for one wrongly."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bot.evaluation.shipped import read_lines
from bot.loading import load_gate

_URGENT = "urgent"


def evaluate_safety(phrases: Path) -> dict[str, Any]:
    """Read each phrase as a message of its own.

    Args:
        phrases: Lines of ``{id, lang, label: urgent | not_urgent, category, text}``.

    Returns:
        Recall, false-alarm rate, size, misses and false alarms; the rates also by language, the recall by category.

    Raises:
        SetUnreadable: If the file is not of that form.
        StartRefused: If the red-flag data is not usable.
    """
    gate = load_gate()
    rows = read_lines(phrases, "id", "lang", "label", "category", "text")
    read = [(row, gate.reread(row["text"], first=gate.read(row["text"])).red_flag) for row in rows]
    outcomes = [
        {**row, "urgent": row["label"] == _URGENT, "fired": flag is not None, "read_as": flag.category if flag else None}
        for row, flag in read
    ]
    urgent = [row for row in outcomes if row["urgent"]]
    return {
        **_rates(outcomes),
        "n": len(outcomes),
        "misses": [_shown(row) for row in urgent if not row["fired"]],
        "false_alarms": [_shown(row) for row in outcomes if row["fired"] and not row["urgent"]],
        "by_language": {lang: _rates([row for row in outcomes if row["lang"] == lang]) for lang in _values(outcomes, "lang")},
        "recall_by_category": {
            category: _rates([row for row in urgent if row["category"] == category])["recall"]
            for category in _values(urgent, "category")
        },
    }


def _rates(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    urgent = [row["fired"] for row in rows if row["urgent"]]
    harmless = [row["fired"] for row in rows if not row["urgent"]]
    return {"recall": _share(urgent), "false_alarm_rate": _share(harmless)}


def _share(fired: Sequence[bool]) -> float | None:
    return round(sum(fired) / len(fired), 4) if fired else None


def _values(rows: Sequence[Mapping[str, Any]], key: str) -> list[str]:
    return sorted({row[key] for row in rows})


def _shown(row: Mapping[str, Any]) -> dict[str, Any]:
    return {key: row[key] for key in ("id", "lang", "category", "read_as", "text")}
