from types import SimpleNamespace

import pytest
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

from ingest.crawler.outcomes import NotRead, outcome
from ingest.fetching import Fetch


def tls_failure() -> DownloadFailedError:
    error = DownloadFailedError("")
    cause = RuntimeError()
    cause.reasons = [SimpleNamespace(value=SSL.Error())]  # type: ignore[attr-defined]
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (NotRead(Fetch.REFUSED, "robots"), (Fetch.REFUSED, "robots")),
        (DownloadTimeoutError(), (Fetch.FAILED, "timeout")),
        (CannotResolveHostError(), (Fetch.FAILED, "dns")),
        (DownloadConnectionRefusedError(), (Fetch.FAILED, "connection")),
        (DownloadFailedError(), (Fetch.FAILED, "connection")),
        (tls_failure(), (Fetch.FAILED, "certificate")),
        (ResponseDataLossError(), (Fetch.FAILED, "cut_off")),
        (DownloadCancelledError(), (Fetch.REFUSED, "too_large")),
        (StopDownload(), (Fetch.REFUSED, "media_type")),
        (IgnoreRequest("max redirections reached"), (Fetch.FAILED, "redirect_loop")),
        (ValueError(), (Fetch.FAILED, "broken_response")),
    ],
)
def test_each_error_has_its_word(error: BaseException, told: tuple[Fetch, str]) -> None:
    assert outcome(error) == told
