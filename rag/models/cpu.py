"""How many cores inference may use on this machine."""

import os
from pathlib import Path

_CPUINFO = Path("/proc/cpuinfo")
_QUOTA = Path("/sys/fs/cgroup/cpu.max")


def usable_cores() -> int:
    """Physical cores that this process may use, at least 1.

    Hyper-threads share their core's arithmetic units and only slow matrix products down; threads beyond a container's CPU
    quota are paused in turns, which stalls all of them at each barrier.
    """
    cores = _physical_cores() or os.cpu_count() or 1
    quota = _container_quota()
    return max(1, min(cores, quota) if quota else cores)


def _physical_cores() -> int:
    if not _CPUINFO.exists() or not hasattr(os, "sched_getaffinity"):
        return 0
    allowed = os.sched_getaffinity(0)
    cores: set[tuple[str, str]] = set()
    for block in _CPUINFO.read_text(encoding="ascii", errors="replace").split("\n\n"):
        facts = {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in block.splitlines())}
        number = facts.get("processor", "")
        if number.isdigit() and int(number) in allowed:
            cores.add((facts.get("physical id", "0"), facts.get("core id", number)))
    return len(cores)


def _container_quota() -> int:
    try:
        quota, period = _QUOTA.read_text(encoding="ascii").split()
        return 0 if quota == "max" else max(1, round(int(quota) / int(period)))
    except (OSError, ValueError):
        return 0
