import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest


@pytest.fixture
def audit() -> ModuleType:
    spec = importlib.util.spec_from_file_location("salus_audit", Path(__file__).parents[3] / "deploy" / "audit.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def package(name: str, *flaws: str, **changes: Any) -> dict[str, Any]:
    vulns = [{"id": flaw, "fix_versions": ["2.0"]} for flaw in flaws]
    return {"name": name, "version": "1.0", "vulns": vulns} | changes


SKIPPED = {"name": "a", "skip_reason": "not found"}


@pytest.mark.parametrize("report", [None, {"dependencies": [SKIPPED, SKIPPED]}])
def test_a_service_that_cannot_be_reached_is_said_and_is_no_finding(audit: ModuleType, report: dict[str, Any] | None) -> None:
    text, status = audit.summary(report)
    assert text.startswith("NOT AUDITED")
    assert status == 0


def test_a_known_vulnerability_fails(audit: ModuleType) -> None:
    text, status = audit.summary({"dependencies": [package("lxml", "CVE-1"), package("rich")]})
    assert "lxml 1.0: CVE-1, mended in 2.0" in text
    assert status == 1


def test_packages_without_a_word_are_named_beside_those_that_were_audited(audit: ModuleType) -> None:
    text, status = audit.summary({"dependencies": [SKIPPED, package("rich")]})
    assert "not audited, 1 packages that the service does not know: a" in text
    assert "1 packages audited, 0 known vulnerabilities" in text
    assert status == 0
