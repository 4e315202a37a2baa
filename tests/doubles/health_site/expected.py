"""What a right crawl and extraction make of the site: written together with the pages, apart from the code that is judged."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date

from locales.language import Language
from rag.documents import DocumentKind


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedDocument:
    """A page that must become a document.

    `sentences` stand in its text once white space is made single, `headings` as headings. `absent` strings stand nowhere in what
    is stored of it: neither in text, title, nor (for a forum) in the pieces of the question. `never_evidence` are sentences of a
    doctor to the asker: they may be in the text, but may never be quoted. `asked` are strings that the pieces of the question do
    hold. What is None or empty is not judged.
    """

    path: str
    language: Language
    kind: DocumentKind
    title: str
    sentences: tuple[str, ...]
    absent: tuple[str, ...] = ()
    never_evidence: tuple[str, ...] = ()
    asked: tuple[str, ...] = ()
    headings: tuple[str, ...] = ()
    synonyms: tuple[str, ...] = ()
    reviewed_on: date | None = None
    published_on: date | None = None
    answered_by: str | None = None
    category: str | None = None
    marker: str | None = None
    """A word that stands on this page alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedSource:
    """What is right for one source. Paths may carry a query; `base` is the address of the host without a slash at the end.

    `refused` maps a path to the reasons that are all right, values of `Refusal` or reasons of a visit; an address that is folded
    into another has none. `optional` are refused paths that may as well become these documents. `navigation` are lists and
    indexes: never a document, whatever the reason. Of each set in `one_of` exactly one path becomes a document. `at_most` bounds
    the documents where which ones they are is left to the crawl.
    """

    source_id: str
    base: str
    documents: Mapping[str, ExpectedDocument] = field(default_factory=dict)
    refused: Mapping[str, frozenset[str]] = field(default_factory=dict)
    optional: Mapping[str, ExpectedDocument] = field(default_factory=dict)
    failed: Mapping[str, frozenset[str]] = field(default_factory=dict)
    gone: frozenset[str] = frozenset()
    moved: Mapping[str, str] = field(default_factory=dict)
    navigation: frozenset[str] = frozenset()
    never_requested: frozenset[str] = frozenset()
    one_of: tuple[frozenset[str], ...] = ()
    at_most: int | None = None

    @property
    def count(self) -> int:
        """How many documents there must be; meaningless where `at_most` is set."""
        return len(self.documents) - sum(len(group) - 1 for group in self.one_of)


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """What is right for the whole site, by source id."""

    sources: Mapping[str, ExpectedSource]

    def __getitem__(self, source_id: str) -> ExpectedSource:
        return self.sources[source_id]

    def documents(self) -> Iterator[tuple[ExpectedSource, ExpectedDocument]]:
        """Every expected document with its source."""
        for source in self.sources.values():
            for document in source.documents.values():
                yield source, document
