"""Lets the generator draft an answer from evidence, sentence by sentence. What it writes is a `Draft`: nobody may show it."""

import re
from collections.abc import Iterator, Sequence

from locales.language import Language
from rag.errors import ModelError
from rag.models.protocols import Budget, LanguageModel, Prompt, Usage
from rag.prompting import StagePrompt
from rag.text import split_sentences
from rag.types import Draft, Evidence

_MAX_TOKENS = 90  # two joined sentences are 60 to 80
_TEMPERATURE = 0.1  # 0.1–0.3 keep the starter models close to the evidence; higher ones ramble
_MAX_QUESTION_WORDS = 60  # a longer message keeps its first and last 30 words: the complaint and the question
_DECORATION = re.compile(r"^\s*(?:[-*•]|\d+[.)])\s+|\[\d+\]|\*\*|^\s*(?:Risposta|Respuesta)\s*:\s*")
_THOUGHT = re.compile(r"<think>.*?(?:</think>|\Z)", re.DOTALL)  # an unclosed one may still grow: all behind it is thought
# An invented next turn: the labels of chats, and those of the prompt's own form.
_TURN = re.compile(
    r"\s*(?:Utente|Paziente|Assistente|Domanda|Frasi|Usuario|Paciente|Asistente|Pregunta|Frases|User|Assistant)\s*:",
    re.IGNORECASE,
)
_PLACEHOLDER = re.compile(r"\{\w+\}")  # the emergency number, filled in later
_NOT_PROSE = re.compile(r"https?://|www\.|```|</?\w|[<>|]{2}|[{}]")


class Writer:
    """Drafts answers with a generator."""

    def __init__(self, language_model: LanguageModel) -> None:
        self._model = language_model

    @property
    def generator_name(self) -> str:
        """The name of the generator that drafts."""
        return self._model.name

    def warm(self, language: Language) -> None:
        """Evaluate the static part of the prompt now, so that the first patient does not wait for it."""
        self._model.warm(self._prompt(language, "", ()).prefix)

    def drafts(
        self,
        question: str,
        evidence: Sequence[Evidence],
        language: Language,
        *,
        budget: Budget,
        usage: Usage | None = None,
    ) -> Iterator[Draft]:
        """Yield each sentence as soon as the generator has finished it.

        The weakest evidence is left out until prompt and answer fit the context; the rules, the question and the room for the
        answer are always kept.

        Raises:
            ModelError: If not even the question with one sentence of evidence fits, or inference fails, is cancelled or late.
        """
        limited = Budget(max_tokens=min(budget.max_tokens, _MAX_TOKENS), deadline=budget.deadline, cancelled=budget.cancelled)
        prompt = self._fitting(question, evidence, language, limited.max_tokens)
        text = ""
        for piece in self._model.complete(prompt, budget=limited, temperature=_TEMPERATURE, usage=usage):
            text += piece
            finished, text = _finished(text)
            for sentence in finished:
                if _TURN.match(sentence):
                    return
                yield from _draft(sentence)
        text = _THOUGHT.sub(" ", text)
        for start, end in split_sentences(text):
            if _TURN.match(text[start:end]):
                return
            yield from _draft(text[start:end])

    def _fitting(self, question: str, evidence: Sequence[Evidence], language: Language, max_tokens: int) -> Prompt:
        for count in range(len(evidence), 0, -1):
            prompt = self._prompt(language, question, [item.sentence.text for item in evidence[:count]])
            tokens = self._model.count_tokens(prompt.prefix) + self._model.count_tokens(prompt.body)
            if tokens + max_tokens <= self._model.context_tokens:
                return prompt
        raise ModelError("The question and its evidence do not fit the generator's context.")

    def _prompt(self, language: Language, question: str, evidence: Sequence[str]) -> Prompt:
        stage = StagePrompt.load(language, "write")
        return stage.prompt(self._model, stage.fill(question=_shortened(question), evidence=list(evidence)))


def _shortened(question: str) -> str:
    words = question.split()
    if len(words) <= _MAX_QUESTION_WORDS:
        return " ".join(words)
    half = _MAX_QUESTION_WORDS // 2
    return " ".join([*words[:half], "…", *words[-half:]])


def _finished(text: str) -> tuple[list[str], str]:
    """Sentences that cannot grow any more, and what is still being written."""
    thought = text.rfind("<think>")
    if thought >= 0 and "</think>" not in text[thought:]:
        finished, rest = _finished(text[:thought])
        return finished, rest + text[thought:]
    text = _THOUGHT.sub(" ", text)
    spans = split_sentences(text)
    if len(spans) < 2:
        return [], text
    return [text[start:end] for start, end in spans[:-1]], text[spans[-1][0] :]


def _draft(sentence: str) -> Iterator[Draft]:
    plain = " ".join(_DECORATION.sub("", sentence).split())
    if plain and plain[-1] in ".!?" and not _NOT_PROSE.search(_PLACEHOLDER.sub("", plain)):
        yield Draft(text=plain)
