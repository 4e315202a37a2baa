"""Embeddings kept between measurements of public test collections: embedding thousands of passages takes minutes."""

import hashlib
import os
import re
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from rag.models.protocols import Embedder, Vectors

_SAVED_EVERY_S = 30.0

Progress = Callable[[str, int, int], None]


class CachedEmbedder:
    """An embedder that remembers what it embedded, in a file a model, and how long each text took."""

    def __init__(self, embedder: Embedder, cache_dir: Path, progress: Progress | None = None) -> None:
        self._embedder = embedder
        self._progress = progress
        name = re.sub(r"[^A-Za-z0-9._-]+", "_", embedder.fingerprint)
        self._path = cache_dir / f"{name}.npz"
        self._known: dict[str, tuple[Vectors, float]] = {}
        self.spent_s = 0.0  # of the texts asked for so far, as first embedded
        self.lookup_s = 0.0  # that asking for them really took
        self._load()

    @property
    def fingerprint(self) -> str:
        """That of the embedder within."""
        return self._embedder.fingerprint

    @property
    def dimension(self) -> int:
        """That of the embedder within."""
        return self._embedder.dimension

    @property
    def max_tokens(self) -> int:
        """That of the embedder within."""
        return self._embedder.max_tokens

    def count_tokens(self, text: str) -> int:
        """Count as the embedder within."""
        return self._embedder.count_tokens(text)

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Embed questions, from the cache where they are known."""
        return self._embed("query", texts, self._embedder.embed_queries)

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """Embed passages, from the cache where they are known."""
        return self._embed("passage", texts, self._embedder.embed_passages)

    def save(self) -> None:
        """Write the cache, in one move."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = self._path.with_suffix(f".{os.getpid()}.tmp.npz")
        vectors = np.array([vector for vector, _ in self._known.values()], dtype=np.float32)
        seconds = np.array([spent for _, spent in self._known.values()], dtype=np.float32)
        np.savez(unfinished, keys=np.array(list(self._known)), vectors=vectors, seconds=seconds)
        unfinished.replace(self._path)

    def _embed(self, kind: str, texts: Sequence[str], embed: Callable[[Sequence[str]], Vectors]) -> Vectors:
        keys = [hashlib.sha256(f"{kind}\0{written}".encode()).hexdigest() for written in texts]
        asked = time.perf_counter()
        saved = time.monotonic()
        for place, (key, written) in enumerate(zip(keys, texts, strict=True)):
            if key not in self._known:
                begun = time.perf_counter()
                vector = embed([written])[0]
                self._known[key] = (vector, time.perf_counter() - begun)
            if time.monotonic() - saved > _SAVED_EVERY_S:
                self.save()
                saved = time.monotonic()
            if self._progress and len(texts) > 1:
                self._progress("embedding", place + 1, len(texts))
        self.lookup_s += time.perf_counter() - asked
        self.spent_s += sum(self._known[key][1] for key in keys)
        return np.array([self._known[key][0] for key in keys], dtype=np.float32).reshape(len(keys), self.dimension)

    def _load(self) -> None:
        if not self._path.exists():
            return
        with np.load(self._path) as cached:
            for key, vector, seconds in zip(cached["keys"], cached["vectors"], cached["seconds"], strict=True):
                self._known[str(key)] = (vector, float(seconds))
