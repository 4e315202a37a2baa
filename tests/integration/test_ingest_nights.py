"""Night after night: what is embedded, and how much disk is used."""

from pathlib import Path

from ingest.ledger import Ledger
from ingest.pipeline import RunOptions, ingest
from ingest.report import RunReport
from ingest.run import index_directory, ledger_path, run_lock
from ingest.sources import SourceKind, SourceRow
from locales.language import Language
from rag.store import IndexStore
from tests.fakes import HashEmbedder

PAGES = 300
NIGHTS = 30


def write(home: Path, page: int, words: str) -> None:
    body = f"Il disturbo numero {page} passa da solo. {words}\n\n" + f"Chi ha il disturbo {page} beve molta acqua. " * 8
    (home / "pages").mkdir(exist_ok=True)
    (home / f"pages/{page}.md").write_text(
        f"---\ntitle: Disturbo {page}\nlanguage: it\n---\n## Sintomi\n\n{body}\n", encoding="utf-8"
    )


async def night(home: Path, embedder: HashEmbedder) -> RunReport:
    embedder.passages.clear()
    source = SourceRow(id="asl", kind=SourceKind.FOLDER, path=home / "pages", publisher="ASL")
    async with Ledger.open(ledger_path(home)) as ledger:
        store = IndexStore(index_directory(home))
        options = RunOptions(configured=["asl"])
        return await ingest([source], store, embedder, ledger, lock=run_lock(home), options=options)


def disk(home: Path) -> int:
    return sum(path.stat().st_size for part in ("index", "ledger.sqlite") for path in _files(home / part))


def _files(path: Path) -> list[Path]:
    return [path] if path.is_file() else [file for file in path.rglob("*") if file.is_file()]


async def test_disk_use_after_thirty_nights_is_flat(tmp_path: Path) -> None:
    """H20"""
    embedder = HashEmbedder()
    for page in range(PAGES):
        write(tmp_path, page, "Prima notte.")
    await night(tmp_path, embedder)
    sizes, files = [], []
    for number in range(NIGHTS):
        write(tmp_path, number % PAGES, f"Notte {number:02d}.")
        report = await night(tmp_path, embedder)
        assert [(row.changed, row.unchanged) for row in report.languages if row.pages] == [(1, PAGES - 1)]
        sizes.append(disk(tmp_path))
        files.append(len(_files(tmp_path / "index")))

    assert max(sizes) <= 1.1 * sizes[0], sizes
    assert min(sizes) >= 0.9 * sizes[0], sizes
    assert max(files) <= 2 * files[0], files


async def test_night_without_changes_embeds_nothing_and_publishes_nothing(tmp_path: Path) -> None:
    embedder = HashEmbedder()
    for page in range(PAGES):
        write(tmp_path, page, "Prima notte.")
    await night(tmp_path, embedder)
    version = IndexStore(index_directory(tmp_path)).open(Language.ITALIAN, embedder.fingerprint).version
    report = await night(tmp_path, embedder)

    assert embedder.passages == []
    assert [row.published_version for row in report.languages] == [None, None]
    assert IndexStore(index_directory(tmp_path)).open(Language.ITALIAN, embedder.fingerprint).version == version


async def test_changed_sentence_is_embedded_and_its_page_is_not_embedded_again(tmp_path: Path) -> None:
    embedder = HashEmbedder()
    for page in range(3):
        write(tmp_path, page, "Prima notte.")
    await night(tmp_path, embedder)
    write(tmp_path, 1, "Seconda notte.")
    await night(tmp_path, embedder)

    assert "Disturbo 1. Seconda notte." in embedder.passages
    assert len(embedder.passages) == 2  # that sentence, and the passage that it stands in
