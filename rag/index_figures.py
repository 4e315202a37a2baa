"""The figures of a corpus that are counted when an index is published."""

from dataclasses import replace
from typing import Any

import numpy as np

from rag import store_schema as schema
from rag.documents import Authority
from rag.models.protocols import Embedder

_BACKGROUND_QUERIES = 24  # titles embedded to measure the background: 0.6 s of a publication
_BACKGROUND_PASSAGES = 500
_BACKGROUND_FALLBACK = (0.80, 0.03)  # for an index of one page; E5's cosines of unrelated texts lie about there
_BACKGROUND_PAIRS = 30  # with fewer, the measured deviation is chance and may be next to nothing


def describe(table: Any, embedder: Embedder) -> schema.Metadata:  # noqa: ANN401
    """Count the figures of all passages, the kept ones too."""
    columns = ["document_id", "lexical", "vector", "chunk"]
    rows = table.search().where("lexical IS NOT NULL").select(columns).limit(None).to_arrow()
    statistics = schema.count_tokens(rows["lexical"].to_pylist())
    mean, std = _background(rows, embedder)
    demonstration = f'"authority": "{Authority.DEMONSTRATION.value}"'
    return schema.Metadata(
        embedder=embedder.fingerprint,
        dimension=embedder.dimension,
        schema_version=schema.SCHEMA_VERSION,
        is_demonstration=any(demonstration in chunk for chunk in rows["chunk"].to_pylist()),
        statistics=replace(statistics, background_mean=mean, background_std=std),
    )


def _background(rows: Any, embedder: Embedder) -> tuple[float, float]:  # noqa: ANN401
    """Mean and deviation of the cosine between titles, as questions, and passages of other pages."""
    if rows.num_rows == 0:
        return _BACKGROUND_FALLBACK
    sample = np.random.default_rng(0).permutation(rows.num_rows)[:_BACKGROUND_PASSAGES]
    passages = rows.take(sample)
    owners = np.array(passages["document_id"].to_pylist())
    titles = {owner: schema.decode_chunk(chunk).title for owner, chunk in zip(owners, passages["chunk"].to_pylist(), strict=True)}
    asked = list(titles)[:_BACKGROUND_QUERIES]
    queries = embedder.embed_queries([titles[owner] for owner in asked])
    cosines = queries @ np.stack(passages["vector"].to_numpy()).T
    unrelated = cosines[np.array(asked)[:, None] != owners[None, :]]
    if unrelated.size == 0:
        return _BACKGROUND_FALLBACK
    std = float(unrelated.std())
    is_enough = unrelated.size >= _BACKGROUND_PAIRS and std > 0.0
    return float(unrelated.mean()), std if is_enough else max(std, _BACKGROUND_FALLBACK[1])
