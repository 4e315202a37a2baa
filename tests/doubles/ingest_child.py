"""A run of ingestion as a process of its own, with the hashing embedder made slow: something to be killed.

Usage: python -m tests.doubles.ingest_child HOME SOURCES SECONDS_A_CALL
"""

import asyncio
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from ingest.run import run_ingest
from rag.models.protocols import Vectors
from tests.fakes import HashEmbedder


class SlowEmbedder(HashEmbedder):
    def __init__(self, seconds_a_call: float) -> None:
        super().__init__(dimension=64)
        self._seconds = seconds_a_call

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        time.sleep(self._seconds)
        return super().embed_passages(texts)


if __name__ == "__main__":
    report = asyncio.run(run_ingest(Path(sys.argv[1]), SlowEmbedder(float(sys.argv[3])), own_sources=Path(sys.argv[2])))
    sys.stdout.write(report.status)
