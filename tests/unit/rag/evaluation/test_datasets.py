from pathlib import Path

import pytest

from locales.language import Language
from rag.evaluation.datasets import read_queries


def test_questions_are_read_with_and_without_a_set(tmp_path: Path) -> None:
    path = tmp_path / "queries.jsonl"
    path.write_text(
        '\ufeff{"id": "1", "lang": "it", "question": "Cos\'è?", "gold": ["a", "b"], "set": "faq"}\n\n'
        '{"id": 2, "lang": "es", "question": "¿Qué?", "gold": [3], "other": null}\r\n',
        encoding="utf-8",
    )
    (first, second), problems = read_queries(path)
    assert (first.set_name, first.gold, first.language) == ("faq", frozenset({"a", "b"}), Language.ITALIAN)
    assert (second.set_name, second.query_id, second.gold, second.line) == ("default", "2", frozenset({"3"}), 3)
    assert problems == []


@pytest.mark.parametrize(
    ("line", "detail"),
    [
        ("{", "not JSON"),
        ("[]", "not a JSON object"),
        ("\udce9", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ('{"id": "1", "lang": "it", "question": "Cos\'è?"}', "gold is not a list"),
        ('{"id": "1", "lang": "it", "question": "Cos\'è?", "gold": "abc"}', "gold is not a list"),
        ('{"id": "1", "lang": "it", "question": "Cos\'è?", "gold": [null]}', "gold is missing"),
        ('{"id": true, "lang": "it", "question": "Cos\'è?", "gold": []}', "id is neither"),
        ('{"lang": "it", "question": "Cos\'è?", "gold": []}', "id is missing"),
        ('{"id": "1", "lang": "fr", "question": "Quoi ?", "gold": []}', "lang is none of it, es"),
        ('{"id": "1", "lang": ["it"], "question": "Cos\'è?", "gold": []}', "lang is none of it, es"),
        ('{"id": "1", "lang": "it", "question": 5, "gold": []}', "question is not a text"),
    ],
)
def test_a_malformed_line_is_named_and_the_others_are_read(tmp_path: Path, line: str, detail: str) -> None:
    path = tmp_path / "queries.jsonl"
    good = '{"id": "1", "lang": "it", "question": "Cos\'è?", "gold": ["a"]}'
    path.write_text(f"\n{line}\n{good}", encoding="utf-8", errors="surrogateescape")
    queries, (problem,) = read_queries(path)
    assert [query.query_id for query in queries] == ["1"]
    assert (problem.line, problem.kind, problem.is_left_out) == (2, "malformed", True)
    assert problem.detail.startswith(detail)


def test_only_a_line_feed_ends_a_line(tmp_path: Path) -> None:
    path = tmp_path / "queries.jsonl"
    path.write_text('{"id": "1", "lang": "it", "question": "Una\u2028riga\u0085sola?", "gold": ["a"]}', encoding="utf-8")
    (query,), problems = read_queries(path)
    assert query.question == "Una\u2028riga\u0085sola?"
    assert problems == []


def test_a_set_may_not_take_the_name_under_which_all_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "queries.jsonl"
    path.write_text('{"id": "1", "lang": "it", "question": "Cos\'è?", "gold": ["a"], "set": "all"}', encoding="utf-8")
    assert read_queries(path)[0][0].set_name == "all (set)"
