"""The connection over which Telegram is polled."""

import time
from typing import Any

from telegram.request import HTTPXRequest


class PollingRequest(HTTPXRequest):
    """Notes, in `time.monotonic`'s seconds, when Telegram last answered a poll, or when polling began (H11)."""

    last_answer: float | None = None

    async def do_request(self, *args: Any, **kwargs: Any) -> tuple[int, bytes]:  # noqa: ANN401 - passed on as they are
        """Make one request, as the library's own class does."""
        status, body = await super().do_request(*args, **kwargs)
        if status == 200:
            self.last_answer = time.monotonic()
        return status, body
