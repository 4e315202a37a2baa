"""Where a generator's server is, and whether a prompt may be sent there."""

import ipaddress
import socket
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from rag.errors import ModelError, ModelUnavailable

SCHEME = "openai:"
"""How the name of a generator begins that runs on a server: ``openai:MODEL``."""

_PORTS = {"http": 80, "https": 443}
_PRIVATE = tuple(
    ipaddress.ip_network(network)
    for network in (
        *("127.0.0.0/8", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "169.254.0.0/16"),
        *("::1/128", "fe80::/10", "fc00::/7"),
    )
)


@dataclass(frozen=True, slots=True, kw_only=True)
class GeneratorServer:
    """An OpenAI-compatible server: `url` ends in its base path, as http://127.0.0.1:8000/v1.

    `may_be_public` is the operator's word that patients' questions may leave their own network.
    """

    url: str
    key: str = field(default="", repr=False)
    may_be_public: bool = False

    @property
    def host(self) -> str:
        """Name or address of the machine."""
        return urlsplit(self.url).hostname or ""

    @property
    def port(self) -> int:
        """The port, also where the address leaves it out."""
        parts = urlsplit(self.url)
        return parts.port or _PORTS.get(parts.scheme, 0)

    @property
    def is_encrypted(self) -> bool:
        """True when the connection is."""
        return urlsplit(self.url).scheme == "https"


def is_on_server(spec: str) -> bool:
    """True when a generator's name says that it runs on a server."""
    return spec.strip().lower().startswith(SCHEME)


def is_private(address: str) -> bool:
    """True for loopback, private, link-local and unique local addresses; an IPv6 form of IPv4 counts as what it holds."""
    parsed = ipaddress.ip_address(address.partition("%")[0])
    inside = parsed.ipv4_mapped if isinstance(parsed, ipaddress.IPv6Address) else None
    return any((inside or parsed) in network for network in _PRIVATE if network.version == (inside or parsed).version)


def addresses_of(server: GeneratorServer) -> tuple[str, ...]:
    """Look the server's name up and return the addresses to connect to; whoever connects to these is led nowhere else.

    Raises:
        ModelUnavailable: If the name leads nowhere.
        ModelError: If it leads beyond private addresses and may not, or may but without encryption.
    """
    try:
        found = socket.getaddrinfo(server.host, server.port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise ModelUnavailable(f"The name of the generator's server, {server.host}, leads to no address.") from error
    addresses = tuple(dict.fromkeys(str(entry[4][0]) for entry in found))
    if all(is_private(address) for address in addresses):
        return addresses
    if not server.may_be_public:
        raise ModelError(
            f"The generator's server {server.host} is not in a private network, so patients' questions would leave yours. "
            "Accept this with SALUS_REMOTE_GENERATOR=true and SALUS_REMOTE_GENERATOR_NAME, which patients are then told."
        )
    if not server.is_encrypted:
        raise ModelError(
            f"The generator's server {server.host} is not in a private network: its address must begin with https://."
        )
    return addresses
