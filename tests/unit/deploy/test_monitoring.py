"""What watches over the bot asks for nothing that the bot does not tell."""

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from tests.operator_bench import WATCHES, busy

ROOT = Path(__file__).parents[3]
MONITORING = ROOT / "deploy" / "monitoring"
ALERTS = MONITORING / "alerts.yml"
DASHBOARD = MONITORING / "grafana" / "dashboards" / "salus.json"
RULE_TESTS = ROOT / "tests" / "data" / "monitoring" / "alerts_test.yml"
OPERATION = ROOT / "docs" / "operation.md"

LABELS_OF_PROMETHEUS = {"job", "instance", "le"}

needs_promtool = pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool comes with Debian's package prometheus")


def rules() -> list[dict[str, Any]]:
    return [rule for group in yaml.safe_load(ALERTS.read_text(encoding="utf-8"))["groups"] for rule in group["rules"]]


def panels() -> list[dict[str, Any]]:
    return list(json.loads(DASHBOARD.read_text(encoding="utf-8"))["panels"])


def expressions() -> Iterator[str]:
    yield from (rule["expr"] for rule in rules())
    yield from (target["expr"] for panel in panels() for target in panel.get("targets", []))


def asked_of(expression: str) -> Iterator[tuple[str, set[str]]]:
    """Each series that an expression names, with the labels that it must have."""
    by = {label for group in re.findall(r"\bby \(([^)]*)\)", expression) for label in re.split(r",\s*", group)}
    for name, matchers in re.findall(r"\b(salus_\w+|process_\w+|up)\b(?:\{([^}]*)\})?", expression):
        yield name, by | set(re.findall(r"(\w+)[=!]~?\"", matchers))


@pytest.fixture
async def told(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[dict[str, str]]]:
    """The series that a bot tells after it has worked for a while: their labels by name."""
    monkeypatch.delenv("SALUS_API_TOKENS", raising=False)
    text = (await busy().get("/metrics", WATCHES)).text
    found: dict[str, list[dict[str, str]]] = {"up": [{}]}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            found.setdefault(sample.name, []).append(sample.labels)
    return found


def test_every_series_that_is_asked_for_is_told(told: dict[str, list[dict[str, str]]]) -> None:
    asked = [request for expression in expressions() for request in asked_of(expression)]
    assert len(asked) > 40
    for name, labels in asked:
        assert name in told, name
        assert labels <= set().union(*told[name]) | LABELS_OF_PROMETHEUS, name


def test_every_series_of_the_bot_is_shown_or_watched(told: dict[str, list[dict[str, str]]]) -> None:
    asked = {re.sub(r"_(bucket|count|sum)$", "", name) for expression in expressions() for name, _ in asked_of(expression)}
    named = {re.sub(r"_(bucket|count|sum)$", "", name) for name in told if name.startswith("salus_")}
    assert named - asked == {"salus_index_published_timestamp_seconds"}


def test_every_alert_says_what_it_means_and_how_bad_it_is() -> None:
    for rule in rules():
        assert rule["annotations"]["summary"].endswith((".", "}"))
        assert rule["labels"]["severity"] in {"critical", "warning"}


def test_the_operators_page_tells_what_to_do_about_every_alert_and_names_every_series(
    told: dict[str, list[dict[str, str]]],
) -> None:
    page = OPERATION.read_text(encoding="utf-8")
    assert {rule["alert"] for rule in rules()} == set(re.findall(r"\bSalus[A-Z]\w+", page))
    families = {re.sub(r"_(bucket|count|sum)$", "", name) for name in told if name.startswith("salus_")}
    assert families == set(re.findall(r"`(salus_\w+)`", page))


def test_every_panel_has_a_place_and_a_number_of_its_own() -> None:
    numbers = [panel["id"] for panel in panels()]
    assert len(numbers) == len(set(numbers))
    taken: set[tuple[int, int]] = set()
    for panel in panels():
        at = panel["gridPos"]
        area = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        assert at["x"] + at["w"] <= 24
        assert not taken & area, panel["title"]
        taken |= area


def test_the_dashboard_reads_from_the_source_that_is_provisioned() -> None:
    provisioned = yaml.safe_load((MONITORING / "grafana/provisioning/datasources/prometheus.yml").read_text(encoding="utf-8"))
    uids = {panel["datasource"]["uid"] for panel in panels() if "datasource" in panel}
    assert uids == {source["uid"] for source in provisioned["datasources"]}


def test_prometheus_reads_the_alerts_and_shows_a_token_from_a_file() -> None:
    config = yaml.safe_load((MONITORING / "prometheus.yml").read_text(encoding="utf-8"))
    assert [MONITORING / name for name in config["rule_files"]] == [ALERTS]
    (job,) = config["scrape_configs"]
    assert set(job["authorization"]) == {"type", "credentials_file"}


@needs_promtool
def test_promtool_finds_no_fault() -> None:
    for command in (["check", "config", "--syntax-only", "prometheus.yml"], ["check", "rules", "alerts.yml"]):
        checked = subprocess.run(["promtool", *command], cwd=MONITORING, capture_output=True, text=True, check=False)
        assert checked.returncode == 0, checked.stderr


@needs_promtool
def test_the_alerts_are_raised_by_trouble_and_by_nothing_else() -> None:
    tested = subprocess.run(["promtool", "test", "rules", RULE_TESTS], capture_output=True, text=True, check=False)
    assert tested.returncode == 0, tested.stdout + tested.stderr


@needs_promtool
def test_promtool_can_read_every_expression_of_the_dashboard(tmp_path: Path) -> None:
    recorded = [{"record": f"panel:{number}", "expr": expression} for number, expression in enumerate(expressions())]
    file = tmp_path / "panels.yml"
    file.write_text(yaml.safe_dump({"groups": [{"name": "panels", "rules": recorded}]}), encoding="utf-8")
    checked = subprocess.run(["promtool", "check", "rules", file], capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stderr


@needs_promtool
async def test_promtool_finds_no_fault_with_what_the_bot_tells(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SALUS_API_TOKENS", raising=False)
    text = (await busy().get("/metrics", WATCHES)).text
    checked = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True, check=False)  # noqa: ASYNC221
    assert checked.returncode == 0, checked.stdout + checked.stderr
