"""What the classifier sees of a message's spelling."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.red_flag_features import COLUMNS, plain_words, spelling


def columns(text: str) -> set[int]:
    return set(spelling(text)[0].tolist())


def test_each_column_comes_once_with_the_logarithm_of_its_count() -> None:
    once, twice = dict(zip(*spelling("febbre"), strict=True)), dict(zip(*spelling("febbre febbre"), strict=True))

    assert all(weight == 1.0 for column, weight in once.items() if column >= COLUMNS // 2)
    word = next(column for column in once if column >= COLUMNS // 2)
    assert twice[word] == pytest.approx(1 + np.log(2), abs=1e-6)


def test_words_fall_into_the_upper_half_and_letters_into_the_lower() -> None:
    found = columns("mal di gola")
    words = {column for column in found if column >= COLUMNS // 2}

    assert len(words) == 6  # three words, two pairs, one group of three
    assert found - words


def test_accents_signs_and_capitals_change_nothing() -> None:
    assert columns("Così, PERÒ!!") == columns("cosi pero")
    assert columns("¿No respira?") == columns("no respira")


def test_the_letter_ene_is_a_letter_of_its_own() -> None:
    assert plain_words("mi niña") == ["mi", "niña"]


def test_letters_repeated_for_emphasis_count_twice_at_most() -> None:
    assert plain_words("aiutooooo") == plain_words("aiutoo") == ["aiutoo"]
    assert plain_words("anno") == ["anno"]


def test_a_typing_error_keeps_most_letter_groups() -> None:
    right, wrong, other = columns("soffocando"), columns("sofocando"), columns("raffreddore")

    assert len(right & wrong) > 3 * len(right & other)


def test_the_order_of_words_counts() -> None:
    assert columns("non respira") != columns("respira non")


@pytest.mark.parametrize("text", ["", "  ", "😀😀", "?!", "помогите", "救命"])
def test_a_text_without_latin_letters_has_no_columns(text: str) -> None:
    found, weights = spelling(text)

    assert len(found) == len(weights) == 0
    assert weights.dtype == np.float32


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=200))
def test_columns_of_any_text_are_in_range_distinct_and_always_the_same(text: str) -> None:
    found, weights = spelling(text)

    assert len(set(found.tolist())) == len(found) == len(weights)
    assert all(0 <= column < COLUMNS for column in found.tolist())
    assert (weights >= 1).all()
    np.testing.assert_array_equal(found, spelling(text)[0])
