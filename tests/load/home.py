"""A home for one run: the index and the models of the operator's, and nothing else of it."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def own_home() -> Iterator[Path]:
    """A temporary home that shares the published index and the models of `SALUS_HOME`.

    Raises:
        SystemExit: If nothing has been published there.
    """
    shared = Path(os.environ.get("SALUS_HOME") or "~/.cache/salus").expanduser()
    if not (shared / "index").exists():
        raise SystemExit(f"No index in {shared}: run `make index` first.")
    with tempfile.TemporaryDirectory(prefix="salus-load-") as folder:
        home = Path(folder)
        for name in ("index", "models"):
            if (shared / name).exists():
                (home / name).symlink_to(shared / name)
        yield home
