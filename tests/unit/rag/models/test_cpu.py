from pathlib import Path

import pytest

from rag.models import cpu

_TWO_CORES_FOUR_THREADS = "\n\n".join(
    f"processor : {number}\nphysical id : 0\ncore id : {number % 2}\nmodel name : X" for number in range(4)
)


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "cpuinfo").write_text(_TWO_CORES_FOUR_THREADS)
    monkeypatch.setattr(cpu, "_CPUINFO", tmp_path / "cpuinfo")
    monkeypatch.setattr(cpu, "_QUOTA", tmp_path / "cpu.max")
    monkeypatch.setattr("os.sched_getaffinity", lambda _pid: {0, 1, 2, 3})
    return tmp_path


def test_hyper_threads_are_not_counted(machine: Path) -> None:
    assert cpu.usable_cores() == 2


def test_a_container_quota_is_respected(machine: Path) -> None:
    (machine / "cpu.max").write_text("100000 100000\n")
    assert cpu.usable_cores() == 1


def test_no_quota_is_no_limit(machine: Path) -> None:
    (machine / "cpu.max").write_text("max 100000\n")
    assert cpu.usable_cores() == 2


def test_cores_that_the_process_may_not_use_are_not_counted(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda _pid: {1, 3})
    assert cpu.usable_cores() == 1


def test_a_machine_that_says_nothing_of_its_cores_still_gets_one(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(cpu, "_CPUINFO", tmp_path / "none")
    monkeypatch.setattr("os.cpu_count", lambda: None)
    assert cpu.usable_cores() == 1
