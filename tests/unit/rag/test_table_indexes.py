from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

from rag.table_indexes import APPROXIMATE_FROM, build_indexes, searched_parts


@dataclass
class Index:
    columns: list[str]
    num_segments: int = 1


@dataclass
class RecordingTable:
    """A table of so many rows, with its indexes, that remembers for which columns another one was made."""

    rows: int
    indexes: Sequence[Index] = ()
    version: int = 1
    made: list[str] = field(default_factory=list)

    def list_indices(self) -> Sequence[Index]:
        return self.indexes

    def count_rows(self) -> int:
        return self.rows

    def create_index(self, column: str, config: object) -> None:
        self.made.append(column)

    def optimize(self) -> None:
        pass


@pytest.mark.parametrize(("rows", "has_vectors"), [(APPROXIMATE_FROM - 1, False), (APPROXIMATE_FROM, True)])
def test_only_a_large_table_is_searched_approximately(rows: int, has_vectors: bool) -> None:
    table = RecordingTable(rows=rows)
    build_indexes(table)
    assert ("vector" in table.made) is has_vectors
    assert {"lexical", "document_id"} <= set(table.made)


@pytest.mark.parametrize(("segments", "made"), [(5, []), (6, ["vector"])])
def test_a_vector_index_in_many_pieces_is_made_anew(segments: int, made: list[str]) -> None:
    table = RecordingTable(400_000, [Index(["lexical"]), Index(["document_id"]), Index(["vector"], segments)])
    build_indexes(table)
    assert table.made == made


@pytest.mark.parametrize(("rows", "parts"), [(20_000, 16), (385_000, 66)])
def test_most_parts_of_a_vector_index_are_looked_through(rows: int, parts: int) -> None:
    assert searched_parts(RecordingTable(rows, [Index(["vector"])])) == parts


def test_a_table_without_a_vector_index_is_compared_whole() -> None:
    assert searched_parts(RecordingTable(385_000, [Index(["lexical"])])) == 0
