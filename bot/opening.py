"""What an answer begins with, known before its first sentence: sentences that are shown one by one must follow it."""

from dataclasses import dataclass
from functools import cache

from locales.language import Language
from rag.interpreter import Interpreter
from rag.replies import Preface
from rag.types import Question


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """What is said before the sentences.

    `extractive` is true when the answers are quotes; `about_emergency`, when the question is about a condition that can be one.
    """

    language: Language
    preface: Preface | None = None
    extractive: bool = False
    about_emergency: bool = False


def opening_of(question: Question, *, extractive: bool, about_emergency: bool) -> Opening:
    """How the answer to a question will begin.

    The interpreter reads by rules: what it finds here is what the answering line finds. The first call loads its word lists.
    """
    interpretation = _interpreter().interpret(question)
    return Opening(
        language=interpretation.language,
        preface=Preface.of(interpretation.intent),
        extractive=extractive,
        about_emergency=about_emergency,
    )


@cache
def _interpreter() -> Interpreter:
    return Interpreter()
