import asyncio
import json
import threading
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from ingest.errors import RunRefused, SourceUnreadable
from ingest.ledger import Ledger, RunStatus
from ingest.lock import writer_lock
from ingest.pipeline import RunOptions, ingest
from ingest.report import OnProgress, Progress, RunProgress, RunReport, Step
from ingest.run import index_directory, ledger_path, run_ingest
from ingest.sources import SourceRow
from locales.language import Language
from rag.errors import IndexMissing, ModelError
from rag.models.protocols import Vectors
from rag.store import IndexReader, IndexStore
from rag.text import lexical_text
from tests.fakes import HashEmbedder

ITALIAN = Language.ITALIAN


def page(title: str, text: str, language: str = "it") -> str:
    return f"---\ntitle: {title}\nlanguage: {language}\n---\n## Che cos'è\n\n{text}\n"


class Home:
    """A home with one folder of Italian pages and, if asked for, one of Spanish."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.embedder = HashEmbedder()
        self.sources = [self.source("it")]
        self.put("it/flu.md", page("L'influenza", "L'influenza dà febbre. Dura una settimana."))
        self.put("it/cough.md", page("La tosse", "La tosse secca passa da sola."))

    def source(self, source_id: str, **fields: object) -> SourceRow:
        values = {"id": source_id, "kind": "folder", "path": self.path / source_id, "publisher": "ASL"}
        return SourceRow.model_validate({**values, **fields})

    def put(self, name: str, text: str) -> None:
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    async def run(
        self,
        sources: Sequence[SourceRow] | None = None,
        *,
        full: bool = False,
        dry_run: bool = False,
        sentence_vectors: bool = True,
        on_progress: OnProgress = lambda _: None,
    ) -> RunReport:
        self.embedder.passages.clear()
        async with Ledger.open(ledger_path(self.path)) as ledger:
            return await ingest(
                self.sources if sources is None else sources,
                IndexStore(index_directory(self.path)),
                self.embedder,
                ledger,
                lock=self.path / "ingest.lock",
                options=RunOptions(
                    configured=[source.id for source in self.sources],
                    full=full,
                    dry_run=dry_run,
                    sentence_vectors=sentence_vectors,
                ),
                on_progress=on_progress,
            )

    def reader(self, language: Language = ITALIAN) -> IndexReader:
        return IndexStore(index_directory(self.path)).open(language, self.embedder.fingerprint)

    def found(self, words: str, language: Language = ITALIAN) -> list[str]:
        return [hit.chunk.document_id for hit in self.reader(language).lexical(lexical_text(words, language), 5)]


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def counts(report: RunReport, language: Language = ITALIAN) -> tuple[int, int, int, int]:
    row = next(row for row in report.languages if row.language is language)
    return (row.new, row.changed, row.unchanged, row.retired)


def version(report: RunReport, language: Language = ITALIAN) -> int | None:
    return next(row.published_version for row in report.languages if row.language is language)


async def test_first_run_publishes_chunks_surfaces_and_sentence_vectors(home: Home) -> None:
    report = await home.run()

    assert (report.status, report.problems, counts(report)) == (RunStatus.COMPLETE, (), (2, 0, 0, 0))
    assert home.found("febbre") == ["it-flu"]
    (hit,) = home.reader().dense(home.embedder.embed_queries(["La tosse: che cos'è"])[0], 1)
    assert hit.chunk.document_id == "it-cough"
    (vectors,) = home.reader().sentence_vectors(["it-flu:0"]).values()
    expected = home.embedder.embed_passages(["L'influenza. Dura una settimana."])[0]
    np.testing.assert_allclose(vectors[1], expected, atol=1e-3)
    stored = home.reader().get_document("it-flu")
    assert stored is not None
    assert stored.title == "L'influenza"


async def test_unchanged_page_is_not_embedded_again_and_nothing_is_published(home: Home) -> None:
    await home.run()
    report = await home.run()

    assert (counts(report), version(report)) == ((0, 0, 2, 0), None)
    assert home.embedder.passages == []


async def test_changed_page_alone_is_embedded_again(home: Home) -> None:
    await home.run()
    home.put("it/flu.md", page("L'influenza", "L'influenza dà brividi."))
    report = await home.run()

    assert counts(report) == (0, 1, 1, 0)
    assert not any("tosse" in text for text in home.embedder.passages)
    assert (home.found("brividi"), home.found("settimana")) == (["it-flu"], [])


async def test_new_page_is_found_and_removed_page_is_not_by_an_open_store(home: Home) -> None:
    """H21, H29"""
    home.put("it/old.md", page("La pellagra", "La pellagra è rara."))
    await home.run()
    store = IndexStore(index_directory(home.path))
    assert store.open(ITALIAN, "hash-1").lexical(lexical_text("pellagra", ITALIAN), 5)

    (home.path / "it/old.md").unlink()
    home.put("it/new.md", page("Bocca secca", "La xerostomia è bocca secca."))
    report = await home.run()

    assert counts(report) == (1, 0, 2, 1)
    reader = store.open(ITALIAN, "hash-1")
    assert reader.lexical(lexical_text("pellagra", ITALIAN), 5) == []
    assert [hit.chunk.document_id for hit in reader.lexical(lexical_text("xerostomia", ITALIAN), 5)] == ["it-new"]
    assert reader.get_document("it-old") is None


async def test_full_run_embeds_and_publishes_everything_again(home: Home) -> None:
    await home.run()
    report = await home.run(full=True)

    assert version(report) is not None
    assert len({text for text in home.embedder.passages if text.startswith("La tosse")}) == 3


async def test_another_embedder_rebuilds_the_index_also_from_sources_that_cannot_be_read_now(home: Home) -> None:
    home.sources.append(home.source("usl"))
    home.put("usl/burn.md", page("Ustioni", "Acqua fresca."))
    await home.run()
    home.embedder = HashEmbedder(dimension=32, fingerprint="hash-2")
    (home.path / "usl/burn.md").unlink()
    report = await home.run()

    assert report.failed_sources == ("usl",)
    assert home.found("acqua") == ["usl-burn"]
    assert len(home.reader().dense(home.embedder.embed_queries(["ustioni"])[0], 5)) == 3


async def test_switching_sentence_vectors_off_rebuilds_without_them(home: Home) -> None:
    await home.run()
    await home.run(sentence_vectors=False)

    assert home.reader().sentence_vectors(["it-flu:0"]) == {}
    assert home.found("febbre") == ["it-flu"]


async def test_unreadable_source_fails_alone_and_keeps_its_pages(home: Home) -> None:
    home.sources.append(home.source("es"))
    home.put("es/gripe.md", page("La gripe", "La gripe da fiebre.", "es"))
    await home.run()
    for path in (home.path / "it").iterdir():
        path.unlink()
    home.put("es/tos.md", page("La tos", "La tos seca pasa sola.", "es"))
    report = await home.run()

    assert (report.status, report.failed_sources) == (RunStatus.PARTIAL, ("it",))
    assert "holds no .md" in report.problems[0]
    assert home.found("febbre") == ["it-flu"]
    assert home.found("tos", Language.SPANISH) == ["es-tos"]


async def test_run_of_which_no_source_can_be_read_fails_and_loses_nothing(home: Home) -> None:
    await home.run()
    home.sources[0].path.rename(home.path / "moved")
    report = await home.run()

    assert (report.status, counts(report), version(report)) == (RunStatus.FAILED, (0, 0, 0, 0), None)
    assert home.found("febbre") == ["it-flu"]


async def test_malformed_file_is_said_and_its_earlier_page_stays(home: Home) -> None:
    await home.run()
    home.put("it/flu.md", "broken")
    report = await home.run()

    assert report.status is RunStatus.PARTIAL
    assert "flu.md, line 1" in report.problems[0]
    assert "pages that were not found (1) stay" in report.problems[1]
    assert home.found("febbre") == ["it-flu"]


async def test_source_taken_out_of_the_configuration_is_retired(home: Home) -> None:
    home.sources.append(home.source("usl"))
    home.put("usl/burn.md", page("Ustioni", "Acqua fresca."))
    await home.run()
    home.sources.pop()
    report = await home.run()

    assert counts(report)[3] == 1
    assert home.found("acqua") == []


async def test_dry_run_tells_what_would_be_retired_and_leaves_it(home: Home) -> None:
    home.sources.append(home.source("usl"))
    home.put("usl/burn.md", page("Ustioni", "Acqua fresca."))
    home.put("it/old.md", page("La pellagra", "La pellagra è rara."))
    await home.run()
    home.sources.pop()
    (home.path / "it/old.md").unlink()

    assert counts(await home.run(dry_run=True)) == (0, 0, 2, 2)
    assert home.found("acqua") == ["usl-burn"]
    assert counts(await home.run()) == (0, 0, 2, 2)


async def test_run_of_one_source_leaves_the_others_alone(home: Home) -> None:
    home.sources.append(home.source("usl"))
    home.put("usl/burn.md", page("Ustioni", "Acqua fresca."))
    await home.run()
    (home.path / "it/flu.md").unlink()
    home.put("usl/burn.md", page("Ustioni", "Acqua corrente."))
    await home.run(sources=home.sources[1:])

    assert (home.found("corrente"), home.found("febbre")) == (["usl-burn"], ["it-flu"])


async def test_last_pages_of_a_language_are_withdrawn_with_their_source(home: Home) -> None:
    await home.run()
    home.sources = [home.source("es")]
    home.put("es/gripe.md", page("La gripe", "La gripe da fiebre.", "es"))
    report = await home.run()

    assert report.problems == ()
    assert counts(report) == (0, 0, 0, 2)
    assert (home.found("febbre"), home.found("fiebre", Language.SPANISH)) == ([], ["es-gripe"])


async def test_last_pages_of_a_language_stay_when_their_folder_is_empty(home: Home) -> None:
    await home.run()
    for file in (home.path / "it").iterdir():
        file.unlink()
    report = await home.run()

    assert any("it" in problem for problem in report.problems)
    assert home.found("febbre") == ["it-flu"]


async def test_id_of_another_source_is_refused(home: Home) -> None:
    home.sources.append(home.source("usl"))
    home.put("usl/faq.jsonl", json.dumps({"id": "it-flu", "lang": "it", "title": "Altro", "text": "Altro testo."}))
    report = await home.run()

    assert "usl: the id 'it-flu' already belongs to it" in report.problems
    assert home.found("febbre") == ["it-flu"]


async def test_titles_and_ids_with_quotes_touch_only_their_own_page(home: Home) -> None:
    """H19"""
    rows = [
        {"id": name, "lang": "it", "title": "L'età", "text": f"Testo {word}."}
        for name, word in (("it'a", "rosso"), ("it'b", "verde"), ("x'OR'1'='1", "giallo"))
    ]
    home.put("it/faq.jsonl", "\n".join(map(json.dumps, rows)))
    await home.run()
    home.put("it/faq.jsonl", json.dumps(rows[0]))
    report = await home.run()

    assert counts(report) == (0, 0, 3, 2)
    assert (home.found("rosso"), home.found("verde"), home.found("giallo")) == (["it'a"], [], [])


async def test_killed_run_leaves_the_live_index_and_the_next_goes_on_where_it_stopped(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    await home.run()
    monkeypatch.setattr("ingest.page_builder._BATCH", 1)
    home.put("it/flu.md", page("L'influenza", "L'influenza dà brividi."))
    home.put("it/zoster.md", page("Lo zoster", "Lo zoster brucia."))
    whole = home.embedder.embed_passages

    def dying(texts: Sequence[str]) -> Vectors:
        if any("zoster" in text for text in texts):
            raise ModelError("killed")
        return whole(texts)

    monkeypatch.setattr(home.embedder, "embed_passages", dying)
    with pytest.raises(ModelError):
        await home.run()
    assert (home.found("settimana"), home.found("brividi")) == (["it-flu"], [])

    monkeypatch.setattr(home.embedder, "embed_passages", whole)
    await home.run()
    assert not any("brividi" in text for text in home.embedder.passages)
    assert (home.found("settimana"), home.found("brividi"), home.found("zoster")) == ([], ["it-flu"], ["it-zoster"])


async def test_deleted_index_is_published_again_without_embedding(home: Home) -> None:
    await home.run()
    index_directory(home.path).rename(home.path / "lost")
    with pytest.raises(IndexMissing):
        home.reader()
    await home.run()

    assert home.embedder.passages == []
    assert home.found("febbre") == ["it-flu"]


async def test_second_run_at_once_is_refused(home: Home) -> None:
    """H20"""
    with writer_lock(home.path / "ingest.lock"), pytest.raises(RunRefused, match="already running"):
        await home.run()


async def test_a_lock_that_cannot_be_made_refuses_the_run(tmp_path: Path) -> None:
    with pytest.raises(RunRefused, match="can be written"), writer_lock(tmp_path):
        pass


async def test_failed_run_is_noted_and_frees_the_lock(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(texts: Sequence[str]) -> Vectors:
        raise ModelError("no memory")

    monkeypatch.setattr(home.embedder, "embed_passages", failing)
    with pytest.raises(ModelError):
        await home.run()
    async with Ledger.open(ledger_path(home.path)) as ledger:
        latest = await ledger.latest_run()
    assert latest is not None
    assert (latest.status, latest.report) == (RunStatus.FAILED, {"problems": ["ModelError: no memory"]})
    monkeypatch.undo()
    assert (await home.run()).status is RunStatus.COMPLETE


async def test_embedding_does_not_hold_up_the_loop_and_a_cancelled_run_is_noted(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, release = threading.Event(), threading.Event()
    whole = home.embedder.embed_passages

    def slow(texts: Sequence[str]) -> Vectors:
        begun.set()
        release.wait(5)
        return whole(texts)

    monkeypatch.setattr(home.embedder, "embed_passages", slow)
    task = asyncio.create_task(home.run())
    assert await asyncio.to_thread(begun.wait, 5)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    release.set()

    async with Ledger.open(ledger_path(home.path)) as ledger:
        latest = await ledger.latest_run()
    assert latest is not None
    assert latest.status is RunStatus.INTERRUPTED
    assert latest.report == {"problems": ["the run was stopped from outside"]}


async def test_progress_counts_texts_up_to_their_total(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ingest.page_builder._BATCH", 1)
    told: list[Progress] = []
    await home.run(on_progress=told.append)

    embedding = [(progress.done, progress.total) for progress in told if progress.step is Step.EMBED]
    assert len(embedding) == 2
    assert embedding[-1][0] == embedding[-1][1]
    steps = [progress.step for progress in told]
    assert [step for step, before in zip(steps, [None, *steps], strict=False) if step is not before] == [
        *(Step.READ, Step.EMBED, Step.READ, Step.PUBLISH)
    ]


async def test_followers_of_a_run_are_told_its_pages(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ingest.page_builder._BATCH", 1)
    monkeypatch.setattr("ingest.run_progress._NOTE_EVERY_S", 0.0)
    noted: list[RunProgress] = []
    note = Ledger.note_progress

    async def noting(ledger: Ledger, run_id: int, progress: RunProgress) -> None:
        noted.append(progress)
        await note(ledger, run_id, progress)

    monkeypatch.setattr(Ledger, "note_progress", noting)
    await home.run()

    embedding = [(progress.done, progress.total, progress.new) for progress in noted if progress.step == "embed"]
    assert embedding
    assert set(embedding) <= {(1, 2, 2), (2, 2, 2)}


async def test_shipped_corpus_can_be_ingested_and_says_that_it_is_a_demonstration(tmp_path: Path) -> None:
    report = await run_ingest(tmp_path, HashEmbedder())

    assert (report.status, report.problems) == (RunStatus.COMPLETE, ())
    assert json.loads(json.dumps(report.as_dict()))["status"] == "complete"
    for language in Language:
        reader = IndexStore(index_directory(tmp_path)).open(language, "hash-1")
        assert reader.is_demonstration
        assert reader.get_document(f"starter-{language.value}-headache") is not None


async def test_own_sources_are_read_instead_of_the_shipped_ones(home: Home) -> None:
    home.put("sources.toml", '[[source]]\nid = "it"\nkind = "folder"\npath = "it"\npublisher = "ASL"\n')
    report = await run_ingest(home.path, home.embedder, own_sources=home.path / "sources.toml")

    assert counts(report) == (2, 0, 0, 0)
    assert home.found("settimana") == ["it-flu"]


async def test_a_language_whose_source_is_no_longer_configured_is_emptied(tmp_path: Path) -> None:
    await run_ingest(tmp_path, HashEmbedder())
    (tmp_path / "it").mkdir()
    (tmp_path / "it" / "flu.md").write_text(page("L'influenza", "L'influenza dà febbre."), encoding="utf-8")
    own = tmp_path / "sources.toml"
    own.write_text('[[source]]\nid = "it"\nkind = "folder"\npath = "it"\npublisher = "ASL"\n', encoding="utf-8")

    report = await run_ingest(tmp_path, HashEmbedder(), own_sources=own)

    assert report.status is RunStatus.COMPLETE
    store = IndexStore(index_directory(tmp_path))
    assert store.content_hashes(Language.SPANISH) == {}
    assert not store.open(Language.SPANISH, "hash-1").is_demonstration
    assert not store.open(Language.ITALIAN, "hash-1").is_demonstration


async def test_unknown_source_is_refused_with_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(SourceUnreadable, match="no source 'x'; known are starter-it, starter-es"):
        await run_ingest(tmp_path, HashEmbedder(), source_id="x")


async def test_thirty_nights_leave_the_disk_flat(home: Home) -> None:
    """H20"""
    sizes: list[int] = []
    for night in range(30):
        home.put("it/flu.md", page("L'influenza", f"L'influenza dà febbre. Notte {night:02d}."))
        await home.run()
        sizes.append(sum(path.stat().st_size for path in index_directory(home.path).rglob("*") if path.is_file()))

    assert sizes[-1] < 1.5 * sizes[2]
