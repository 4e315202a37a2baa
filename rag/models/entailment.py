"""An entailment cross-encoder of sentence-transformers: how far an evidence sentence supports a drafted one."""

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from rag.errors import ModelError, ModelUnavailable
from rag.models.cpu import usable_cores

_ENTAILS = "entail"  # "entailment", "ENTAILMENT": models of natural-language inference name their classes, in any order


class CrossEncoderScorer:
    """Scores pairs with a natural-language-inference model; safe to call from several threads, which take turns."""

    def __init__(self, model: str, *, threads: int | None = None) -> None:
        """Load a model from a folder, or by name from what is on this machine; nothing is downloaded.

        Args:
            model: A folder, or the name of a model that was downloaded before.
            threads: For inference; by default as many as there are usable cores.

        Raises:
            ModelUnavailable: If sentence-transformers is not installed.
            ModelError: If the model cannot be loaded, or does not tell entailment from the rest.
        """
        try:
            import torch
            from sentence_transformers import CrossEncoder
        except ImportError as error:
            raise ModelUnavailable(
                "sentence-transformers is not installed: install torch (a CPU build is enough), "
                "then `pip install salus[sentence-transformers]`."
            ) from error
        torch.set_num_threads(threads or usable_cores())
        try:
            self._model: Any = CrossEncoder(model, device="cpu", local_files_only=True)
        except Exception as error:
            raise ModelError(f"The entailment model {Path(model).name} cannot be loaded: {type(error).__name__}.") from error
        self._entails = entailment_class(self._model.config.id2label)
        self._lock = threading.Lock()

    def score(self, pairs: Sequence[tuple[str, str]]) -> npt.NDArray[np.float32]:
        """Score (premise, hypothesis) pairs.

        Args:
            pairs: What the evidence says, and what would follow from it; longer pairs than the model reads are cut.

        Returns:
            The probability of entailment, shape ``(len(pairs),)``, each in [0, 1], in input order.

        Raises:
            ModelError: If inference fails.
        """
        if not pairs:
            return np.zeros(0, dtype=np.float32)
        try:
            with self._lock:
                raw = np.asarray(self._model.predict(list(pairs), apply_softmax=True, show_progress_bar=False), dtype=np.float32)
        except Exception as error:
            raise ModelError(f"The entailment model failed: {type(error).__name__}.") from error
        return raw.reshape(len(pairs), -1)[:, self._entails]


def entailment_class(labels: dict[int, str]) -> int:
    """Which of a model's classes is entailment.

    Raises:
        ModelError: If none is, or several are.
    """
    found = [
        place for place, label in labels.items() if label.lower().startswith(_ENTAILS)
    ]  # "not_entailment", "contradiction" and "neutral" begin otherwise
    if len(found) != 1:
        raise ModelError("The entailment model does not say which of its classes is entailment.")
    return int(found[0])
