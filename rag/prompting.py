"""The words of a stage's prompt in one language, read from `locales/{language}/prompts/{stage}.toml`."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from locales.language import Language
from rag.models.protocols import LanguageModel, Prompt


@dataclass(frozen=True, slots=True, kw_only=True)
class StagePrompt:
    """System text, worked examples, and the form in which a question is put.

    `template` is filled by `str.format`; an example's list values are written as `- ` lines.
    """

    system: str
    template: str
    examples: tuple[tuple[str, str], ...]

    @classmethod
    def load(cls, language: Language, stage: str) -> "StagePrompt":
        """Read the prompt of a stage; each file is read once."""
        return _load(language, stage)

    def fill(self, **values: object) -> str:
        """The patient's message as the stage puts it to the generator."""
        return _fill(self.template, values)

    def prompt(self, language_model: LanguageModel, message: str) -> Prompt:
        """The whole prompt for a filled message; its prefix is the same for every message."""
        return language_model.chat_prompt(self.system, self.examples, message)


@cache
def _load(language: Language, stage: str) -> StagePrompt:
    path = files("locales") / language.value / "prompts" / f"{stage}.toml"
    data = tomllib.loads(path.read_text(encoding="utf-8"))
    examples = tuple((_fill(data["question"], example), str(example["answer"])) for example in data["example"])
    return StagePrompt(system=data["system"], template=data["question"], examples=examples)


def _fill(template: str, values: Mapping[str, Any]) -> str:
    lines = {
        name: "\n".join(f"- {line}" for line in value) if isinstance(value, (list, tuple)) else value
        for name, value in values.items()
    }
    return template.format_map(lines)
