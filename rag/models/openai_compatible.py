"""The generator on a server of the operator's own: whatever speaks OpenAI's protocol, as llama-server and vLLM do."""

import json
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from pydantic import BaseModel, ValidationError

from rag.errors import ModelError, ModelUnavailable
from rag.models.completion_events import ServerUsage, completion_events
from rag.models.exchange import Exchange
from rag.models.protocols import Budget, Prompt, Usage
from rag.models.server_address import GeneratorServer, addresses_of
from rag.models.stopping import StopFilter, strip_special

_CONTEXT_TOKENS = 4096  # where the server does not tell
_CHARACTERS_A_TOKEN = 2.5  # Qwen has 3.4 in Italian and Spanish, older vocabularies 2.7: rather too many tokens than too few
_LONGEST_TOKEN = 20  # characters, on average; who writes more does not heed the limit
_ASK_S = 2.0
_ASK_AGAIN_S = 30.0
_REST_S = 5.0  # for which a server that was not there is not asked again: nobody waits in vain for it twice
_WARM_S = 20.0
_MOST_STOPS = 4  # what OpenAI's protocol allows; all of them are looked for here as well


class Dialect(StrEnum):
    """How a server is told what it may write."""

    LLAMA = "llama"
    VLLM = "vllm"
    PLAIN = "plain"

    def constraint(self, grammar: str) -> dict[str, Any]:
        """The fields of a request that hold a grammar; none where grammars are unknown."""
        if self is Dialect.LLAMA:
            return {"grammar": grammar}
        if self is Dialect.VLLM:  # the second until version 0.11, the first since
            return {"structured_outputs": {"grammar": grammar}, "guided_grammar": grammar}
        return {}


_OWNERS = {"llamacpp": Dialect.LLAMA, "me": Dialect.LLAMA, "vllm": Dialect.VLLM}  # "me" is llama-cpp-python's own server


class _Meta(BaseModel):
    n_ctx: int | None = None


class _Listed(BaseModel):
    id: str = ""
    owned_by: str = ""
    max_model_len: int | None = None
    meta: _Meta | None = None


class _Models(BaseModel):
    data: tuple[_Listed, ...]


class _Generation(BaseModel):
    n_ctx: int | None = None


class _Properties(BaseModel):
    default_generation_settings: _Generation = _Generation()


@dataclass(frozen=True, slots=True)
class ServerFacts:
    """What a server tells about itself: its dialect, the room of its context if it says so, and whether it has the model."""

    dialect: Dialect
    context_tokens: int | None
    has_model: bool


