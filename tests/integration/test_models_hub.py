"""The model hub's real client against a small hub on the loopback."""

import hashlib
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

_CONTENT = b"GGUF" + bytes(range(256)) * 40
_PULL = """
import sys
from pathlib import Path
from rag.errors import ModelError
from rag.models.download import pull
try:
    print(pull(sys.argv[1], Path(sys.argv[2])))
except ModelError as error:
    print(type(error).__name__, error)
"""


class Hub(BaseHTTPRequestHandler):
    """Serves one file, and on request other bytes than its checksum promises."""

    sent = _CONTENT

    def do_HEAD(self) -> None:
        self._reply(body=False)

    def do_GET(self) -> None:
        self._reply(body=True)

    def _reply(self, *, body: bool) -> None:
        if not self.path.startswith("/owner/tiny/resolve/main/tiny.gguf"):
            self.send_response(404)
            self.send_header("X-Error-Code", "EntryNotFound")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        self.send_response(200)
        self.send_header("X-Repo-Commit", "0" * 40)
        self.send_header("X-Linked-Etag", f'"{hashlib.sha256(_CONTENT).hexdigest()}"')
        self.send_header("X-Linked-Size", str(len(_CONTENT)))
        self.send_header("Content-Length", str(len(self.sent)))
        self.end_headers()
        if body:
            self.wfile.write(self.sent)

    def log_message(self, *_arguments: object) -> None:
        """Keep quiet."""


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setattr(Hub, "sent", _CONTENT)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


def _pulled(name: str, home: Path, endpoint: str) -> str:
    # In a process of its own: the hub's client reads its address when it is imported.
    environment = os.environ | {"HF_ENDPOINT": endpoint, "HF_HOME": str(home / "hub-cache"), "NO_PROXY": "*"}
    command = [sys.executable, "-c", _PULL, name, str(home)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=60).stdout.strip()


def test_a_file_of_the_hub_is_put_in_place_by_its_name(endpoint: str, tmp_path: Path) -> None:
    path = Path(_pulled("owner/tiny/tiny.gguf", tmp_path, endpoint))
    assert path == tmp_path / "models" / "tiny.gguf"
    assert path.read_bytes() == _CONTENT
    assert [p.name for p in (tmp_path / "models").rglob("*") if p.is_file()] == ["tiny.gguf"]


def test_other_bytes_than_the_hub_promised_are_removed(endpoint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Hub, "sent", b"x" * len(_CONTENT))
    assert "DownloadFailed What the model hub sent" in _pulled("owner/tiny/tiny.gguf", tmp_path, endpoint)
    assert [p for p in (tmp_path / "models").rglob("*") if p.is_file()] == []


def test_a_file_that_the_hub_does_not_have_is_said_to_be_missing(endpoint: str, tmp_path: Path) -> None:
    assert "ModelUnavailable The model hub has no such model" in _pulled("owner/tiny/other.gguf", tmp_path, endpoint)


def test_a_hub_that_is_not_there_is_said_to_be_out_of_reach(tmp_path: Path) -> None:
    assert "ModelUnavailable The model hub cannot be reached." in _pulled("owner/tiny/tiny.gguf", tmp_path, "http://127.0.0.1:9")
