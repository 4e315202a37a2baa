"""The seams to the models: three protocols, so that tests and other back ends need no change anywhere else."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import numpy.typing as npt

Vectors = npt.NDArray[np.float32]


class Embedder(Protocol):
    """Turns texts into unit vectors with the model's own prefixes, which callers never write themselves."""

    @property
    def fingerprint(self) -> str:
        """Name and version of the model: an index remembers it and refuses another."""

    @property
    def dimension(self) -> int:
        """Length of a vector."""

    @property
    def max_tokens(self) -> int:
        """Longest input in the model's own tokens, prefix and special tokens included."""

    def count_tokens(self, text: str) -> int:
        """Tokens of `text` as a passage, prefix and special tokens included."""

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Embed questions: float32, shape ``(len(texts), dimension)``, unit rows."""

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """Embed passages: float32, shape ``(len(texts), dimension)``, unit rows."""


class PairScorer(Protocol):
    """Scores how far a premise supports a hypothesis."""

    def score(self, pairs: Sequence[tuple[str, str]]) -> npt.NDArray[np.float32]:
        """Score (premise, hypothesis) pairs: shape ``(len(pairs),)``, each in [0, 1], in input order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """A prompt in two parts, so that the first need not be evaluated again.

    `prefix` is the same for every question of a stage and language and is kept as a saved sequence state; `body` holds the
    question and its evidence and is forgotten after the completion.
    """

    prefix: str = field(repr=False)
    body: str = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """How long and how much a completion may run: `deadline` in `time.monotonic()` seconds."""

    max_tokens: int
    deadline: float = field(default=float("inf"))
    cancelled: Callable[[], bool] = field(default=lambda: False)

    def expired(self) -> bool:
        """True once the deadline has passed."""
        return time.monotonic() >= self.deadline


@dataclass(slots=True, kw_only=True)
class Usage:
    """Filled in by completions, one after another: tokens and seconds of their prefill and decode."""

    prompt_tokens: int = 0
    cached_tokens: int = 0
    completion_tokens: int = 0
    prefill_s: float = 0.0
    decode_s: float = 0.0


class LanguageModel(Protocol):
    """Completes a prompt, piece by piece. Not thread-safe: one thread owns it."""

    @property
    def name(self) -> str:
        """The registry name, or the file's name."""

    @property
    def context_tokens(self) -> int:
        """Room for prompt and completion together."""

    def count_tokens(self, text: str) -> int:
        """Tokens of `text`, without a beginning-of-text token."""

    def chat_prompt(
        self, system: str, examples: Sequence[tuple[str, str]], message: str, *, before: Sequence[tuple[str, str]] = ()
    ) -> Prompt:
        """Write a conversation in the model's own chat format, chat markers inside the texts made harmless.

        Everything up to the first thing that depends on the patient is the prefix: that is the patient's `message`, or the first
        of the turns `before` it (message, reply), which the same patient's earlier prompt and its completion were.
        """

    def warm(self, prefix: str) -> None:
        """Evaluate `prefix` once and keep its sequence state, so that later prompts with it start at once."""

    def holding(self) -> AbstractContextManager[None]:
        """Keep what a completion evaluated until the block ends: a prompt that begins alike then evaluates only the rest.

        One answer's stages share it. At its end everything of the patient is erased from the model's buffers.
        """

    def complete(
        self,
        prompt: Prompt,
        *,
        budget: Budget,
        temperature: float,
        stop: Sequence[str] = (),
        usage: Usage | None = None,
        grammar: str | None = None,
    ) -> Iterator[str]:
        """Yield pieces of text as they are decoded.

        A closed iterator stops the model. After the end, whatever the way, the prompt's body and the completion are erased
        from the model's buffers; inside `holding()` at the end of its block.

        Args:
            prompt: What is completed.
            budget: How long and how much.
            temperature: 0 for the most likely token.
            stop: Strings that end the completion, none of which is yielded.
            usage: Filled in; the figures are added to what it holds.
            grammar: GBNF rules whose `root` the whole completion must follow.

        Raises:
            DeadlineExceeded: If the deadline passes, also during prefill (within 0.5 s).
            Cancelled: If `budget.cancelled()` becomes true, also during prefill (within 0.5 s).
            ModelError: If prompt and completion do not fit the context, or inference fails.
        """
