"""Any sentence-transformers model as embedder, with the prefixes that this very model was trained with."""

import hashlib
import json
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rag.errors import ModelError, ModelUnavailable
from rag.models.cpu import usable_cores
from rag.models.protocols import Vectors

_BATCH = 16


@dataclass(frozen=True, slots=True)
class Prefixes:
    """What a model wants to see before a question and before a passage."""

    query: str = ""
    passage: str = ""


def prefixes_of(name: str, prompts: dict[str, str] | None = None) -> Prefixes:
    """The prefixes of the model called `name`: those that it states itself, else E5's for an E5 model, else none."""
    stated = {key: text for key, text in (prompts or {}).items() if text}
    if "query" in stated:
        return Prefixes(stated["query"], stated.get("passage", stated.get("document", "")))
    tail = name.lower().replace("--", "/").rsplit("/", 1)[-1]
    if "e5-" in tail and "instruct" not in tail:
        return Prefixes("query: ", "passage: ")
    return Prefixes()


class SentenceTransformerEmbedder:
    """Embeds with a sentence-transformers model in a local folder; safe to call from several threads, which take turns."""

    def __init__(self, folder: Path, *, name: str = "", threads: int | None = None) -> None:
        """Load the model in `folder`; nothing is downloaded.

        Raises:
            ModelUnavailable: If sentence-transformers is not installed.
            ModelError: If the folder does not hold a usable model.
        """
        try:
            import torch
            from sentence_transformers import SentenceTransformer
        except ImportError as error:
            raise ModelUnavailable(
                "sentence-transformers is not installed: install torch (a CPU build is enough), "
                "then `pip install salus[sentence-transformers]`."
            ) from error
        torch.set_num_threads(threads or usable_cores())
        try:
            self._model: Any = SentenceTransformer(str(folder), device="cpu", local_files_only=True)
        except Exception as error:
            raise ModelError(f"The embedder in {folder} cannot be loaded: {type(error).__name__}.") from error
        # Renamed in sentence-transformers 5.
        dimension = getattr(self._model, "get_embedding_dimension", None) or self._model.get_sentence_embedding_dimension
        self._dimension = int(dimension())
        self._name = name or folder.name
        self._prefixes = prefixes_of(self._name, getattr(self._model, "prompts", None))
        self._fingerprint = f"sentence-transformers/{self._name}#{_digest(folder)}"
        self._lock = threading.Lock()

    @property
    def fingerprint(self) -> str:
        """The model's name and a digest of its configuration and weights' size."""
        return self._fingerprint

    @property
    def dimension(self) -> int:
        """Length of a vector."""
        return self._dimension

    @property
    def max_tokens(self) -> int:
        """Longest input in the model's own tokens; what is longer is cut by the model."""
        return int(self._model.max_seq_length)

    def count_tokens(self, text: str) -> int:
        """Tokens of `text` as a passage, prefix and special tokens included."""
        encoded = self._model.tokenizer(self._prefixes.passage + _clean(text), truncation=False, verbose=False)
        return len(encoded["input_ids"])

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Embed questions: float32, shape ``(len(texts), dimension)``, unit rows."""
        return self._embed(texts, self._prefixes.query)

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """Embed passages: float32, shape ``(len(texts), dimension)``, unit rows."""
        return self._embed(texts, self._prefixes.passage)

    def _embed(self, texts: Sequence[str], prefix: str) -> Vectors:
        if not texts:
            return np.zeros((0, self.dimension), dtype=np.float32)
        inputs = [prefix + _clean(text) for text in texts]
        with self._lock:
            # `prompt=""`: a model with a default prompt of its own would otherwise add it after ours.
            vectors = self._model.encode(
                inputs, prompt="", batch_size=_BATCH, normalize_embeddings=True, convert_to_numpy=True, show_progress_bar=False
            )
        return np.asarray(vectors, dtype=np.float32)


def _clean(text: str) -> str:
    return text.replace("\x00", " ").encode("utf-8", "replace").decode("utf-8")


def _digest(folder: Path) -> str:
    """Changes when the model does: its small files by content, its weights by size."""
    digest = hashlib.sha256()
    for path in sorted(p for p in folder.rglob("*") if p.suffix in {".json", ".safetensors", ".bin"} and ".cache" not in p.parts):
        content = (
            json.dumps(path.stat().st_size) if path.suffix != ".json" else path.read_text(encoding="utf-8", errors="replace")
        )
        digest.update(f"{path.relative_to(folder)}\0{content}\0".encode())
    return digest.hexdigest()[:12]
