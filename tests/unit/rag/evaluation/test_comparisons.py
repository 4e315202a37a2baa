import pytest

from rag.evaluation.comparisons import compared, with_interval


def test_each_system_is_compared_with_each_later_one_on_the_same_questions() -> None:
    rows = compared({"one": {"x": [0.0] * 6}, "two": {"x": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]}, "three": {"x": [0.0] * 6}})

    assert [(row["first"], row["second"], row["difference"]) for row in rows] == [
        ("one", "two", 3.5),
        ("one", "three", 0.0),
        ("two", "three", -3.5),
    ]
    assert rows[0]["p"] == pytest.approx(2 / 64)
    assert rows[0]["p_holm"] == pytest.approx(3 * 2 / 64)
    assert rows[1]["p_holm"] == 1.0


def test_questions_with_one_figure_alone_are_left_out() -> None:
    (row,) = compared({"one": {"x": [1.0, None, 3.0]}, "two": {"x": [2.0, 5.0, None]}})
    assert (row["n"], row["difference"]) == (1, 1.0)


def test_systems_without_a_common_question_are_not_compared() -> None:
    assert compared({"one": {"x": [1.0, None]}, "two": {"x": [None, 2.0]}}) == []


def test_a_mean_is_told_with_its_interval() -> None:
    found = with_interval("x", [2.0, 2.0])
    assert found == {"x": 2.0, "x_low": 2.0, "x_high": 2.0}
    assert with_interval("x", []) == {"x": None, "x_low": None, "x_high": None}
