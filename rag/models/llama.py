"""The generator on this machine: a GGUF model run by llama.cpp.

llama-cpp-python's own `Llama` class keeps the last prompt and offers no abort, so its low-level functions are used instead.
"""

import codecs
import ctypes
import threading
import time
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from rag.errors import ModelError, ModelUnavailable
from rag.models import llama_native as native
from rag.models.cpu import usable_cores
from rag.models.held import Held
from rag.models.interrupt import Interrupt
from rag.models.protocols import Budget, Prompt, Usage
from rag.models.stopping import StopFilter, strip_special

_SAVED_PREFIXES = 32
_STAND_IN = "[[patient's message]]"
_ABORTED = 2


class LlamaLanguageModel:
    """Completes prompts with a local GGUF model. One thread owns it; a second completion at the same time is refused.

    The state after a static prefix is kept, so a later prompt with the same prefix evaluates its body only. Nothing else
    outlives a completion: the context's memory is emptied and overwritten, and so are the token buffers.
    """

    def __init__(
        self,
        path: Path,
        *,
        name: str = "",
        context_tokens: int = 2048,
        threads: int | None = None,
        flash_attention: bool = True,
        eight_bit_cache: bool = False,
        seed: int = 0,
    ) -> None:
        """Load the model at `path`.

        Raises:
            ModelUnavailable: If there is no such file or llama-cpp-python is not installed.
            ModelError: If the file is not a usable model or the memory does not suffice.
        """
        if not path.is_file():
            raise ModelUnavailable(f"There is no model file at {path}.")
        self._lib = native.library()
        self._name = name or path.stem
        self._seed = seed
        self._model = native.load_model(self._lib, path)
        self._context = native.new_context(
            self._lib,
            self._model,
            context_tokens=context_tokens,
            threads=threads or usable_cores(),
            flash_attention=flash_attention,
            eight_bit_cache=eight_bit_cache,
        )
        self.close = weakref.finalize(self, native.free, self._lib, self._context, self._model)
        self.close.atexit = False  # the system takes the memory back; freeing it while threads still run can crash
        self._vocab = self._lib.llama_model_get_vocab(self._model)
        self._memory = self._lib.llama_get_memory(self._context)
        self._context_tokens = int(self._lib.llama_n_ctx(self._context))
        self._interrupt = Interrupt()
        self._interrupt.install(self._lib, self._context)
        self._states: dict[str, native.PrefixState] = {}
        self._tokens = (ctypes.c_int32 * self._context_tokens)()
        self._held = Held()
        self._in_use = threading.Lock()

    @property
    def name(self) -> str:
        """The registry name, or the file's name."""
        return self._name

    @property
    def context_tokens(self) -> int:
        """Room for prompt and completion together."""
        return self._context_tokens

    def count_tokens(self, text: str) -> int:
        """Tokens of `text`, without a beginning-of-text token; chat markers count as one each."""
        return len(self._tokenise(text))

    def chat_prompt(
        self, system: str, examples: Sequence[tuple[str, str]], message: str, *, before: Sequence[tuple[str, str]] = ()
    ) -> Prompt:
        """Write a conversation in the model's own chat format, chat markers inside the texts made harmless.

        Args:
            system: What the model is to do.
            examples: Worked examples: (message, reply).
            message: The patient's message with its evidence; what follows the prefix depends on it and `before` alone.
            before: Turns of the same patient that come first: (message, reply).
        """
        messages = [("system", strip_special(system)), *_turns(examples)]
        first, *later = [*_turns(before), ("user", strip_special(message))]
        # Formats trim and place a message in their own way, so the cut is made where a stand-in for it ends up.
        written = native.apply_chat_template(self._lib, self._model, [*messages, ("user", _STAND_IN), *later])
        prefix, _, ending = written.partition(_STAND_IN)
        return Prompt(prefix=prefix, body=first[1].strip() + ending)

    def warm(self, prefix: str) -> None:
        """Evaluate `prefix` once and keep its sequence state, so that later prompts with it start at once.

        Raises:
            ModelError: If the prefix does not fit the context, or inference fails.
        """
        if prefix in self._states:
            return
        with self._owned(), self._interrupt.watching(Budget(max_tokens=0)):
            try:
                self._enter_prefix(prefix)
            finally:
                self._forget()

    @contextmanager
    def holding(self) -> Iterator[None]:
        """Keep what a completion evaluated until the block ends: a prompt that begins alike then evaluates only the rest."""
        self._held.active = True
        try:
            yield
        finally:
            self._held.active = False
            with self._owned():
                self._forget()

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
        from the model's buffers, inside `holding()` at its end. `budget.cancelled` is also called from another thread.

        Raises:
            DeadlineExceeded: If the deadline passes, also during prefill (within 0.5 s).
            Cancelled: If `budget.cancelled()` becomes true, also during prefill (within 0.5 s).
            ModelError: If prompt and completion do not fit the context, or inference fails.
        """
        usage = usage if usage is not None else Usage()
        with self._owned(), self._interrupt.watching(budget):
            try:
                self._interrupt.check()
                started = time.monotonic()
                try:
                    self._prefill(prompt, budget, usage)
                finally:
                    usage.prefill_s += time.monotonic() - started
                yield from self._decode_text(budget, temperature, stop, usage, grammar)
            except (ModelError, MemoryError):
                self._forget()  # what the context holds is no longer known
                raise
            finally:
                if not self._held.active:
                    self._forget()

    def _prefill(self, prompt: Prompt, budget: Budget, usage: Usage) -> None:
        body = self._tokenise(prompt.body)
        prefix = self._states.get(prompt.prefix)
        prefix_tokens = prefix.tokens if prefix else len(self._tokenise(prompt.prefix, beginning=True))
        prompt_tokens = prefix_tokens + len(body)
        if not body:
            raise ModelError("A prompt needs a body.")
        if prompt_tokens + budget.max_tokens > self._context_tokens:
            raise ModelError(
                f"A prompt of {prompt_tokens} tokens and a completion of {budget.max_tokens} do not fit "
                f"the context of {self._context_tokens} tokens."
            )
        shared = self._held.shared_with(prompt.prefix, body)
        usage.prompt_tokens += prompt_tokens
        usage.cached_tokens += (prefix.tokens if prefix else 0) + shared
        if shared:
            self._lib.llama_memory_seq_rm(self._memory, 0, prefix_tokens + shared, -1)
        else:
            self._lib.llama_memory_clear(self._memory, False)
            self._enter_prefix(prompt.prefix)
        self._held.take(prompt.prefix, body)
        self._evaluate(body[shared:])

    def _enter_prefix(self, prefix: str) -> None:
        """Bring the empty context to the state after `prefix`, from the kept states if it is there."""
        if not prefix:
            return
        state = self._states.get(prefix)
        if state is None:
            tokens = self._tokenise(prefix, beginning=True)
            if len(tokens) > self._context_tokens:
                raise ModelError(f"A prefix of {len(tokens)} tokens does not fit the context of {self._context_tokens} tokens.")
            self._evaluate(tokens)
            while len(self._states) >= _SAVED_PREFIXES:
                del self._states[next(iter(self._states))]
            self._states[prefix] = native.PrefixState.taken(self._lib, self._context, len(tokens))
            return
        state.restore(self._lib, self._context)

    def _decode_text(
        self, budget: Budget, temperature: float, stop: Sequence[str], usage: Usage, grammar: str | None
    ) -> Iterator[str]:
        text = StopFilter(stop)
        characters = codecs.getincrementaldecoder("utf-8")("replace")
        for piece in self._decode(budget, temperature, usage, grammar):
            # A character may be spread over several tokens; what is cut off at the very end is dropped.
            shown = text.feed(characters.decode(piece))
            if shown:
                yield shown
            if text.stopped:
                return
        if rest := text.finish():
            yield rest

    def _decode(self, budget: Budget, temperature: float, usage: Usage, grammar: str | None) -> Iterator[bytes]:
        sampler = native.new_sampler(self._lib, temperature, self._seed, vocab=self._vocab, grammar=grammar)
        try:
            for number in range(budget.max_tokens):
                self._interrupt.check()
                started = time.monotonic()
                token = self._lib.llama_sampler_sample(sampler, self._context, -1)
                if self._lib.llama_vocab_is_eog(self._vocab, token) or self._lib.llama_vocab_is_control(self._vocab, token):
                    return
                usage.completion_tokens += 1
                usage.decode_s += time.monotonic() - started
                yield self._piece(token)  # before the next token is computed: the reader need not wait for it
                if number + 1 < budget.max_tokens:
                    started = time.monotonic()
                    self._held.add(token)
                    self._evaluate([token])
                    usage.decode_s += time.monotonic() - started
        finally:
            self._lib.llama_sampler_free(sampler)

    def _evaluate(self, tokens: list[int]) -> None:
        for start in range(0, len(tokens), native.BATCH_TOKENS):
            self._interrupt.check()
            part = tokens[start : start + native.BATCH_TOKENS]
            self._tokens[: len(part)] = part  # type: ignore[assignment]  # ctypes converts
            outcome = self._lib.llama_decode(self._context, self._lib.llama_batch_get_one(self._tokens, len(part)))
            if outcome == _ABORTED:
                self._interrupt.check()
            if outcome != 0:
                raise ModelError(f"llama.cpp could not evaluate the prompt (code {outcome}).")

    def _tokenise(self, text: str, *, beginning: bool = False) -> list[int]:
        data = text.encode("utf-8", "replace")
        room = len(data) + 8
        tokens = (ctypes.c_int32 * room)()
        try:
            count = self._lib.llama_tokenize(self._vocab, data, len(data), tokens, room, beginning, True)
            if count < 0:
                raise ModelError("The prompt could not be split into tokens.")
            return list(tokens[:count])
        finally:
            ctypes.memset(tokens, 0, ctypes.sizeof(tokens))

    def _piece(self, token: int) -> bytes:
        room = ctypes.create_string_buffer(256)
        length = self._lib.llama_token_to_piece(self._vocab, token, room, len(room), 0, False)
        return room.raw[: max(0, length)]

    def _forget(self) -> None:
        """Overwrite whatever a prompt and its completion left: 3 to 10 ms, and the prefixes come back from their states."""
        self._lib.llama_memory_clear(self._memory, True)
        ctypes.memset(self._tokens, 0, ctypes.sizeof(self._tokens))
        self._held.forget()

    @contextmanager
    def _owned(self) -> Iterator[None]:
        """Refuse a second use at the same time: two calls on one context hang or crash the process."""
        if not self._in_use.acquire(blocking=False):
            raise ModelError("This model is busy with another completion.")
        try:
            yield
        finally:
            self._in_use.release()


def _turns(turns: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    return [(role, strip_special(text)) for asked, replied in turns for role, text in (("user", asked), ("assistant", replied))]
