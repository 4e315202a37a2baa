"""Runs Telemelya, an emulator of Telegram's Bot API, in an environment of its own: `python emulator.py PORT`.

Its server is used as it is. Where it wants Redis there is a server that speaks Redis; its store of pictures stays closed, since
nothing here sends one. Nothing of this file is imported by a test.
"""

import os
import sys
import threading

import uvicorn  # type: ignore[import-not-found, unused-ignore]
from fakeredis import TcpFakeServer  # type: ignore[import-not-found, unused-ignore]


async def _nothing() -> None:
    """No store of pictures."""


def main() -> None:
    redis = TcpFakeServer(("127.0.0.1", 0))
    threading.Thread(target=redis.serve_forever, daemon=True).start()
    os.environ["REDIS_URL"] = f"redis://127.0.0.1:{redis.server_address[1]}/0"
    os.environ["STRICT_EDIT"] = "true"
    from telemelya.server import app  # type: ignore[import-not-found, unused-ignore]

    app.media_manager.connect = app.media_manager.close = _nothing
    uvicorn.run(app.app, host="127.0.0.1", port=int(sys.argv[1]), log_level="warning")


if __name__ == "__main__":
    main()
