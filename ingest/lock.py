"""One run at a time in one home, whichever process it is in."""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ingest.errors import RunRefused


@contextmanager
def writer_lock(path: Path) -> Iterator[None]:
    """Hold the lock file `path`. The system lets go of it when the process ends, however it ends.

    Raises:
        RunRefused: If another run holds it.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise RunRefused("already running: another run holds the writer lock") from error
        yield
