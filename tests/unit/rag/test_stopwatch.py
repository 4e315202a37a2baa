import pytest

from rag.stopwatch import Stopwatch


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time, as one number that a test sets."""
    now = [100.0]
    monkeypatch.setattr("rag.stopwatch.time.monotonic", lambda: now[0])
    return now


def test_a_stage_that_runs_twice_is_summed_up(clock: list[float]) -> None:
    watch = Stopwatch()
    for seconds in (1.0, 2.5):
        with watch.stage("write"):
            clock[0] += seconds

    assert watch.timings_s == {"write": 3.5}


def test_a_stage_that_fails_is_measured_too(clock: list[float]) -> None:
    watch = Stopwatch()

    def fail() -> None:
        with watch.stage("write"):
            clock[0] += 2.0
            raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        fail()

    assert watch.timings_s == {"write": 2.0}


def test_a_mark_keeps_its_first_moment(clock: list[float]) -> None:
    watch = Stopwatch()
    clock[0] += 1.0
    watch.mark("first_sentence")
    clock[0] += 5.0
    watch.mark("first_sentence")

    assert watch.timings_s == {"first_sentence": 1.0}
