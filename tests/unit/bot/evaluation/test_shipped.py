from pathlib import Path

import pytest

from bot.evaluation import shipped
from bot.evaluation.shipped import Half, SetUnreadable, read_lines


def lines(tmp_path: Path, text: str | bytes) -> Path:
    path = tmp_path / "set.jsonl"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.mark.parametrize("half", list(Half))
def test_each_set_is_shipped_in_both_halves(half: Half) -> None:
    for where in (
        shipped.safety_phrases,
        shipped.category_phrases,
        shipped.page_questions,
        shipped.lay_questions,
        shipped.lay_other_questions,
        shipped.topicality_questions,
        shipped.alignment_pairs,
        shipped.alignment_edits,
        shipped.alignment_free,
    ):
        assert where(half).is_file()
        assert half.value in where(half).name


def test_sets_without_halves_are_shipped_too() -> None:
    assert read_lines(shipped.follow_ups(), "id", "lang", "first", "follow_up", "expect_topic")
    assert read_lines(shipped.bench_questions(), "id", "lang", "text")


def test_each_line_is_a_row_and_blank_ones_are_none(tmp_path: Path) -> None:
    path = lines(tmp_path, '{"id": 1, "text": "è"}\n\n{"id": 2, "text": "ñ"}\n')

    assert read_lines(path, "id", "text") == [{"id": 1, "text": "è"}, {"id": 2, "text": "ñ"}]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"id": 1}\n{"id": 2, "text": "x"}\n', "line 1: text is missing"),
        ('{"id": 1, "text": "x"}\n{broken\n', "line 2: not JSON"),
        ('["id", "text"]\n', "line 1: id is missing"),
        ("\n \n", "is empty"),
        (b"\xff\xfe", "UnicodeDecodeError"),
    ],
)
def test_what_is_wrong_is_named_with_file_and_line(tmp_path: Path, text: str | bytes, said: str) -> None:
    path = lines(tmp_path, text)

    with pytest.raises(SetUnreadable, match=said) as caught:
        read_lines(path, "id", "text")
    assert str(path) in str(caught.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(SetUnreadable, match="FileNotFoundError"):
        read_lines(tmp_path / "none.jsonl")


def test_a_language_that_the_product_does_not_speak_is_named_where_one_is_required(tmp_path: Path) -> None:
    path = lines(tmp_path, '{"id": 1, "lang": "fr", "text": "x"}\n')

    with pytest.raises(SetUnreadable, match="line 1: no language has the name 'fr'"):
        read_lines(path, "id", "lang", "text")
    assert read_lines(path, "id", "text")
