"""Measures how far answers can be traced to evidence under three retrieval policies, as Jeong et al. (2026) did for two."""

import hashlib
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from bot.evaluation.retrieval_policies import EVIDENCE_ITEMS, POOL, TEXT_WEIGHT, TITLE_WEIGHT, Policy, PolicySearch
from bot.evaluation.run_records import RunRecords
from bot.evaluation.shipped import Half, SetUnreadable, lay_questions, read_lines, traceability_topics
from bot.progress import Counted
from locales.language import Language
from rag.aligner import Aligner
from rag.answerer import Answerer, OpenReader
from rag.documents import Document
from rag.evaluation.comparisons import compared, mean, with_interval
from rag.evaluation.traceability import MEASURES, trace
from rag.replies import Answer
from rag.types import Question, SentenceKind

_A_TOPIC = 3  # questions a topic and language
_COUNTED = 1  # raised when a count comes to mean something else
_ALL = "all"

_Asked = Mapping[str, Sequence[Mapping[str, Any]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicQuestion:
    """A question that is meant to be about a topic, and the string that names the topic."""

    question_id: str
    language: Language
    text: str
    topic: str
    topic_name: str


@dataclass(slots=True, kw_only=True)
class PolicyLine:
    """The product's answering line with its search under one policy."""

    search: PolicySearch
    answerer: Answerer
    open_reader: OpenReader
    _pages: dict[tuple[Language, str], Document | None] = field(default_factory=dict)

    def counts(self, asked: TopicQuestion) -> dict[str, Any]:
        """Answer a question and count."""
        self.search.topic_name, self.search.found = asked.topic_name, []
        reply = self.answerer.answer(Question(text=asked.text, language=asked.language)).reply
        sentences = reply.sentences if isinstance(reply, Answer) else ()
        counted = trace(
            self.search.found[:EVIDENCE_ITEMS],
            sentences,
            asked.topic,
            lambda document_id: self._page(asked.language, document_id),
            Aligner(asked.language),
        )
        kinds = [sentence.kind.value for sentence in sentences]
        return {"lang": asked.language.value, "topic": asked.topic, **counted.as_row(), "kinds": kinds}

    def _page(self, language: Language, document_id: str) -> Document | None:
        key = (language, document_id)
        if key not in self._pages:
            self._pages[key] = self.open_reader(language).get_document(document_id)
        return self._pages[key]


def read_topic_questions(limit: int | None = None) -> list[TopicQuestion]:
    """The shipped choice, or the first `limit` of it: languages and topics in turn, so that few questions are of many topics.

    Raises:
        SetUnreadable: If a file is missing or malformed, or a topic has too few questions.
    """
    path = traceability_topics()
    try:
        topics: Mapping[str, Mapping[str, str]] = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise SetUnreadable(f"{path} cannot be read ({type(error).__name__}).") from error
    rows = [row for half in Half for row in read_lines(lay_questions(half), "id", "lang", "topic", "text")]
    chosen = []
    for topic, named in topics.items():
        for language in Language:
            own = sorted((row["id"], row["text"]) for row in rows if (row["topic"], row["lang"]) == (topic, language.value))
            if len(own) < _A_TOPIC:
                raise SetUnreadable(f"There are only {len(own)} questions on {topic} in {language.value}.")
            for place, (name, text) in enumerate(own[:_A_TOPIC]):
                one = TopicQuestion(question_id=name, language=language, text=text, topic=topic, topic_name=named[language.value])
                chosen.append((place, one))
    chosen.sort(key=lambda one: one[0])  # a stable sort keeps the order of topics and languages
    return [one for _, one in chosen][:limit]


def evaluate_traceability(
    questions: Sequence[TopicQuestion],
    open_line: Callable[[Policy], PolicyLine],
    records: RunRecords,
    about: Mapping[str, Any],
    progress: Counted,
) -> dict[str, Any]:
    """Ask every question under every policy, and compare.

    Args:
        questions: What is asked.
        open_line: Makes the answering line of a policy; not called for one whose questions have all been asked before.
        records: Keeps the counts of each question.
        about: What is told of the run.
        progress: Told how far it is.

    Returns:
        `about`; `rows` by set and policy: the mean of each measure with its 95 % interval by bootstrap, and the share answered;
        `comparisons` by set: see `rag.evaluation.comparisons`; `values` by policy: each measure's counts in the order of `ids`.

    Raises:
        RagError: If models or index fail.
    """
    opened = cache(open_line)

    def record(policy: Policy, number: int, one: TopicQuestion) -> dict[str, Any]:
        told = records.once(policy.value, one.question_id, lambda: opened(policy).counts(one))
        progress(f"policy {policy.value}", number, len(questions))
        return told

    asked = {policy.value: [record(policy, number, one) for number, one in enumerate(questions, start=1)] for policy in Policy}
    sets = {name: _of(name, asked) for name in _sets(questions)}
    return {
        "about": {**about, "questions": len(questions), "fingerprint": records.fingerprint},
        "rows": [_row(name, policy, rows) for name, own in sets.items() for policy, rows in own.items()],
        "comparisons": [{"set": name, **row} for name, own in sets.items() for row in compared(_values(own))],
        "ids": [question.question_id for question in questions],
        "values": _values(asked),
    }


def conditions(questions: Sequence[TopicQuestion]) -> dict[str, Any]:
    """What of the measuring itself the records depend on."""
    told = "\n".join(f"{one.question_id}\t{one.text}\t{one.topic_name}" for one in questions)
    return {
        "questions_sha256": hashlib.sha256(told.encode()).hexdigest()[:16],
        "evidence_items": EVIDENCE_ITEMS,
        "pool": POOL,
        "weights": f"title {TITLE_WEIGHT}, heading or text {TEXT_WEIGHT}",
        "counted": _COUNTED,
    }


def _sets(questions: Sequence[TopicQuestion]) -> list[str]:
    languages = sorted({question.language.value for question in questions})
    return [*languages, _ALL] if len(languages) > 1 else languages


def _of(name: str, asked: _Asked) -> dict[str, list[Mapping[str, Any]]]:
    return {policy: [row for row in rows if name in (_ALL, row["lang"])] for policy, rows in asked.items()}


def _row(name: str, policy: str, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    row: dict[str, Any] = {"set": name, "policy": policy, "n": len(rows)}
    for measure in MEASURES:
        row |= with_interval(measure, [float(one[measure]) for one in rows])
    kinds = [kind for one in rows for kind in one["kinds"]]
    return row | {
        "answered": mean([float(one["sentences"] > 0) for one in rows]),
        "written": mean([float(kind == SentenceKind.WRITTEN) for kind in kinds]),
    }


def _values(asked: _Asked) -> dict[str, dict[str, list[float]]]:
    return {policy: {measure: [float(row[measure]) for row in rows] for measure in MEASURES} for policy, rows in asked.items()}
