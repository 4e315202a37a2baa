"""Where the starter models lie for tests: SALUS_HOME, else its default."""

import os
from pathlib import Path


def starter_home() -> Path:
    """The home that `make models` fills."""
    return Path(os.environ.get("SALUS_HOME", "~/.cache/salus")).expanduser()
