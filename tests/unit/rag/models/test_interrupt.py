import ctypes
import threading
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from rag.errors import Cancelled, DeadlineExceeded
from rag.models.interrupt import Interrupt
from rag.models.protocols import Budget


def _installed(interrupt: Interrupt) -> Callable[[], bool]:
    """What llama.cpp would call: the callback with its data."""
    seen: list[Any] = []
    kind = ctypes.CFUNCTYPE(ctypes.c_bool, ctypes.c_void_p)
    library = SimpleNamespace(
        ggml_abort_callback=kind, llama_set_abort_callback=lambda _context, callback, data: seen.extend((callback, data))
    )
    interrupt.install(library, None)
    callback, data = seen
    return lambda: bool(callback(data))


def test_native_code_is_told_to_stop_soon_after_the_caller_cancels() -> None:
    interrupt, cancelled = Interrupt(), threading.Event()
    asks = _installed(interrupt)
    with interrupt.watching(Budget(max_tokens=1, cancelled=cancelled.is_set)):
        assert asks() is False
        cancelled.set()
        until = time.monotonic() + 0.5
        while not asks() and time.monotonic() < until:
            time.sleep(0.005)
        assert asks() is True
        with pytest.raises(Cancelled):
            interrupt.check()
    assert asks() is False


def test_native_code_is_told_to_stop_at_the_deadline() -> None:
    interrupt = Interrupt()
    asks = _installed(interrupt)
    with interrupt.watching(Budget(max_tokens=1, deadline=time.monotonic() + 0.02)):
        until = time.monotonic() + 0.5
        while not asks() and time.monotonic() < until:
            time.sleep(0.005)
        assert asks() is True
        with pytest.raises(DeadlineExceeded):
            interrupt.check()


def test_the_next_completion_starts_with_a_clean_flag() -> None:
    interrupt = Interrupt()
    asks = _installed(interrupt)
    with interrupt.watching(Budget(max_tokens=1, deadline=0.0)):
        time.sleep(0.08)
    with interrupt.watching(Budget(max_tokens=1)):
        assert asks() is False
        interrupt.check()
