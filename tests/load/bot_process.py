"""A whole bot in a process of its own: settings by environment, its log read as it is written, its memory read from /proc."""

import asyncio
import contextlib
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from bot.settings import Settings
from tests.doubles import BotApiDouble, TwilioDouble
from tests.doubles.twilio_api import ACCOUNT_SID, AUTH_TOKEN, SENDER

PUBLIC = "https://bot.esempio.it"
SECRET = "a-secret-of-the-webhook"
REAL_MODEL = "qwen2.5-coder-0.5b"

Event = dict[str, Any]


class BotProcess:
    """A running bot; made by `running_bot`."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.events: list[Event] = []
        self.other_lines: list[str] = []
        self._process = process
        self._changed = asyncio.Condition()
        self._reading = asyncio.create_task(self._read_log())

    @property
    def url(self) -> str:
        """Where its web server listens."""
        return f"http://127.0.0.1:{self.of('listening')[-1]['port']}"

    @property
    def is_running(self) -> bool:
        return self._process.returncode is None

    def of(self, *names: str) -> list[Event]:
        """The events logged so far under one of these names."""
        return [event for event in self.events if event.get("event") in names]

    async def until(self, condition: Callable[[], bool], within_s: float) -> None:
        """Wait until the log makes `condition` true.

        Raises:
            RuntimeError: If the process ended first.
            TimeoutError: If it took too long.
        """
        async with asyncio.timeout(within_s), self._changed:
            await self._changed.wait_for(lambda: condition() or self._reading.done())
        if not condition():
            raise RuntimeError("The bot ended: " + " | ".join(self.other_lines[-3:] or map(str, self.events[-3:])))

    def memory_bytes(self, name: str = "VmRSS") -> int:
        """Resident memory now, or the most so far (`VmHWM`), or its share that no file stands behind (`RssAnon`)."""
        for line in Path(f"/proc/{self._process.pid}/status").read_text().splitlines():
            if line.startswith(f"{name}:"):
                return int(line.split()[1]) * 1024
        raise RuntimeError("The bot has ended.")

    async def end(self, sign: signal.Signals, within_s: float = 40.0) -> int:
        """Send a signal and wait for the end; gives the exit status, negative for a signal that killed it."""
        self._process.send_signal(sign)
        async with asyncio.timeout(within_s):
            status = await self._process.wait()
            await self._reading
        return status

    async def close(self) -> None:
        """Make sure that it has ended."""
        if self.is_running:
            with contextlib.suppress(TimeoutError):
                await self.end(signal.SIGTERM)
        if self.is_running:
            await self.end(signal.SIGKILL)
        await self._reading

    async def _read_log(self) -> None:
        assert self._process.stderr is not None
        async for line in self._process.stderr:
            try:
                self.events.append(json.loads(line))
            except ValueError:
                self.other_lines.append(line.decode(errors="replace").strip())
            await self._notify()
        await self._notify()

    async def _notify(self) -> None:
        async with self._changed:
            self._changed.notify_all()


@asynccontextmanager
async def running_bot(
    home: Path,
    telegram: BotApiDouble,
    twilio: TwilioDouble | None = None,
    *,
    stub_delay_s: float | None = None,
    hashes: bool = False,
    settings: Mapping[str, object] | None = None,
) -> AsyncIterator[BotProcess]:
    """A bot between two doubles, for as long as the block lasts.

    Args:
        home: Its `SALUS_HOME`, with an index in it.
        telegram: Stands for Telegram.
        twilio: Stands for Twilio; None leaves WhatsApp out.
        stub_delay_s: Seconds that a completion of the scripted generator takes; None runs `salus serve` with the small real one.
        hashes: Embed with hashes of words, as the index of `home` must have been.
        settings: Further settings by name; those that this version does not know are left out.
    """
    values: dict[str, object] = {
        "home": home,
        "port": 0,
        "public_base_url": PUBLIC,
        "telegram_token": telegram.token,
        "telegram_mode": "webhook",
        "telegram_webhook_secret": SECRET,
        "telegram_api_base_url": telegram.base_url,
        "hash_key": "a key for hashes, long enough",
        "nightly": False,
        "generator": REAL_MODEL,
    }
    if twilio is not None:
        values |= {"twilio_account_sid": ACCOUNT_SID, "twilio_auth_token": AUTH_TOKEN, "whatsapp_from": SENDER}
        values["twilio_api_base_url"] = twilio.url
    bot = BotProcess(
        await _spawn(_environment(values | dict(settings or {}), stub_delay_s, hashes=hashes), is_stub=stub_delay_s is not None)
    )
    try:
        await bot.until(lambda: bool(bot.of("started")), within_s=180)
        yield bot
    finally:
        await bot.close()


async def _spawn(environment: dict[str, str], *, is_stub: bool) -> asyncio.subprocess.Process:
    command = ["tests.load.stub_bot"] if is_stub else ["bot.cli", "serve"]
    return await asyncio.create_subprocess_exec(
        sys.executable, "-m", *command, env=environment, stderr=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.DEVNULL
    )


def _environment(settings: dict[str, object], stub_delay_s: float | None, *, hashes: bool) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("SALUS_")}
    known = {f"SALUS_{name.upper()}": str(value) for name, value in settings.items() if name in Settings.model_fields}
    stub = {"STUB_DELAY_S": str(stub_delay_s)} if stub_delay_s is not None else {}
    return kept | known | stub | ({"STUB_HASHES": "1"} if hashes else {})
