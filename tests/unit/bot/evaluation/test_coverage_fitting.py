from collections.abc import Sequence
from typing import Any

import pytest

from bot.evaluation import coverage_fitting
from bot.evaluation.coverage_fitting import Measured, fit_coverage
from rag.coverage import SIGN_NAMES, CoverageSigns
from tests.fakes import HashEmbedder
from tests.unit.bot.evaluation.conftest import WriteSet


def signs(score: float, *, says_of_what: bool = True) -> CoverageSigns:
    figures = dict.fromkeys(SIGN_NAMES, 0.5) | {"score": score}
    return CoverageSigns(**figures, says_of_what=says_of_what)  # type: ignore[arg-type]


def fitted(monkeypatch: pytest.MonkeyPatch, write_set: WriteSet, measured: Sequence[Measured]) -> dict[str, Any]:
    """The figures of a fit to questions whose signs are told."""
    monkeypatch.setattr(coverage_fitting, "_measure", lambda *_: list(measured))
    path = write_set({"lang": "it", "text": "febbre?"})
    return fit_coverage([path], lambda _: None, HashEmbedder(), lambda *_: None)  # type: ignore[arg-type, return-value]


def test_a_sign_that_parts_right_from_other_questions_gets_the_weight(
    monkeypatch: pytest.MonkeyPatch, write_set: WriteSet
) -> None:
    measured = [Measured(kind="right", signs=signs(0.8 + n / 500)) for n in range(40)]
    measured += [Measured(kind="off_topic", signs=signs(0.2 + n / 500)) for n in range(40)]
    figures = fitted(monkeypatch, write_set, measured)

    assert figures["weights"]["score"] > 2
    assert figures["answered"] == {"off_topic": {"share": 0.0, "n": 40}, "right": {"share": 1.0, "n": 40}}


def test_a_question_that_does_not_say_of_what_counts_as_refused(monkeypatch: pytest.MonkeyPatch, write_set: WriteSet) -> None:
    measured = [Measured(kind="right", signs=signs(0.9, says_of_what=n > 9)) for n in range(40)]
    measured += [Measured(kind="near_miss", signs=signs(0.1)) for _ in range(40)]

    assert fitted(monkeypatch, write_set, measured)["answered"]["right"]["share"] == 0.75


@pytest.mark.parametrize(
    ("row", "found", "kind"),
    [
        ({"label": "on_topic", "topic": "flu"}, "flu", "right"),
        ({"label": "on_topic", "topic": "flu"}, "cold", "astray"),
        ({"topic": "flu"}, "flu", "right"),
        ({"label": "on_topic"}, "cold", "right"),
        ({"label": "off_topic", "id": "cov-it-near-001"}, "flu", "near_miss"),
        ({"label": "off_topic", "id": "cov-it-other-001"}, "flu", "off_topic"),
    ],
)
def test_a_question_is_right_only_with_its_own_page_first(row: dict[str, str], found: str, kind: str) -> None:
    assert coverage_fitting._kind(row, found) == kind
