import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bot.evaluation.cached_embedder import CachedEmbedder
from bot.evaluation.retrieval import (
    CONFIGS,
    GeneratorNeeded,
    NothingToMeasure,
    UnknownConfiguration,
    check_configs,
    evaluate_retrieval,
)
from rag.models.protocols import Prompt, Vectors
from tests.fakes import HashEmbedder, ScriptedLanguageModel

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
FIGURES = ("hit@1", "hit@3", "hit@5", "hit@10", "mrr@10", "ndcg@10")


def written(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    return path


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    return written(tmp_path / "docs.jsonl", DOCS), written(tmp_path / "queries.jsonl", QUERIES)


def measured(docs: Path, queries: Path, **options: Any) -> dict[str, Any]:
    return evaluate_retrieval(docs, queries, HashEmbedder(dimension=1024), cache_dir=docs.parent / "cache", **options)


def test_every_configuration_is_measured_on_every_set_and_on_all(files: tuple[Path, Path]) -> None:
    seen: set[str] = set()
    report = measured(*files, progress=lambda what, _done, _total: seen.add(what))
    rows = {(row["set"], row["config"]): row for row in report["rows"]}
    assert list(rows) == [(name, config) for config in CONFIGS for name in ("uno", "due", "all")]
    bounds = {f"{key}_{end}" for key in ("hit@5", "mrr@10") for end in ("low", "high")}
    assert set(rows["all", "fused"]) == {"set", "config", *FIGURES, "n", "p50_ms", "p95_ms", "stages", *bounds}
    for config in CONFIGS:
        assert rows["uno", config]["hit@1"] == 1.0
        assert rows["due", config]["mrr@10"] == 0.5
        assert rows["due", config]["mrr@10_low"] <= 0.5 <= rows["due", config]["mrr@10_high"]
        assert rows["all", config]["n"] == 4
        assert rows["all", config]["p95_ms"] >= rows["all", config]["p50_ms"] > 0.0
    assert {"reading", *CONFIGS} <= seen
    assert report["problems"] == []
    json.dumps(report)


def test_each_stage_of_a_configuration_has_its_times(files: tuple[Path, Path]) -> None:
    stages = {row["config"]: set(row["stages"]) for row in measured(*files)["rows"]}
    assert {"lexical"} <= stages["lexical"]
    assert "embed" not in stages["lexical"]
    assert {"embed", "dense"} <= stages["dense"]
    assert {"embed", "dense", "lexical", "fuse"} <= stages["fused"]
    assert {"embed", "dense", "lexical", "fuse", "rerank"} <= stages["reranked"]
    assert "expand" in stages["expanded"]


def test_each_configuration_is_compared_with_the_one_before_it(files: tuple[Path, Path]) -> None:
    report = measured(*files, configs=("expanded", "lexical", "dense"))
    pairs = [(row["first"], row["second"], row["set"]) for row in report["comparisons"]]
    assert pairs == [(*pair, name) for pair in (("expanded", "lexical"), ("lexical", "dense")) for name in ("uno", "due", "all")]
    assert {row["hit@5_p"] for row in report["comparisons"]} == {1.0}


def test_the_report_tells_what_was_measured(files: tuple[Path, Path]) -> None:
    about = measured(*files, configs=("lexical",))["about"]
    assert about["embedder"] == "hash-1"
    assert (about["documents"], about["questions"], about["measured"]) == (3, 4, 4)
    assert len(about["docs_sha256"]) == len(about["queries_sha256"]) == 64


def test_a_second_measurement_embeds_nothing_again(files: tuple[Path, Path], tmp_path: Path) -> None:
    evaluate_retrieval(*files, HashEmbedder(), cache_dir=tmp_path / "cache", configs=("reranked",))
    second = HashEmbedder()
    evaluate_retrieval(*files, second, cache_dir=tmp_path / "cache", configs=("reranked",))
    assert second.queries == second.passages == []


class BreakingEmbedder(HashEmbedder):
    """Stops as a killed process would, after so many passages."""

    def __init__(self, after: int) -> None:
        super().__init__()
        self.after = after

    def embed_passages(self, texts: Any) -> Vectors:
        if len(self.passages) + len(texts) > self.after:
            raise KeyboardInterrupt
        return super().embed_passages(texts)


def test_a_run_that_was_stopped_goes_on_where_it_was(tmp_path: Path) -> None:
    docs = [
        {"id": str(number), "lang": "it", "title": f"Pagina {number}", "text": f"Parola{number} e altro."} for number in range(80)
    ]
    files = (
        written(tmp_path / "docs.jsonl", docs),
        written(tmp_path / "queries.jsonl", [{"id": "a", "lang": "it", "question": "parola7", "gold": ["7"]}]),
    )
    with pytest.raises(KeyboardInterrupt):
        evaluate_retrieval(*files, BreakingEmbedder(after=70), cache_dir=tmp_path / "cache", configs=("dense",))
    second = HashEmbedder()
    evaluate_retrieval(*files, second, cache_dir=tmp_path / "cache", configs=("dense",))
    assert len(second.passages) == 80 - 64


def test_another_embedder_has_a_cache_of_its_own(tmp_path: Path) -> None:
    for fingerprint, dimension in (("hub/model@1", 8), ("other", 16)):
        cached = CachedEmbedder(HashEmbedder(dimension, fingerprint), tmp_path)
        assert cached.embed_queries(["febbre"]).shape == (1, dimension)
        assert cached.embed_passages([]).shape == (0, dimension)
        cached.save()
    assert len(list(tmp_path.iterdir())) == 2


def test_odd_lines_are_named_and_whatever_can_be_measured_is(tmp_path: Path) -> None:
    docs = written(
        tmp_path / "docs.jsonl",
        [
            *DOCS,
            {"id": "it/1", "lang": "it", "title": "Altra", "text": "Un'altra pagina."},
            {"id": "empty", "lang": "it", "title": "Vuota", "text": " \u200b "},
            {"id": "half", "lang": "it", "title": None, "text": "Mezza \ud83d coppia\u2028e un 'apice' \"doppio\"."},
            {"id": "fr", "lang": "fr", "title": "Fièvre", "text": "La fièvre."},
            {"id": 7, "lang": "it", "title": "Numero"},
        ],
    )
    gold = ["it/1"]
    queries = written(
        tmp_path / "queries.jsonl",
        [
            {"id": "good", "lang": "it", "question": "febbre alta", "gold": gold},
            {"id": "blank", "lang": "it", "question": "  ", "gold": gold},
            {"id": "unseen", "lang": "it", "question": "\u200b\u2060\ufeff", "gold": gold},
            {"id": "signs", "lang": "it", "question": "?!? 🤒", "gold": gold},
            {"id": "half", "lang": "it", "question": "febbre \udc00 alta", "gold": gold},
            {"id": "long", "lang": "it", "question": "febbre alta " * 1000, "gold": gold},
            {"id": "foreign", "lang": "it", "question": "¿Qué puedo tomar para la tos y la fiebre?", "gold": gold},
            {"id": "mixed", "lang": "it", "question": "mi fa male la pancia da ieri. Me duele mucho la barriga", "gold": gold},
            {"id": "lost", "lang": "it", "question": "febbre", "gold": ["nowhere", "empty"]},
            {"id": "partly", "lang": "it", "question": "febbre alta", "gold": ["it/1", "nowhere"]},
            {"id": "none", "lang": "it", "question": "febbre", "gold": []},
            {"id": "good", "lang": "it", "question": "febbre che non passa", "gold": gold, "set": "all"},
            {"id": "list", "lang": "it", "question": "febbre", "gold": "it/1"},
            {"id": "text", "lang": "it", "question": None, "gold": gold},
        ],
    )
    report = measured(docs, queries)
    assert {(problem["file"], problem["id"] or problem["line"]): problem["problem"] for problem in report["problems"]} == {
        ("docs", "it/1"): "duplicate_id",
        ("docs", "empty"): "empty_text",
        ("docs", "half"): "no_title",
        ("docs", 7): "malformed",
        ("docs", 8): "malformed",
        ("queries", "blank"): "empty_question",
        ("queries", "unseen"): "invisible_question",
        ("queries", "signs"): "no_words",
        ("queries", "long"): "long_question",
        ("queries", "foreign"): "other_language",
        ("queries", "mixed"): "mixed_languages",
        ("queries", "lost"): "unknown_gold",
        ("queries", "partly"): "unknown_gold",
        ("queries", "none"): "no_gold",
        ("queries", "good"): "duplicate_id",
        ("queries", 13): "malformed",
        ("queries", 14): "malformed",
    }
    assert [p["id"] for p in report["problems"] if p["left_out"] and p["file"] == "queries" and p["id"]] == ["lost", "none"]
    assert {row["set"]: row["n"] for row in report["rows"]} == {"default": 9, "all (set)": 1, "all": 10}


def test_a_question_in_a_language_without_documents_finds_nothing(tmp_path: Path) -> None:
    docs = written(tmp_path / "docs.jsonl", DOCS[:2])
    queries = written(tmp_path / "queries.jsonl", [QUERIES[0], QUERIES[3]])
    report = measured(docs, queries)
    assert [problem["problem"] for problem in report["problems"]] == ["no_documents"]
    assert {row["hit@10"] for row in report["rows"] if row["set"] == "due"} == {0.0}


def test_nothing_to_measure_is_said(tmp_path: Path) -> None:
    docs = written(tmp_path / "docs.jsonl", DOCS)
    queries = written(tmp_path / "queries.jsonl", [{**QUERIES[0], "gold": ["nowhere"]}])
    with pytest.raises(NothingToMeasure, match="of 1 questions none"):
        measured(docs, queries)
    with pytest.raises(NothingToMeasure):
        measured(tmp_path / "absent.jsonl", queries)


def test_the_generator_adds_a_phrasing_once_and_is_not_asked_again(files: tuple[Path, Path]) -> None:
    model = ScriptedLanguageModel("tosse persistente")
    report = measured(*files, configs=("expanded", "generator"), generator=model)
    assert len(model.prompts) == 3  # "gripe" is asked twice
    assert report["rows"][-1]["stages"]["generate"]["p95_ms"] > 0.0
    again = ScriptedLanguageModel("un'altra")
    measured(*files, configs=("generator",), generator=again)
    assert again.prompts == []


class Speaking(ScriptedLanguageModel):
    """Goes on from the opening as a generator does: with a blank."""

    def complete(self, prompt: Prompt, **options: Any) -> Iterator[str]:
        yield " "
        yield from super().complete(prompt, **options)


def test_pseudo_histories_are_part_of_their_index_and_written_once(tmp_path: Path) -> None:
    text = "## Sintomi\nL'alluce diventa rosso, caldo, gonfio e molto dolente di notte. Il dolore passa in pochi giorni."
    docs = written(tmp_path / "docs.jsonl", [{"id": "gotta", "lang": "it", "title": "Gotta", "text": text}])
    queries = written(tmp_path / "queries.jsonl", [{"id": "a", "lang": "it", "question": "alluce rosso", "gold": ["gotta"]}])
    told = "l'alluce rosso e gonfio, mi fa molto dolore di notte."
    embedder = HashEmbedder()
    report = evaluate_retrieval(
        docs, queries, embedder, cache_dir=tmp_path, configs=("expanded", "pseudo"), generator=Speaking(told)
    )
    assert [row["config"] for row in report["rows"]] == ["expanded"] * 2 + ["pseudo"] * 2
    assert f"Ho {told}" in embedder.passages
    again = Speaking(told)
    evaluate_retrieval(docs, queries, HashEmbedder(), cache_dir=tmp_path, configs=("pseudo",), generator=again)
    assert again.prompts == []


def test_what_the_generator_has_a_part_in_needs_one(files: tuple[Path, Path]) -> None:
    with pytest.raises(GeneratorNeeded):
        measured(*files, configs=("generator",))
    assert check_configs(["pseudo"])
    assert not check_configs(CONFIGS)


def test_an_unknown_configuration_is_refused(files: tuple[Path, Path]) -> None:
    with pytest.raises(UnknownConfiguration, match="lexical, dense"):
        measured(*files, configs=("dens",))
