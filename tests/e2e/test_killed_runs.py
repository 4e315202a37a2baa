"""Runs that are killed at twenty different points while a client asks all the time."""

import re
import subprocess
import sys
import threading
import time
from pathlib import Path

from locales.language import Language
from rag.build import build_answerer
from rag.settings import RagSettings
from rag.store import IndexStore
from rag.types import Question
from tests.fakes import HashEmbedder

PAGES = 60
KILLS = 20
SOURCES = '[[source]]\nid = "asl"\nkind = "folder"\npath = "pages"\npublisher = "ASL"\nlanguage = "it"\n'


class Client:
    """Asks without a pause, and looks whether every page that it sees is of one and the same edition."""

    def __init__(self, home: Path) -> None:
        self._answerer = build_answerer(RagSettings(home=home, generator="none"), embedder=HashEmbedder(dimension=64))
        self._store = IndexStore(home / "index")
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._ask)
        self.answers = 0
        self.failures: list[BaseException] = []
        self.mixed: list[set[str]] = []

    def __enter__(self) -> "Client":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def editions(self) -> set[str]:
        reader = self._store.open(Language.ITALIAN, "hash-1")
        texts = [hit.chunk.text for hit in reader.lexical("edizion", 2 * PAGES)]
        assert len(texts) == PAGES
        return {match[0] for text in texts if (match := re.search(r"edizione \d+", text))}

    def _ask(self) -> None:
        while not self._stop.is_set():
            try:
                self._answerer.answer(Question(text="che cosa dice la scheda numero 7 sulla febbre?", language=Language.ITALIAN))
                seen = self.editions()
            except BaseException as error:  # noqa: BLE001 - whatever it is, the test must show it
                self.failures.append(error)
            else:
                self.answers += 1
                if len(seen) != 1:
                    self.mixed.append(seen)


def write_edition(home: Path, number: int) -> None:
    folder = home / "pages"
    folder.mkdir(exist_ok=True)
    for page in range(PAGES):
        text = f"La febbre della scheda numero {page} passa da sola: edizione {number}.\n\n" + f"Bere molto aiuta {page}. " * 5
        (folder / f"{page}.md").write_text(f"---\ntitle: Scheda {page}\nlanguage: it\n---\n## Sintomi\n\n{text}\n", "utf-8")


def run(home: Path, *, seconds_a_call: float) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "tests.doubles.ingest_child", home, home / "sources.toml", str(seconds_a_call)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def test_killed_runs_fail_no_answer_and_publish_nothing_half_done(tmp_path: Path) -> None:
    (tmp_path / "sources.toml").write_text(SOURCES)
    write_edition(tmp_path, 0)
    began = time.monotonic()
    assert run(tmp_path, seconds_a_call=0.1).communicate()[0].split() == [b"complete"]
    whole_s = time.monotonic() - began

    with Client(tmp_path) as client:
        for kill in range(KILLS):
            write_edition(tmp_path, kill + 1)
            child = run(tmp_path, seconds_a_call=0.1)
            time.sleep(whole_s * (kill + 0.5) / KILLS)
            child.kill()
            child.communicate()
        child = run(tmp_path, seconds_a_call=0.0)
        out, err = child.communicate()
        assert (child.returncode, out.split(), err) == (0, [b"complete"], b"")
        latest = client.editions()

    assert client.failures == []
    assert client.mixed == []
    assert client.answers > KILLS
    assert latest == {f"edizione {KILLS}"}
