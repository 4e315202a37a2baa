import time

import pytest

from rag.evaluation.stage_clock import StageClock, in_order


def test_a_stage_counts_without_the_stages_within_it() -> None:
    clock = StageClock()
    with clock.stage("fuse"):
        time.sleep(0.01)
        for _ in range(2):
            with clock.stage("dense"):
                time.sleep(0.02)
    taken = clock.take()
    assert taken["dense"] >= 0.04
    assert 0.01 <= taken["fuse"] < 0.03
    assert clock.take() == {}


def test_a_stage_that_raises_is_measured_too() -> None:
    clock = StageClock()
    with pytest.raises(ValueError, match="no"), clock.stage("dense"):
        raise ValueError("no")
    assert "dense" in clock.take()


def test_a_stage_can_be_corrected_but_never_below_nothing() -> None:
    clock = StageClock()
    clock.add("embed", 0.5)
    clock.add("dense", -1.0)
    assert clock.take() == {"embed": 0.5, "dense": 0.0}


def test_stages_are_told_in_the_order_of_a_search() -> None:
    assert in_order(["other", "rerank", "new", "embed", "rerank"]) == ["embed", "rerank", "new", "other"]
