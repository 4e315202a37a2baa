"""The indexes within a table: by words, by document, and, in a large table, by vector; how they are built and searched."""

import math
from typing import Any

import numpy as np
import pyarrow as pa
from lancedb.index import FTS, BTree, IvfSq

from rag.models.protocols import Vectors

# Comparing every vector takes 25 ms at 20,000 rows and grows with them; the approximate index takes 8 ms there and 11 at 385,000.
APPROXIMATE_FROM = 20_000

# A table is cut into parts, of which those nearest to a question, 70 % of all, are searched: vectors of 8 bits are compared fast,
# and at 385,000 surfaces recall@50 is .992 (.981 with 50 %) at 11 ms. A graph (HNSW) is as fast, but takes 400 s to build, not
# 15, and 600 to 800 ms of the first question after each publication.
_PART = 4096  # rows; LanceDB itself splits what grows larger and joins what grows smaller
_SEARCHED_SHARE = 0.7
_FEWEST_SEARCHED = 16

# Each publication adds a segment that is cut into as many parts again: with eleven of them a search takes 19 ms instead of 11.
_MOST_SEGMENTS = 5

# Candidates, as a multiple of the rows wanted, whose cosine is taken from the whole vector: with more, recall stays the same.
_REFINE = 1

_SETTLING_ROUNDS = 6  # compaction and index merging were done after two


def build_indexes(table: Any) -> None:  # noqa: ANN401 - LanceDB is untyped
    """Index what is new and compact the files, until nothing is left to do: the tag must point at the last version."""
    existing = {column: index for index in table.list_indices() for column in index.columns}
    if "lexical" not in existing:
        # The tokens are ready: LanceDB's own folding would rank "ano" first for "año" and cut "38,5" in two.
        plain = FTS(base_tokenizer="whitespace", lower_case=False, stem=False, remove_stop_words=False, ascii_folding=False)
        table.create_index("lexical", config=plain)
    if "document_id" not in existing:
        table.create_index("document_id", config=BTree())
    vectors = existing.get("vector")
    if vectors.num_segments > _MOST_SEGMENTS if vectors else table.count_rows() >= APPROXIMATE_FROM:
        table.create_index("vector", config=IvfSq(distance_type="cosine", target_partition_size=_PART))
    for _ in range(_SETTLING_ROUNDS):
        before = table.version
        table.optimize()
        if table.version == before:
            return


def searched_parts(table: Any) -> int:  # noqa: ANN401
    """How many parts of the vector index a search by meaning looks through; 0 where every vector is compared."""
    if not any(index.columns == ["vector"] for index in table.list_indices()):
        return 0
    rows: int = table.count_rows()
    return max(_FEWEST_SEARCHED, math.ceil(rows / _PART * _SEARCHED_SHARE))


def nearest(table: Any, vector: Vectors, rows: int, *, parts: int) -> pa.Table:  # noqa: ANN401
    """Find the rows nearest to a unit vector: `chunk_id` and `_distance`, which is 1 − cosine, nearest first.

    Args:
        table: The table.
        vector: What is searched.
        rows: Most rows.
        parts: How many parts of the vector index are looked through; 0 to compare every vector.
    """
    search = table.search(np.asarray(vector, dtype=np.float32), vector_column_name="vector").distance_type("cosine")
    search = search.nprobes(parts).refine_factor(_REFINE) if parts else search.bypass_vector_index()
    return search.select(["chunk_id", "_distance"]).limit(rows).to_arrow()
