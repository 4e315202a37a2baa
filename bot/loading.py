"""Loads what every way into the bot needs, a server as well as a single question, without touching models or index."""

from collections.abc import Callable
from datetime import UTC, datetime

from bot.errors import StartRefused
from bot.renderer import Renderer
from bot.safety import RedFlagDataError, SafetyGate
from bot.settings import Settings
from bot.source_address import SourceAddresses
from ingest.sources import load_sources
from locales.catalog import Catalog, CatalogError
from locales.emergency import DirectoryError, EmergencyDirectory
from rag.settings import RagSettings


def rag_settings(settings: Settings) -> RagSettings:
    """The part of the settings that the answering line needs."""
    return RagSettings(
        home=settings.home,
        generator=settings.generator,
        embedder=settings.embedder,
        generator_expansion=settings.generator_expansion,
        threads=settings.threads,
    )


def load_gate() -> SafetyGate:
    """The safety gate.

    Raises:
        StartRefused: If its data is missing, empty or malformed.
    """
    try:
        return SafetyGate.load()
    except RedFlagDataError as error:
        raise StartRefused(f"Nothing is started without red flags: {error}") from error


def load_renderer(settings: Settings, *, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> Renderer:
    """Everything that turns outcomes into text.

    Raises:
        StartRefused: If texts or emergency numbers are missing or malformed.
    """
    catalog, directory = load_texts()
    rows = load_sources(settings.sources) if settings.sources else load_sources()
    return Renderer(catalog, directory, SourceAddresses(settings.public_base_url, rows), now=now)


def load_texts() -> tuple[Catalog, EmergencyDirectory]:
    """The texts and the emergency numbers.

    Raises:
        StartRefused: If either is missing or malformed.
    """
    try:
        return Catalog.load(), EmergencyDirectory.load()
    except (CatalogError, DirectoryError) as error:
        raise StartRefused(f"Nothing is started without its texts: {error}") from error
