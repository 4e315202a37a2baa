"""Whether lay questions find the starter page that answers them, and are answered from it. No generator is needed."""

from pathlib import Path
from typing import Any

from bot.asker import Asker
from bot.evaluation.shipped import read_lines
from bot.outcomes import Escalation, Outcome, kind_of
from bot.progress import Counted
from locales.language import Language
from rag.answerer import Answerer
from rag.evaluation.metrics import hit_at, reciprocal_rank
from rag.replies import Answer
from rag.types import Question


def evaluate_pages(questions: Path, answerer: Answerer, asker: Asker, progress: Counted) -> dict[str, Any]:
    """Ask each question and look for its page.

    Args:
        questions: Lines of ``{id, lang, topic, text}``; `topic` names the page. None of them is an emergency.
        answerer: The answering line, over an index that holds these pages.
        asker: Asks, with the gate before this answering line.
        progress: Told how far it is.

    Returns:
        Rows by language: the share of questions whose page is the first, or among the first five, of the ranking that answers
        are made from (pages, not passages), its mean reciprocal rank, and the shares answered at all, answered from that page,
        and taken for an emergency. And the questions whose page is not among the five, or whose reply is not from it.

    Raises:
        SetUnreadable: If the file is not of that form.
        StoreError: If nothing has been published in the language of a question.
    """
    rows = read_lines(questions, "id", "lang", "topic", "text")
    figures: dict[str, list[dict[str, float]]] = {}
    wrong = []
    for number, row in enumerate(rows, start=1):
        question = Question(text=row["text"], language_prior=Language(row["lang"]))
        ranking = list(dict.fromkeys(hit.chunk.topic or "" for hit in answerer.find(question)))
        outcome = asker.ask(row["text"]).outcome
        answered_from = _topics(outcome)
        measured = {
            "first": hit_at(ranking, [row["topic"]], 1),
            "first_five": hit_at(ranking, [row["topic"]], 5),
            "mrr": reciprocal_rank(ranking, [row["topic"]]),
            "answered": float(bool(answered_from)),
            "from_the_page": float(row["topic"] in answered_from),
            "escalated": float(isinstance(outcome, Escalation)),
        }
        figures.setdefault(row["lang"], []).append(measured)
        if not measured["first_five"] or not measured["from_the_page"]:
            shown = {key: row[key] for key in ("id", "topic", "text")}
            wrong.append(shown | {"ranking": ranking[:5], "outcome": kind_of(outcome), "answered_from": answered_from})
        progress("pages", number, len(rows))
    return {"rows": [{"set": f"pages_{lang}", **_means(found)} for lang, found in sorted(figures.items())], "wrong": wrong}


def _topics(outcome: Outcome) -> list[str]:
    if not isinstance(outcome, Answer):
        return []
    return sorted({item.chunk.topic or "" for sentence in outcome.sentences for item in sentence.evidence})


def _means(found: list[dict[str, float]]) -> dict[str, float | int]:
    return {key: round(sum(one[key] for one in found) / len(found), 4) for key in found[0]} | {"n": len(found)}
