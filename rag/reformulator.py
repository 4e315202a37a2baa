"""Lets the generator say a message in clinical words, as one more query beside the patient's own."""

import re

from locales.language import Language
from rag.errors import Cancelled, ModelError
from rag.models.protocols import Budget, LanguageModel, Usage
from rag.prompting import StagePrompt
from rag.text import normalise
from rag.types import Query

MAX_WORDS = 15
_MAX_TOKENS = 36  # fifteen words and a little
_SHOWN_WORDS = 120  # of a longer message its two ends: the complaint and the question
_PREAMBLE = re.compile(r"^[^\w]*(?:(?:ricerca|query|risposta|búsqueda|consulta|respuesta)\b[^:]{0,30}:\s*)?", re.IGNORECASE)
_NUMBER = re.compile(r"\d+")


class Reformulator:
    """Adds one generated expansion to a query."""

    def __init__(self, language_model: LanguageModel) -> None:
        self._model = language_model

    def warm(self, language: Language) -> None:
        """Evaluate the static part of the prompt now, so that the first patient does not wait for it."""
        self._model.warm(StagePrompt.load(language, "interpret").prompt(self._model, "").prefix)

    def reformulate(self, query: Query, budget: Budget, usage: Usage | None = None) -> Query:
        """The query with one more expansion, or as it was when the generator gives nothing usable or fails.

        The expansion has at most `MAX_WORDS` words and no number that the patient did not write. It never replaces the patient's
        words, so that what it leaves out is still searched.

        Raises:
            Cancelled: If `budget.cancelled()` became true.
        """
        stage = StagePrompt.load(query.language, "interpret")
        prompt = stage.prompt(self._model, stage.fill(question=_ends(query.question)))
        limited = Budget(max_tokens=_MAX_TOKENS, deadline=budget.deadline, cancelled=budget.cancelled)
        try:
            told = "".join(self._model.complete(prompt, budget=limited, temperature=0.0, stop=("\n",), usage=usage))
        except Cancelled:
            raise
        except ModelError:
            return query
        phrase = _cleaned(told)
        invents = not set(_NUMBER.findall(phrase)) <= set(_NUMBER.findall(query.question))
        if invents or normalise(phrase) in {"", normalise(query.question), *map(normalise, query.expansions)}:
            return query
        return Query(
            question=query.question, language=query.language, intent=query.intent, expansions=(*query.expansions, phrase)
        )


def _cleaned(told: str) -> str:
    """A completion as a search: without preamble, quotation marks and whatever goes on after fifteen words."""
    words = _PREAMBLE.sub("", told.strip(), count=1).strip("«»\"'“”.- ").split()
    return " ".join(words[:MAX_WORDS]).rstrip(",;")


def _ends(message: str) -> str:
    words = message.split()
    if len(words) <= _SHOWN_WORDS:
        return " ".join(words)
    half = _SHOWN_WORDS // 2
    return " ".join([*words[:half], "…", *words[-half:]])
