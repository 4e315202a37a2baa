"""The table of field cases is whole, and each test that it names exists and names its case."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CASES = [f"H{number:02d}" for number in range(1, 42)]
_ROW = re.compile(r"\| (?P<case>H\d\d) (?P<kind>[^|]+) \| (?P<does>[^|]+) \| (?P<tests>[^|]+) \|")


def rows() -> dict[str, tuple[str, list[str]]]:
    """What Salus does, and the tests that show it, by case."""
    lines = (ROOT / "docs" / "field-cases.md").read_text(encoding="utf-8").splitlines()
    found = [_ROW.fullmatch(line) for line in lines if line.startswith("| H")]
    assert None not in found
    return {row["case"]: (row["does"], re.findall(r"`([^`]+)`", row["tests"])) for row in found if row is not None}


@cache
def named_cases(path: str) -> dict[str, str]:
    """Where each test of a file names its case: its name, its docstring, and a comment beside it or its data."""
    source = (ROOT / path).read_text(encoding="utf-8")
    lines = source.splitlines()
    found = {}
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            comments = [line.partition("#")[2] for line in lines[first - 1 : node.body[0].lineno] if "# H" in line]
            found[node.name] = " ".join([node.name.replace("_", " ").upper(), ast.get_docstring(node) or "", *comments])
    return found


def test_every_case_is_there_once_and_in_order() -> None:
    lines = (ROOT / "docs" / "field-cases.md").read_text(encoding="utf-8").splitlines()
    assert [line[2:5] for line in lines if line.startswith("| H")] == CASES
    assert list(rows()) == CASES


@pytest.mark.parametrize("case", CASES)
def test_what_is_done_about_a_case_is_said_in_a_sentence_and_shown_by_tests(case: str) -> None:
    does, tests = rows()[case]
    assert does.endswith(".")
    assert tests
    assert len(tests) == len(set(tests))


@pytest.mark.parametrize("case", CASES)
def test_each_test_that_shows_a_case_exists_and_names_it(case: str) -> None:
    _, tests = rows()[case]
    for test in tests:
        path, _, name = test.partition("::")
        assert (ROOT / path).is_file(), path
        assert name in named_cases(path), test
        assert re.search(rf"\b{case}\b", named_cases(path)[name]), test
