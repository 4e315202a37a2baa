"""The units of systemd keep patients' words off the disk, and give the bot the time that it needs to stop."""

from pathlib import Path

import pytest

from bot.settings import Settings

FOLDER = Path(__file__).parents[3] / "deploy" / "systemd"
UNITS = sorted(FOLDER.glob("*.service"))

every_unit = pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.stem)


def lines(unit: Path) -> set[str]:
    return {line.strip() for line in unit.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")}


@every_unit
@pytest.mark.parametrize(
    "line",
    [
        *("MemorySwapMax=0", "LimitCORE=0"),
        *("NoNewPrivileges=yes", "CapabilityBoundingSet=", "ProtectSystem=strict", "ProtectHome=yes", "PrivateTmp=yes"),
        *("MemoryDenyWriteExecute=yes", "SystemCallFilter=@system-service", "RestrictNamespaces=yes", "UMask=0077"),
        *("StateDirectory=salus", "StateDirectoryMode=0700", "User=salus"),
    ],
)
def test_a_unit_is_confined(unit: Path, line: str) -> None:
    assert line in lines(unit)


def test_secrets_come_as_credentials_and_to_the_bot_alone() -> None:
    with_secrets = [unit.name for unit in UNITS if any(line.startswith("LoadCredential=") for line in lines(unit))]
    assert with_secrets == ["salus.service"]
    assert "Environment=SALUS_HOME=/var/lib/salus SALUS_SECRETS_DIR=%d" in lines(FOLDER / "salus.service")


def test_names_of_credentials_are_names_of_settings() -> None:
    # systemd names each file of the folder "salus_" and its own name, and that is what the folder of secrets may hold.
    assert "LoadCredential=salus:/etc/salus/secrets" in lines(FOLDER / "salus.service")


def test_the_bot_has_longer_to_stop_than_it_takes() -> None:
    stop = next(line for line in lines(FOLDER / "salus.service") if line.startswith("TimeoutStopSec="))
    assert float(stop.partition("=")[2]) > Settings.model_fields["shutdown_grace_s"].default + 30


def test_a_run_that_is_out_of_memory_does_not_take_the_bot_with_it() -> None:
    assert "OOMPolicy=continue" in lines(FOLDER / "salus.service")
