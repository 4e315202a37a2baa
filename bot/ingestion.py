"""Ingestion as a process of its own: the bot starts it, hears how it ended, and can ask it to stop.

Should the bot itself be killed, a run that is under way goes on to its end: it holds the run lock, publishes in one step, and
writes to nobody but the ledger and the index.
"""

import asyncio
import contextlib
import fcntl
import json
import os
import signal
import sqlite3
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from bot.errors import AlreadyRunning, RunNotStarted
from bot.settings import PREFIX, Settings
from bot.telemetry import Telemetry
from ingest.errors import LedgerUnusable
from ingest.ledger import Ledger

Report = Mapping[str, Any]
"""What `RunReport.as_dict` gives, read back from JSON."""

OnEnd = Callable[[int, Report | None], Awaitable[None]]

COMMAND = (sys.executable, "-m", "bot.cli")
NOT_FOR_INGESTION = frozenset(
    {"telegram_token", "telegram_webhook_secret", "twilio_account_sid", "twilio_auth_token", "whatsapp_from"}
    | {"api_tokens", "cms_secret", "hash_key", "admin_ids"}
)
"""Settings that a run has no use for. They are kept out of its environment; a file named by SALUS_CONFIG is not changed."""

_REFUSED = 2  # how the command line ends when nothing was begun
_MOST_OUTPUT = 1_000_000  # bytes, of a report and of error messages each
_LOOK_S = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """A run whose process has begun."""

    pid: int
    trigger: str


class IngestionRunner:
    """Starts `salus ingest`, one at a time.

    A run is a session of its own, so that Ctrl-C in the terminal reaches the bot first. Its standard output and error are unnamed
    files: it neither waits for a reader nor fails when the bot, their only reader, is gone.

    Args:
        settings: Whose home is read and written; all else reaches the run through the environment.
        telemetry: Notes the beginning and the end of runs.
        on_end: Awaited when a run has ended, with its exit status (negative for a signal) and its report, if it gave one.
        command: Stands in for the command line; arguments are added to it.
        cancel_grace_s: Seconds that a run has to stop when it is cancelled.
        stop_grace_s: Seconds that a run has to end when the bot stops.
    """

    def __init__(
        self,
        settings: Settings,
        telemetry: Telemetry | None = None,
        *,
        on_end: OnEnd | None = None,
        command: Sequence[str] = COMMAND,
        cancel_grace_s: float = 60.0,
        stop_grace_s: float = 5.0,
    ) -> None:
        self.on_end = on_end
        self._home = settings.home
        self._telemetry = telemetry or Telemetry()
        self._command = tuple(command)
        self._cancel_grace_s = cancel_grace_s
        self._stop_grace_s = stop_grace_s
        self._starting = asyncio.Lock()
        self._is_stopped = False
        self._child: asyncio.subprocess.Process | None = None
        self._watching: asyncio.Task[None] | None = None
        self._ending: asyncio.Task[None] | None = None
        self._was_refused = False

    @property
    def is_running(self) -> bool:
        """True while a run that this process started has not ended, and until `on_end` knows."""
        return self._starting.locked() or (self._watching is not None and not self._watching.done())

    @property
    def was_refused(self) -> bool:
        """True when the latest run ended at once because another process had begun one meanwhile."""
        return self._was_refused

    async def start(self, *, source_id: str | None = None, full: bool = False, trigger: str) -> Started:
        """Begin a run and return while it goes on.

        Args:
            source_id: The only source to read, if given.
            full: Embed and publish everything again.
            trigger: Who wants it: "schedule", "admin" or "api".

        Raises:
            AlreadyRunning: If a run is going on. One that another process is only just beginning is noticed by the run itself:
                it ends at once, and `was_refused` says so.
            RunNotStarted: If the system starts no process.
        """
        if self.is_running:
            raise AlreadyRunning("A run is going on.")
        async with self._starting:
            if self._is_stopped:
                raise RunNotStarted("The bot is stopping.")
            if await asyncio.to_thread(is_locked, self._home / "ingest.lock"):
                raise AlreadyRunning("Another process runs ingestion.")
            arguments = ["ingest", "--background", "--trigger", trigger, "--json"]
            arguments += [f"--source={source_id}"] if source_id is not None else []
            arguments += ["--full"] if full else []
            child = await self._launch(arguments)
        self._telemetry.event("ingestion_started", outcome=trigger)
        return Started(pid=child.pid, trigger=trigger)

    async def wait(self) -> None:
        """Return when no run of this process is going on; cancelling this leaves the run alone."""
        if self._watching is not None:
            await asyncio.wait({self._watching})

    async def cancel(self) -> bool:
        """Ask the run that is going on to stop, whoever started it; ours is ended if it does not in time.

        Returns:
            Whether there was one to ask.
        """
        async with self._starting:
            child = self._child
        if child is None:
            # The ledger alone would not do: a run that was killed still stands in it as running.
            return await asyncio.to_thread(is_locked, self._home / "ingest.lock") and await self._ask_to_stop()
        is_asked = await self._ask_to_stop()
        if self._ending is None or self._ending.done():
            # A run that has not got as far as the ledger hears nothing from it.
            self._ending = asyncio.create_task(self._end(child, after_s=self._cancel_grace_s if is_asked else 0.0))
        return True

    async def stop(self) -> None:
        """End the run of this process, if there is one, and begin no other; the next continues where it stopped."""
        async with self._starting:
            self._is_stopped = True
        if self._ending is not None:
            self._ending.cancel()
        if self._child is not None:
            await self._end(self._child, after_s=0.0)
        if self._watching is not None:
            await asyncio.wait({self._watching}, timeout=self._stop_grace_s)
            self._watching.cancel()  # whoever is told of the end may be waiting for a network

    async def _launch(self, arguments: Sequence[str]) -> asyncio.subprocess.Process:
        with contextlib.ExitStack() as files:
            try:
                out, err = (files.enter_context(_unnamed_file()) for _ in range(2))
                child = await launch(self._command, arguments, self._home, out=out, err=err)
            except OSError as error:
                self._telemetry.failure("ingestion_not_started", error)
                raise RunNotStarted(f"Ingestion could not be started: {error.strerror}.") from error
            self._child = child
            self._watching = asyncio.create_task(self._watch(child, out, err, files.pop_all()))
        return child

    async def _watch(
        self, child: asyncio.subprocess.Process, out: IO[bytes], err: IO[bytes], files: contextlib.ExitStack
    ) -> None:
        begun = time.monotonic()
        with files:
            while True:
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(child.wait(), _LOOK_S)
                    break
                _cap(out)
                _cap(err)
            report, complaint = _report(out), _tail(err)
        status = child.returncode or 0
        self._child = None
        self._was_refused = status == _REFUSED and "already running" in complaint
        outcome = "refused" if self._was_refused else str(report.get("status")) if report else "no_report"
        self._telemetry.event("ingestion_ended", count=status, outcome=outcome, duration_s=round(time.monotonic() - begun, 1))
        if self.on_end is not None:
            try:
                await self.on_end(status, report)
            except Exception as error:  # noqa: BLE001 - the run is over all the same
                self._telemetry.failure("ingestion_end_not_told", error)

    async def _ask_to_stop(self) -> bool:
        from ingest.run import ledger_path  # brings all that a run needs

        try:
            async with Ledger.open(ledger_path(self._home)) as ledger:
                return await ledger.request_cancel()
        except (LedgerUnusable, sqlite3.Error) as error:
            self._telemetry.failure("ingestion_not_cancelled", error)
            return False

    async def _end(self, child: asyncio.subprocess.Process, *, after_s: float) -> None:
        await end(child, after_s=after_s, grace_s=self._stop_grace_s)


