"""Lets the generator draft an answer from evidence, sentence by sentence. What it writes is a `Draft`: nobody may show it."""

from collections.abc import Iterator, Sequence

from locales.language import Language
from rag.drafting import drafts_of
from rag.errors import ModelError
from rag.models.protocols import Budget, LanguageModel, Prompt, Usage
from rag.prompting import StagePrompt
from rag.types import Draft, Evidence

_MAX_TOKENS = 90  # two joined sentences are 60 to 80
_TEMPERATURE = 0.1  # 0.1–0.3 keep the starter models close to the evidence; higher ones ramble


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
        self._model.warm(self._prompt(language, "", (), briefly=False).prefix)

    def drafts(
        self,
        question: str,
        evidence: Sequence[Evidence],
        language: Language,
        *,
        budget: Budget,
        usage: Usage | None = None,
        briefly: bool = False,
    ) -> Iterator[Draft]:
        """Yield each sentence as soon as the generator has finished it.

        The weakest evidence is left out until prompt and answer fit the context; the rules, the question and the room for the
        answer are always kept. `briefly` asks for a shorter sentence than the evidence gives.

        Raises:
            ModelError: If not even the question with one sentence of evidence fits, or inference fails, is cancelled or late.
        """
        limited = Budget(max_tokens=min(budget.max_tokens, _MAX_TOKENS), deadline=budget.deadline, cancelled=budget.cancelled)
        prompt = self._fitting(question, evidence, language, limited.max_tokens, briefly=briefly)
        return drafts_of(self._model.complete(prompt, budget=limited, temperature=_TEMPERATURE, usage=usage))

    def _fitting(
        self, question: str, evidence: Sequence[Evidence], language: Language, max_tokens: int, *, briefly: bool
    ) -> Prompt:
        for count in range(len(evidence), 0, -1):
            prompt = self._prompt(language, question, [item.sentence.text for item in evidence[:count]], briefly=briefly)
            tokens = self._model.count_tokens(prompt.prefix) + self._model.count_tokens(prompt.body)
            if tokens + max_tokens <= self._model.context_tokens:
                return prompt
        raise ModelError("The question and its evidence do not fit the generator's context.")

    def _prompt(self, language: Language, question: str, evidence: Sequence[str], *, briefly: bool) -> Prompt:
        stage = StagePrompt.load(language, "write")
        message = stage.fill(question=stage.shortened_question(question), evidence=list(evidence))
        return stage.prompt(self._model, f"{message}\n{stage.extra['briefly']}" if briefly else message)
