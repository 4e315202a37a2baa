"""What keeps the knowledge current beside the conversations: runs, the nightly schedule, events, administrators, alerts."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from bot.admin import Admin, AdminParts
from bot.admin_texts import AdminTexts
from bot.admins import Admins
from bot.alerts import Alerts
from bot.errors import AlreadyRunning, BotError
from bot.event_runner import EventRunner
from bot.ingestion import IngestionRunner, Report
from bot.ingestion_view import LedgerView
from bot.metrics import Metrics
from bot.settings import Settings
from bot.telemetry import Telemetry
from channels.base import Channel
from channels.messages import Platform
from ingest.errors import IngestError
from ingest.report import RunStatus
from ingest.run import ledger_path
from ingest.schedule import Nightly
from locales.catalog import Catalog

_OVERDUE_AFTER = timedelta(hours=36)
_LOOK_BACK_RUNS = 200
_LAST_WORD_S = 6.0  # the follower's longest pauses between a look and a change, and a second


class Operations:
    """Starts and stops all of it.

    `admin` answers administrators in chat, `runner` starts runs, `view` tells how sources and runs stand, and `events` carries
    out content events.

    Args:
        settings: What the operator decided.
        channels: How administrators are reached.
        catalog: The texts.
        telemetry: Notes runs and their troubles.
        metrics: The counts that administrators may see.
        queue_length: How many questions wait.
        rebuilds: Begin a run at once, whatever the hour: another release wrote the index.
    """

    def __init__(
        self,
        settings: Settings,
        channels: Sequence[Channel],
        catalog: Catalog,
        telemetry: Telemetry,
        metrics: Metrics,
        queue_length: Callable[[], int],
        *,
        rebuilds: bool = False,
    ) -> None:
        by_platform: Mapping[Platform, Channel] = {channel.platform: channel for channel in channels}
        admins, texts = Admins(settings.admin_ids), AdminTexts(catalog, ZoneInfo(settings.nightly_zone))
        self._telemetry = telemetry
        self.view = LedgerView(ledger_path(settings.home), settings.sources)
        self.runner = IngestionRunner(settings, telemetry, on_end=self._look)
        self.events = EventRunner(settings, telemetry)
        self._nightly = nightly = self._schedule(settings) if settings.nightly else None
        self.admin = Admin(
            AdminParts(
                admins=admins,
                channels=by_platform,
                runner=self.runner,
                view=self.view,
                texts=texts,
                metrics=metrics,
                telemetry=telemetry,
                queue_length=queue_length,
                schedule=nightly,
            )
        )
        self._alerts = Alerts(
            admins,
            by_platform,
            self.view,
            texts,
            telemetry,
            overdue_after=_OVERDUE_AFTER if nightly else None,
            is_on_duty=(lambda: nightly.is_leader) if nightly else (lambda: True),
        )
        self._takes_events = settings.cms_secret is not None
        self._rebuilds = rebuilds
        self._watching: asyncio.Task[None] | None = None

    @property
    def schedule(self) -> Nightly | None:
        """When runs begin by themselves; None where nothing runs by night."""
        return self._nightly

    async def start(self) -> None:
        """Begin to keep the schedule, to carry out events, and to watch the runs."""
        if self._nightly is not None:
            await self._nightly.start()
        if self._rebuilds:
            await self._rebuild()
        if self._takes_events:
            self.events.start()
        self._watching = asyncio.create_task(self._alerts.watch())

    async def stop(self) -> None:
        """Stop the schedule, tell a run to end, and let go of everything."""
        if self._watching is not None:
            self._watching.cancel()
            await asyncio.gather(self._watching, return_exceptions=True)
        if self._nightly is not None:
            await self._nightly.stop()
        await asyncio.gather(self.events.stop(), self.runner.stop())
        await self.admin.stop(_LAST_WORD_S)

    def _schedule(self, settings: Settings) -> Nightly:
        return Nightly(
            self._run_nightly,
            home=settings.home,
            at=settings.nightly_at,
            zone=settings.nightly_zone,
            last_started=self._last_started,
            on_missed=lambda _due, is_made_up: self._telemetry.warning(
                "nightly_run_missed", outcome="made_up" if is_made_up else "left_out"
            ),
            on_trouble=lambda error: self._telemetry.failure("nightly_trouble", error),
        )

    async def _run_nightly(self) -> None:
        try:
            await self.runner.start(trigger="schedule")
        except AlreadyRunning:
            self._telemetry.warning("nightly_run_left_out", outcome="already_running")
            return
        await self.runner.wait()

    async def _rebuild(self) -> None:
        """Publish anew what this release cannot read; meanwhile patients hear that there is no content yet."""
        try:
            await self.runner.start(trigger="schedule")
        except AlreadyRunning:
            return  # whoever runs publishes it
        except BotError as error:
            self._telemetry.failure("index_not_rebuilt", error)

    async def _last_started(self) -> datetime | None:
        """When the latest run over all sources began; one that was cut off is made up for."""
        runs = await self.view.runs(_LOOK_BACK_RUNS)
        return next((run.started for run in runs if run.is_whole and run.status is not RunStatus.INTERRUPTED), None)

    async def _look(self, _status: int, _report: Report | None) -> None:
        try:
            await self._alerts.look()
        except (BotError, IngestError) as error:
            self._telemetry.failure("alert_failed", error)
