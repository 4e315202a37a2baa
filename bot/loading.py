"""Loads what every way into the bot needs, a server as well as a single question, without touching models or index."""

from collections.abc import Callable
from datetime import UTC, datetime

from bot.errors import StartRefused
from bot.red_flag_classifier import ClassifierDataError
from bot.renderer import Operator, Renderer
from bot.safety import RedFlagDataError, SafetyGate
from bot.settings import Settings
from bot.source_address import SourceAddresses
from ingest.sources import load_sources
from locales.catalog import Catalog, CatalogError
from locales.emergency import DirectoryError, EmergencyDirectory
from rag.errors import ModelError
from rag.models.protocols import Embedder
from rag.settings import RagSettings


def rag_settings(settings: Settings) -> RagSettings:
    """The part of the settings that the answering line needs."""
    return RagSettings(
        home=settings.home,
        generator=settings.generator,
        generator_server=settings.generator_server,
        embedder=settings.embedder,
        entailment=settings.entailment,
        generator_expansion=settings.generator_expansion,
        threads=settings.threads,
        max_context_chunks=settings.max_context_chunks,
        similarity_threshold=settings.similarity_threshold,
    )


def load_gate(shared: Embedder | None = None) -> SafetyGate:
    """The safety gate, with its second reading wherever the packaged embedder runs; the rules need no model.

    Args:
        shared: An embedder that is loaded already; used if it is the packaged one.

    Raises:
        StartRefused: If its data is missing, empty or malformed.
    """
    try:
        return SafetyGate.load(_packaged_embedder(shared))
    except (RedFlagDataError, ClassifierDataError) as error:
        raise StartRefused(f"Nothing is started without red flags: {error}") from error


def _packaged_embedder(shared: Embedder | None) -> Embedder | None:
    from rag.models.e5 import FINGERPRINT, E5Embedder

    if shared is not None and shared.fingerprint == FINGERPRINT:
        return shared
    try:
        return E5Embedder(threads=1)
    except ModelError:
        return None


def load_renderer(settings: Settings, *, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> Renderer:
    """Everything that turns outcomes into text.

    Raises:
        StartRefused: If texts or emergency numbers are missing or malformed.
    """
    catalog, directory = load_texts()
    rows = load_sources(settings.sources) if settings.sources else load_sources()
    operator = Operator(human_contact=settings.human_contact, remote_party=settings.remote_generator_party)
    return Renderer(catalog, directory, SourceAddresses(settings.public_base_url, rows), operator=operator, now=now)


def load_texts() -> tuple[Catalog, EmergencyDirectory]:
    """The texts and the emergency numbers.

    Raises:
        StartRefused: If either is missing or malformed.
    """
    try:
        return Catalog.load(), EmergencyDirectory.load()
    except (CatalogError, DirectoryError) as error:
        raise StartRefused(f"Nothing is started without its texts: {error}") from error
