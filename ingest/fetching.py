"""What a crawl says about each address, and a page as it came over the wire: where the crawler and the pipeline meet."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum


class Fetch(StrEnum):
    """How one address answered in one crawl."""

    FETCHED = "fetched"
    UNCHANGED = "unchanged"  # 304: checked, and still what is stored
    GONE = "gone"  # 404 or 410
    MOVED = "moved"  # a permanent redirect to another page of the source
    FAILED = "failed"  # a timeout, a 5xx, a certificate: says nothing about the page
    REFUSED = "refused"  # we may not or will not read it: robots, a reservation, a cap


@dataclass(frozen=True, slots=True, kw_only=True)
class Visit:
    """One address of a crawl.

    `url` is canonical: without fragment, tracking parameters, and in one spelling. `reason` is a short word in snake case for
    FAILED and REFUSED ("timeout", "http_503", "robots", "robots_unreachable", "reserved", "too_large", "private_address").
    `body_hash` is the SHA-256 of the stored body, for FETCHED and UNCHANGED. `moved_to` is set for MOVED.
    """

    url: str
    fetch: Fetch
    reason: str | None = None
    body_hash: str | None = None
    moved_to: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RawPage:
    """A page as it came: decompressed bytes, and its headers with names in lower case."""

    url: str
    body: bytes = field(repr=False)
    headers: Mapping[str, str]
    fetched_at: datetime

    @property
    def content_type(self) -> str:
        """Media type without parameters, in lower case; empty when none was sent."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()
