"""The conditions that ship for `salus eval diseases`, the starter pages among them, and what patients say first."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bot.evaluation.shipped import SetUnreadable, read_lines
from ingest.disease_tree import disease_tree
from ingest.documents import new_document
from ingest.importers.folder import read_folder
from ingest.sources import load_sources
from locales.language import Language
from rag.documents import Authority, Document
from rag.text import fold

SHIPPED = Path(__file__).resolve().parents[2] / "tests" / "data" / "diseases"
STARTER = "starter:"
"""Begins the id of a condition that is a starter page; its topic follows."""

_STARTER_SOURCES = {"starter-it", "starter-es"}
_DIAGNOSIS_WORDS = 300  # more than the diagnosis text of any starter page, and little enough for one chunk


@dataclass(frozen=True, slots=True, kw_only=True)
class Disease:
    """A condition of one language. `page` is what a pseudo history is written from; `diagnosis_text` is what is indexed."""

    id: str
    name: str
    aliases: tuple[str, ...]
    parent: str | None
    diagnosis_text: str
    page: Document

    @property
    def language(self) -> Language:
        """That of its page."""
        return self.page.language

    def accepts(self, found: "Disease") -> bool:
        """Whether another condition counts when this one is meant: itself, an alias, or a closely related parent."""
        own = {fold(self.name), *([fold(self.parent)] if self.parent else [])}
        borne = {fold(name) for name in (found.name, *found.aliases)}
        return found.id == self.id or bool(own & borne) or fold(found.name) in {fold(alias) for alias in self.aliases}


@dataclass(frozen=True, slots=True, kw_only=True)
class Utterance:
    """What a patient says first, and the id of the condition that it was written for."""

    id: str
    language: Language
    text: str
    disease: str


def read_diseases(data: Path = SHIPPED) -> list[Disease]:
    """The starter conditions, then the further ones of the set.

    Raises:
        SetUnreadable: If a file of the set is missing or malformed.
    """
    starter = [
        _starter(page) for row in load_sources() if row.id in _STARTER_SOURCES for page in read_folder(row.path or Path(), row)
    ]
    return starter + [
        _further(row)
        for language in Language
        for row in read_lines(data / f"{language.value}.jsonl", "id", "lang", "name", "aliases", "parent", "diagnosis_text")
    ]


def read_utterances(data: Path, diseases: Sequence[Disease]) -> list[Utterance]:
    """The utterances of the set.

    Raises:
        SetUnreadable: If a file of the set is missing or malformed, or an utterance names an unknown condition.
    """
    known = {(disease.language, disease.id) for disease in diseases}
    found = []
    for language in Language:
        path = data / f"utterances_{language.value}.jsonl"
        for row in read_lines(path, "id", "lang", "disease", "text"):
            utterance = Utterance(id=row["id"], language=Language(row["lang"]), text=row["text"], disease=row["disease"])
            if (utterance.language, utterance.disease) not in known:
                raise SetUnreadable(f"{path}: {utterance.id} names the unknown condition {utterance.disease!r}.")
            found.append(utterance)
    return found


def _starter(page: Document) -> Disease:
    return Disease(
        id=f"{STARTER}{page.topic}",
        name=page.title,
        aliases=page.synonyms,
        parent=None,
        diagnosis_text=disease_tree(page).diagnosis_text(_DIAGNOSIS_WORDS, with_headings=False),
        page=page,
    )


def _further(row: Mapping[str, Any]) -> Disease:
    page = new_document(
        document_id=row["id"],
        source_id="evaluation",
        url=None,
        title=row["name"],
        publisher="",
        authority=Authority.DEMONSTRATION,
        language=Language(row["lang"]),
        text=row["diagnosis_text"],
        reviewed_on=None,
        synonyms=tuple(row["aliases"]),
    )
    return Disease(
        id=row["id"],
        name=row["name"],
        aliases=tuple(row["aliases"]),
        parent=row["parent"],
        diagnosis_text=row["diagnosis_text"],
        page=page,
    )
