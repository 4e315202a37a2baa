"""Lets the generator sum up what was kept of each page, all pages in one prompt, going on from the grades' own conversation."""

from collections.abc import Iterator, Sequence

from locales.language import Language
from rag.drafting import drafts_of
from rag.models.protocols import Budget, LanguageModel, Usage
from rag.prompting import StagePrompt
from rag.types import Draft, Evidence, GradedEvidence

_MAX_TOKENS = 140  # two pages of two sentences each
_TEMPERATURE = 0.1


class Summarizer:
    """Sums evidence up with a generator; what it writes is a draft like any other."""

    def __init__(self, language_model: LanguageModel) -> None:
        self._model = language_model

    def warm(self, language: Language) -> None:
        """Evaluate the static part of the prompt, which the grades share, now."""
        self._model.warm(StagePrompt.load(language, "score").prompt(self._model, "").prefix)

    def drafts(
        self,
        graded: GradedEvidence,
        wanted: Sequence[Evidence],
        language: Language,
        *,
        budget: Budget,
        usage: Usage | None = None,
    ) -> Iterator[Draft]:
        """Yield a sentence or two for each page, as soon as each is finished.

        Args:
            graded: The graded sentences; inside the model's `holding()` their prompt need not be read again.
            wanted: Those of them that are summed up.
            language: Of all.
            budget: When it must end.
            usage: Filled in.

        Raises:
            ModelError: If the prompt does not fit the context, or inference fails, is cancelled or late.
        """
        stage = StagePrompt.load(language, "score")
        named = {item.place: label for item, label in zip(graded.sentences, graded.labels, strict=True)}
        message = stage.extra["summary"].format(kept=", ".join(named[item.place] for item in wanted if item.place in named))
        limited = Budget(max_tokens=_MAX_TOKENS, deadline=budget.deadline, cancelled=budget.cancelled)
        prompt = stage.prompt(self._model, message, before=[graded.turn])
        return drafts_of(self._model.complete(prompt, budget=limited, temperature=_TEMPERATURE, usage=usage))
