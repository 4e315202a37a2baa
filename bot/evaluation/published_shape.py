"""An answer in the shape of published pipelines, for its seconds: a summary call a page, and no prefix kept."""

from collections.abc import Iterator
from typing import Any

from bot.evaluation.compared_systems import ComparedSystems, GoldQuestion, System
from locales.language import Language
from rag.answerer import Answerer
from rag.languages import identify
from rag.models.protocols import LanguageModel, Prompt


class PublishedShape:
    """Answers as `compare` does with summaries, by the same generator, whose prompts are read anew each time."""

    def __init__(self, answerer: Answerer, generator: LanguageModel) -> None:
        self._systems = ComparedSystems(
            answerer=answerer,
            generator=_Forgetful(generator),
            open_reader=answerer.reader,
            fill=lambda text, _: text,
        )

    def answer(self, question: str, lang: str | None) -> str:
        """The text that it ends in; never shown to a patient."""
        language = Language(lang) if lang else identify(question).language
        asked = GoldQuestion(question_id="", language=language, topic="", text=question)
        return str(self._systems.record(System.SUMMARIES, asked)["text"])


class _Forgetful:
    """A generator that keeps no prefix: each prompt is all body."""

    def __init__(self, model: LanguageModel) -> None:
        self._model = model

    def complete(self, prompt: Prompt, **options: Any) -> Iterator[str]:  # noqa: ANN401 - passed on as they are
        return self._model.complete(Prompt(prefix="", body=prompt.prefix + prompt.body), **options)

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever the generator has
        return getattr(self._model, name)
