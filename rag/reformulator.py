"""Lets the generator say a question in clinical words, as one more query beside the patient's own; off by default."""

from rag.errors import Cancelled, ModelError
from rag.models.protocols import Budget, LanguageModel
from rag.prompting import StagePrompt
from rag.types import Query

_MAX_TOKENS = 24  # ten words and a little


class Paraphraser:
    """Adds one generated expansion to a query."""

    def __init__(self, language_model: LanguageModel) -> None:
        self._model = language_model

    def paraphrase(self, query: Query, budget: Budget) -> Query:
        """The query with one more expansion, or as it was when the generator gives nothing usable or fails.

        Raises:
            Cancelled: If `budget.cancelled()` became true.
        """
        stage = StagePrompt.load(query.language, "paraphrase")
        prompt = stage.prompt(self._model, stage.fill(question=query.question))
        limited = Budget(max_tokens=_MAX_TOKENS, deadline=budget.deadline, cancelled=budget.cancelled)
        try:
            phrase = "".join(self._model.complete(prompt, budget=limited, temperature=0.0, stop=("\n",))).strip()
        except Cancelled:
            raise
        except ModelError:
            return query
        if not phrase or phrase in (query.question, *query.expansions):
            return query
        return Query(
            question=query.question, language=query.language, intent=query.intent, expansions=(*query.expansions, phrase)
        )
