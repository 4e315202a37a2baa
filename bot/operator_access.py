"""Who may read the operator's pages: a token of the right scope, a browser that showed one, or Prometheus on the same machine."""

import hashlib
import hmac
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable

from starlette.requests import Request

from bot.settings import is_loopback

COOKIE = "salus_admin"
SESSION_LASTS_S = 8 * 3600

_MOST_SESSIONS = 16
_PROXY_HEADERS = ("forwarded", "via", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-real-ip")


class BrowserSessions:
    """Browsers that have shown the token of administrators. Known by a random id, in memory only; a restart ends them all.

    Args:
        lasts_s: Seconds after which the token must be shown again.
        clock: Seconds that never go back.
    """

    def __init__(self, *, lasts_s: float = SESSION_LASTS_S, clock: Callable[[], float] = time.monotonic) -> None:
        self._lasts_s = lasts_s
        self._clock = clock
        self._key = secrets.token_bytes(32)
        self._until: OrderedDict[bytes, float] = OrderedDict()

    def __len__(self) -> int:
        return len(self._until)

    def open(self) -> str:
        """Begin a session and give its id; of too many, the oldest ends."""
        session_id = secrets.token_urlsafe(32)
        self._drop_old()
        self._until[self._digest(session_id)] = self._clock() + self._lasts_s
        if len(self._until) > _MOST_SESSIONS:
            self._until.popitem(last=False)
        return session_id

    def holds(self, session_id: str) -> bool:
        """Whether a session of this id goes on. The time it takes tells nothing of the ids."""
        self._drop_old()
        shown = self._digest(session_id)
        return any([hmac.compare_digest(digest, shown) for digest in self._until])

    def close(self, session_id: str) -> None:
        """End a session."""
        self._until.pop(self._digest(session_id), None)

    def _digest(self, session_id: str) -> bytes:
        return hmac.digest(self._key, session_id.encode("utf-8", "surrogatepass"), hashlib.sha256)

    def _drop_old(self) -> None:
        while self._until and next(iter(self._until.values())) <= self._clock():
            self._until.popitem(last=False)


def is_on_this_machine(request: Request, public_base_url: str | None) -> bool:
    """Whether a request was surely made on this machine.

    Behind a reverse proxy every request comes from this machine, also a stranger's: so none counts as made here where a public
    address is configured, or where a proxy has left a trace.
    """
    if public_base_url is not None or any(name in request.headers for name in _PROXY_HEADERS):
        return False
    host = request.client.host if request.client else ""
    # The name that was called is looked at too: a web page may give its own name this machine's address.
    return is_loopback(f"http://[{host}]" if ":" in host else f"http://{host}") and is_loopback(str(request.url))


def caller_of(request: Request, public_base_url: str | None) -> str:
    """Whom tries are counted for: where a proxy stands in front, the address that it saw, else the one that called.

    Of several addresses only the last was written by our own proxy; the others are whatever the caller claims.
    """
    if public_base_url is not None and (seen := request.headers.get("x-forwarded-for", "").rpartition(",")[2].strip()):
        return seen[:64]
    return request.client.host if request.client else ""
