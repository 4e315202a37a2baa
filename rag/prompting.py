"""The words of a stage's prompt in one language, read from `locales/{language}/prompts/{stage}.toml`."""

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

from locales.language import Language
from rag.models.protocols import LanguageModel, Prompt

_MAX_QUESTION_WORDS = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class StagePrompt:
    """System text, worked examples, and the form in which a question is put.

    `template` is filled by `str.format`; an example's list values are written as `- ` lines. `extra` holds whatever else a
    stage's file says, by its key; an example may go on with a second turn: the file's `summary`, and `summarised` as its reply.
    """

    system: str
    template: str
    examples: tuple[tuple[str, str], ...]
    extra: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def load(cls, language: Language, stage: str) -> "StagePrompt":
        """Read the prompt of a stage; each file is read once."""
        return _load(language, stage)

    def fill(self, **values: object) -> str:
        """The patient's message as the stage puts it to the generator."""
        return _fill(self.template, values)

    def prompt(self, language_model: LanguageModel, message: str, *, before: Sequence[tuple[str, str]] = ()) -> Prompt:
        """The whole prompt for a filled message, after the turns `before` it; its prefix is the same for every message."""
        return language_model.chat_prompt(self.system, self.examples, message, before=before)

    def shortened_question(self, question: str) -> str:
        """A question of at most 60 words: of a longer one both ends, the complaint and what is asked."""
        words = question.split()
        if len(words) <= _MAX_QUESTION_WORDS:
            return " ".join(words)
        half = _MAX_QUESTION_WORDS // 2
        return " ".join([*words[:half], "…", *words[-half:]])


@cache
def _load(language: Language, stage: str) -> StagePrompt:
    path = files("locales") / language.value / "prompts" / f"{stage}.toml"
    data = tomllib.loads(path.read_text(encoding="utf-8"))
    examples = tuple(turn for example in data["example"] for turn in _turns(data, example))
    extra = {key: value for key, value in data.items() if isinstance(value, str) and key not in {"system", "question"}}
    return StagePrompt(system=data["system"], template=data["question"], examples=examples, extra=extra)


def _turns(data: Mapping[str, Any], example: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    yield _fill(data["question"], example), str(example["answer"])
    if "summarised" in example:
        yield _fill(data["summary"], example), str(example["summarised"])


def _fill(template: str, values: Mapping[str, Any]) -> str:
    lines = {
        name: "\n".join(f"- {line}" for line in value) if isinstance(value, (list, tuple)) else value
        for name, value in values.items()
    }
    return template.format_map(lines)
