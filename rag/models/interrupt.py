"""Stops native inference from outside, without the interpreter."""

import ctypes
import threading
from types import TracebackType
from typing import Any

from rag.errors import Cancelled, DeadlineExceeded, ModelError
from rag.models.protocols import Budget

_LOOK_EVERY_S = 0.05


class Interrupt:
    """Watches a budget while native code runs and raises a flag that the native code reads.

    llama.cpp asks an abort callback before every operation of its graph, some 450 times a token. A callback in Python takes
    the interpreter's lock each time: next to one busy Python thread, the 0.5B model decodes 7 tokens a second with it and 10
    without. So the callback is the C library's own `strlen` on a two-byte buffer: an empty string means "go on", one
    character means "stop".
    """

    def __init__(self) -> None:
        self._flag = ctypes.create_string_buffer(2)
        # Kept on the object: freed, it would be called all the same.
        self._strlen = ctypes.cast(ctypes.CDLL(None).strlen, ctypes.c_void_p)
        self._budget: Budget | None = None
        self._done = threading.Event()
        self._watcher: threading.Thread | None = None
        self._reason: type[ModelError] | None = None

    def install(self, library: Any, context: Any) -> None:  # noqa: ANN401  # ctypes objects of llama_cpp
        """Make `context` ask this flag from now on."""
        self._callback = library.ggml_abort_callback(self._strlen.value)
        library.llama_set_abort_callback(context, self._callback, ctypes.cast(self._flag, ctypes.c_void_p))

    def watching(self, budget: Budget) -> "Interrupt":
        """Watch `budget` inside the ``with`` block that follows; its `cancelled` is called from another thread."""
        self._budget = budget
        return self

    def check(self) -> None:
        """Do nothing while the budget lasts.

        Raises:
            Cancelled: If the caller asked for the end.
            DeadlineExceeded: If the time is up.
        """
        reason = self._reason or self._look()
        if reason is Cancelled:
            raise Cancelled("The completion was cancelled.")
        if reason is DeadlineExceeded:
            raise DeadlineExceeded("The completion ran past its deadline.")

    def __enter__(self) -> "Interrupt":
        self._flag[0] = b"\x00"
        self._reason = None
        self._done = threading.Event()
        self._watcher = threading.Thread(target=self._watch, args=(self._done,), name="inference-watch", daemon=True)
        self._watcher.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._done.set()
        if self._watcher is not None:
            self._watcher.join()
        self._flag[0] = b"\x00"
        self._budget = None

    def _watch(self, done: threading.Event) -> None:
        while not done.wait(_LOOK_EVERY_S):
            self._reason = self._look()
            if self._reason is not None:
                self._flag[0] = b"\x01"
                return

    def _look(self) -> type[ModelError] | None:
        if self._budget is None:
            return None
        if self._budget.cancelled():
            return Cancelled
        return DeadlineExceeded if self._budget.expired() else None
