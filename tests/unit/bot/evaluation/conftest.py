"""What the tests of the evaluations share: sets written on the spot, and an asker over prepared replies."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bot.asker import Asker
from bot.renderer import Renderer
from bot.safety import RedFlag
from bot.source_address import SourceAddresses
from locales.catalog import Catalog
from locales.emergency import EmergencyDirectory
from rag.replies import Reply
from tests.fakes import ScriptedAnswerer, ScriptedGate

WriteSet = Callable[..., Path]
MakeAsker = Callable[..., Asker]


@pytest.fixture
def write_set(tmp_path: Path) -> WriteSet:
    """Writes rows as a set and gives its path."""

    def write(*rows: dict[str, Any]) -> Path:
        path = tmp_path / "set.jsonl"
        path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
        return path

    return write


@pytest.fixture
def make_asker() -> MakeAsker:
    """Makes an asker that gives the replies one after the other; its gate fires at the words in `flags`."""

    def make(*replies: Reply, flags: dict[str, RedFlag] | None = None) -> Asker:
        answerer = ScriptedAnswerer(*replies)
        renderer = Renderer(Catalog.load(), EmergencyDirectory.load(), SourceAddresses("https://bot.example.org"))
        return Asker(ScriptedGate(flags), renderer, lambda: answerer)  # type: ignore[arg-type]

    return make
