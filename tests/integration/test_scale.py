from pathlib import Path

import pytest

from bot.evaluation.scale import evaluate_scale
from rag.errors import IndexMissing
from rag.store import IndexStore
from tests.fakes import HashEmbedder
from tests.integration.pages import ITALIAN, Page, publish


def test_a_large_index_is_built_searched_and_changed_and_the_home_stays_as_it_is(tmp_path: Path) -> None:
    store = IndexStore(tmp_path / "index")
    version = publish(store, Page("a", "Febbre", "La febbre alta"), Page("b", "Tosse", "La tosse secca"))
    told: list[str] = []

    figures = evaluate_scale(tmp_path, HashEmbedder, 300, lambda what, done, total: told.append(what))

    assert figures["built"]["surfaces"] == 300
    assert figures["built"]["chunks"] > 20
    assert figures["changed"]["surfaces"] == 100
    assert figures["recall"] == {"recall@10": 1.0, "recall@50": 1.0}
    latency = figures["latency_ms"]
    assert set(latency) == {"first_question", "approximate", "exhaustive", "approximate_beside_a_publication"}
    assert all(0 < kind["p50"] <= kind["p95"] <= kind["max"] for kind in latency.values())
    assert {"dense", "lexical", "sentences", "rerank"} <= set(latency["approximate"]["stages"])
    assert store.open(ITALIAN, HashEmbedder().fingerprint).version == version
    assert "building an index of 300 surfaces" in told


def test_without_a_published_index_it_says_what_to_run(tmp_path: Path) -> None:
    with pytest.raises(IndexMissing, match="salus ingest"):
        evaluate_scale(tmp_path, HashEmbedder, 300, lambda *_: None)
