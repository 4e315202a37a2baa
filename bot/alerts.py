"""Tells administrators what they would otherwise find out too late: a run that failed, a refusal, nothing read for too long."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime, timedelta
from functools import partial

from bot.admin_texts import AdminTexts
from bot.admins import Admins
from bot.ingestion_view import IngestionView
from bot.run_follower import UNUSABLE
from bot.run_texts import RunTexts, list_of_texts
from bot.telemetry import Telemetry
from channels.base import Channel
from channels.messages import OutboundMessage, Patient, Platform
from ingest.ledger import RunRow, RunStatus
from locales.language import Language

LOOK_EVERY_S = 60.0
_OVERDUE_AFTER = timedelta(hours=36)
_ASK_EVERY = timedelta(hours=1)
_SAY_EVERY = timedelta(days=1)
_MOST_LOOKED_AT = 200
_SEND_LIMIT_S = 120.0
_REFUSALS = ("refused_sources", "failed_sources", "refused_publications")

Write = Callable[[Language], OutboundMessage]


class Alerts:
    """Watches the ledger and writes to all administrators.

    Runs that had ended before the first look are old news. What cannot be delivered is noted and left: an administrator on
    WhatsApp who has not written for a day cannot be reached.

    Args:
        admins: Who is told.
        channels: How they are reached; an administrator of a messenger that is not configured is not.
        view: Where runs are read.
        texts: What is said.
        telemetry: Told what could not be delivered.
        overdue_after: For how long nothing may succeed; None says nothing of it, where no run begins by itself.
        is_on_duty: False while another process of the same home sends the alerts.
        now: The time of day.
        sleep: Waits between two looks.
    """

    def __init__(
        self,
        admins: Admins,
        channels: Mapping[Platform, Channel],
        view: IngestionView,
        texts: AdminTexts,
        telemetry: Telemetry,
        *,
        overdue_after: timedelta | None = _OVERDUE_AFTER,
        is_on_duty: Callable[[], bool] = lambda: True,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        self._admins = admins
        self._channels = channels
        self._view = view
        self._texts = texts
        self._run_texts = RunTexts(texts)
        self._telemetry = telemetry
        self._overdue_after = overdue_after
        self._is_on_duty = is_on_duty
        self._now = now
        self._sleep = sleep
        self._begun = now()
        self._judged: set[int] | None = None
        self._asked_at: datetime | None = None
        self._said_at: dict[str, datetime] = {}

    async def watch(self) -> None:
        """Look again and again, until cancelled."""
        while True:
            await self.look()
            await self._sleep(LOOK_EVERY_S)

    async def look(self) -> None:
        """Look once, and tell what there is to tell; nothing is raised."""
        try:
            runs = await self._view.runs(_MOST_LOOKED_AT)
            await self._judge(runs)
            await self._see_whether_overdue(runs)
        except UNUSABLE as error:
            self._telemetry.failure("ledger_unusable", error)
            await self._say_once_a_day("unusable", lambda language: self._texts.plain(language, "alert.unusable"))
        except Exception as error:  # noqa: BLE001 - the next look may succeed
            self._telemetry.failure("alerts_failed", error)

    async def _judge(self, runs: list[RunRow]) -> None:
        ended = {run.run_id: run for run in runs if run.status is not RunStatus.RUNNING}
        earlier, self._judged = self._judged, set(ended)
        if earlier is None:
            return
        for run_id in sorted(ended.keys() - earlier):
            run = ended[run_id]
            if needs_alert(run):
                await self._tell(partial(self._run_texts.alert, run=run))

    async def _see_whether_overdue(self, runs: list[RunRow]) -> None:
        now = self._now()
        if self._overdue_after is None or (self._asked_at is not None and _ago(self._asked_at, now) < _ASK_EVERY):
            return
        self._asked_at = now
        last = next((run.ended for run in runs if run.is_whole and run.ended is not None and run.status.is_success), None)
        since = last or self._begun
        if now - since < self._overdue_after:
            return
        hours = (now - since).total_seconds() / 3600
        await self._say_once_a_day(
            "overdue", lambda language: self._run_texts.overdue(language, since, hours, ever=last is not None)
        )

    async def _say_once_a_day(self, what: str, write: Write) -> None:
        now = self._now()
        said = self._said_at.get(what)
        if said is None or _ago(said, now) >= _SAY_EVERY:
            self._said_at[what] = now
            await self._tell(write)

    async def _tell(self, write: Write) -> None:
        if self._is_on_duty():
            await asyncio.gather(*(self._send(admin, language, write) for admin, language in self._admins.everyone()))

    async def _send(self, admin: Patient, language: Language | None, write: Write) -> None:
        channel = self._channels.get(admin.platform)
        if channel is None:
            return
        try:
            await asyncio.wait_for(channel.send(admin, _written(write, language)), _SEND_LIMIT_S)
        except Exception as error:  # noqa: BLE001 - the others are told all the same
            self._telemetry.failure("alert_not_delivered", error, platform=admin.platform.value)


def needs_alert(run: RunRow) -> bool:
    """Whether administrators must hear of a run that ended: it failed, was cut off, or something in it was refused."""
    if run.status in {RunStatus.FAILED, RunStatus.INTERRUPTED}:
        return True
    return run.report is not None and any(list_of_texts(run.report.get(key)) for key in _REFUSALS)


def _ago(then: datetime, now: datetime) -> timedelta:
    """How far apart, also after the clock was set back."""
    return abs(now - then)


def _written(write: Write, language: Language | None) -> OutboundMessage:
    """In the reader's language, or in both while it is not known."""
    if language is not None:
        return write(language)
    both = [write(each) for each in Language]
    return OutboundMessage(paragraphs=tuple(paragraph for message in both for paragraph in message.paragraphs), emphasis=True)
