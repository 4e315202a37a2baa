import pytest

from bot.evaluation import safety
from bot.evaluation.safety import evaluate_safety
from tests.builders import red_flag
from tests.fakes import ScriptedGate
from tests.unit.bot.evaluation.conftest import WriteSet


@pytest.fixture(autouse=True)
def gate(monkeypatch: pytest.MonkeyPatch) -> None:
    flags = {"petto": red_flag(category="heart"), "pecho": red_flag(category="heart"), "film": red_flag(category="stroke")}
    monkeypatch.setattr(safety, "load_gate", lambda: ScriptedGate(flags))


def row(number: int, lang: str, label: str, category: str, text: str) -> dict[str, str]:
    return {"id": str(number), "lang": lang, "label": label, "category": category, "text": text}


def test_misses_and_false_alarms_are_counted_by_language_and_category(write_set: WriteSet) -> None:
    report = evaluate_safety(
        write_set(
            row(1, "it", "urgent", "heart", "male al petto"),
            row(2, "it", "urgent", "breathing", "non respiro"),
            row(3, "it", "not_urgent", "history", "ho visto un film"),
            row(4, "it", "not_urgent", "history", "ciao"),
            row(5, "es", "urgent", "heart", "dolor de pecho"),
            row(6, "es", "not_urgent", "history", "hola"),
        )
    )

    assert (report["n"], report["recall"], report["false_alarm_rate"]) == (6, 0.6667, 0.3333)
    assert report["by_language"] == {
        "es": {"recall": 1.0, "false_alarm_rate": 0.0},
        "it": {"recall": 0.5, "false_alarm_rate": 0.5},
    }
    assert report["recall_by_category"] == {"breathing": 0.0, "heart": 1.0}
    assert [miss["id"] for miss in report["misses"]] == ["2"]
    assert [(alarm["id"], alarm["read_as"]) for alarm in report["false_alarms"]] == [("3", "stroke")]


def test_a_share_of_nothing_is_no_figure(write_set: WriteSet) -> None:
    report = evaluate_safety(write_set(row(1, "it", "urgent", "heart", "male al petto")))

    assert (report["recall"], report["false_alarm_rate"]) == (1.0, None)
