"""Reads pages of questions that the publisher itself answers."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from lxml.html import HtmlElement

from ingest.documents import new_document, web_document_id
from ingest.errors import SourceUnreadable
from ingest.extraction.answer_text import one_line, plain_answer, plain_element
from ingest.extraction.body import select
from ingest.extraction.structured_values import item_types, items_of, text_of
from ingest.sources import SourceRow
from rag.documents import Document, DocumentKind


def faq_document(
    pairs: Sequence[tuple[str, str]], *, title: str, source: SourceRow, url: str, fetched_at: datetime
) -> Document | None:
    """Make a document with one section per question, each question once; None if there is no pair.

    Raises:
        SourceUnreadable: If the source has no language.
    """
    if source.language is None:
        raise SourceUnreadable(f"the source {source.id!r} has no language")
    answers: dict[str, str] = {}
    for question, answer in pairs:
        if question and answer:
            answers.setdefault(question, answer)
    if not answers:
        return None
    return new_document(
        fetched_at=fetched_at,
        document_id=web_document_id(source.id, url),
        source_id=source.id,
        url=url,
        title=one_line(title) or next(iter(answers)),
        publisher=source.publisher,
        authority=source.authority,
        language=source.language,
        text="\n\n".join(f"## {question}\n\n{answer}" for question, answer in answers.items()),
        reviewed_on=None,
        kind=DocumentKind.FAQ,
    )


def pairs_from_structured(data: dict[str, Any]) -> list[tuple[str, str]]:
    """Read the questions and accepted answers of a schema.org FAQPage, or of one Question, in the plain form."""
    questions = items_of(data.get("mainEntity")) if "FAQPage" in item_types(data) else [data]
    pairs = []
    for question in questions:
        if "Question" not in item_types(question):
            continue
        asked = one_line(text_of(question.get("name")) or text_of(question.get("text")))
        answered = (plain_answer(text_of(answer.get("text"))) for answer in items_of(question.get("acceptedAnswer")))
        answer = "\n\n".join(text for text in answered if text)
        if asked and answer:
            pairs.append((asked, answer))
    return pairs


def pairs_from_selectors(tree: HtmlElement, source: SourceRow) -> list[tuple[str, str]]:
    """Read the pairs that the source's selectors find, each question with the answers between it and the next question."""
    selectors = source.selectors
    if not selectors.question or not selectors.answer:
        return []
    removed = [element for selector in selectors.remove for element in select(tree, selector)]
    questions = select(tree, selectors.question)
    answers = select(tree, selectors.answer)
    pairs: list[tuple[str, list[str]]] = []
    wanted = {id(element): True for element in questions} | {id(element): False for element in answers}
    for element in tree.iter():
        is_question = wanted.get(id(element))
        if is_question:
            pairs.append((one_line(plain_element(element, removed)), []))
        elif is_question is False and pairs:
            pairs[-1][1].append(plain_element(element, [*removed, *questions]))
    joined = [(question, "\n\n".join(text for text in texts if text)) for question, texts in pairs]
    return [(question, answer) for question, answer in joined if question and answer]
