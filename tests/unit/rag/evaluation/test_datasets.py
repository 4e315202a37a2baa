from pathlib import Path

import pytest

from locales.language import Language
from rag.evaluation.datasets import read_queries


def test_questions_are_read_with_and_without_a_set(tmp_path: Path) -> None:
    path = tmp_path / "queries.jsonl"
    path.write_text(
        '{"id": "1", "lang": "it", "question": "Cos\'è?", "gold": ["a", "b"], "set": "faq"}\n\n'
        '{"id": 2, "lang": "es", "question": "¿Qué?", "gold": ["c"], "other": null}\n',
        encoding="utf-8",
    )
    first, second = read_queries(path)
    assert (first.set_name, first.gold, first.language) == ("faq", frozenset({"a", "b"}), Language.ITALIAN)
    assert (second.set_name, second.query_id) == ("default", "2")


@pytest.mark.parametrize("line", ["{", '{"id": "1"}', '{"id": "1", "lang": "fr", "question": "x", "gold": []}', "[]"])
def test_a_malformed_line_is_named(tmp_path: Path, line: str) -> None:
    path = tmp_path / "queries.jsonl"
    path.write_text("\n" + line, encoding="utf-8")
    with pytest.raises(ValueError, match="line 2"):
        read_queries(path)
