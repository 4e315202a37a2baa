"""What the crawling process is told to do, and what it says about it in the end."""

from dataclasses import dataclass, field

from pydantic import BaseModel, ConfigDict, Field

from ingest.sources import SourceRow

PRODUCT = "Salus"  # the name that robots.txt files may speak to


class CrawlLimits(BaseModel):
    """What no publisher's server can make a crawl exceed."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    max_bytes: int = Field(default=16 * 2**20, ge=1)  # of a page, before and after decompression
    max_listing_bytes: int = Field(default=64 * 2**20, ge=1)  # of a sitemap or feed; the sitemap protocol allows 50 MiB
    timeout_s: float = Field(default=30.0, gt=0)  # of one request, from name to last byte
    retries: int = Field(default=2, ge=0)
    max_delay_s: float = Field(default=60.0, ge=0)  # of a Crawl-delay, and of the throttle
    max_retry_after_s: float = Field(default=120.0, ge=0)
    retry_pause_s: float = Field(default=5.0, ge=0)  # after a 429 or 503 that names no time
    max_failures_in_a_row: int = Field(default=10, ge=1)  # addresses of one host; then it is left alone for this crawl
    max_seconds: float = Field(default=6 * 3600.0, gt=0)


class CrawlJob(BaseModel):
    """One crawl of one source, as it travels to the crawling process."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    source: SourceRow
    store: str
    known: tuple[str, ...] = ()
    only: tuple[str, ...] = ()
    user_agent: str = PRODUCT
    ignore_cache: bool = False
    limits: CrawlLimits = CrawlLimits()


@dataclass(frozen=True, slots=True, kw_only=True)
class CrawlSummary:
    """How many addresses answered in which way.

    `refused` counts by reason. `notes` are short words about the crawl as a whole: "max_pages", "host_down: HOST",
    "unread: ADDRESS (REASON)" for a sitemap, feed or start page that could not be read.
    """

    fetched: int
    unchanged: int
    gone: int
    failed: int
    refused: dict[str, int]
    seconds: float
    is_whole: bool
    moved: int = 0
    notes: tuple[str, ...] = field(default=())
