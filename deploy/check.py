"""Looks over image, services, proxy and units; says what it could not look at, and fails only where something is wrong.

Run by `make check-deploy` with the programs of deploy/tools.txt beside its Python; standard library only.
"""

# ruff: noqa: T201  # its output is what the person at the terminal sees
from __future__ import annotations

import contextlib
import http.client
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

DEPLOY = Path(__file__).resolve().parent
TOOLS = Path(sys.executable).parent
UNITS = sorted((DEPLOY / "systemd").glob("*.service"))
MOST_EXPOSED = 20  # tenths, of 100; both units stand at 14
_START_S = 20.0

PUBLIC = ("/telegram/webhook", "/whatsapp/webhook", "/whatsapp/status", "/sources/starter-it-flu", "/healthz")
INSIDE = ("/admin", "/chatbot/query", "/cms/events", "/readyz")
NEVER = (
    *("/metrics", "/%6detrics", "//metrics", "/sources/../metrics"),
    *("/", "/sources", "/healthz/x", "/privacy", "/docs", "/.env"),
)


class CheckFailed(Exception):
    """What is wrong, in the words of whatever found it."""


class CannotCheck(Exception):
    """What is missing on this machine for a check."""


def program(name: str) -> str:
    """The path of a program, of the tools' environment or of the system.

    Raises:
        CannotCheck: If there is none.
    """
    found = shutil.which(name, path=str(TOOLS)) or shutil.which(name)
    if found is None:
        raise CannotCheck(f"{name} is not on this machine")
    return found


def run(*command: str, environment: dict[str, str] | None = None) -> str:
    """What a command prints.

    Raises:
        CheckFailed: If it ends with an error.
    """
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ | (environment or {}))
    if done.returncode:
        raise CheckFailed((done.stdout + done.stderr).strip())
    return done.stdout + done.stderr


def check_image() -> None:
    """The Dockerfile has nothing that its linter objects to."""
    run(program("hadolint"), str(DEPLOY / "Dockerfile"))


def check_compose() -> None:
    """The services fulfil the Compose Specification."""
    run(program("check-jsonschema"), "--builtin-schema", "vendor.compose-spec", str(DEPLOY / "compose.yaml"))


def check_compose_with_docker() -> None:
    """Compose itself can read the services."""
    docker = program("docker")
    if subprocess.run([docker, "compose", "version"], capture_output=True, check=False).returncode:
        raise CannotCheck("docker has no compose")
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder)
        shutil.copy(DEPLOY / "compose.yaml", copy)
        (copy / "salus.env").touch()
        compose = [docker, "compose", "--profile", "*", "-f", str(copy / "compose.yaml")]
        run(*compose, "config", "--quiet", environment={"BOT_DOMAIN": "bot.example.org"})


def check_caddyfile() -> None:
    """The proxy's settings are valid and laid out as Caddy lays them out."""
    caddy, file = program("caddy"), str(DEPLOY / "Caddyfile")
    run(caddy, "validate", "--adapter", "caddyfile", "--config", file, environment={"BOT_DOMAIN": "bot.example.org"})
    if run(caddy, "fmt", file) != Path(file).read_text(encoding="utf-8"):
        raise CheckFailed("caddy fmt would write the Caddyfile otherwise")


def check_what_is_public() -> None:
    """Through the proxy one reaches what is public, and nothing else."""
    with _stub() as upstream, _proxy(upstream, inside="192.0.2.0/24") as ask:
        wrong = [path for path in PUBLIC if ask("POST", path, b"x") != 200]
        wrong += [path for path in (*INSIDE, *NEVER) if ask("GET", path) not in (301, 308, 404)]
        if ask("POST", PUBLIC[0], b"x" * 1_100_000) != 413:
            wrong.append("a body of 1.1 MB")
    with _stub() as upstream, _proxy(upstream, inside="127.0.0.1") as ask:
        wrong += [path for path in INSIDE if ask("GET", path) != 200] + [path for path in NEVER if ask("GET", path) == 200]
    if wrong:
        raise CheckFailed(f"otherwise than meant: {', '.join(wrong)}")


def check_units() -> None:
    """The units are such as systemd reads."""
    analyze = program("systemd-analyze")
    with _units_that_can_run() as units:
        told = run(analyze, "verify", "--man=no", *map(str, units))
        if told.strip():
            raise CheckFailed(told.strip())


def check_confinement() -> None:
    """The units are well confined, as systemd judges it."""
    analyze = program("systemd-analyze")
    with _units_that_can_run() as units:
        run(analyze, "security", "--offline=true", "--no-pager", f"--threshold={MOST_EXPOSED}", *map(str, units))


CHECKS: tuple[Callable[[], None], ...] = (
    check_image,
    check_compose,
    check_compose_with_docker,
    check_caddyfile,
    check_what_is_public,
    check_units,
    check_confinement,
)


class _Stub(BaseHTTPRequestHandler):
    """Stands in for the bot: everything is there."""

    def do_GET(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_POST = do_GET

    def log_message(self, *_: object) -> None:
        pass


@contextlib.contextmanager
def _stub() -> Iterator[int]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Stub)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()


@contextlib.contextmanager
def _proxy(upstream: int, *, inside: str) -> Iterator[Callable[..., int]]:
    """Caddy with our file; what it yields asks for a path and gives the status."""
    caddy = program("caddy")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {
            "BOT_DOMAIN": f"http://127.0.0.1:{port}",
            "BOT_INSIDE": inside,
            "BOT_UPSTREAM": f"127.0.0.1:{upstream}",
            "XDG_DATA_HOME": folder,
            "XDG_CONFIG_HOME": folder,
        }
        command = [caddy, "run", "--adapter", "caddyfile", "--config", str(DEPLOY / "Caddyfile")]
        process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

        def ask(method: str, path: str, body: bytes | None = None) -> int:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
            with contextlib.closing(connection):
                with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # refused before all of it was sent
                    connection.request(method, path, body)
                return connection.getresponse().status

        try:
            _wait_for(port)
            yield ask
        finally:
            process.terminate()
            process.wait()


def _wait_for(port: int) -> None:
    until = time.monotonic() + _START_S
    while time.monotonic() < until:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        time.sleep(0.05)
    raise CheckFailed("Caddy does not listen")


@contextlib.contextmanager
def _units_that_can_run() -> Iterator[list[Path]]:
    """The units with a program that exists on this machine in the place of Salus."""
    with tempfile.TemporaryDirectory() as folder:
        copies = [Path(folder) / unit.name for unit in UNITS]
        for unit, copy in zip(UNITS, copies, strict=True):
            copy.write_text(unit.read_text(encoding="utf-8").replace("/opt/salus/.venv/bin/salus", "/bin/true"), encoding="utf-8")
        yield copies


def main() -> int:
    """Run all checks; returns the exit status."""
    failed = missing = 0
    for check in CHECKS:
        told = (check.__doc__ or "").strip()
        try:
            check()
        except CannotCheck as error:
            missing += 1
            print(f"not checked: {told} ({error})")
        except CheckFailed as error:
            failed += 1
            print(f"WRONG: {told}\n{error}")
        else:
            print(f"checked: {told}")
    print(f"{len(CHECKS) - failed - missing} of {len(CHECKS)} in order, {failed} wrong, {missing} not checked on this machine")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
