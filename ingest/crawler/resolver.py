"""Names that lead into a private network do not resolve, so that no page and no redirect can reach a machine there."""

from collections.abc import Sequence
from typing import Any, Self
from urllib.parse import urlsplit
from urllib.request import getproxies

from scrapy.crawler import Crawler
from scrapy.resolver import CachingHostnameResolver
from twisted.internet.base import ReactorBase
from twisted.internet.interfaces import IAddress, IHostResolution, IResolutionReceiver

from ingest.crawler.site import origin
from ingest.public_address import is_private_ip


class _PublicOnly:
    """Passes on the public addresses of a name."""

    def __init__(self, receiver: Any) -> None:  # noqa: ANN401 - zope's interfaces are no types
        self._receiver = receiver
        self.refused = False

    def resolutionBegan(self, resolution: Any) -> None:  # noqa: ANN401 - a name of Twisted's interface
        self._receiver.resolutionBegan(resolution)

    def addressResolved(self, address: Any) -> None:  # noqa: ANN401
        if is_private_ip(str(address.host)):
            self.refused = True
        else:
            self._receiver.addressResolved(address)

    def resolutionComplete(self) -> None:
        self._receiver.resolutionComplete()


class PublicResolver(CachingHostnameResolver):
    """Resolves names at the moment of connecting, where a name that changes its mind is noticed too.

    `CRAWL_PRIVATE_ORIGINS` lists the host:port pairs that may be private; the proxies of the environment may be too.
    """

    def __init__(self, reactor: ReactorBase, cache_size: int, origins: frozenset[tuple[str, int]]) -> None:
        super().__init__(reactor, cache_size)
        self._origins = origins
        self._lookups: dict[tuple[str, int], _PublicOnly] = {}

    @classmethod
    def from_crawler(cls, crawler: Crawler, reactor: ReactorBase) -> Self:
        """Made by Scrapy."""
        origins = {(host, int(port)) for host, port in crawler.settings.getlist("CRAWL_PRIVATE_ORIGINS")}
        return cls(reactor, crawler.settings.getint("DNSCACHE_SIZE"), frozenset(origins | _proxies()))

    def resolveHostName(
        self,
        resolutionReceiver: IResolutionReceiver,
        hostName: str,
        portNumber: int = 0,
        addressTypes: Sequence[type[IAddress]] | None = None,
        transportSemantics: str = "TCP",
    ) -> IHostResolution:
        """Resolve a name to its addresses, the private ones left out."""
        wanted: Any = resolutionReceiver
        if (hostName.lower(), portNumber) not in self._origins:
            wanted = self._lookups[hostName.lower(), portNumber] = _PublicOnly(resolutionReceiver)
        return super().resolveHostName(wanted, hostName, portNumber, addressTypes, transportSemantics)

    def has_refused(self, url: str) -> bool:
        """True when the host of the address was last found in a private network."""
        lookup = self._lookups.get(origin(url))
        return lookup is not None and lookup.refused


def has_refused(url: str) -> bool:
    """True when the resolver of this process kept a request from a private network."""
    from twisted.internet import reactor  # installed by Scrapy, not at import

    resolver = getattr(reactor, "nameResolver", None)
    return isinstance(resolver, PublicResolver) and resolver.has_refused(url)


def _proxies() -> set[tuple[str, int]]:
    found = set()
    for address in getproxies().values():
        with_scheme = address if "//" in address else f"http://{address}"
        if urlsplit(with_scheme).hostname:
            found.add(origin(with_scheme))
    return found
