"""The services fulfil the Compose Specification, and none of them can leak what patients write to a disk."""

import json
import re
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from bot.settings import Settings

DEPLOY = Path(__file__).parents[3] / "deploy"
COMPOSE: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
BYTES = {"m": 1 << 20, "g": 1 << 30}

every_service = pytest.mark.parametrize("name", SERVICES)


def sources() -> set[str]:
    """Files and folders beside compose.yaml that it mounts."""
    mounts = [mount.split(":")[0] for service in SERVICES.values() for mount in service.get("volumes", ())]
    return {mount for mount in mounts if mount.startswith(".")} | {secret["file"] for secret in COMPOSE["secrets"].values()}


def test_it_fulfils_the_compose_specification() -> None:
    schema = files("check_jsonschema.builtin_schemas.vendor") / "compose-spec.json"
    jsonschema.validate(COMPOSE, json.loads(schema.read_text(encoding="utf-8")))


@every_service
def test_a_service_is_confined(name: str) -> None:
    service = SERVICES[name]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert "privileged" not in service
    assert service.get("cap_add", []) == (["NET_BIND_SERVICE"] if name == "caddy" else [])


@every_service
def test_a_service_neither_swaps_nor_dumps_its_memory(name: str) -> None:
    service = SERVICES[name]
    assert service["ulimits"] == {"core": 0}
    assert service["mem_limit"] == service["memswap_limit"]


@every_service
def test_a_service_cannot_fill_the_disk_with_its_log_nor_the_machine_with_processes(name: str) -> None:
    assert set(SERVICES[name]["logging"]["options"]) == {"max-size", "max-file"}
    assert SERVICES[name]["pids_limit"] <= 512


@every_service
def test_a_published_port_is_this_machines_own_unless_it_is_the_proxys(name: str) -> None:
    for port in SERVICES[name].get("ports", ()):
        assert name == "caddy" or port.startswith("127.0.0.1:")


@every_service
def test_no_secret_stands_in_a_variable(name: str) -> None:
    variables = SERVICES[name].get("environment", {})
    assert not [key for key in variables if re.search(r"TOKEN|SECRET|PASSWORD|KEY", key) and not key.endswith(("_DIR", "__FILE"))]


def test_the_bot_has_longer_to_stop_than_it_takes() -> None:
    grace_s = float(SERVICES["bot"]["stop_grace_period"].removesuffix("s"))
    assert grace_s > Settings.model_fields["shutdown_grace_s"].default + 30


def test_the_run_by_hand_sees_no_secret() -> None:
    assert "SALUS_SECRETS_DIR" not in SERVICES["ingest"]["environment"]
    assert SERVICES["ingest"]["volumes"] == ["data:/data", "./sources:/etc/salus:ro"]


def test_the_bot_and_the_run_by_hand_find_the_operators_sources_in_the_same_place() -> None:
    assert all("./sources:/etc/salus:ro" in SERVICES[name]["volumes"] for name in ("bot", "ingest"))


def test_what_is_mounted_exists_or_is_what_the_operator_makes() -> None:
    made = {"./sources", "./secrets", "./monitoring-secrets/salus_metrics_token", "./monitoring-secrets/grafana_password"}
    assert {source for source in sources() if not (DEPLOY / source).exists()} <= made


def test_prometheus_finds_its_token_where_compose_puts_it() -> None:
    scrape = yaml.safe_load((DEPLOY / "monitoring" / "prometheus.yml").read_text(encoding="utf-8"))["scrape_configs"][0]
    assert scrape["authorization"]["credentials_file"] == f"/run/secrets/{SERVICES['prometheus']['secrets'][0]}"
    assert scrape["static_configs"][0]["targets"] == ["bot:8080"]


def test_grafana_finds_its_dashboards_where_compose_puts_them() -> None:
    provider = yaml.safe_load((DEPLOY / "monitoring/grafana/provisioning/dashboards/salus.yml").read_text(encoding="utf-8"))
    assert f"./monitoring/grafana/dashboards:{provider['providers'][0]['options']['path']}:ro" in SERVICES["grafana"]["volumes"]


def test_nothing_but_prometheus_and_grafana_needs_a_network_that_leads_nowhere() -> None:
    assert COMPOSE["networks"]["watch"] == {"internal": True}
    assert SERVICES["prometheus"]["networks"] == ["watch"]
    assert "watch" in SERVICES["bot"]["networks"]
