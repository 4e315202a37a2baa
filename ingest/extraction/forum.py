"""Reads a thread of a doctors' forum: what a person asked, and what doctors answered. Nobody's name gets into a document."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from typing import Any

from lxml.html import HtmlElement

from ingest.documents import new_document, web_document_id
from ingest.errors import SourceUnreadable
from ingest.extraction.answer_text import (
    one_line,
    plain_answer,
    plain_element,
    without_named_sentences,
    without_names,
    without_people,
)
from ingest.extraction.body import select
from ingest.extraction.dates import read_date
from ingest.extraction.deidentify import deidentified, names_told, segmented
from ingest.extraction.doctors import is_doctor, shown_role
from ingest.extraction.identity_words import IdentityWords
from ingest.extraction.structured_values import author_of, item_types, items_of, text_of
from ingest.sources import SourceRow
from locales.language import Language
from rag.documents import Document, DocumentKind

_CATEGORIES = ("about", "articleSection", "genre")
_QUESTIONS = frozenset({"Question", "DiscussionForumPosting"})
_PHYSICIANS = frozenset({"Physician", "IndividualPhysician"})
_LONGEST_TITLE = 150


@dataclass(frozen=True, slots=True, kw_only=True)
class ForumAnswer:
    """One reply in a thread, in the plain form. `role` is what the forum shows of who wrote it; it may still hold a name."""

    text: str
    role: str | None
    answered_on: date | None
    is_doctor: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Thread:
    """A question and its replies as the page has them, in its order. Nothing is left out yet but what is known by name."""

    title: str
    question: str
    answers: tuple[ForumAnswer, ...]
    category: str | None


def forum_document(thread: Thread, source: SourceRow, url: str, fetched_at: datetime) -> Document | None:
    """Make a document of the answers of doctors, found by what was asked; None if no doctor has answered.

    Raises:
        SourceUnreadable: If the source has no language.
    """
    if source.language is None:
        raise SourceUnreadable(f"the source {source.id!r} has no language")
    language = source.language
    names = names_told(f"{thread.title}\n{thread.question}", language)
    doctors = (answer for answer in thread.answers if answer.is_doctor)
    cleaned = (replace(answer, text=_without_anybody(answer.text, names, language)) for answer in doctors)
    answers = [answer for answer in cleaned if answer.text]
    if not answers:
        return None
    title = deidentified(thread.title, language).replace("\n", " ")[:_LONGEST_TITLE].strip(" ,;:-–")
    roles = {role.lower(): role for answer in reversed(answers) if (role := shown_role(answer.role, language))}
    return new_document(
        fetched_at=fetched_at,
        document_id=web_document_id(source.id, url),
        source_id=source.id,
        url=url,
        title=title or IdentityWords.load(language).texts["untitled"],
        publisher=source.publisher,
        authority=source.authority,
        language=language,
        text="\n\n".join(_section(answer, language) for answer in answers),
        reviewed_on=None,
        kind=DocumentKind.FORUM,
        asked=segmented(_asked(title, deidentified(thread.question, language)), language),
        answered_by=", ".join(reversed(roles.values())) or None,
        category=thread.category,
        published_on=max((answer.answered_on for answer in answers if answer.answered_on), default=None),
    )


def thread_from_structured(data: dict[str, Any]) -> Thread | None:
    """Read a schema.org QAPage, Question or DiscussionForumPosting; None if it holds no question or no answer."""
    question = next(iter(items_of(data.get("mainEntity"))), None) if "QAPage" in item_types(data) else data
    if question is None or not _QUESTIONS & item_types(question):
        return None
    title = one_line(text_of(question.get("name")) or text_of(question.get("headline")))
    text = plain_answer(text_of(question.get("text")) or text_of(question.get("articleBody")))
    asker = author_of(question)
    given = [answer for key in _answer_keys(question) for answer in items_of(question.get(key))]
    names = {name for item in (question, *given) if (name := text_of(author_of(item).get("name")))}
    answers = {answer.text: answer for answer in (_structured_answer(item, asker, names) for item in given) if answer.text}
    if not (title or text) or not answers:
        return None
    category = next((name for key in _CATEGORIES if (name := one_line(text_of(question.get(key))))), None)
    return Thread(
        title=without_names(title, names),
        question=without_names(text, names),
        answers=tuple(answers.values()),
        category=category,
    )


def thread_from_selectors(tree: HtmlElement, source: SourceRow) -> Thread | None:
    """Read a thread by the source's selectors; None if the page lacks a question or an answer.

    Who answers is known only by the role that `answered_by` finds in an answer, or beside it in what holds that answer alone.
    """
    selectors = source.selectors
    if not selectors.question or not selectors.answer:
        return None
    removed = [element for selector in selectors.remove for element in select(tree, selector)]
    questions, elements = select(tree, selectors.question), select(tree, selectors.answer)
    answers = [
        _selected_answer(element, [other for other in (*questions, *elements) if other is not element], source, removed)
        for element in elements
    ]
    found = tuple(answer for answer in answers if answer.text)
    if not questions or not found:
        return None
    return Thread(
        title=_selected_line(tree, selectors.title),
        question=plain_element(questions[0], removed),
        answers=found,
        category=_selected_line(tree, selectors.category) or None,
    )


def _section(answer: ForumAnswer, language: Language) -> str:
    role = shown_role(answer.role, language)
    told = [role and role.lower(), f"{answer.answered_on:%d/%m/%Y}" if answer.answered_on else None]
    details = ", ".join(part for part in told if part)
    heading = IdentityWords.load(language).texts["answer_heading"] + (f" ({details})" if details else "")
    return f"## {heading}\n\n{answer.text}"


def _without_anybody(text: str, names: Collection[str], language: Language) -> str:
    return without_named_sentences(without_people(text, language), names)


def _asked(title: str, question: str) -> str:
    """Title and question, the title once: many forums repeat the beginning of the question in it."""
    bare = title.rstrip(".… ")
    if not bare or question.lower().startswith(bare.lower()):
        return question
    return f"{title}\n{question}"


def _answer_keys(question: dict[str, Any]) -> tuple[str, ...]:
    """Where the answers stand. A comment on a Question asks back or thanks; one on a posting is all the answer there is."""
    return ("acceptedAnswer", "suggestedAnswer") if "Question" in item_types(question) else ("comment",)


def _structured_answer(item: dict[str, Any], asker: dict[str, Any], names: Collection[str]) -> ForumAnswer:
    author = author_of(item)
    name, role = text_of(author.get("name")), one_line(_role(author))
    is_same = bool(name) and name == text_of(asker.get("name"))
    return ForumAnswer(
        text=without_named_sentences(plain_answer(text_of(item.get("text"))), names),
        role=role or None,
        answered_on=_date_in(text_of(item.get("datePublished")) or text_of(item.get("dateCreated"))),
        is_doctor=not is_same and (bool(_PHYSICIANS & item_types(author)) or is_doctor(role, name)),
    )


def _role(author: dict[str, Any]) -> str:
    keys = ("honorificPrefix", "jobTitle", "hasOccupation", "medicalSpecialty")
    found = (text_of(author.get(key)) for key in keys)
    return " ".join(text for text in found if text and "://" not in text)


def _selected_answer(
    element: HtmlElement, others: Collection[HtmlElement], source: SourceRow, removed: Sequence[HtmlElement]
) -> ForumAnswer:
    roles = _beside(element, source.selectors.answered_by, others)
    dates = _beside(element, source.selectors.published_on, others)
    role = " ".join(plain_element(found).replace("\n", " ") for found in roles)
    unsaid = [*removed, *roles, *dates, *others]
    return ForumAnswer(
        text=plain_element(element, unsaid),
        role=role or None,
        answered_on=next((day for found in dates for text in _dated_texts(found) if (day := _date_in(text))), None),
        is_doctor=is_doctor(role),
    )


def _beside(element: HtmlElement, selector: str | None, others: Collection[HtmlElement]) -> list[HtmlElement]:
    """What a selector finds in an answer, or else in the nearest element around it that holds none of the `others`."""
    if not selector:
        return []
    inner = {part for other in others for part in other.iter()}
    for holder in (element, *element.iterancestors()):
        if holder is not element and any(holder in other.iterancestors() for other in others):
            break
        if found := [part for part in select(holder, selector) if part not in inner]:
            return found
    return []


def _dated_texts(element: HtmlElement) -> Iterator[str]:
    yield from (value for value in (element.get("datetime"), element.get("content")) if value)
    yield str(element.text_content())


def _selected_line(tree: HtmlElement, selector: str | None) -> str:
    found = select(tree, selector) if selector else []
    return one_line(str(found[0].text_content())) if found else ""


def _date_in(text: str) -> date | None:
    """The first date in a text, its month in the words of any language."""
    return next((day for language in Language if (day := read_date(text, language))), None)
