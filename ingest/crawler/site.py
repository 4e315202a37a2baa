"""Which addresses are a source's own: its hosts, and never a machine of a private network that the source does not name."""

import re
from dataclasses import dataclass
from typing import Self
from urllib.parse import urlsplit

from ingest.public_address import is_private_host
from ingest.sources import SourceRow

_DEFAULT_PORTS = {"http": 80, "https": 443}


def origin(url: str) -> tuple[str, int]:
    """Host in lower case, and port.

    Raises:
        ValueError: If the address has no host or an impossible port.
    """
    parts = urlsplit(url)
    if not parts.hostname:
        raise ValueError("no host")
    return parts.hostname, parts.port or _DEFAULT_PORTS.get(parts.scheme, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """The addresses of one source. Of its `origins`, hosts with ports, the `private_origins` may be in a private network."""

    origins: frozenset[tuple[str, int]]
    private_origins: frozenset[tuple[str, int]]
    allow: tuple[re.Pattern[str], ...]
    deny: tuple[re.Pattern[str], ...]

    @classmethod
    def of(cls, source: SourceRow) -> Self:
        """The site that the row's start addresses and patterns describe."""
        origins = frozenset(origin(url) for url in (*source.start.addresses, *((source.url,) if source.url else ())))
        return cls(
            origins=origins,
            private_origins=frozenset(each for each in origins if source.allow_private or is_private_host(each[0])),
            allow=tuple(re.compile(pattern) for pattern in source.allow),
            deny=tuple(re.compile(pattern) for pattern in source.deny),
        )

    @property
    def is_public(self) -> bool:
        """True when a start address is not in a private network."""
        return any(not is_private_host(host) for host, _ in self.origins)

    def refusal(self, url: str) -> str | None:
        """Why the address must not be asked for; None when it may be.

        Names are checked as they are written; what they resolve to is checked when the connection is made.
        """
        try:
            host, port = origin(url)
        except ValueError:
            return "off_site"
        if urlsplit(url).scheme not in _DEFAULT_PORTS:
            return "off_site"
        if (host, port) in self.origins:
            return None
        if is_private_host(host):
            return "private_address"
        hosts = {known.removeprefix("www.") for known, _ in self.origins}
        return None if host.removeprefix("www.") in hosts and port in _DEFAULT_PORTS.values() else "off_site"

    def reads(self, url: str) -> bool:
        """True when the row's patterns take the page."""
        taken = not self.allow or any(pattern.search(url) for pattern in self.allow)
        return taken and not any(pattern.search(url) for pattern in self.deny)
