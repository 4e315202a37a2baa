"""A run takes what patients leave: the lowest priority for processor and disk that the system knows."""

import contextlib
import ctypes
import os
import platform
import sys

# Linux only; the C library has no name for the call. Numbers: the kernel's tables of system calls.
_IOPRIO_SET = {"x86_64": 251, "aarch64": 30, "riscv64": 30}
_IOPRIO_WHO_PROCESS = 1  # one thread, in truth
_IDLE_CLASS = 3 << 13
_LOWEST_NICE = 19


def lower_priority() -> None:
    """Lower this process, its threads and whatever it starts from now on; where the system refuses, all goes on as before."""
    for thread in _threads():
        if not _idle_processor(thread):
            with contextlib.suppress(OSError, AttributeError):
                os.setpriority(os.PRIO_PROCESS, thread, _LOWEST_NICE)
        _idle_disk(thread)


def _threads() -> list[int]:
    """The threads of this process; 0, which is the calling one or the whole process, where they cannot be listed."""
    try:
        return [int(name) for name in os.listdir("/proc/self/task")]
    except (OSError, ValueError):
        return [0]


def _idle_processor(thread: int) -> bool:
    if sys.platform != "linux":
        return False
    try:
        os.sched_setscheduler(thread, os.SCHED_IDLE, os.sched_param(0))
    except (OSError, AttributeError):
        return False
    return True


def _idle_disk(thread: int) -> None:
    number = _IOPRIO_SET.get(platform.machine()) if sys.platform == "linux" else None
    if number is not None:
        with contextlib.suppress(OSError, AttributeError, ctypes.ArgumentError):
            ctypes.CDLL(None).syscall(number, _IOPRIO_WHO_PROCESS, thread, _IDLE_CLASS)