async def launch(
    command: Sequence[str], arguments: Sequence[str], home: Path, *, out: int | IO[bytes], err: int | IO[bytes]
) -> asyncio.subprocess.Process:
    """Start the command line as a session of its own, with the settings of this process but no secret that it does not need.

    Raises:
        OSError: If the system starts no process.
    """
    withheld = {f"{PREFIX}{name}".upper() for name in NOT_FOR_INGESTION}
    kept = {name: value for name, value in os.environ.items() if name.upper() not in withheld | {f"{PREFIX}HOME"}}
    return await asyncio.create_subprocess_exec(
        *command,
        *arguments,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=out,
        stderr=err,
        env=kept | {f"{PREFIX}HOME": str(home)},
        start_new_session=True,
    )


async def end(child: asyncio.subprocess.Process, *, after_s: float, grace_s: float) -> None:
    """Wait, then ask a process to end, then kill it, with all that it started."""
    for number, patience_s in ((None, after_s), (signal.SIGTERM, grace_s), (signal.SIGKILL, grace_s)):
        if child.returncode is not None:
            return
        if number is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, number)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(child.wait(), patience_s)


def is_locked(path: Path) -> bool:
    """Whether a run holds the lock. It is looked at with a shared lock, which two lookers may have at once."""
    try:
        with path.open() as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:  # no run has ever made the file; whatever else is wrong with it, the run will say
        return False
    return False


def _unnamed_file() -> IO[bytes]:
    """A file that is gone when the last process closes it. All writing is at its end, wherever the reader stands."""
    file = tempfile.TemporaryFile("wb+")  # noqa: SIM115 - the caller closes it
    fcntl.fcntl(file, fcntl.F_SETFL, fcntl.fcntl(file, fcntl.F_GETFL) | os.O_APPEND)
    return file


def _cap(file: IO[bytes]) -> None:
    """Empty a file that a run fills without end."""
    if os.fstat(file.fileno()).st_size > _MOST_OUTPUT:
        os.ftruncate(file.fileno(), 0)


def _report(file: IO[bytes]) -> Report | None:
    file.seek(0)
    try:
        report = json.loads(file.read(_MOST_OUTPUT))
    except ValueError:
        return None
    return report if isinstance(report, dict) else None


def _tail(file: IO[bytes]) -> str:
    file.seek(max(0, os.fstat(file.fileno()).st_size - 4096))
    return file.read().decode(errors="replace")
