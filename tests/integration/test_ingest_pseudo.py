"""Pseudo medical histories and patients' questions in a run: found by, never shown, written once."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ingest.ledger import Ledger
from ingest.pipeline import RunOptions, ingest
from ingest.pseudo_history import PseudoWriter
from ingest.run import index_directory, ledger_path, run_lock
from ingest.sources import SourceKind, SourceRow
from locales.language import Language
from rag.documents import SurfaceKind
from rag.models.protocols import Prompt
from rag.store import IndexStore
from tests.fakes import HashEmbedder, ScriptedLanguageModel

PAGE = """---
title: Gotta
language: it
---
## Che cos'è

La gotta è una malattia delle articolazioni dovuta all'acido urico.

## Sintomi

L'alluce diventa rosso, caldo, gonfio e molto dolente di notte. Il dolore passa in pochi giorni.
"""
HISTORY = "l'alluce rosso e gonfio, mi fa molto dolore di notte."  # after "Ho", with which each reply opens
QUESTIONS = "l'alluce gonfio e caldo di notte, può essere gotta?"


class Speaking(ScriptedLanguageModel):
    """Goes on from the opening as a generator does: with a blank."""

    def complete(self, prompt: Prompt, **options: Any) -> Iterator[str]:
        yield " "
        yield from super().complete(prompt, **options)


class Home:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.embedder = HashEmbedder()
        self.model = Speaking(HISTORY, QUESTIONS, HISTORY, QUESTIONS)
        (path / "pages").mkdir()
        (path / "pages/gotta.md").write_text(PAGE, encoding="utf-8")

    async def night(self, *, with_pseudo: bool = True) -> None:
        source = SourceRow(id="asl", kind=SourceKind.FOLDER, path=self.path / "pages", publisher="ASL")
        async with Ledger.open(ledger_path(self.path)) as ledger:
            await ingest(
                [source],
                IndexStore(index_directory(self.path)),
                self.embedder,
                ledger,
                lock=run_lock(self.path),
                options=RunOptions(configured=["asl"]),
                pseudo=PseudoWriter(self.model) if with_pseudo else None,
            )

    async def surfaces(self) -> list[tuple[SurfaceKind, str, str]]:
        async with Ledger.open(ledger_path(self.path)) as ledger:
            (page,) = await ledger.pages(["asl-gotta"])
        return [(surface.kind, surface.text, surface.chunk_id) for surface in page.surfaces]


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


async def test_generated_texts_lead_to_the_symptoms_and_stand_in_no_passage(home: Home) -> None:
    await home.night()

    written = {(kind, chunk) for kind, text, chunk in await home.surfaces() if "alluce" in text and "Gotta" not in text}
    assert (SurfaceKind.PSEUDO_HISTORY, "asl-gotta:1") in written
    assert (SurfaceKind.QUESTION, "asl-gotta:1") in written

    reader = IndexStore(index_directory(home.path)).open(Language.ITALIAN, home.embedder.fingerprint)
    (vector,) = home.embedder.embed_queries([f"Ho {HISTORY}"])
    best, *_ = reader.dense(vector, 2)
    assert best.chunk.chunk_id == "asl-gotta:1"
    assert best.dense > 0.9
    document = reader.get_document("asl-gotta")
    assert document is not None
    shown = document.text + "".join(hit.chunk.text for hit in reader.dense(vector, 5))
    assert "mi fa molto" not in shown


async def test_generated_texts_are_written_once_and_again_when_the_page_changes(home: Home) -> None:
    await home.night()
    assert len(home.model.prompts) == 2

    await home.night()
    assert len(home.model.prompts) == 2

    (home.path / "pages/gotta.md").write_text(PAGE + "\nBere molta acqua aiuta.\n", encoding="utf-8")
    await home.night()
    assert len(home.model.prompts) == 4


async def test_switching_the_setting_off_takes_the_generated_texts_out_again(home: Home) -> None:
    await home.night()
    await home.night(with_pseudo=False)

    assert not [kind for kind, _, _ in await home.surfaces() if kind is SurfaceKind.PSEUDO_HISTORY]
    reader = IndexStore(index_directory(home.path)).open(Language.ITALIAN, home.embedder.fingerprint)
    (vector,) = home.embedder.embed_queries([f"Ho {HISTORY}"])
    assert reader.dense(vector, 1)[0].dense < 0.9


async def test_killed_run_does_not_write_again_what_was_written(home: Home) -> None:
    class Breaking(HashEmbedder):
        def embed_passages(self, texts: object) -> object:  # type: ignore[override]
            raise RuntimeError("killed")

    whole, home.embedder = home.embedder, Breaking()
    with pytest.raises(RuntimeError, match="killed"):
        await home.night()
    assert len(home.model.prompts) == 2

    home.embedder = whole
    await home.night()
    assert len(home.model.prompts) == 2
