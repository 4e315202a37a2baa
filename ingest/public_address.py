"""Which addresses lie on the public Internet, in whatever form they are written."""

import ipaddress
import socket

_PRIVATE_NAMES = (".localhost", ".local", ".internal", ".intranet", ".lan", ".home.arpa", ".corp")
_CARRY_IPV4 = tuple(ipaddress.IPv6Network(network) for network in ("::/96", "64:ff9b::/96"))  # compatible, and NAT64's
_LOCAL = tuple(ipaddress.IPv6Network(network) for network in ("64:ff9b:1::/48", "fec0::/10"))  # not in every Python's own list

Address = ipaddress.IPv4Address | ipaddress.IPv6Address


def is_private_ip(text: str) -> bool | None:
    """True for an address that is not on the public Internet; None for what is no IP address.

    An IPv6 address that leads to an IPv4 address counts as that too. Decimal, octal, hexadecimal and shortened forms of IPv4 are
    read as what they are for whoever connects to them.
    """
    address = _read(text.strip("[]").partition("%")[0].rstrip("."))
    if address is None:
        return None
    return any(address in network for network in _LOCAL if network.version == address.version) or any(
        not each.is_global or each.is_multicast for each in (address, *_inside(address))
    )


def is_private_host(host: str) -> bool:
    """True for a private IP address and for a name that only a private network has."""
    of_ip = is_private_ip(host)
    if of_ip is not None:
        return of_ip
    name = host.rstrip(".").lower()
    return "." not in name or f".{name}".endswith(_PRIVATE_NAMES)


def _read(text: str) -> Address | None:
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        pass
    try:
        return ipaddress.IPv4Address(socket.inet_aton(text))
    except (OSError, UnicodeEncodeError):
        return None


def _inside(address: Address) -> tuple[Address, ...]:
    """IPv4 addresses that an IPv6 address leads to."""
    if isinstance(address, ipaddress.IPv4Address):
        return ()
    carried = [address.ipv4_mapped, address.sixtofour, *(address.teredo or ())]
    if any(address in network for network in _CARRY_IPV4):
        carried.append(ipaddress.IPv4Address(int(address) & 0xFFFFFFFF))
    return tuple(each for each in carried if each is not None)
