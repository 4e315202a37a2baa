"""Lets the generator grade how far each candidate sentence answers a question: one digit each, forced by a grammar."""

from collections.abc import Sequence

from locales.language import Language
from rag.errors import ModelError
from rag.models.protocols import Budget, LanguageModel, Usage
from rag.prompting import StagePrompt
from rag.types import Evidence, GradedEvidence

MOST_SENTENCES = 12
_SURE, _LENIENT = 4, 3  # grades of the Likert scale: an answer or a limit of one; background
_LETTERS = "ABCDEFGHIJKL"
_BY_RETRIEVAL = 3  # sentences kept where no grade is good enough


class EvidenceScorer:
    """Grades evidence with a generator."""

    def __init__(self, language_model: LanguageModel) -> None:
        self._model = language_model

    def score(
        self,
        question: str,
        evidence: Sequence[Evidence],
        language: Language,
        *,
        budget: Budget,
        usage: Usage | None = None,
    ) -> GradedEvidence:
        """Grade at most twelve sentences from 1 (off the question) to 5 (answers it), and choose what is kept.

        Recall first: the sentences of grade 4 and 5 are kept, without one those of 3, without one the three best by retrieval.

        Args:
            question: The question, standing for itself.
            evidence: Candidates, strongest first.
            language: Of both.
            budget: When it must end.
            usage: Filled in.

        Raises:
            ModelError: If the prompt does not fit the context, or inference fails, is cancelled or late.
        """
        candidates = tuple(evidence[:MOST_SENTENCES])
        stage, labels = StagePrompt.load(language, "score"), _labels(candidates)
        message = _message(stage, question, candidates, labels)
        limited = Budget(max_tokens=2 * len(candidates), deadline=budget.deadline, cancelled=budget.cancelled)
        prompt = stage.prompt(self._model, message)
        told = "".join(
            self._model.complete(prompt, budget=limited, temperature=0.0, usage=usage, grammar=_rules(len(candidates)))
        )
        grades = tuple(int(digit) for digit in told.split() if digit.isdecimal())
        if len(grades) != len(candidates) or not set(grades) <= set(range(1, 6)):
            raise ModelError("The generator did not grade each sentence.")
        kept = _kept(candidates, grades)
        return GradedEvidence(sentences=candidates, labels=labels, grades=grades, kept=kept, turn=(message, told))


def ungraded(question: str, evidence: Sequence[Evidence], language: Language) -> GradedEvidence:
    """All of `evidence` as if each sentence had been graded 5, in the form from which a summary can go on."""
    stage, labels, grades = StagePrompt.load(language, "score"), _labels(evidence), (5,) * len(evidence)
    turn = (_message(stage, question, evidence, labels), " ".join(map(str, grades)))
    return GradedEvidence(sentences=tuple(evidence), labels=labels, grades=grades, kept=tuple(evidence), turn=turn)


def _message(stage: StagePrompt, question: str, evidence: Sequence[Evidence], labels: Sequence[str]) -> str:
    lines = [f"{label}. {item.sentence.text}" for label, item in zip(labels, evidence, strict=True)]
    return stage.fill(question=stage.shortened_question(question), sentences="\n".join(lines))


def _labels(evidence: Sequence[Evidence]) -> tuple[str, ...]:
    """The letter of its page and its number on it for each sentence: A1, A2, B1."""
    pages: dict[str, int] = {}
    labels = []
    for item in evidence:
        page = item.chunk.document_id
        pages[page] = pages.get(page, 0) + 1
        labels.append(f"{_LETTERS[list(pages).index(page)]}{pages[page]}")
    return tuple(labels)


def _rules(count: int) -> str:
    digits = ' " " '.join(["digit"] * count)
    return f"root ::= {digits}\ndigit ::= [1-5]"


def _kept(candidates: Sequence[Evidence], grades: Sequence[int]) -> tuple[Evidence, ...]:
    for least in (_SURE, _LENIENT):
        kept = tuple(item for item, grade in zip(candidates, grades, strict=True) if grade >= least)
        if kept:
            return kept
    return tuple(candidates[:_BY_RETRIEVAL])
