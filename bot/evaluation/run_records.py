"""Records of a long evaluation, one a line, so that a run that was killed goes on where it was."""

import hashlib
import json
from collections.abc import Callable, Mapping
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from locales.language import Language
from rag.documents import pages_hash
from rag.index_reader import IndexReader

_READ = (".py", ".toml", ".tsv")


class RunRecords:
    """The records of one command under one set of conditions; others, with a changed model or corpus, have a file of their own.

    Args:
        folder: Where the files lie.
        command: The first part of the file's name.
        about: All that the records depend on, as JSON; it is the first line of the file.
    """

    def __init__(self, folder: Path, command: str, about: Mapping[str, Any]) -> None:
        told = json.dumps(about, sort_keys=True, ensure_ascii=False)
        self.fingerprint = hashlib.sha256(told.encode()).hexdigest()[:12]
        self.path = folder / f"{command}-{self.fingerprint}.jsonl"
        self._about = told
        self._known: dict[tuple[str, str], dict[str, Any]] = {}
        for line in self.path.read_bytes().splitlines() if self.path.exists() else ():
            self._read(line)

    def once(self, way: str, question_id: str, make: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """The record of a question in one way: as it was kept, or made now and kept at once."""
        key = (way, question_id)
        if key not in self._known:
            self._known[key] = {"system": way, "id": question_id, **make()}
            self._append(self._known[key])
        return self._known[key]

    def _read(self, line: bytes) -> None:
        try:
            row = json.loads(line)
            self._known[row["system"], row["id"]] = row
        except (ValueError, KeyError, TypeError):
            return  # the first line, or one that a kill tore

    def _append(self, row: Mapping[str, Any]) -> None:
        if not self.path.exists():
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.path.write_text(self._about + "\n", encoding="utf-8")
        with self.path.open("a", encoding="utf-8") as file:
            # A blank line between two: a line end that comes first ends one that was torn.
            file.write("\n" + json.dumps(row, ensure_ascii=False) + "\n")


def corpus_of(open_reader: Callable[[Language], IndexReader]) -> dict[str, str]:
    """A hash of the published pages and the number of the version, by language.

    Raises:
        StoreError: If a language has not been published.
    """
    readers = {language.value: open_reader(language) for language in Language}
    return {name: f"{pages_hash(reader.pages())[:16]} version {reader.version}" for name, reader in readers.items()}


@cache
def code_digest() -> str:
    """A hash of the answering line and its words: records of another one must not be taken for this one's.

    The code that measures and draws is no part of it.
    """
    digest = hashlib.sha256()
    for package in ("rag", "locales"):
        for name, content in sorted(_contents(files(package), package)):
            digest.update(f"{name} {hashlib.sha256(content).hexdigest()}\n".encode())
    return digest.hexdigest()[:16]


def _contents(folder: Traversable, path: str) -> list[tuple[str, bytes]]:
    found = []
    for entry in folder.iterdir():
        name = f"{path}/{entry.name}"
        if entry.is_dir():
            found += _contents(entry, name)
        elif entry.name.endswith(_READ) and not name.startswith("rag/evaluation/"):
            found.append((name, entry.read_bytes()))
    return found
