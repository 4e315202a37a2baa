"""What all commands share: the terminal they write to, and how they begin."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

if TYPE_CHECKING:
    from bot.settings import Settings

OUT = Console()
ERR = Console(stderr=True)

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def start(*, quiet: bool = False) -> "Settings":
    """Read the settings, set the log up and close the memory to others; `quiet` keeps a terminal free of all but warnings."""
    from bot.private_memory import keep_memory_private
    from bot.settings import load_settings
    from bot.telemetry import configure

    keep_memory_private()
    settings = load_settings()
    configure("ERROR" if quiet and settings.log_level != "DEBUG" else settings.log_level)
    return settings


@contextmanager
def busy(text: str) -> Iterator[None]:
    """Show that something goes on while it does."""
    with ERR.status(text):
        yield
