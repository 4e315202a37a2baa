"""Embeddings kept between measurements of public test collections: embedding thousands of passages takes minutes."""

import hashlib
import re
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TypeVar

import numpy as np

from rag.models.protocols import Embedder, Vectors

_BATCH = 32  # passages embedded in one go, and asked for at once
_SAVED_EVERY_S = 5.0  # what a killed run loses at most
_PATIENCE_S = 60.0  # while another measurement writes to the same file

Progress = Callable[[str, int, int], None]

_Item = TypeVar("_Item")


class CachedEmbedder:
    """An embedder that remembers what it embedded, in a file an embedder, and how long each text took.

    Texts are known by their hash. What is new is written every few seconds, so that a run that was killed goes on where it was.
    """

    def __init__(self, embedder: Embedder, cache_dir: Path, progress: Progress | None = None) -> None:
        self._embedder = embedder
        self._progress = progress
        name = re.sub(r"[^A-Za-z0-9._-]+", "_", embedder.fingerprint)
        self._path = cache_dir / f"{name}.sqlite"
        self._known: dict[bytes, tuple[Vectors, float]] = {}
        self._unsaved: list[bytes] = []
        self._saved_at = time.monotonic()
        self.spent_s = 0.0  # of the texts asked for so far, as first embedded
        self.lookup_s = 0.0  # that asking for them really took

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
        """Embed questions, from the cache where they are known; each by itself, as its time is told."""
        return self._embed("query", texts, self._embedder.embed_queries, batch=1)

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """Embed passages, from the cache where they are known."""
        return self._embed("passage", texts, self._embedder.embed_passages, batch=_BATCH)

    def save(self) -> None:
        """Write what is new, all of it or nothing."""
        if self._unsaved:
            rows = [(key, _bytes(self._known[key][0]), self._known[key][1]) for key in self._unsaved]
            with self._opened() as database:
                database.executemany("INSERT OR IGNORE INTO vectors VALUES (?, ?, ?)", rows)
            self._unsaved.clear()
        self._saved_at = time.monotonic()

    def _embed(self, kind: str, texts: Sequence[str], embed: Callable[[Sequence[str]], Vectors], batch: int) -> Vectors:
        asked = time.perf_counter()
        keys = [hashlib.sha256(f"{kind}\0{written}".encode("utf-8", "replace")).digest() for written in texts]
        self._read(keys)
        new = {key: written for key, written in zip(keys, texts, strict=True) if key not in self._known}
        done = len(texts) - len(new)
        for part in _parts(list(new.items()), batch):
            begun = time.perf_counter()
            vectors = embed([written for _, written in part])
            each_s = (time.perf_counter() - begun) / len(part)
            self._known.update((key, (vector, each_s)) for (key, _), vector in zip(part, vectors, strict=True))
            self._unsaved.extend(key for key, _ in part)
            if time.monotonic() - self._saved_at > _SAVED_EVERY_S:
                self.save()
            done += len(part)
            self._tell(done, len(texts))
        if not new:
            self._tell(done, len(texts))
        self.lookup_s += time.perf_counter() - asked
        self.spent_s += sum(self._known[key][1] for key in keys)
        return np.array([self._known[key][0] for key in keys], dtype=np.float32).reshape(len(keys), self.dimension)

    def _tell(self, done: int, total: int) -> None:
        if self._progress and total > _BATCH:
            self._progress("embedding", done, total)

    def _read(self, keys: Sequence[bytes]) -> None:
        """Fetch what the file knows of these texts."""
        wanted = list(dict.fromkeys(key for key in keys if key not in self._known))
        if not wanted or not self._path.exists():
            return
        with self._opened() as database:
            for part in _parts(wanted, 500):
                marks = ",".join("?" * len(part))
                query = f"SELECT key, vector, seconds FROM vectors WHERE key IN ({marks})"  # noqa: S608 - question marks only
                for key, vector, seconds in database.execute(query, part):
                    self._known[key] = (np.frombuffer(vector, dtype="<f4"), seconds)

    @contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        """One transaction; the file is closed after it, for others may measure with the same embedder."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with closing(sqlite3.connect(self._path, timeout=_PATIENCE_S)) as database, database:
            database.execute("CREATE TABLE IF NOT EXISTS vectors (key BLOB PRIMARY KEY, vector BLOB, seconds REAL) WITHOUT ROWID")
            yield database


def _bytes(vector: Vectors) -> bytes:
    return np.asarray(vector, dtype="<f4").tobytes()


def _parts(items: Sequence[_Item], size: int) -> Iterator[Sequence[_Item]]:
    return (items[at : at + size] for at in range(0, len(items), size))
