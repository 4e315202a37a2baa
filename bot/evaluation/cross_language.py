"""Whether questions find their page in the other language, and are pointed to it and to no other page."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bot.evaluation.shipped import read_lines
from bot.progress import Counted
from locales.language import Language
from rag.answerer import Answerer, OpenReader
from rag.errors import IndexMissing
from rag.evaluation.metrics import hit_at
from rag.expander import Expander, Lexicon
from rag.index_reader import IndexReader
from rag.interpreter import Interpreter
from rag.models.protocols import Embedder
from rag.replies import Abstention
from rag.signpost import Signpost
from rag.types import Question

BuildAnswerer = Callable[[OpenReader], Answerer]
_COLUMNS = ("hit@1", "hit@5", "pointed_right", "pointed_wrong", "pointed_beside")
_OTHER = {Language.ITALIAN: Language.SPANISH, Language.SPANISH: Language.ITALIAN}


@dataclass(frozen=True, slots=True, kw_only=True)
class Lines:
    """What is measured: the answering line with everything published, and with each language left out, and the search alone."""

    open_reader: OpenReader
    embedder: Embedder
    published: Answerer
    lacking: dict[Language, Answerer]

    @classmethod
    def of(cls, open_reader: OpenReader, embedder: Embedder, build: BuildAnswerer) -> "Lines":
        """Make them over the published indexes."""
        lacking = {language: build(_without(language, open_reader)) for language in Language}
        return cls(open_reader=open_reader, embedder=embedder, published=build(open_reader), lacking=lacking)


def evaluate_cross_language(questions: Sequence[Path], others: Sequence[Path], lines: Lines, progress: Counted) -> dict[str, Any]:
    """Ask each question as if nothing had been published in its language, and once more with everything published.

    Args:
        questions: Files of lines ``{id, lang, topic, text}``; `topic` names the page, which both languages have.
        others: Files of lines ``{id, lang, label, text}`` that no page answers, `near_miss` or `off_topic`.
        lines: What is measured.
        progress: Told how far it is.

    Returns:
        Rows by file, or label, and language: the shares of questions whose page is the first, or among the first five, of the
        other language's, by meaning alone; that were pointed to it; that were pointed to a page that is not theirs; and that were
        pointed to any although their own language has all its pages. Then the questions that were pointed wrongly.

    Raises:
        SetUnreadable: If a file is not of that form.
        StoreError: If a language has not been published.
    """
    rows = [(path.stem, row) for path in questions for row in read_lines(path, "id", "lang", "topic", "text")]
    rows += [(row["label"], row) for path in others for row in read_lines(path, "id", "lang", "label", "text")]
    expander = Expander({language: Lexicon.load(language) for language in Language})
    figures: dict[str, list[dict[str, float | None]]] = {}
    wrong = []
    for number, (name, row) in enumerate(rows, start=1):
        language, topic = Language(row["lang"]), row.get("topic") or None
        question = Question(text=row["text"], language=language)
        reader = lines.open_reader(_OTHER[language])
        pointed = _pointed(lines.lacking[language], question, reader)
        measured: dict[str, float | None] = dict.fromkeys(_COLUMNS)
        if topic is not None:
            ranking = _ranking(question, reader, lines.embedder, expander)
            measured |= {"hit@1": hit_at(ranking, [topic], 1), "hit@5": hit_at(ranking, [topic], 5)}
            measured["pointed_right"] = float(topic in pointed)
        measured["pointed_wrong"] = float(bool(pointed) and topic not in pointed)
        measured["pointed_beside"] = float(bool(_pointed(lines.published, question, reader)))
        figures.setdefault(f"{name}_{language.value}", []).append(measured)
        if measured["pointed_wrong"]:
            wrong.append({"id": row["id"], "topic": topic, "text": row["text"], "pointed": pointed})
        progress("cross-language", number, len(rows))
    return {"rows": [{"set": name, **_means(found)} for name, found in sorted(figures.items())], "wrong": wrong}


def _without(missing: Language, open_reader: OpenReader) -> OpenReader:
    def open_others(language: Language) -> IndexReader:
        if language is missing:
            raise IndexMissing(f"The index of {language.value} is left out.")
        return open_reader(language)

    return open_others


def _ranking(question: Question, reader: IndexReader, embedder: Embedder, expander: Expander) -> list[str]:
    """Topics of the other language's pages, nearest first, as the answering line ranks them."""
    interpretation = Interpreter().interpret(question)
    query = expander.expand(interpretation)
    vectors = list(embedder.embed_queries([query.question, *query.expansions]))
    pages = Signpost().rank(vectors, reader, _OTHER[interpretation.language], interpretation.population)
    return [page.topic or "" for page in pages]


def _pointed(line: Answerer, question: Question, reader: IndexReader) -> list[str]:
    """Topics of the pages that a reply points to; empty when it points to none."""
    reply = line.answer(question).reply
    if not isinstance(reply, Abstention):
        return []
    documents = [reader.get_document(source.document_id) for source in reply.sources]
    return [document.topic or "" for document in documents if document is not None]


def _means(found: Sequence[dict[str, float | None]]) -> dict[str, float | int | None]:
    means: dict[str, float | int | None] = {}
    for column in _COLUMNS:
        shares = [share for one in found if (share := one[column]) is not None]
        means[column] = round(sum(shares) / len(shares), 4) if shares else None
    return means | {"n": len(found)}