class OpenAICompatibleModel:
    """Completes prompts on a server. Nothing is kept here after a completion; what the server keeps is its operator's matter.

    A prompt's two parts are JSON lists of messages, since the server alone knows its model's chat format.
    """

    def __init__(self, model: str, server: GeneratorServer) -> None:
        """Check where the server is. One that is down, or whose name leads nowhere yet, may come later.

        Raises:
            ModelError: If the server is beyond private addresses and may not be.
        """
        with suppress(ModelUnavailable):
            addresses_of(server)
        self._model = model
        self._server = server
        self._facts: ServerFacts | None = None
        self._ask_after = self._rest_until = float("-inf")

    @property
    def name(self) -> str:
        """The model's name on the server."""
        return self._model

    @property
    def context_tokens(self) -> int:
        """Room for prompt and completion together, as the server tells."""
        facts = self._known()
        return (facts.context_tokens if facts else None) or _CONTEXT_TOKENS

    def count_tokens(self, text: str) -> int:
        """An estimate of the tokens of `text`, rather too high: to ask the server would send it once more."""
        return int(len(text) / _CHARACTERS_A_TOKEN) + 1

    def chat_prompt(
        self, system: str, examples: Sequence[tuple[str, str]], message: str, *, before: Sequence[tuple[str, str]] = ()
    ) -> Prompt:
        """Write a conversation as lists of messages, chat markers inside the texts made harmless."""
        prefix = [("system", system), *_turns(examples)]
        return Prompt(prefix=_messages(prefix), body=_messages([*_turns(before), ("user", message)]))

    def warm(self, prefix: str) -> None:
        """Let the server evaluate `prefix`, if it is there; most keep what prompts have in common."""
        budget = Budget(max_tokens=1, deadline=time.monotonic() + _WARM_S)
        try:
            for _ in self.complete(Prompt(prefix=prefix, body=_messages([("user", "…")])), budget=budget, temperature=0.0):
                pass
        except ModelError:
            self._rest_until = time.monotonic() + _REST_S

    def holding(self) -> AbstractContextManager[None]:
        """Nothing to hold: the server recognises what it has evaluated."""
        return nullcontext()

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
        """Yield pieces of text as they arrive. A closed iterator closes the connection, at which the server stops.

        Raises:
            DeadlineExceeded: If the deadline passes, whatever the server is doing (within 0.1 s).
            Cancelled: If `budget.cancelled()` becomes true, whatever the server is doing (within 0.1 s).
            ModelError: If the server cannot be reached, refuses, sends nonsense or more than was asked for, or has no grammars.
        """
        if time.monotonic() < self._rest_until:
            raise ModelUnavailable("The generator's server could not be reached a moment ago.")
        request = self._request(prompt, budget.max_tokens, temperature, stop, grammar)
        exchange = Exchange(self._server, "POST", f"{self._server.url}/chat/completions", json.dumps(request).encode())
        del request
        try:
            yield from _text(exchange, budget, stop, usage if usage is not None else Usage())
        except ModelUnavailable:
            self._rest_until = time.monotonic() + _REST_S
            raise
        finally:
            exchange.leave()

    def ask(self) -> ServerFacts:
        """Let the server tell about itself.

        Raises:
            ModelError: If it cannot be reached, refuses, or is no such server.
        """
        told = self._get(f"{self._server.url}/models")
        try:
            models = _Models.model_validate_json(told)
        except ValidationError:
            raise ModelError("The generator's server does not list its models.") from None
        named = [model for model in models.data if model.id == self._model]
        model = next(iter(named or models.data), _Listed())
        dialect = _OWNERS.get(model.owned_by, Dialect.PLAIN)
        context = model.max_model_len or (model.meta.n_ctx if model.meta else None)
        if context is None and dialect is Dialect.LLAMA:
            context = self._context_of_llama_server()
        return ServerFacts(dialect, context, has_model=bool(named))

    def _context_of_llama_server(self) -> int | None:
        with suppress(ModelError, ValidationError):
            told = _Properties.model_validate_json(self._get(f"{self._server.url.removesuffix('/v1')}/props"))
            return told.default_generation_settings.n_ctx
        return None

    def _get(self, url: str) -> bytes:
        exchange = Exchange(self._server, "GET", url)
        try:
            return b"".join(exchange.chunks(Budget(max_tokens=0, deadline=time.monotonic() + _ASK_S)))
        finally:
            exchange.leave()

    def _known(self) -> ServerFacts | None:
        """What the server has told; asked now and then until it does."""
        now = time.monotonic()
        if self._facts is None and now >= max(self._ask_after, self._rest_until):
            self._ask_after = now + _ASK_AGAIN_S
            try:
                self._facts = self.ask()
            except ModelUnavailable:
                self._rest_until = now + _REST_S
            except ModelError:
                pass
        return self._facts

    def _request(
        self, prompt: Prompt, max_tokens: int, temperature: float, stop: Sequence[str], grammar: str | None
    ) -> dict[str, Any]:
        facts = self._known()
        dialect = facts.dialect if facts else Dialect.PLAIN
        request = {
            "model": self._model,
            "messages": [*json.loads(prompt.prefix), *json.loads(prompt.body)],
            "max_tokens": max_tokens,
            "temperature": temperature,
            "seed": 0,
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        if stop:
            request["stop"] = list(stop)[:_MOST_STOPS]
        if dialect is not Dialect.PLAIN:
            request["chat_template_kwargs"] = {"enable_thinking": False}  # thoughts would use up the tokens of a sentence
        if grammar is not None:
            constraint = dialect.constraint(grammar)
            if not constraint:
                raise ModelError("The generator's server is not known to heed a grammar.")
            request |= constraint
        return request


def _text(exchange: Exchange, budget: Budget, stop: Sequence[str], usage: Usage) -> Iterator[str]:
    shown, begun, length, pieces, decoding_since = StopFilter(stop), time.monotonic(), 0, 0, 0.0
    counted: ServerUsage | None = None
    try:
        for event in completion_events(exchange.chunks(budget)):
            counted = event.usage or counted
            if not event.text:
                continue
            decoding_since = decoding_since or time.monotonic()
            length, pieces = length + len(event.text), pieces + 1
            if length > _LONGEST_TOKEN * (budget.max_tokens + _LONGEST_TOKEN):
                raise ModelError("The generator's server writes more than it was asked for.")
            if piece := shown.feed(event.text):
                yield piece
            if shown.stopped:
                return
    finally:
        now = time.monotonic()
        usage.prefill_s += (decoding_since or now) - begun
        usage.decode_s += now - (decoding_since or now)
        figures = counted or ServerUsage(completion_tokens=pieces)  # most servers send a token at a time
        usage.prompt_tokens += figures.prompt_tokens
        usage.cached_tokens += figures.cached_tokens
        usage.completion_tokens += figures.completion_tokens
    if rest := shown.finish():
        yield rest


def _turns(turns: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    return [(role, text) for asked, replied in turns for role, text in (("user", asked), ("assistant", replied))]


def _messages(turns: Sequence[tuple[str, str]]) -> str:
    return json.dumps([{"role": role, "content": strip_special(text)} for role, text in turns], ensure_ascii=False)
