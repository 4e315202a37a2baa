"""What can be asked of a run of ingestion, by the command line and by whoever starts one as a process of its own."""

from dataclasses import dataclass
from enum import StrEnum


class Trigger(StrEnum):
    """Who began a run."""

    COMMAND_LINE = "command_line"
    SCHEDULE = "schedule"
    ADMIN = "admin"
    API = "api"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """A run as it was asked for: see `salus ingest --help`."""

    source: str | None = None
    full: bool = False
    dry_run: bool = False
    accept_smaller: bool = False
    background: bool = False
    trigger: Trigger = Trigger.COMMAND_LINE
