"""What a run tells its caller: how far it is, and what it did."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime
from enum import StrEnum

from locales.language import Language


class RunStatus(StrEnum):
    """How a run stands. `PARTIAL` published what it could while a source or a page failed."""

    RUNNING = "running"
    COMPLETE = "complete"
    PARTIAL = "partial"
    FAILED = "failed"
    INTERRUPTED = "interrupted"
    CANCELLED = "cancelled"

    @property
    def is_success(self) -> bool:
        """True when the run came to its end and published what it could."""
        return self in {RunStatus.COMPLETE, RunStatus.PARTIAL}


class Step(StrEnum):
    """The steps of a run that take time."""

    FETCH = "fetch"
    READ = "read"
    EMBED = "embed"
    PUBLISH = "publish"


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far a step is: `done` of `total` texts while embedding, pages otherwise; `subject` is a source or a language."""

    step: Step
    subject: str
    done: int
    total: int


OnProgress = Callable[[Progress], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunProgress:
    """How far a run is with a source, as administrators see it: `done` of `total` pages, addresses while they are fetched."""

    source: str
    step: str
    done: int
    total: int
    new: int = 0
    changed: int = 0
    gone: int = 0
    failed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class LanguageReport:
    """What a run did to one language; `published_version` is None when nothing had to be, or could be, published."""

    language: Language
    new: int = 0
    changed: int = 0
    unchanged: int = 0
    moved: int = 0
    retired: int = 0
    pages: int = 0
    chunks: int = 0
    surfaces: int = 0
    published_version: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunReport:
    """What a run did. `chunks` and `surfaces` of a language count what this run published.

    `seconds` is the whole run, `fetch_seconds` the part of it that waited for web sites.
    """

    run_id: int
    status: RunStatus
    started: datetime
    seconds: float
    languages: tuple[LanguageReport, ...]
    problems: tuple[str, ...] = ()
    failed_sources: tuple[str, ...] = ()
    refused_sources: tuple[str, ...] = ()
    refused_publications: tuple[Language, ...] = ()
    refusals: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """How many addresses of a source were not taken, by reason."""
    fetch_seconds: float = 0.0

    def as_dict(self) -> dict[str, object]:
        """The report as JSON can hold it."""
        return {**asdict(self), "started": self.started.isoformat()}
