"""Keeps what patients write out of files that others make of this process's memory."""

import contextlib
import ctypes
import resource
import sys

_PR_SET_DUMPABLE = 4  # of linux/prctl.h


def keep_memory_private() -> None:
    """Let no core dump be written of this process or its children, nor its memory be read by another of the same user.

    The limit alone would not do: it is not heeded where the system hands dumps to a program. A process that is not dumpable has
    none made at all, and no other one of the same user can attach to it. Where a system knows neither, nothing happens.
    """
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.platform == "linux":
        with contextlib.suppress(AttributeError, OSError):
            ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
