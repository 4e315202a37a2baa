import os
import subprocess
import sys

import pytest

LOWERED = """
import os, threading
from ingest import priority
{before}
waiting = threading.Event()
threading.Thread(target=waiting.wait, daemon=True).start()
priority.lower_priority()
threads = [int(entry.name) for entry in os.scandir("/proc/self/task")] if os.path.isdir("/proc/self/task") else [0]
{print}
"""
REFUSED = """
def refuse(*_): raise PermissionError(1, "no")
os.sched_setscheduler = refuse
"""


def lowered(shown: str, before: str = "") -> str:
    script = LOWERED.format(before=before, print=shown)
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=20).stdout.strip()


@pytest.mark.skipif(not hasattr(os, "SCHED_IDLE"), reason="a policy of Linux")
def test_all_threads_run_only_when_nobody_else_wants_the_processor() -> None:
    assert lowered("print({os.sched_getscheduler(thread) for thread in threads} == {os.SCHED_IDLE}, len(threads))") == "True 2"


def test_where_that_is_refused_the_run_is_as_nice_as_can_be() -> None:
    assert lowered("print({os.getpriority(os.PRIO_PROCESS, thread) for thread in threads})", REFUSED) == "{19}"


def test_nothing_is_raised_where_nothing_can_be_lowered() -> None:
    assert lowered("print('went on')", REFUSED + "os.setpriority = refuse\nos.listdir = refuse") == "went on"
