"""Whether questions that the corpus covers are answered, others refused, and follow-ups understood. No generator is needed."""

from pathlib import Path
from typing import Any

from bot.asker import Asker
from bot.evaluation.shipped import read_lines
from bot.outcomes import kind_of
from bot.progress import Counted
from locales.language import Language
from rag.answerer import Answerer
from rag.replies import Answer
from rag.text import fold
from rag.types import Question

_ON_TOPIC = "on_topic"
_REFUSALS = {"abstention", "notice"}


def evaluate_topicality(questions: Path, asker: Asker, progress: Counted) -> dict[str, Any]:
    """Ask each question and see whether it is answered or refused.

    Args:
        questions: Lines of ``{id, lang, label: on_topic | off_topic, text}``.
        asker: Asks; its answers may be extractive.
        progress: Told how far it is.

    Raises:
        SetUnreadable: If the file is not of that form.
    """
    rows = read_lines(questions, "id", "lang", "label", "text")
    wrong: list[dict[str, Any]] = []
    right: dict[tuple[str, str], list[bool]] = {}
    for number, row in enumerate(rows, start=1):
        outcome = kind_of(asker.ask(row["text"]).outcome)
        is_right = outcome == "answer" if row["label"] == _ON_TOPIC else outcome in _REFUSALS
        right.setdefault((row["lang"], row["label"]), []).append(is_right)
        if not is_right:
            wrong.append({"id": row["id"], "outcome": outcome, "text": row["text"]})
        progress("topicality", number, len(rows))
    return {
        "rows": [
            {"set": f"{label}_{lang}", "right": round(sum(found) / len(found), 4), "n": len(found)}
            for (lang, label), found in sorted(right.items())
        ],
        "wrong": wrong,
    }


def evaluate_follow_ups(pairs: Path, answerer: Answerer, progress: Counted) -> dict[str, Any]:
    """Ask the second of two messages with the first as its history.

    A follow-up is right when what is searched names the words it must, and the answer comes from a page on the topic; a new topic
    is right when no word of the old one is searched.

    Args:
        pairs: Lines of ``{id, lang, first, follow_up, expect_topic, expect_words, forbid_words?}``.
        answerer: The answering line.
        progress: Told how far it is.

    Raises:
        SetUnreadable: If the file is not of that form.
    """
    rows = read_lines(pairs, "id", "lang", "first", "follow_up", "expect_topic")
    wrong = []
    for number, row in enumerate(rows, start=1):
        question = Question(text=row["follow_up"], earlier=(row["first"],), language_prior=Language(row["lang"]))
        run = answerer.answer(question)
        searched = fold(run.interpretation.self_contained)
        topics = (
            {item.chunk.topic for s in run.reply.sentences for item in s.evidence} if isinstance(run.reply, Answer) else set()
        )
        names_all = all(fold(stem) in searched for stem in row.get("expect_words", ()))
        polluted = any(word.startswith(fold(stem)) for stem in row.get("forbid_words", ()) for word in searched.split())
        if not names_all or polluted or row["expect_topic"] not in topics:
            wrong.append({"id": row["id"], "searched": run.interpretation.self_contained, "topics": sorted(filter(None, topics))})
        progress("follow-ups", number, len(rows))
    return {"rows": [{"set": "follow_ups", "right": round(1 - len(wrong) / len(rows), 4), "n": len(rows)}], "wrong": wrong}
