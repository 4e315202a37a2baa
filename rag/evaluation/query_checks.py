"""What is wrong with the questions of a set, so that a figure is not taken for the product's that is the set's own."""

import unicodedata
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from locales.language import Language
from rag import text
from rag.evaluation.datasets import JudgedQuery, Problem
from rag.languages import identify

_LONGEST = 2_000  # characters; a message of a patient is hardly ever longer
_NAMED_IDS = 5
_PIECE_WORDS = 6
_MOST_PIECES = 40


def check_queries(
    queries: Sequence[JudgedQuery], found: Collection[str], languages: Collection[Language]
) -> tuple[list[JudgedQuery], list[Problem]]:
    """Tell which questions can be measured, and what is odd about any of them.

    Args:
        queries: The questions as they were read.
        found: Ids of the documents that can be found.
        languages: Those in which there are documents.

    Returns:
        The questions with at least one right document that can be found, without the others that cannot; and the problems.
    """
    measurable: list[JudgedQuery] = []
    problems: list[Problem] = []
    seen: set[str] = set()
    for query in queries:
        known = query.gold.intersection(found)
        problems += _of_gold(query, known)
        problems += _of_question(query)
        if query.query_id in seen:
            problems.append(_problem(query, "duplicate_id", "another question has the same id"))
        if query.language not in languages:
            problems.append(_problem(query, "no_documents", f"there is no document in the language {query.language.value}"))
        seen.add(query.query_id)
        if known:
            measurable.append(replace(query, gold=known))
    return measurable, problems


def _of_gold(query: JudgedQuery, known: Collection[str]) -> Iterator[Problem]:
    unknown = sorted(query.gold.difference(known))
    if unknown:
        named = ", ".join(unknown[:_NAMED_IDS]) + (f" and {len(unknown) - _NAMED_IDS} more" if len(unknown) > _NAMED_IDS else "")
        yield _problem(query, "unknown_gold", f"no such document: {named}", is_left_out=not known)
    elif not query.gold:
        yield _problem(query, "no_gold", "no right document is named", is_left_out=True)


def _of_question(query: JudgedQuery) -> Iterator[Problem]:
    """At most one thing about the words, and the length beside it."""
    question = query.question
    if not question.strip():
        yield _problem(query, "empty_question", "the question is empty")
    elif all(unicodedata.category(sign)[0] in "CZ" for sign in question):
        yield _problem(query, "invisible_question", "the question has invisible characters only")
    elif not text.lexical_tokens(question, query.language):
        yield _problem(query, "no_words", "the question has no word")
    elif _is_foreign(question, query.language):
        yield _problem(query, "other_language", f"the question cannot be in the language {query.language.value}")
    elif any(_is_foreign(piece, query.language) for piece in _pieces(question)):
        yield _problem(query, "mixed_languages", f"part of the question is not in the language {query.language.value}")
    if len(question) > _LONGEST:
        yield _problem(query, "long_question", f"the question has {len(question)} characters")


def _is_foreign(question: str, language: Language) -> bool:
    """True only where the words speak against the language: one that is undecided is what the set says it is."""
    reading = identify(question, prior=language)
    return reading.is_other or reading.language is not language


def _pieces(question: str) -> list[str]:
    """Runs of a few words; none of a question that is one such run itself."""
    words = question.split()
    if len(words) < _PIECE_WORDS:
        return []
    starts = range(0, len(words) - _PIECE_WORDS // 2, _PIECE_WORDS // 2)
    return [" ".join(words[at : at + _PIECE_WORDS]) for at in starts[:_MOST_PIECES]]


def _problem(query: JudgedQuery, kind: str, detail: str, *, is_left_out: bool = False) -> Problem:
    return Problem(file="queries", line=query.line, subject=query.query_id, kind=kind, detail=detail, is_left_out=is_left_out)
