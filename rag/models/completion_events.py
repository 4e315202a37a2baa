"""What an OpenAI-compatible server streams, read event by event."""

from collections.abc import Iterable, Iterator
from typing import Any

from pydantic import BaseModel, ValidationError

from rag.errors import ModelError

_LONGEST_LINE = 200_000  # bytes


class _Delta(BaseModel):
    content: str | None = None


class _Choice(BaseModel):
    delta: _Delta = _Delta()
    finish_reason: str | None = None


class _CachedTokens(BaseModel):
    cached_tokens: int | None = None


class ServerUsage(BaseModel):
    """Tokens as the server counted them."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    prompt_tokens_details: _CachedTokens | None = None

    @property
    def cached_tokens(self) -> int:
        """Those of the prompt that need not be evaluated again."""
        return (self.prompt_tokens_details.cached_tokens or 0) if self.prompt_tokens_details else 0


class CompletionEvent(BaseModel):
    """One event: a piece of text, the end, or the figures."""

    choices: tuple[_Choice, ...] = ()
    usage: ServerUsage | None = None
    error: Any = None

    @property
    def text(self) -> str:
        """What it adds to the completion."""
        return "".join(choice.delta.content or "" for choice in self.choices[:1])

    @property
    def is_last(self) -> bool:
        """True when the completion has ended with it; figures may follow."""
        return any(choice.finish_reason for choice in self.choices[:1])


def completion_events(chunks: Iterable[bytes]) -> Iterator[CompletionEvent]:
    """Yield the events of a stream up to its end.

    Raises:
        ModelError: If it is no such stream, tells an error, or breaks off before its end.
    """
    ended = False
    for data in _data(chunks):
        if data == b"[DONE]":
            return
        event = _event(data)
        if event is None:
            raise ModelError("The generator's server sent something that is no completion.")
        if event.error is not None:
            raise ModelError("The generator's server reported an error.")
        ended = ended or event.is_last
        yield event
    if not ended:
        raise ModelError("The generator's server broke off before the end.")


def _data(chunks: Iterable[bytes]) -> Iterator[bytes]:
    rest = b""
    for chunk in chunks:
        *lines, rest = (rest + chunk).split(b"\n")
        if len(rest) > _LONGEST_LINE:
            raise ModelError("The generator's server sent a line without end.")
        yield from (line.removeprefix(b"data:").strip() for line in lines if line.startswith(b"data:"))


def _event(data: bytes) -> CompletionEvent | None:
    try:
        return CompletionEvent.model_validate_json(data)
    except ValidationError:
        return None
