"""Asks a vulnerability service about every locked package; says what it could not ask, and fails only on a finding.

Run by `make audit` with pip-audit beside its Python; standard library only.
"""

# ruff: noqa: T201  # its output is what the person at the terminal sees
from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

LOCK = Path(__file__).resolve().parent.parent / "requirements.lock"
SERVICES = ("pypi", "osv")
_LIMIT_S = 600


def ask(service: str) -> dict[str, Any] | None:
    """What a service says of the locked packages; None if it cannot be reached."""
    command = [sys.executable, "-m", "pip_audit", "--vulnerability-service", service, "--requirement", str(LOCK)]
    command += ["--no-deps", "--disable-pip", "--format", "json", "--progress-spinner", "off"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_LIMIT_S)
        report = json.loads(done.stdout)
    except (ValueError, subprocess.TimeoutExpired):
        return None
    return report if isinstance(report, dict) else None


def findings(report: dict[str, Any]) -> list[str]:
    """The known vulnerabilities, a line each."""
    return [
        f"{package['name']} {package.get('version')}: {flaw['id']}, mended in {', '.join(flaw['fix_versions']) or 'none'}"
        for package in report["dependencies"]
        for flaw in package.get("vulns", ())
    ]


def unknown(report: dict[str, Any]) -> list[str]:
    """The packages of which the service told nothing."""
    return [package["name"] for package in report["dependencies"] if "skip_reason" in package]


def summary(report: dict[str, Any] | None) -> tuple[str, int]:
    """What to print, and the exit status."""
    if report is None or len(unknown(report)) == len(report["dependencies"]):
        return "NOT AUDITED: no vulnerability service can be reached from here. Run it where one can.", 0
    found, silent = findings(report), unknown(report)
    lines = [*found]
    if silent:
        lines.append(f"not audited, {len(silent)} packages that the service does not know: {', '.join(silent)}")
    lines.append(f"{len(report['dependencies']) - len(silent)} packages audited, {len(found)} known vulnerabilities")
    return "\n".join(lines), 1 if found else 0


def main() -> int:
    """Ask one service after the other until one knows the packages; returns the exit status."""
    report: dict[str, Any] | None = None
    for service in SERVICES:
        report = ask(service)
        if report is not None and len(unknown(report)) < len(report["dependencies"]):
            break
    text, status = summary(report)
    print(text)
    return status


if __name__ == "__main__":
    sys.exit(main())
