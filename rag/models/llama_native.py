"""The handful of llama.cpp's low-level calls that the generator is made of."""

import atexit
import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from rag.errors import ModelError, ModelUnavailable
from rag.models.openmp import wait_passively

BATCH_TOKENS = 512
_SEQUENCE = 0
_ERROR_LEVEL = 4  # GGML_LOG_LEVEL_ERROR of ggml.h, which the bindings do not name

Handle = Any  # llama_cpp's opaque pointers and ctypes structures have no types of their own

_complaints: list[str] = []
_kept_alive: list[Handle] = []  # llama.cpp calls the log callback as long as the process lives


@cache
def library() -> Handle:
    """llama_cpp's bindings, initialised once and silent: nothing of llama.cpp's goes to standard error.

    Raises:
        ModelUnavailable: If llama-cpp-python is not installed.
    """
    wait_passively()
    try:
        from llama_cpp import _utils, llama_cpp
    except (ImportError, OSError, RuntimeError) as error:
        raise ModelUnavailable(
            "llama-cpp-python, which runs the generator, is not installed or was built for another CPU."
        ) from error

    for unread in (_utils.outnull_file, _utils.errnull_file):  # the bindings open them at import and never close them
        atexit.register(unread.close)

    @llama_cpp.llama_log_callback  # type: ignore[untyped-decorator]
    def keep_complaints(level: int, text: bytes, _data: ctypes.c_void_p) -> None:
        if level == _ERROR_LEVEL and text.strip():
            _complaints.append(text.decode("utf-8", "replace").strip())
            del _complaints[:-8]

    _kept_alive.append(keep_complaints)
    llama_cpp.llama_log_set(keep_complaints, ctypes.c_void_p(0))
    llama_cpp.llama_backend_init()
    return llama_cpp


def load_model(lib: Handle, path: Path) -> Handle:
    """Map the GGUF file at `path` into memory.

    Raises:
        ModelError: If it is not a model that this llama.cpp can read.
    """
    _complaints.clear()
    params = lib.llama_model_default_params()
    params.n_gpu_layers = 0
    model = lib.llama_model_load_from_file(str(path).encode("utf-8"), params)
    if not model:
        raise ModelError(f"{path.name} is not a model that llama.cpp can read ({_complaint()}).")
    return model


def new_context(
    lib: Handle, model: Handle, *, context_tokens: int, threads: int, flash_attention: bool, eight_bit_cache: bool
) -> Handle:
    """A context for one sequence that yields logits for the last token only.

    Raises:
        ModelError: If there is not enough memory for it.
    """
    _complaints.clear()
    params = lib.llama_context_default_params()
    params.n_ctx = min(context_tokens, lib.llama_model_n_ctx_train(model))
    params.n_batch = params.n_ubatch = BATCH_TOKENS
    params.n_seq_max = 1
    params.n_outputs_max = 1  # else room for 512 rows of 152,000 logits is set aside: 300 MB
    params.n_threads = params.n_threads_batch = threads
    params.flash_attn_type = lib.LLAMA_FLASH_ATTN_TYPE_ENABLED if flash_attention else lib.LLAMA_FLASH_ATTN_TYPE_DISABLED
    params.type_k = params.type_v = lib.GGML_TYPE_Q8_0 if eight_bit_cache else lib.GGML_TYPE_F16
    params.no_perf = True
    context = lib.llama_init_from_model(model, params)
    if not context:
        raise ModelError(f"There is not enough memory for the generator ({_complaint()}).")
    return context


def new_sampler(lib: Handle, temperature: float, seed: int, *, vocab: Handle = None, grammar: str | None = None) -> Handle:
    """A sampler that the caller frees: the most likely token at temperature 0, else a seeded draw from the likely ones.

    With a GBNF `grammar` only of those that it allows next.

    Raises:
        ModelError: If the grammar cannot be read.
    """
    chain = lib.llama_sampler_chain_init(lib.llama_sampler_chain_default_params())
    if grammar is not None:
        rules = lib.llama_sampler_init_grammar(vocab, grammar.encode("utf-8"), b"root")
        if not rules:
            lib.llama_sampler_free(chain)
            raise ModelError("The grammar of a stage cannot be read.")
        lib.llama_sampler_chain_add(chain, rules)
    if temperature <= 0:
        lib.llama_sampler_chain_add(chain, lib.llama_sampler_init_greedy())
        return chain
    for part in (
        lib.llama_sampler_init_top_k(40),
        lib.llama_sampler_init_top_p(0.95, 1),
        lib.llama_sampler_init_temp(temperature),
        lib.llama_sampler_init_dist(seed),
    ):
        lib.llama_sampler_chain_add(chain, part)
    return chain


def apply_chat_template(lib: Handle, model: Handle, messages: Sequence[tuple[str, str]]) -> str:
    """Write (role, text) `messages` in the model's own chat format, open for the model's reply; ChatML if it names none."""
    chat = (lib.llama_chat_message * len(messages))(
        *[(role.encode("utf-8"), text.encode("utf-8", "replace")) for role, text in messages]
    )
    room = 4096 + 2 * sum(len(text.encode("utf-8", "replace")) for _, text in messages)
    for template in (lib.llama_model_chat_template(model, None), b"chatml"):
        written = ctypes.create_string_buffer(room)
        length = lib.llama_chat_apply_template(template, chat, len(messages), True, written, room) if template else -1
        if 0 < length <= room:
            return written.raw[:length].decode("utf-8", "replace")
    raise ModelError("The prompt could not be written in the model's chat format.")


def free(lib: Handle, context: Handle, model: Handle) -> None:
    """Give the context's and the model's memory back."""
    lib.llama_free(context)
    lib.llama_model_free(model)


@dataclass(frozen=True, slots=True)
class PrefixState:
    """What a context holds after a static prefix of `tokens` tokens: a few megabytes, restored in milliseconds."""

    tokens: int
    data: Any

    @classmethod
    def taken(cls, lib: Handle, context: Handle, tokens: int) -> "PrefixState":
        """Copy the state out of `context`, which has just evaluated the prefix."""
        size = lib.llama_state_seq_get_size(context, _SEQUENCE)
        data = (ctypes.c_uint8 * size)()
        if lib.llama_state_seq_get_data(context, data, size, _SEQUENCE) != size:
            raise ModelError("The state after a prompt's prefix could not be saved.")
        return cls(tokens, data)

    def restore(self, lib: Handle, context: Handle) -> None:
        """Bring the empty `context` to this state."""
        if not lib.llama_state_seq_set_data(context, self.data, len(self.data), _SEQUENCE):
            raise ModelError("The state after a prompt's prefix could not be restored.")


def _complaint() -> str:
    return _complaints[0] if _complaints else "no reason given"
