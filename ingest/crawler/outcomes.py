"""What a failed request says about the page, in one short word."""

from OpenSSL import SSL
from scrapy.exceptions import (
    CannotResolveHostError,
    DownloadCancelledError,
    DownloadConnectionRefusedError,
    DownloadFailedError,
    DownloadTimeoutError,
    IgnoreRequest,
    ResponseDataLossError,
    StopDownload,
)
from service_identity import VerificationError
from twisted.internet.error import ConnectError, ConnectionClosed

from ingest.fetching import Fetch

# Reasons that speak of a host which does not answer, rather than of one page.
HOST_TROUBLE = frozenset({"timeout", "dns", "connection", "http_429", "http_503"})

_REASONS: tuple[tuple[tuple[type[BaseException], ...], Fetch, str], ...] = (
    ((DownloadTimeoutError,), Fetch.FAILED, "timeout"),
    ((CannotResolveHostError,), Fetch.FAILED, "dns"),
    ((ResponseDataLossError,), Fetch.FAILED, "cut_off"),
    ((DownloadCancelledError,), Fetch.REFUSED, "too_large"),
    ((StopDownload,), Fetch.REFUSED, "media_type"),
    ((SSL.Error, VerificationError), Fetch.FAILED, "certificate"),
    ((DownloadConnectionRefusedError, ConnectError, ConnectionClosed, DownloadFailedError), Fetch.FAILED, "connection"),
    ((IgnoreRequest,), Fetch.FAILED, "redirect_loop"),  # Scrapy's own: too many redirects
)


class NotRead(IgnoreRequest):
    """A middleware decided that the page is not read."""

    def __init__(self, fetch: Fetch, reason: str) -> None:
        super().__init__(reason)
        self.fetch = fetch
        self.reason = reason


def outcome(error: BaseException) -> tuple[Fetch, str]:
    """What an error of a request means for its address."""
    if isinstance(error, NotRead):
        return error.fetch, error.reason
    if isinstance(error, DownloadFailedError) and _speaks_of_tls(error):
        return Fetch.FAILED, "certificate"
    for types, fetch, reason in _REASONS:
        if isinstance(error, types):
            return fetch, reason
    return Fetch.FAILED, "broken_response"


def _speaks_of_tls(error: DownloadFailedError) -> bool:
    """Twisted wraps what the TLS library said, once in a list of failures and once as the cause."""
    reasons = getattr(error.__cause__, "reasons", None) or ()
    return any(isinstance(failure.value, SSL.Error | VerificationError) for failure in reasons)
