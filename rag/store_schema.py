"""How chunks, surfaces and documents lie in the index: columns, their encoding, and the one place that quotes a filter value."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import date, datetime
from typing import Any

import numpy as np
import pyarrow as pa

from locales.language import Language
from rag import calibration
from rag.calibration import Calibration
from rag.corpus import CorpusStatistics, lexical_column
from rag.documents import Authority, Chunk, Document, DocumentKind, Link, Sentence, Surface, SurfaceKind
from rag.models.protocols import Vectors

# Raised whenever rows or tokens of an older index would be read wrongly, and with another packaged embedder: then everything is
# built anew. The bot starts all the same, and the run that it begins publishes what it needs (docs/upgrading.md).
SCHEMA_VERSION = 1

_FILTER_VALUES = 500  # values in one IN (…): longer filters parse slowly


@dataclass(frozen=True, slots=True, kw_only=True)
class Metadata:
    """What is published with a version of a table: who embedded it, and the figures of its corpus."""

    embedder: str
    dimension: int
    schema_version: int
    is_demonstration: bool
    statistics: CorpusStatistics
    calibration: Calibration | None = None


def table_schema(dimension: int) -> pa.Schema:
    """Name the columns of a surface.

    Only a chunk's passage row has `lexical`, `chunk` and `sentence_vectors`; only a document's first passage has `document`.
    """
    return pa.schema(
        [
            pa.field("chunk_id", pa.string(), nullable=False),
            pa.field("document_id", pa.string(), nullable=False),
            pa.field("kind", pa.string(), nullable=False),
            pa.field("vector", pa.list_(pa.float32(), dimension), nullable=False),
            pa.field("lexical", pa.string()),
            pa.field("chunk", pa.string()),
            pa.field("sentence_vectors", pa.large_binary()),
            pa.field("document", pa.string()),
        ]
    )


def rows(
    *,
    documents: Mapping[str, Document],
    chunks: Mapping[str, Chunk],
    surfaces: Sequence[Surface],
    vectors: Vectors,
    sentence_vectors: Mapping[str, Vectors],
) -> pa.Table:
    """Lay out surfaces as rows, with their chunk on the passage row and its document on the document's first passage row."""
    pending = dict(documents)
    columns: dict[str, list[Any]] = {name: [] for name in table_schema(1).names if name != "vector"}
    for surface in surfaces:
        chunk = chunks[surface.chunk_id]
        is_passage = surface.kind is SurfaceKind.PASSAGE
        document = pending.pop(chunk.document_id, None) if is_passage else None
        of_sentences = sentence_vectors.get(chunk.chunk_id) if is_passage else None
        columns["chunk_id"].append(chunk.chunk_id)
        columns["document_id"].append(chunk.document_id)
        columns["kind"].append(surface.kind.value)
        columns["lexical"].append(lexical_column(chunk) if is_passage else None)
        columns["chunk"].append(encode(chunk) if is_passage else None)
        columns["sentence_vectors"].append(None if of_sentences is None else of_sentences.astype(np.float16).tobytes())
        columns["document"].append(None if document is None else encode(document))
    dimension = vectors.shape[1]
    flat = pa.array(np.ascontiguousarray(vectors, dtype=np.float32).reshape(-1))
    schema = table_schema(dimension)
    arrays = {"vector": pa.FixedSizeListArray.from_arrays(flat, dimension)}
    arrays |= {name: pa.array(values, type=schema.field(name).type) for name, values in columns.items()}
    return pa.table([arrays[name] for name in schema.names], schema=schema)


def encode(noun: Chunk | Document) -> str:
    """Write a chunk or a document as JSON."""
    return json.dumps(asdict(noun), ensure_ascii=False, default=_plain)


def decode_chunk(written: str) -> Chunk:
    """Read a chunk that `encode` wrote."""
    fields = _shared_fields(json.loads(written))
    fields["sentences"] = tuple(Sentence(**sentence) for sentence in fields["sentences"])
    fields["heading_path"] = tuple(fields["heading_path"])
    return Chunk(**fields)


def decode_document(written: str) -> Document:
    """Read a document that `encode` wrote."""
    fields = _shared_fields(json.loads(written))
    fields["fetched_at"] = datetime.fromisoformat(fields["fetched_at"])
    fields["asked"] = tuple(fields.get("asked", ()))
    published_on = fields.get("published_on")
    fields["published_on"] = date.fromisoformat(published_on) if published_on else None
    return Document(**fields)


def decode_sentence_vectors(raw: bytes, dimension: int) -> Vectors:
    """Read the vectors of a chunk's sentences: float32, one row a sentence, not exactly unit after half precision."""
    return np.frombuffer(raw, dtype=np.float16).reshape(-1, dimension).astype(np.float32)


def encode_metadata(metadata: Metadata) -> str:
    """Write metadata as JSON."""
    fields = asdict(replace(metadata, calibration=None))
    return json.dumps({**fields, "calibration": calibration.encode(metadata.calibration)}, ensure_ascii=False)


def decode_metadata(written: str) -> Metadata:
    """Read metadata that `encode_metadata` wrote."""
    fields = json.loads(written)
    fitted = calibration.decode(fields.get("calibration"))
    return Metadata(**{**fields, "statistics": CorpusStatistics(**fields["statistics"]), "calibration": fitted})


def quoted(value: str) -> str:
    """A string literal for a filter; nothing in `value` can end it (a raw apostrophe is an error, a crafted one matches all)."""
    return "'" + value.replace("'", "''") + "'"


def is_in(column: str, values: Iterable[str]) -> Iterator[str]:
    """Filters that together match the rows whose `column` is one of `values`; none at all for no values."""
    distinct = list(dict.fromkeys(values))
    for start in range(0, len(distinct), _FILTER_VALUES):
        yield f"{column} IN ({', '.join(quoted(value) for value in distinct[start : start + _FILTER_VALUES])})"


def count_tokens(lexical: Iterable[str]) -> CorpusStatistics:
    """Count document frequencies and lengths over the lexical column of all passages."""
    frequency: Counter[str] = Counter()
    total = passages = 0
    for passage in lexical:
        tokens = passage.split()
        frequency.update(set(tokens))
        total += len(tokens)
        passages += 1
    return CorpusStatistics(n=passages, avgdl=total / passages if passages else 0.0, document_frequency=dict(frequency))


def _plain(value: object) -> str:
    if isinstance(value, date):  # a datetime is a date too
        return value.isoformat()
    raise TypeError(type(value).__name__)


def _shared_fields(fields: dict[str, Any]) -> dict[str, Any]:
    reviewed_on = fields["reviewed_on"]
    return {
        **fields,
        "authority": Authority(fields["authority"]),
        "language": Language(fields["language"]),
        "kind": DocumentKind(fields.get("kind", DocumentKind.ARTICLE)),
        "reviewed_on": date.fromisoformat(reviewed_on) if reviewed_on else None,
        "synonyms": tuple(fields["synonyms"]),
        "further_reading": tuple(Link(**link) for link in fields["further_reading"]),
    }
