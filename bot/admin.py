"""What administrators steer from their chat: runs of ingestion and sources; and how the bot stands."""

import asyncio
import secrets
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Protocol

from bot.admin_texts import CONFIRM_PAYLOAD, DISMISS_PAYLOAD, AdminTexts, Standing, is_enabled
from bot.admins import Admins
from bot.commands import split_command
from bot.errors import AlreadyRunning, RunNotStarted
from bot.ingestion_view import IngestionView, StartsRuns
from bot.metrics import Metrics
from bot.run_follower import UNUSABLE, RunFollower
from bot.run_texts import RunTexts
from bot.telemetry import Telemetry
from channels.base import Channel
from channels.errors import DeliveryFailed, RecipientGone
from channels.messages import InboundMessage, MessageKind, OutboundMessage, Patient, Platform
from ingest.errors import SourceUnreadable
from ingest.ledger import RunRow, RunStatus
from locales.language import Language

_CONFIRM_WITHIN_S = 300.0
_FULL = "full"


class Schedule(Protocol):
    """When runs begin by themselves."""

    @property
    def next_run(self) -> datetime | None:
        """When the next is due."""

    @property
    def missed(self) -> datetime | None:
        """When one was due that did not begin in time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AdminParts:
    """What the administrators' side is made of. `schedule` is None where nothing runs by night."""

    admins: Admins
    channels: Mapping[Platform, Channel]
    runner: StartsRuns
    view: IngestionView
    texts: AdminTexts
    metrics: Metrics
    telemetry: Telemetry
    queue_length: Callable[[], int]
    schedule: Schedule | None = None
    follower: RunFollower | None = None  # one of its own unless given
    clock: Callable[[], float] = time.monotonic
    now: Callable[[], datetime] = lambda: datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class _Asked:
    """A full rebuild that waits for its confirmation."""

    token: str
    source_id: str | None
    until: float


@dataclass(frozen=True, slots=True)
class _Reader:
    """The administrator who is being answered."""

    patient: Patient
    language: Language


_Reply = Callable[[_Reader, list[str]], Awaitable[OutboundMessage | None]]


