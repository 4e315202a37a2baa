from pathlib import Path
from typing import Any

from bot.evaluation.run_records import RunRecords, code_digest


def counting(records: RunRecords, made: list[str], name: str = "q1", way: str = "none") -> dict[str, Any]:
    def make() -> dict[str, Any]:
        made.append(name)
        return {"text": f"la tosse {len(made)}"}

    return records.once(way, name, make)


def test_what_is_kept_is_not_made_again(tmp_path: Path) -> None:
    made: list[str] = []
    counting(RunRecords(tmp_path, "compare", {"generator": "x"}), made)

    again = counting(RunRecords(tmp_path, "compare", {"generator": "x"}), made)

    assert again == {"system": "none", "id": "q1", "text": "la tosse 1"}
    assert made == ["q1"]


def test_a_torn_line_is_made_again_and_the_rest_kept(tmp_path: Path) -> None:
    made: list[str] = []
    records = RunRecords(tmp_path, "compare", {})
    counting(records, made, "q1")
    counting(records, made, "q2")
    records.path.write_bytes(records.path.read_bytes()[:-8])

    again = RunRecords(tmp_path, "compare", {})
    counting(again, made, "q1")
    counting(again, made, "q2")

    assert made == ["q1", "q2", "q2"]
    assert counting(RunRecords(tmp_path, "compare", {}), made, "q2")["text"] == "la tosse 3"


def test_another_model_has_records_of_its_own(tmp_path: Path) -> None:
    made: list[str] = []
    counting(RunRecords(tmp_path, "compare", {"generator": "x"}), made)
    counting(RunRecords(tmp_path, "compare", {"generator": "y"}), made)
    assert len(made) == 2


def test_ways_are_kept_apart(tmp_path: Path) -> None:
    made: list[str] = []
    records = RunRecords(tmp_path, "traceability", {})
    counting(records, made, way="none")
    counting(records, made, way="hard")
    assert len(made) == 2


def test_the_code_is_told_by_one_hash() -> None:
    assert len(code_digest()) == 16
    assert code_digest() == code_digest.__wrapped__()
