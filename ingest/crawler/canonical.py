"""One spelling for each web address, so that a page is asked for and kept once."""

import re
from urllib.parse import SplitResult, parse_qsl, urlencode, urlsplit, urlunsplit

from w3lib.url import canonicalize_url

# What campaigns, social networks and session handling add to an address; the page is the same without it.
_TRACKING = re.compile(
    r"""(?xi)^(
        utm_.* | mc_.* | mtm_.* | pk_.* | piwik_.* | matomo_.* | hsa_.* | _hs.* | vero_.* | oly_.*
        | fbclid | gclid | gclsrc | dclid | gbraid | wbraid | msclkid | yclid | twclid | ttclid | igshid | igsh
        | mkt_tok | _ga | _gl | ref | ref_src | ref_url | referrer | srsltid | cmpid | spm
        | jsessionid | phpsessid | aspsessionid.* | sessionid
    )$"""
)
_PATH_SESSION = re.compile(r";jsessionid=[^/?#;]*", re.IGNORECASE)
_DEFAULT_PORTS = {"http": 80, "https": 443}
_LONGEST = 2_000


def canonical_address(url: str) -> str | None:
    """Bring a web address into its one spelling.

    Fragment and tracking parameters are gone, the other parameters sorted, host and escapes in one case, dot segments resolved.
    A slash at the end stays as it is: only the publisher knows whether the page is the same.

    Returns:
        None for what is no web address, names a user, or is absurdly long.
    """
    try:
        parts = urlsplit(url.strip())
        port = parts.port
    except ValueError:
        return None
    host = (parts.hostname or "").rstrip(".")
    if parts.scheme not in _DEFAULT_PORTS or not host or parts.username is not None or len(url) > _LONGEST:
        return None
    try:
        return canonicalize_url(urlunsplit(_without_tracking(parts, host, port)), keep_blank_values=True)
    except (ValueError, UnicodeError):
        return None


def _without_tracking(parts: SplitResult, host: str, port: int | None) -> SplitResult:
    bracketed = f"[{host}]" if ":" in host else host
    netloc = bracketed if port in (None, _DEFAULT_PORTS[parts.scheme]) else f"{bracketed}:{port}"
    query = parts.query
    names = [name for name, _ in parse_qsl(query, keep_blank_values=True)]
    if any(_TRACKING.match(name) for name in names):  # a query without them is kept letter for letter
        pairs = parse_qsl(query, keep_blank_values=True, encoding="utf-8", errors="surrogateescape")
        query = urlencode([pair for pair in pairs if not _TRACKING.match(pair[0])], errors="surrogateescape")
    return SplitResult(parts.scheme, netloc, _PATH_SESSION.sub("", parts.path) or "/", query, "")
