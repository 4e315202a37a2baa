"""Which addresses are a source's own: its hosts, and never a machine of a private network that the source does not name."""

import ipaddress
import re
from dataclasses import dataclass
from typing import Self
from urllib.parse import urlsplit

from ingest.sources import SourceRow

_DEFAULT_PORTS = {"http": 80, "https": 443}
_PRIVATE_NAMES = (".localhost", ".local", ".internal", ".intranet", ".lan", ".home.arpa", ".corp")

Address = ipaddress.IPv4Address | ipaddress.IPv6Address


def is_private_ip(text: str) -> bool | None:
    """True for an address that is not on the public Internet; None for what is no IP address."""
    try:
        address: Address = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return None
    return any(not each.is_global or each.is_multicast for each in (address, *_inside(address)))


def _inside(address: Address) -> tuple[Address, ...]:
    """IPv4 addresses that an IPv6 address leads to."""
    if isinstance(address, ipaddress.IPv4Address):
        return ()
    carried = [address.ipv4_mapped, address.sixtofour]
    if address in ipaddress.IPv6Network("64:ff9b::/96"):
        carried.append(ipaddress.IPv4Address(int(address) & 0xFFFFFFFF))
    return tuple(each for each in carried if each is not None)


def is_private_host(host: str) -> bool:
    """True for a private IP address and for a name that only a private network has."""
    of_ip = is_private_ip(host)
    if of_ip is not None:
        return of_ip
    return "." not in host or f".{host}".endswith(_PRIVATE_NAMES)


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
    """The addresses of one source."""

    origins: frozenset[tuple[str, int]]
    allow: tuple[re.Pattern[str], ...]
    deny: tuple[re.Pattern[str], ...]

    @classmethod
    def of(cls, source: SourceRow) -> Self:
        """The site that the row's start addresses and patterns describe."""
        return cls(
            origins=frozenset(origin(url) for url in (*source.start.addresses, *((source.url,) if source.url else ()))),
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
