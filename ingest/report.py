"""What a run tells its caller: how far it is, and what it did."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import datetime
from enum import StrEnum

from ingest.ledger import RunStatus
from locales.language import Language


class Step(StrEnum):
    """The steps of a run that take time."""

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
class LanguageReport:
    """What a run did to one language; `published_version` is None when nothing had to be, or could be, published."""

    language: Language
    new: int = 0
    changed: int = 0
    unchanged: int = 0
    retired: int = 0
    pages: int = 0
    chunks: int = 0
    surfaces: int = 0
    published_version: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunReport:
    """What a run did. `chunks` and `surfaces` of a language count what this run published."""

    run_id: int
    status: RunStatus
    started: datetime
    seconds: float
    languages: tuple[LanguageReport, ...]
    problems: tuple[str, ...] = ()
    failed_sources: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, object]:
        """The report as JSON can hold it."""
        return {**asdict(self), "started": self.started.isoformat()}
