"""Nothing of the process's memory is written to disk by the system (H41)."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")

_BEGUN = "from bot.terminal import start; start(quiet=True); "


def run(code: str, tmp_path: Path) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("SALUS_")}
    return subprocess.run(
        [sys.executable, "-c", _BEGUN + code],
        capture_output=True,
        text=True,
        cwd=Path.cwd(),
        env=environment | {"SALUS_HOME": str(tmp_path)},
        check=False,
    )


def test_a_command_allows_no_core_file_h41(tmp_path: Path) -> None:
    shown = run("print(open('/proc/self/limits').read())", tmp_path).stdout
    assert re.search(r"Max core file size +0 +0 ", shown)


def test_its_children_do_not_either_h41(tmp_path: Path) -> None:
    shown = run("import subprocess; print(subprocess.check_output(['cat', '/proc/self/limits'], text=True))", tmp_path).stdout
    assert re.search(r"Max core file size +0 +0 ", shown)


def test_its_memory_is_not_dumpable_h41(tmp_path: Path) -> None:
    assert run("import ctypes; print(ctypes.CDLL(None).prctl(3, 0, 0, 0, 0))", tmp_path).stdout.strip() == "0"


def test_a_crash_leaves_no_file_h41(tmp_path: Path) -> None:
    ended = run(f"import os; os.chdir({str(tmp_path)!r}); os.abort()", tmp_path)
    assert ended.returncode == -signal.SIGABRT
    assert list(tmp_path.iterdir()) == []
