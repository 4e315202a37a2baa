"""How the bot stands at a moment: what a monitor asks, and what the status page shows. Nothing of a patient is in it."""

import asyncio
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Protocol

from bot.ingestion_view import IngestionView
from bot.run_follower import UNUSABLE
from bot.telemetry import Telemetry
from channels.base import Channel
from channels.messages import Platform
from ingest.ledger import PublishedIndex, RunRow
from locales.language import Language
from rag.errors import IndexMissing, RagError

_POLL_SILENCE_S = 180.0  # a poll is answered every ten seconds, also when nobody writes
_TROUBLE_LASTS_S = 300.0  # a file that failed so lately counts as unusable
_KEPT_S = 5.0  # anybody may ask: no more than one look at the disk in so many seconds
_RUNS = 50

PROBLEMS = (
    *("models_not_loaded", "inference_stopped", "registry_unusable", "telegram_not_polled", "index_missing"),
    *(f"index_{what}_{language.value}" for what in ("unusable", "age_unknown", "too_old") for language in Language),
)
"""Every name that a problem may have."""


class Works(Protocol):
    """What is needed of the inference worker."""

    @property
    def is_alive(self) -> bool:
        """True while work gets done."""

    @property
    def depth(self) -> int:
        """How many questions wait."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexHealth:
    """What is live in one language.

    `checked_at` is when it was last known to hold what the sources hold: when it was published or, if that is later, when the
    latest run over all sources ended well, whether or not there was anything to publish. Both times are None when the ledger does
    not know.
    """

    version: int | None = None  # None when nothing is live
    is_unusable: bool = False
    published_at: datetime | None = None
    checked_at: datetime | None = None

    def age_s(self, now: datetime) -> float | None:
        """Seconds since it was last known to be up to date; None when nobody knows."""
        return None if self.checked_at is None else max(0.0, (now - self.checked_at).total_seconds())


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """One look at everything. `problems` are names of what keeps the bot from answering as it should; none when it can."""

    taken_at: datetime
    models_loaded: bool
    inference_alive: bool
    registry_usable: bool
    ledger_usable: bool
    queue: int
    sessions: int
    turns: int
    polls_s: Mapping[Platform, float] = field(default_factory=dict)
    indexes: Mapping[Language, IndexHealth] = field(default_factory=dict)
    runs: tuple[RunRow, ...] = ()  # newest first
    problems: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, object]:
        """What `/readyz` tells."""
        return {
            "ready": not self.problems,
            "problems": list(self.problems),
            "checks": {
                "models": {"loaded": self.models_loaded},
                "inference": {"alive": self.inference_alive, "queue": self.queue},
                "index": {language.value: self._index(index) for language, index in self.indexes.items()},
                "registry": {"usable": self.registry_usable},
                "ledger": {"usable": self.ledger_usable},
                "polls": {platform.value: {"age_s": round(age_s, 1)} for platform, age_s in self.polls_s.items()},
            },
        }

    def _index(self, index: IndexHealth) -> dict[str, object]:
        age_s = index.age_s(self.taken_at)
        return {
            "published": index.version is not None,
            "version": index.version,
            "published_at": index.published_at.isoformat(timespec="seconds") if index.published_at else None,
            "age_s": None if age_s is None else round(age_s),
        }


@dataclass(slots=True, kw_only=True, eq=False)
class HealthCheck:
    """Looks at the parts of the running bot.

    `live_version` gives the number of the live index of a language and raises a `RagError` where there is none; it reads the disk
    and is called in a thread. With a `max_index_age_h` of 0 an index may be as old as it is. A look is remembered for `kept_s`
    seconds.
    """

    worker: Works
    channels: Mapping[Platform, Channel]
    live_version: Callable[[Language], int]
    view: IngestionView
    telemetry: Telemetry
    sessions: Callable[[], int] = lambda: 0
    turns: Callable[[], int] = lambda: 0
    max_index_age_h: float = 0.0
    kept_s: float = _KEPT_S
    clock: Callable[[], float] = time.monotonic
    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    models_loaded: bool = False
    _registry_failed_at: float | None = field(default=None, init=False)
    _known: tuple[float, Health] | None = field(default=None, init=False)
    _looking: asyncio.Lock = field(default_factory=asyncio.Lock, init=False)

    def note_registry_failure(self) -> None:
        """The file of keyed hashes could not be used."""
        self._registry_failed_at = self.clock()

    async def look(self) -> Health:
        """See how everything stands, at most `kept_s` seconds ago. What a broken part raises is noted, not raised."""
        async with self._looking:
            if self._known is None or self.clock() - self._known[0] >= self.kept_s:
                self._known = self.clock(), await self._look()
            return self._known[1]

    async def _look(self) -> Health:
        publications: Mapping[Language, PublishedIndex] = {}
        runs: list[RunRow] = []
        ledger_usable = True
        try:
            publications, runs = await self.view.publications(), await self.view.runs(_RUNS)
        except UNUSABLE as error:
            self.telemetry.failure("ledger_unusable", error)
            ledger_usable = False
        health = Health(
            taken_at=self.now(),
            models_loaded=self.models_loaded,
            inference_alive=self.worker.is_alive,
            registry_usable=self._registry_failed_at is None or self.clock() - self._registry_failed_at > _TROUBLE_LASTS_S,
            ledger_usable=ledger_usable,
            queue=self.worker.depth,
            sessions=self.sessions(),
            turns=self.turns(),
            polls_s={
                platform: silence_s
                for platform, channel in self.channels.items()
                if (silence_s := getattr(channel, "seconds_since_poll", None)) is not None
            },
            indexes={language: await self._index(language, publications.get(language), runs) for language in Language},
            runs=tuple(runs),
        )
        return replace(health, problems=tuple(_problems(health, self.max_index_age_h * 3600)))

    async def _index(self, language: Language, noted: PublishedIndex | None, runs: Sequence[RunRow]) -> IndexHealth:
        try:
            version = await asyncio.to_thread(self.live_version, language)
        except IndexMissing:
            return IndexHealth()
        except RagError as error:
            self.telemetry.failure("index_unusable", error, language=language.value)
            return IndexHealth(is_unusable=True)
        published_at = noted.published_at if noted else None
        moments = [moment for moment in (published_at, *(_confirmed(run, language) for run in runs)) if moment is not None]
        return IndexHealth(version=version, published_at=published_at, checked_at=max(moments, default=None))


def _confirmed(run: RunRow, language: Language) -> datetime | None:
    """When a run knew the index of a language to hold what the sources hold; None if it did not come to know that."""
    refused = (run.report or {}).get("refused_publications")
    was_refused = isinstance(refused, list | tuple) and language.value in refused
    return run.ended if run.is_whole and run.status.is_success and not was_refused else None


def _problems(health: Health, max_index_age_s: float) -> Iterator[str]:
    in_order = {
        "models_not_loaded": health.models_loaded,
        "inference_stopped": health.inference_alive,
        "registry_unusable": health.registry_usable,
        "index_missing": any(index.version is not None for index in health.indexes.values()),
    }
    yield from (name for name, is_in_order in in_order.items() if not is_in_order)
    yield from (f"{platform.value}_not_polled" for platform, silence_s in health.polls_s.items() if silence_s > _POLL_SILENCE_S)
    for language, index in health.indexes.items():
        problem = _index_problem(index, index.age_s(health.taken_at), max_index_age_s)
        if problem is not None:
            yield f"{problem}_{language.value}"


def _index_problem(index: IndexHealth, age_s: float | None, max_age_s: float) -> str | None:
    if index.is_unusable:
        return "index_unusable"
    if index.version is None or not max_age_s:
        return None
    if age_s is None:
        return "index_age_unknown"
    return "index_too_old" if age_s > max_age_s else None
