"""What is fitted to an index, and how it is kept with a version."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from rag import store_schema
from rag.calibration import Calibration, FirstPages, chosen_threshold, decode, encode, fitted_similarity, fitted_weights
from rag.corpus import CorpusStatistics
from rag.coverage import SIGN_NAMES, CoverageSigns, CoverageWeights
from rag.question_bank import COVERED, OPEN, UNCOVERED, AnsweredBank
from rag.similarity import SimilaritySigns, SimilarityWeights

_TOLERANCE = 1e-3
_ESCAPED: dict[str, Any] = {"elsewhere": 0.0}
_UNKNOWN: dict[str, Any] = {"translated": 0.0, "unnamed": 0.0}


def sign(**changes: Any) -> CoverageSigns:
    values: dict[str, Any] = dict.fromkeys(SIGN_NAMES, 0.0)
    return CoverageSigns(**(values | changes))


def by_score(*scores: float) -> list[CoverageSigns]:
    return [sign(score=score) for score in scores]


def random_signs(count: int, seed: int) -> tuple[list[CoverageSigns], np.ndarray]:
    generator = np.random.default_rng(seed)
    signs = [sign(**dict(zip(SIGN_NAMES, row, strict=True))) for row in generator.random((count, len(SIGN_NAMES)))]
    chances = [0.15 + 0.5 * one.score - 0.3 * one.elsewhere for one in signs]
    return signs, generator.random(count) < chances


def score_alone(weight: float, constant: float) -> CoverageWeights:
    return CoverageWeights(weights=(weight, *[0.0] * (len(SIGN_NAMES) - 1)), constant=constant)


def calibration() -> Calibration:
    """With vectors that half precision holds exactly."""
    return Calibration(
        weights=CoverageWeights(weights=tuple(0.1 * place for place in range(len(SIGN_NAMES))), constant=-1.25),
        threshold=0.4,
        bank=AnsweredBank(
            vectors=np.array([[1.0, 0.0], [0.0, -1.0], [0.5, 0.25]], dtype=np.float32),
            labels=np.array([COVERED, UNCOVERED, OPEN], dtype=np.int8),
            uncovered=frozenset({frozenset({"piern", "inquieta"}), frozenset({"acufeno"})}),
        ),
        digest="abc",
        similarity=SimilarityWeights(coverage=0.75, behind=-2.5, constant=-0.5),
    )


def first_pages(coverage: float, behind: Sequence[float], right: int | None, *, is_covered: bool) -> FirstPages:
    return FirstPages(
        signs=[SimilaritySigns(coverage=coverage, behind=distance) for distance in behind],
        is_right=[place == right for place in range(len(behind))],
        is_covered=is_covered,
    )


def assert_same(found: Calibration | None, expected: Calibration) -> None:
    assert found is not None
    assert replace(found, bank=expected.bank) == expected
    assert found.bank.vectors.dtype == np.float32
    assert found.bank.vectors.tolist() == expected.bank.vectors.tolist()
    assert found.bank.labels.tolist() == expected.bank.labels.tolist()
    assert found.bank.uncovered == expected.bank.uncovered


def test_what_is_fitted_separates_right_questions_from_others() -> None:
    signs = by_score(*[0.8, 0.9, 1.0] * 20, *[0.0, 0.1, 0.2] * 20)

    weights = fitted_weights(signs, np.array([True] * 60 + [False] * 60))

    assert min(weights.probability(one) for one in signs[:60]) > 0.5 > max(weights.probability(one) for one in signs[60:])


def test_a_few_right_questions_weigh_as_much_as_many_others() -> None:
    signs = by_score(*[0.5] * 3, *[0.5] * 97)

    weights = fitted_weights(signs, np.array([True] * 3 + [False] * 97))

    assert weights.probability(signs[0]) == pytest.approx(0.5, abs=_TOLERANCE)


@pytest.mark.parametrize("seed", range(3))
def test_the_fit_is_that_of_a_balanced_logistic_regression(seed: int) -> None:
    signs, is_right = random_signs(200, seed)
    copies = [replace(one, **changes) for changes in ({}, _ESCAPED, _UNKNOWN) for one in signs]
    expected = LogisticRegression(C=1.0, class_weight="balanced", tol=1e-8, max_iter=1_000)
    expected.fit([one.figures for one in copies], np.tile(is_right, 3))

    found = fitted_weights(signs, is_right)

    assert found.weights == pytest.approx(expected.coef_[0], abs=_TOLERANCE)
    assert found.constant == pytest.approx(expected.intercept_[0], abs=_TOLERANCE)


@pytest.mark.parametrize("right", [True, False])
def test_questions_of_one_kind_alone_cannot_be_fitted(*, right: bool) -> None:
    with pytest.raises(ValueError, match="both kinds"):
        fitted_weights(by_score(0.1, 0.9), np.array([right, right]))


def test_one_in_twenty_right_questions_may_be_refused() -> None:
    signs = by_score(-9.0, *np.linspace(-0.9, -0.1, 19))
    weights = score_alone(1.0, 0.0)

    threshold = chosen_threshold(weights, signs, np.array([True] * 20))

    assert threshold == pytest.approx(weights.probability(signs[1]))


def test_questions_that_are_not_right_do_not_move_the_threshold() -> None:
    weights = score_alone(1.0, 0.0)

    threshold = chosen_threshold(weights, by_score(-0.5, -0.5, -0.9, 3.0), np.array([True, True, False, False]))

    assert threshold == pytest.approx(weights.probability(sign(score=-0.5)))


@pytest.mark.parametrize(("scores", "bound"), [((-9.0, -9.0), 0.15), ((9.0, 9.0), 0.5)])
def test_the_threshold_lies_within_bounds(scores: Sequence[float], bound: float) -> None:
    assert chosen_threshold(score_alone(1.0, 0.0), by_score(*scores), np.array([True, True])) == bound


def test_pages_on_the_topic_are_told_from_others() -> None:
    covered = [first_pages(2.0, (0.0, 1.5, 2.0), 0, is_covered=True) for _ in range(40)]
    others = [first_pages(-2.0, (0.0, 1.5, 2.0), None, is_covered=False) for _ in range(80)]

    weights = fitted_similarity([*covered, *others])

    assert weights is not None
    assert weights.probability(covered[0].signs[0]) > 0.8
    assert max(weights.probability(signs) for signs in (*covered[0].signs[1:], *others[0].signs)) < 0.2


def test_the_similarity_is_fitted_as_if_half_of_all_questions_were_covered() -> None:
    covered = [first_pages(0.0, (0.0,), 0, is_covered=True) for _ in range(10)]
    others = [first_pages(0.0, (0.0,), None, is_covered=False) for _ in range(90)]

    weights = fitted_similarity([*covered, *others])

    assert weights is not None
    assert weights.probability(covered[0].signs[0]) == pytest.approx(0.5, abs=_TOLERANCE)


@pytest.mark.parametrize("right", [None, 0])
def test_pages_that_are_all_alike_give_no_similarity(right: int | None) -> None:
    assert fitted_similarity([first_pages(1.0, (0.0,), right, is_covered=bool(n)) for n in range(2)]) is None


def test_a_calibration_of_before_similarities_is_read_without_one() -> None:
    written = encode(calibration())
    assert written is not None
    del written["similarity"]

    assert_same(decode(written), replace(calibration(), similarity=None))


def test_a_calibration_is_read_as_it_was_written() -> None:
    assert_same(decode(encode(calibration())), calibration())


def test_no_calibration_is_read_as_none() -> None:
    assert encode(None) is None
    assert decode(None) is None


@pytest.mark.parametrize(
    "names",
    [SIGN_NAMES[:-1], (*SIGN_NAMES, "another"), ("another", *SIGN_NAMES[1:]), SIGN_NAMES[::-1]],
    ids=["one fewer", "one more", "another name", "another order"],
)
def test_a_calibration_with_other_signs_is_not_used(names: Sequence[str]) -> None:
    written = encode(calibration())
    assert written is not None

    assert decode(written | {"weights": dict.fromkeys(names, 1.0)}) is None


@pytest.mark.parametrize(
    "damage",
    [
        {"labels": [1, 1, 1, 1]},
        {"threshold": None},
        {"constant": "x"},
        {"weights": dict.fromkeys(SIGN_NAMES)},
        {"vectors": None},
        {"uncovered": 3},
        {"similarity": {"coverage": 1.0}},
    ],
)
def test_a_damaged_calibration_is_none_and_fitted_anew(damage: dict[str, Any]) -> None:
    written = encode(calibration())
    assert written is not None

    assert decode(written | damage) is None


@pytest.mark.parametrize("fitted", [None, calibration()], ids=["without a calibration", "calibrated"])
def test_the_metadata_of_a_version_are_read_as_they_were_written(fitted: Calibration | None) -> None:
    metadata = store_schema.Metadata(
        embedder="hash-1",
        dimension=2,
        schema_version=store_schema.SCHEMA_VERSION,
        is_demonstration=True,
        statistics=CorpusStatistics(n=2, avgdl=3.5, document_frequency={"perché": 1}, background_mean=0.1, background_std=0.2),
        calibration=fitted,
    )

    found = store_schema.decode_metadata(store_schema.encode_metadata(metadata))

    assert replace(found, calibration=fitted) == metadata
    if fitted is None:
        assert found.calibration is None
    else:
        assert_same(found.calibration, fitted)


def test_metadata_of_before_calibrations_are_read_without_one() -> None:
    metadata = store_schema.Metadata(
        embedder="hash-1", dimension=2, schema_version=1, is_demonstration=False, statistics=CorpusStatistics()
    )
    written = store_schema.encode_metadata(metadata).replace(', "calibration": null', "")

    assert "calibration" not in written
    assert store_schema.decode_metadata(written) == metadata
