"""A corpus of any size, made of the published one: its sentences put together anew, its vectors mixed and shaken a little."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from bot.errors import BotError
from locales.language import Language
from rag.documents import Chunk, Document, Sentence, Surface, SurfaceKind
from rag.models.protocols import Vectors
from rag.store import IndexStore

_OWN_SHARE = 0.6  # of a passage's sentences that are from the page it is modelled on; the others are from anywhere
_QUESTIONS = (2, 6)  # of a passage, so that it has five surfaces as in the starter corpus
_MOST_OF_ANOTHER = 0.4  # how far a question's vector may lean from its sentence's to another of the passage
_NOISE = 0.25  # length of the noise on a unit vector: unrelated sentences lie about 0.6 apart, related ones 0.5
_BLOCK = 16_384  # vectors that are mixed in one go
_SENTENCES = (3, 8)


class NothingToGrow(BotError):
    """The published index has no page with vectors of its sentences."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seed:
    """The published pages: chunks of each document, and its sentences with the place of each one's vector in `vectors`."""

    documents: Sequence[Document]
    chunks: Mapping[str, Sequence[Chunk]]
    sentences: Mapping[str, Sequence[tuple[str, int]]]
    vectors: Vectors


@dataclass(frozen=True, slots=True, kw_only=True)
class Corpus:
    """What `IndexStore.publish` takes."""

    documents: Sequence[Document]
    chunks: Sequence[Chunk]
    surfaces: Sequence[Surface]
    vectors: Vectors
    sentence_vectors: Mapping[str, Vectors]


def read_seed(store: IndexStore, language: Language, fingerprint: str) -> Seed:
    """Read what is live in a language.

    Raises:
        IndexMissing: If nothing has been published in it.
        IndexMismatch: If the index was built with another embedder.
        NothingToGrow: If it holds no vectors of sentences.
    """
    reader = store.open(language, fingerprint)
    documents, chunks, sentences = [], {}, {}
    parts: list[Vectors] = []
    place = 0
    for document_id in sorted(store.content_hashes(language)):
        document = reader.get_document(document_id)
        page = [hit.chunk for hit in reader.page(document_id, np.zeros(reader.dimension, np.float32))]
        vectors = reader.sentence_vectors([chunk.chunk_id for chunk in page])
        told: list[tuple[str, int]] = []
        for chunk in page:
            own = vectors.get(chunk.chunk_id, np.zeros((0, reader.dimension), np.float32))
            told += [(sentence.text, place + at) for at, sentence in enumerate(chunk.sentences[: len(own)])]
            parts.append(own)
            place += len(own)
        if document and told:
            documents.append(document)
            chunks[document_id], sentences[document_id] = page, told
    if not documents:
        raise NothingToGrow("The published index has no vectors of sentences to make a large one of: run `salus ingest --full`.")
    return Seed(documents=documents, chunks=chunks, sentences=sentences, vectors=np.concatenate(parts))


def grow(seed: Seed, surfaces: int, *, prefix: str = "scale", random: int = 0) -> Corpus:
    """Make a corpus of so many surfaces; the same arguments make the same one.

    Words are as frequent as in the seed, so a word of a question is in as large a share of the passages as there; rare words,
    which a real corpus of the size would add, are missing, which makes searching by words slower, not faster.

    Args:
        seed: What it is made of.
        surfaces: How many, passages included.
        prefix: What its document ids begin with.
        random: Another number makes another corpus.
    """
    growth = _Growth(seed, np.random.default_rng(random))
    while growth.size < surfaces:
        growth.add_page(f"{prefix}-{len(growth.documents)}", surfaces - growth.size)
    return growth.corpus()