class Admin:
    """Answers administrators' commands, and theirs alone."""

    def __init__(self, parts: AdminParts) -> None:
        self._parts = parts
        self._texts = parts.texts
        self._run_texts = RunTexts(parts.texts)
        self._follower = parts.follower or RunFollower(parts.view, parts.runner, self._run_texts, parts.telemetry)
        self._started = parts.clock()
        self._asked: dict[tuple[Platform, str], _Asked] = {}
        self._following: set[asyncio.Task[None]] = set()
        self._replies: dict[str, _Reply] = {
            "admin": self._help,
            "reindex": self._reindex,
            "cancel": self._cancel,
            "status": self._status,
            "sources": self._sources,
            "stats": self._stats,
        }
        if parts.admins.unreadable:
            parts.telemetry.warning("admin_ids_unreadable", count=parts.admins.unreadable)

    def takes(self, message: InboundMessage) -> bool:
        """Whether `respond` is to answer this. Anybody else's attempt is counted and left to the usual reply."""
        if message.kind is MessageKind.COMMAND:
            is_ours = split_command(message.text)[0] in self._replies
        else:
            is_ours = message.kind is MessageKind.BUTTON and message.text.startswith((CONFIRM_PAYLOAD, DISMISS_PAYLOAD))
        if is_ours and not self._parts.admins.includes(message):
            self._parts.metrics.note_admin_attempt(message.sender.platform)
            return False
        return is_ours

    async def respond(self, message: InboundMessage, known: Language | None) -> None:
        """Do what an administrator says and tell them; a run is followed in the background.

        Args:
            message: One that `takes` is true for.
            known: What the session or the messenger tells of the administrator's language.

        Raises:
            RecipientGone: If the administrator blocked the bot.
            DeliveryFailed: If the messenger refuses the reply for good.
        """
        reader = _Reader(message.sender, self._parts.admins.speak_with(message.sender, known))
        try:
            reply = await self._reply(message, reader)
        except SourceUnreadable as error:
            self._parts.telemetry.failure("sources_unreadable", error)
            reply = self._texts.plain(reader.language, "unusable.sources")
        except UNUSABLE as error:
            self._parts.telemetry.failure("ledger_unusable", error)
            reply = self._texts.plain(reader.language, "unusable.ledger")
        if reply is not None:
            await self._channel(reader).send(reader.patient, reply)

    async def stop(self, grace_s: float = 0.0) -> None:
        """Follow no run any more; the runs themselves go on or end with their runner.

        Args:
            grace_s: Seconds to tell how the runs ended that have.
        """
        if self._following and grace_s:
            await asyncio.wait(self._following, timeout=grace_s)
        for task in self._following:
            task.cancel()
        await asyncio.gather(*self._following, return_exceptions=True)

    async def idle(self) -> None:
        """Wait until no run is being followed."""
        await asyncio.gather(*self._following, return_exceptions=True)

    async def _reply(self, message: InboundMessage, reader: _Reader) -> OutboundMessage | None:
        if message.kind is MessageKind.BUTTON:
            return await self._decide(message.text, reader)
        name, argument = split_command(message.text)
        return await self._replies[name](reader, argument.split())

    async def _help(self, reader: _Reader, _: list[str]) -> OutboundMessage:
        return self._texts.plain(reader.language, "help")

    async def _reindex(self, reader: _Reader, words: list[str]) -> OutboundMessage | None:
        names = [word for word in words if word != _FULL]
        if len(names) > 1:
            return self._texts.plain(reader.language, "reindex.usage")
        source_id = names[0] if names else None
        refusal = await self._refused(reader, source_id)
        if refusal is not None:
            return refusal
        if _FULL not in words:
            return await self._begin(reader, source_id, full=False)
        asked = _Asked(secrets.token_urlsafe(9), source_id, self._parts.clock() + _CONFIRM_WITHIN_S)
        self._asked[_key(reader)] = asked
        return self._texts.confirmation(reader.language, source_id, asked.token)

    async def _refused(self, reader: _Reader, source_id: str | None) -> OutboundMessage | None:
        """Why a run is not even begun."""
        if self._parts.runner.is_running:
            return await self._under_way(reader)
        if source_id is None:
            return None
        rows = {row.id: row for row in await self._parts.view.configured()}
        if source_id not in rows:
            return self._unknown_source(reader, list(rows))
        states = await self._parts.view.source_states()
        if not is_enabled(rows[source_id], states.get(source_id)):
            return self._texts.plain(reader.language, "reindex.disabled", source=source_id)
        return None

    async def _decide(self, payload: str, reader: _Reader) -> OutboundMessage | None:
        """A button of the confirmation was tapped: it counts once, in time, and from who asked."""
        asked = self._asked.get(_key(reader))
        token = payload.removeprefix(CONFIRM_PAYLOAD).removeprefix(DISMISS_PAYLOAD)
        if asked is None or not secrets.compare_digest(asked.token.encode(), token.encode()):
            return self._texts.plain(reader.language, "confirm.expired")
        del self._asked[_key(reader)]
        if self._parts.clock() >= asked.until:
            return self._texts.plain(reader.language, "confirm.expired")
        if payload.startswith(DISMISS_PAYLOAD):
            return self._texts.plain(reader.language, "confirm.dismissed")
        return await self._begin(reader, asked.source_id, full=True)

    async def _begin(self, reader: _Reader, source_id: str | None, *, full: bool) -> OutboundMessage | None:
        latest = await self._parts.view.latest_run()
        try:
            await self._parts.runner.start(source_id=source_id, full=full, trigger="admin")
        except AlreadyRunning:
            return await self._under_way(reader)
        except RunNotStarted as error:
            self._parts.telemetry.failure("run_not_started", error)
            return self._texts.plain(reader.language, "ended.not_begun")
        handle = await self._announce(reader, self._run_texts.begun(reader.language, source_id, full=full))
        following = self._follower.follow(
            self._channel(reader), reader.patient, handle, reader.language, after=latest.run_id if latest else 0
        )
        task = asyncio.create_task(following)
        self._following.add(task)
        task.add_done_callback(self._following.discard)
        return None

    async def _announce(self, reader: _Reader, message: OutboundMessage) -> str | None:
        """Say that the run has begun. Where that fails, its end is still told."""
        try:
            return await self._channel(reader).post(reader.patient, message)
        except RecipientGone:
            raise
        except DeliveryFailed as error:
            self._parts.telemetry.failure("progress_not_shown", error, platform=reader.patient.platform.value)
            return None

    async def _under_way(self, reader: _Reader) -> OutboundMessage:
        latest = await self._parts.view.latest_run()
        return self._run_texts.under_way(reader.language, latest if _is_running(latest) else None)

    async def _cancel(self, reader: _Reader, _: list[str]) -> OutboundMessage:
        is_asked = await self._parts.runner.cancel()
        return self._texts.plain(reader.language, "cancel.asked" if is_asked else "cancel.nothing")

    async def _status(self, reader: _Reader, _: list[str]) -> OutboundMessage:
        parts = self._parts
        standing = Standing(
            publications=await parts.view.publications(),
            pages=await parts.view.page_counts(),
            latest=await parts.view.latest_run(),
            is_running=parts.runner.is_running,
            next_run=parts.schedule.next_run if parts.schedule else None,
            missed=parts.schedule.missed if parts.schedule else None,
            queue=parts.queue_length(),
            uptime_s=parts.clock() - self._started,
        )
        message = self._texts.status(reader.language, standing, parts.now())
        if not _is_running(standing.latest) or standing.latest is None:
            return message
        position = self._run_texts.progress(reader.language, standing.latest, None).paragraphs
        return OutboundMessage(paragraphs=message.paragraphs + position)

    async def _sources(self, reader: _Reader, words: list[str]) -> OutboundMessage:
        rows = {row.id: row for row in await self._parts.view.configured()}
        if words:
            return await self._choose_source(reader, words, list(rows))
        counts: dict[str, int] = {}
        for (source_id, _), count in (await self._parts.view.page_counts()).items():
            counts[source_id] = counts.get(source_id, 0) + count
        return self._texts.sources(reader.language, list(rows.values()), await self._parts.view.source_states(), counts)

    async def _choose_source(self, reader: _Reader, words: list[str], known: list[str]) -> OutboundMessage:
        if len(words) != 2 or words[0] not in {"enable", "disable"}:
            return self._texts.plain(reader.language, "sources.usage")
        choice, source_id = words
        if source_id not in known:
            return self._unknown_source(reader, known)
        await self._parts.view.choose_source(source_id, choice == "enable")
        self._parts.telemetry.event(f"source_{choice}d")
        return self._texts.plain(reader.language, f"sources.{choice}d", source=source_id)

    async def _stats(self, reader: _Reader, _: list[str]) -> OutboundMessage:
        return self._texts.stats(reader.language, self._parts.metrics, self._parts.clock() - self._started)

    def _unknown_source(self, reader: _Reader, known: list[str]) -> OutboundMessage:
        return self._texts.plain(reader.language, "sources.unknown", known=", ".join(known))

    def _channel(self, reader: _Reader) -> Channel:
        return self._parts.channels[reader.patient.platform]


def _key(reader: _Reader) -> tuple[Platform, str]:
    return reader.patient.platform, reader.patient.identity


def _is_running(run: RunRow | None) -> bool:
    return run is not None and run.status is RunStatus.RUNNING
