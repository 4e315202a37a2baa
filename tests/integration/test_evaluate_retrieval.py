import json
from pathlib import Path
from typing import Any

import pytest

from bot.evaluation.cached_embedder import CachedEmbedder
from bot.evaluation.retrieval import CONFIGS, evaluate_retrieval
from tests.fakes import HashEmbedder

DOCS: list[dict[str, Any]] = [
    {
        "id": "it/1",
        "lang": "it",
        "title": "Febbre",
        "text": "La febbre alta si cura con riposo.",
        "url": "https://esempio.it/febbre",
    },
    {"id": "it/2", "lang": "it", "title": "Tosse", "text": "La tosse secca dura giorni.\n• acqua\n• miele"},
    {"id": "es 1", "lang": "es", "title": "Gripe", "text": "La gripe da fiebre y tos."},
]
QUERIES: list[dict[str, Any]] = [
    {"id": "a", "lang": "it", "question": "quanto dura la tosse secca?", "gold": ["it/2"], "set": "uno"},
    {"id": "b", "lang": "it", "question": "febbre alta riposo", "gold": ["it/1"], "set": "uno"},
    {"id": "c", "lang": "es", "question": "gripe", "gold": ["es 1"], "set": "due"},
    {"id": "d", "lang": "es", "question": "gripe", "gold": ["it/1"], "set": "due"},
]


def written(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    return path


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    return written(tmp_path / "docs.jsonl", DOCS), written(tmp_path / "queries.jsonl", QUERIES)


def test_every_configuration_is_measured_on_every_set_and_on_all(files: tuple[Path, Path], tmp_path: Path) -> None:
    seen: set[str] = set()
    report = evaluate_retrieval(
        *files, HashEmbedder(dimension=1024), cache_dir=tmp_path / "cache", progress=lambda what, _done, _total: seen.add(what)
    )
    rows = {(row["set"], row["config"]): row for row in report["rows"]}
    assert list(rows) == [(name, config) for config in CONFIGS for name in ("uno", "due", "all")]
    assert set(rows["all", "fused"]) == {
        *("set", "config", "hit@1", "hit@3", "hit@5", "hit@10", "mrr@10", "ndcg@10", "n", "p50_ms", "p95_ms"),
    }
    for config in CONFIGS:
        assert rows["uno", config]["hit@1"] == 1.0
        assert rows["due", config]["mrr@10"] == 0.5
        assert rows["all", config]["n"] == 4
        assert rows["all", config]["p95_ms"] >= rows["all", config]["p50_ms"] > 0.0
    assert {"reading", "embedding", *CONFIGS} <= seen
    json.dumps(report)


def test_a_second_measurement_embeds_nothing_again(files: tuple[Path, Path], tmp_path: Path) -> None:
    evaluate_retrieval(*files, HashEmbedder(), cache_dir=tmp_path / "cache", configs=("reranked",))
    second = HashEmbedder()
    evaluate_retrieval(*files, second, cache_dir=tmp_path / "cache", configs=("reranked",))
    assert second.queries == second.passages == []


def test_another_embedder_has_a_cache_of_its_own(tmp_path: Path) -> None:
    for fingerprint, dimension in (("hub/model@1", 8), ("other", 16)):
        cached = CachedEmbedder(HashEmbedder(dimension, fingerprint), tmp_path)
        assert cached.embed_queries(["febbre"]).shape == (1, dimension)
        assert cached.embed_passages([]).shape == (0, dimension)
        cached.save()
    assert len(list(tmp_path.iterdir())) == 2
