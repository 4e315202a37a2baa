"""How fast each host is asked: the throttle of Scrapy, a host's own Crawl-delay, and the pause that a Retry-After asks for."""

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from time import monotonic

from scrapy import Request, Spider, signals
from scrapy.core.downloader import Slot
from scrapy.crawler import Crawler
from scrapy.extensions.throttle import AutoThrottle
from scrapy.http import Response

_ASKS_TO_WAIT = {429, 503}
_LEAST_DELAY_S = 0.001  # a slot without any delay does not look at the time of its last request


def retry_after_s(value: str, *, now: datetime) -> float | None:
    """Seconds that a Retry-After header asks for, in either form; never negative, None when it says nothing readable."""
    text = value.strip()
    try:
        return max(0.0, float(int(text)))
    except (ValueError, OverflowError):
        pass
    try:
        moment = parsedate_to_datetime(text)
        moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return max(0.0, (moment - now).total_seconds())
    except (ValueError, OverflowError, TypeError):
        return None


class Pace(AutoThrottle):
    """Scrapy's throttle, which would else go below a Crawl-delay and knows no Retry-After; each host on its own."""

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._least: dict[str, float] = {}
        settings = crawler.settings
        self._max_delay_s = settings.getfloat("AUTOTHROTTLE_MAX_DELAY")
        self._max_retry_after_s = settings.getfloat("CRAWL_MAX_RETRY_AFTER")
        self._retry_pause_s = settings.getfloat("CRAWL_RETRY_PAUSE")
        # A slot that was idle for a minute is made anew by Scrapy, with the delay of the settings.
        crawler.signals.connect(self._request_reached, signal=signals.request_reached_downloader)

    def keep_at_least(self, host: str, delay_s: float) -> None:
        """Ask the host at most once in so many seconds, as far as the cap goes."""
        self._least[host] = min(delay_s, self._max_delay_s)
        slot = self.crawler.engine.downloader.slots.get(host)
        if slot is not None:
            self._hold(host, slot)

    def _hold(self, host: str, slot: Slot) -> None:
        slot.delay = max(slot.delay, self._least.get(host, 0.0))

    def _request_reached(self, request: Request, spider: Spider) -> None:
        host, slot = self._get_slot(request, spider)
        if host is not None and slot is not None:
            self._hold(host, slot)

    def _response_downloaded(self, response: Response, request: Request, spider: Spider) -> None:
        super()._response_downloaded(response, request, spider)
        host, slot = self._get_slot(request, spider)
        if host is None or slot is None:
            return
        self._hold(host, slot)
        if response.status in _ASKS_TO_WAIT:
            self._pause(slot, self._pause_s(response))

    def _pause_s(self, response: Response) -> float:
        value = (response.headers.get("Retry-After") or b"").decode("latin-1")
        asked_for = retry_after_s(value, now=datetime.now(UTC))
        return min(self._retry_pause_s if asked_for is None else asked_for, self._max_retry_after_s)

    @staticmethod
    def _pause(slot: Slot, seconds: float) -> None:
        slot.delay = max(slot.delay, _LEAST_DELAY_S)
        slot.lastseen = max(slot.lastseen, monotonic() + seconds - slot.delay)
