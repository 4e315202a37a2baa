"""Compares ways to answer on the same questions, by the measures of Riccio et al. (2025) for an Italian medical chatbot."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from bot.errors import BotError
from bot.evaluation.compared_systems import (
    DOCUMENTS,
    MAX_TOKENS,
    SUMMARY_TOKENS,
    TEMPERATURE,
    ComparedSystems,
    GoldQuestion,
    System,
)
from bot.evaluation.comparison_figures import comparison_figures
from bot.evaluation.run_records import RunRecords
from bot.evaluation.shipped import Half, lay_questions, read_lines
from bot.progress import Counted
from locales.language import Language
from rag.answerer import OpenReader
from rag.evaluation.metrics import hit_at
from rag.evaluation.text_metrics import embedding_overlap, informativeness, rouge_l
from rag.models.protocols import Embedder

_A_LANGUAGE = 25  # questions


class NoGoldPage(BotError):
    """The index does not hold the page that answers a question; the message names the topic."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldPages:
    """The text of the page on each topic, by language, and the cosine of unrelated texts in that language's index."""

    texts: Mapping[tuple[Language, str], str]
    background: Mapping[Language, float]

    @classmethod
    def of(cls, open_reader: OpenReader, questions: Sequence[GoldQuestion]) -> "GoldPages":
        """Read them from the published index.

        Raises:
            NoGoldPage: If a question has none there.
            StoreError: If the index cannot be read.
        """
        readers = {language: open_reader(language) for language in {question.language for question in questions}}
        texts = {
            (language, page.topic): page.text for language, reader in readers.items() for page in reader.pages() if page.topic
        }
        for question in questions:
            if (question.language, question.topic) not in texts:
                raise NoGoldPage(f"The index has no page on {question.topic} in {question.language.value}: `salus ingest` first.")
        return cls(texts=texts, background={language: one.statistics.background_mean for language, one in readers.items()})

    def text(self, question: GoldQuestion) -> str:
        """The page that answers a question."""
        return self.texts[question.language, question.topic]


def read_gold_questions(limit: int | None = None) -> list[GoldQuestion]:
    """Twenty-five lay questions a language out of the half that nothing is tuned on, by the hash of their id, languages in turn.

    Raises:
        SetUnreadable: If the file is missing or malformed.
    """
    rows = sorted(
        read_lines(lay_questions(Half.TEST), "id", "lang", "topic", "text"),
        key=lambda row: hashlib.sha256(row["id"].encode()).hexdigest(),
    )
    by_language = [[row for row in rows if row["lang"] == language.value][:_A_LANGUAGE] for language in Language]
    return [
        GoldQuestion(question_id=row["id"], language=Language(row["lang"]), text=row["text"], topic=row["topic"])
        for together in zip(*by_language, strict=True)
        for row in together
    ][:limit]


def conditions(questions: Sequence[GoldQuestion]) -> dict[str, Any]:
    """What of the measuring itself the records depend on."""
    told = "\n".join(f"{one.question_id}\t{one.text}" for one in questions)
    return {
        "questions_sha256": hashlib.sha256(told.encode()).hexdigest()[:16],
        "documents": DOCUMENTS,
        "max_tokens": MAX_TOKENS,
        "summary_tokens": SUMMARY_TOKENS,
        "temperature": TEMPERATURE,
    }


def evaluate_comparison(
    questions: Sequence[GoldQuestion],
    systems: Sequence[System],
    open_systems: Callable[[], ComparedSystems],
    gold: GoldPages,
    embedder: Embedder,
    records: RunRecords,
    about: Mapping[str, Any],
    progress: Counted,
) -> dict[str, Any]:
    """Answer each question in each way, and measure the texts.

    Args:
        questions: With the topic of the page that answers each.
        systems: What is compared, in this order.
        open_systems: Loads what answers; not called if all has been answered before.
        gold: The pages that answers are held against.
        embedder: Matches sentences.
        records: Keeps each answer.
        about: What is told of the run.
        progress: Told how far it is.

    Returns:
        `about`, and what `comparison_figures` makes of the measures of each answer.

    Raises:
        RagError: If models or index fail.
    """
    opened = cache(open_systems)

    def answer(system: System, number: int, question: GoldQuestion) -> dict[str, Any]:
        kept = records.once(system.value, question.question_id, lambda: opened().record(system, question))
        progress(f"answers of {system.value}", number, len(questions))
        return kept

    answers = {
        system.value: [answer(system, number, question) for number, question in enumerate(questions, start=1)]
        for system in dict.fromkeys(systems)
    }
    told = _informativeness(answers)
    measured = {
        name: [
            _measured(row, told[name][place], questions[place], gold, embedder, progress, (name, place + 1, len(rows)))
            for place, row in enumerate(rows)
        ]
        for name, rows in answers.items()
    }
    return {
        "about": {**about, "questions": len(questions), "fingerprint": records.fingerprint, "records": records.path.name},
        **comparison_figures(measured),
    }


def _informativeness(answers: Mapping[str, Sequence[Mapping[str, Any]]]) -> dict[str, list[float]]:
    """TF-IDF over the answers of all systems, each language for itself."""
    told = {name: [0.0] * len(rows) for name, rows in answers.items()}
    for language in Language:
        places = [
            (name, place) for name, rows in answers.items() for place, row in enumerate(rows) if row["lang"] == language.value
        ]
        texts = [answers[name][place]["text"] for name, place in places]
        for (name, place), figure in zip(places, informativeness(texts, language), strict=True):
            told[name][place] = figure
    return told


def _measured(
    row: Mapping[str, Any],
    told: float,
    question: GoldQuestion,
    gold: GoldPages,
    embedder: Embedder,
    progress: Counted,
    place: tuple[str, int, int],
) -> dict[str, Any]:
    reference, language = gold.text(question), question.language
    sequence = rouge_l(row["text"], reference, language)
    matched = embedding_overlap(row["text"], reference, embedder)
    rescaled = embedding_overlap(row["text"], reference, embedder, gold.background[language])
    name, done, total = place
    progress(f"measures of {name}", done, total)
    return {
        "id": row["id"],
        "lang": language.value,
        "text": row["text"],
        "reference": reference,
        "tfidf": told,
        "rouge_l": sequence.f1,
        "rouge_l_precision": sequence.precision,
        "rouge_l_recall": sequence.recall,
        "embedding_f1": matched.f1,
        "embedding_f1_rescaled": rescaled.f1,
        "words": len(row["text"].split()),
        "seconds": row["stages_s"]["all"],
        "found": None if row["found"] is None else hit_at(row["found"], [question.topic], DOCUMENTS),
    }
