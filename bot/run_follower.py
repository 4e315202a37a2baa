"""Shows an administrator how the run goes that they asked for: in one message that changes, where the messenger can."""

import asyncio
import sqlite3
import time
from collections.abc import Awaitable, Callable

from bot.ingestion_view import IngestionView, StartsRuns
from bot.run_texts import RunTexts
from bot.telemetry import Telemetry
from channels.base import Channel
from channels.errors import DeliveryFailed, MessageGone, RecipientGone, TryLater
from channels.messages import OutboundMessage, Patient
from ingest.errors import IngestError
from ingest.ledger import RunRow, RunStatus
from ingest.report import RunProgress
from locales.language import Language

LOOK_EVERY_S = 2.0
_EDIT_EVERY_S = 3.0  # Telegram takes about twenty messages a minute in a chat, edits included
_LAST_TRIES = 5
_MOST_LOOKED_AT = 20  # runs among which the awaited one is looked for
_LOOKS_AFTER_THE_END = 2  # the process may be gone a moment before its last word can be read
_LEAST_MEASURED_S = 10.0

Clock = Callable[[], float]
Sleep = Callable[[float], Awaitable[object]]

UNUSABLE = (IngestError, sqlite3.Error, OSError)
"""What a look at the ledger may raise."""


class RunFollower:
    """Follows runs, each for the administrator who asked for it.

    Args:
        view: Where a run's progress is read.
        runner: Tells whether the run's process is still there.
        texts: What is shown.
        telemetry: Told what could not be shown.
        clock: Seconds that only grow.
        sleep: Waits.
    """

    def __init__(
        self,
        view: IngestionView,
        runner: StartsRuns,
        texts: RunTexts,
        telemetry: Telemetry,
        *,
        clock: Clock = time.monotonic,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self._view = view
        self._runner = runner
        self._texts = texts
        self._telemetry = telemetry
        self._clock = clock
        self._sleep = sleep

    async def follow(self, channel: Channel, to: Patient, handle: str | None, language: Language, *, after: int) -> None:
        """Keep the message behind `handle` up to date until the run has ended, then say how.

        Args:
            channel: The administrator's messenger.
            to: The administrator.
            handle: The message that changes; without one, only the end is told.
            language: What the administrator reads.
            after: The number of the latest run before this one began.
        """
        message = ChangingMessage(channel, to, handle, self._telemetry, clock=self._clock, sleep=self._sleep)
        try:
            await message.finish(await self._until_end(message, language, after))
        except RecipientGone:
            self._telemetry.event("recipient_gone", platform=to.platform.value)
        except Exception as error:  # noqa: BLE001 - the run goes on, whether it can be shown or not
            self._telemetry.failure("progress_failed", error, platform=to.platform.value)

    async def _until_end(self, message: "ChangingMessage", language: Language, after: int) -> OutboundMessage:
        pace, run, looks_left = _Pace(self._clock), None, _LOOKS_AFTER_THE_END
        while True:
            await self._sleep(LOOK_EVERY_S)
            gone = not self._runner.is_running
            run = await self._look(after, run)
            if run is not None and run.status is not RunStatus.RUNNING:
                return self._texts.summary(language, run)
            if gone:
                looks_left -= 1
                if not looks_left:
                    return self._texts.lost(language, begun=run is not None)
            elif run is not None:
                await message.show(self._texts.progress(language, run, pace.eta_s(run.progress)))

    async def _look(self, after: int, known: RunRow | None) -> RunRow | None:
        """The awaited run as it is now: the first that an administrator began after `after`."""
        try:
            runs = await self._view.runs(_MOST_LOOKED_AT)
        except UNUSABLE as error:
            self._telemetry.failure("ledger_unusable", error)
            return known
        if known is not None:
            return next((run for run in runs if run.run_id == known.run_id), known)
        return next((run for run in reversed(runs) if run.run_id > after and run.trigger == "admin"), None)


class ChangingMessage:
    """A message that is changed as often as the messenger allows, and never sent a second time while it is there."""

    def __init__(
        self, channel: Channel, to: Patient, handle: str | None, telemetry: Telemetry, *, clock: Clock, sleep: Sleep
    ) -> None:
        self._channel = channel
        self._to = to
        self._handle = handle
        self._telemetry = telemetry
        self._clock = clock
        self._sleep = sleep
        self._shown: OutboundMessage | None = None
        self._not_before = clock() + _EDIT_EVERY_S

    async def show(self, message: OutboundMessage) -> None:
        """Show this instead, if anything changed and it is time; one that fails is left for the next to come."""
        if self._handle is not None and message != self._shown and self._clock() >= self._not_before:
            await self._change(message)

    async def finish(self, message: OutboundMessage) -> None:
        """Show the last text. It is sent as a new message only where there is none to change (any more)."""
        tries = 0
        while self._handle is not None:
            await self._sleep(max(0.0, self._not_before - self._clock()))
            if await self._change(message):
                return
            tries += 1
            if tries == _LAST_TRIES and self._handle is not None:
                self._telemetry.warning("last_progress_not_shown", platform=self._to.platform.value)
                return
        await self._channel.send(self._to, message)

    async def _change(self, message: OutboundMessage) -> bool:
        assert self._handle is not None  # noqa: S101 - a caller's mistake
        self._not_before = self._clock() + _EDIT_EVERY_S
        try:
            await self._channel.edit(self._to, self._handle, message)
        except RecipientGone:
            raise
        except MessageGone:
            self._handle = None
        except TryLater as wait:
            self._not_before = self._clock() + max(wait.wait_s, _EDIT_EVERY_S)
        except DeliveryFailed as error:
            self._telemetry.failure("progress_not_shown", error, platform=self._to.platform.value)
        else:
            self._shown = message
            return True
        return False


class _Pace:
    """How long a step still takes, by how fast it has gone so far."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._step: tuple[str, str] | None = None
        self._begun = (0.0, 0)

    def eta_s(self, progress: RunProgress | None) -> float | None:
        """Seconds until the step is done; None where that cannot be told yet."""
        if progress is None:
            return None
        now = self._clock()
        if (progress.source, progress.step) != self._step or progress.done < self._begun[1]:
            self._step, self._begun = (progress.source, progress.step), (now, progress.done)
        elapsed, gained = now - self._begun[0], progress.done - self._begun[1]
        if elapsed < _LEAST_MEASURED_S or gained <= 0 or progress.total <= progress.done:
            return None
        return (progress.total - progress.done) * elapsed / gained
