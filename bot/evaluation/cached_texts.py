"""What the generator wrote, kept between measurements: a text takes it seconds."""

import hashlib
import json
from pathlib import Path
from typing import Any


class CachedTexts:
    """JSON values by the hash of a key, one line each in a file that only grows; a line torn by a kill is passed over."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._known: dict[str, Any] = {}
        for line in path.read_bytes().splitlines() if path.exists() else ():
            try:
                row = json.loads(line)
                self._known[row["key"]] = row["value"]
            except (ValueError, KeyError, TypeError):
                continue

    def get(self, key: str) -> Any:  # noqa: ANN401 - any JSON value
        """What was kept under a key; None for nothing."""
        return self._known.get(_hashed(key))

    def put(self, key: str, value: Any) -> Any:  # noqa: ANN401
        """Keep a value, at once, and give it back."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._known[_hashed(key)] = value
        with self._path.open("a", encoding="utf-8") as file:
            # The line end comes first: it ends a line that was torn.
            file.write("\n" + json.dumps({"key": _hashed(key), "value": value}))
        return value


def _hashed(key: str) -> str:
    return hashlib.sha256(key.encode("utf-8", "replace")).hexdigest()
