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
        RunRefused: If another run holds it, or the file cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        opened = path.open("a")
    except OSError as error:
        raise RunRefused(f"{path}: {error.strerror}; see that the disk has room and can be written") from error
    with opened as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise RunRefused("already running: another run holds the writer lock") from error
        yield