class _Growth:
    def __init__(self, seed: Seed, random: np.random.Generator) -> None:
        self._seed = seed
        self._random = random
        self._anywhere = [sentence for page in seed.sentences.values() for sentence in page]
        self._mixed: list[
            tuple[int, int, float]
        ] = []  # for each surface two places in the seed's vectors, the second one's share
        self._of_chunk: dict[str, list[int]] = {}
        self.documents: list[Document] = []
        self._chunks: list[Chunk] = []
        self._surfaces: list[Surface] = []

    @property
    def size(self) -> int:
        return len(self._surfaces)

    def add_page(self, document_id: str, room: int) -> None:
        model, other = (self._seed.documents[place] for place in self._random.integers(len(self._seed.documents), size=2))
        title = f"{model.title}, {other.title.lower()}"
        texts = []
        until = self.size + room
        for position, like in enumerate(self._seed.chunks[model.document_id]):
            if self.size >= until:
                break
            chunk = self._chunk(like, document_id, position, title)
            self._add_surfaces(chunk, until)
            texts.append(chunk.text)
        text = "\n\n".join(texts)
        digest = hashlib.sha256(f"{document_id}\n{text}".encode()).hexdigest()
        self.documents.append(replace(model, document_id=document_id, title=title, url=None, text=text, content_hash=digest))

    def corpus(self) -> Corpus:
        return Corpus(
            documents=self.documents,
            chunks=self._chunks,
            surfaces=self._surfaces,
            vectors=self._vectors(),
            sentence_vectors={chunk_id: self._seed.vectors[places] for chunk_id, places in self._of_chunk.items()},
        )

    def _chunk(self, like: Chunk, document_id: str, position: int, title: str) -> Chunk:
        own = self._seed.sentences[like.document_id]
        chosen = [
            self._one_of(own if self._random.random() < _OWN_SHARE else self._anywhere)
            for _ in range(self._random.integers(*_SENTENCES))
        ]
        sentences, start = [], 0
        for told, _ in chosen:
            sentences.append(Sentence(text=told, start=start, end=start + len(told)))
            start += len(told) + 1
        chunk_id = f"{document_id}:{position}"
        self._of_chunk[chunk_id] = [place for _, place in chosen]
        chunk = replace(
            like,
            chunk_id=chunk_id,
            document_id=document_id,
            url=None,
            title=title,
            text=" ".join(told for told, _ in chosen),
            sentences=tuple(sentences),
            position=position,
        )
        self._chunks.append(chunk)
        return chunk

    def _add_surfaces(self, chunk: Chunk, until: int) -> None:
        places = self._of_chunk[chunk.chunk_id]
        self._add_surface(SurfaceKind.PASSAGE, chunk.text, chunk.chunk_id, places, 0.5)
        for _ in range(min(int(self._random.integers(*_QUESTIONS, endpoint=True)), until - self.size)):
            share = float(self._random.uniform(0.0, _MOST_OF_ANOTHER))
            self._add_surface(SurfaceKind.QUESTION, chunk.title, chunk.chunk_id, places, share)

    def _add_surface(self, kind: SurfaceKind, text: str, chunk_id: str, places: Sequence[int], share: float) -> None:
        first, second = self._random.integers(len(places), size=2)
        self._surfaces.append(Surface(kind=kind, text=text, chunk_id=chunk_id))
        self._mixed.append((places[first], places[second], share))

    def _vectors(self) -> Vectors:
        firsts, seconds, shares = (np.array(column) for column in zip(*self._mixed, strict=True))
        dimension = self._seed.vectors.shape[1]
        mixed = np.empty((self.size, dimension), np.float32)
        for start in range(0, self.size, _BLOCK):
            block = slice(start, start + _BLOCK)
            share = shares[block, None].astype(np.float32)
            made = (1 - share) * self._seed.vectors[firsts[block]] + share * self._seed.vectors[seconds[block]]
            noise = self._random.standard_normal(made.shape, dtype=np.float32)
            made += noise * np.float32(_NOISE / np.sqrt(dimension))
            mixed[block] = made / np.linalg.norm(made, axis=1, keepdims=True)
        return mixed

    def _one_of(self, sentences: Sequence[tuple[str, int]]) -> tuple[str, int]:
        return sentences[int(self._random.integers(len(sentences)))]
