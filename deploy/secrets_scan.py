"""Looks for secrets in every file that is, or is about to be, under version control.

What was looked at and is none stands in deploy/secrets.baseline.json. Run by `make secrets-scan`; `--accept` writes that list
anew, for whoever has looked at each new finding. Needs detect-secrets beside its Python.
"""

# ruff: noqa: T201  # its output is what the person at the terminal sees
from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent
BASELINE = PROJECT / "deploy" / "secrets.baseline.json"
# Large files of phrases, questions and figures, which programs of the project made; checksums; what is known already.
_NOT_READ = re.compile(
    r"(^|/)(requirements\.lock|.*\.(tsv|jsonl|html|npz|png))$|^(tests/data|docs/evaluations)/|^deploy/secrets\.baseline"
)
_AT_ONCE = 200
# A token of Telegram's, which detect-secrets knows only where it stands alone on its line.
_TELEGRAM = re.compile(rb"\b[0-9]{8,10}:[A-Za-z0-9_-]{34,36}\b")


def files() -> list[str]:
    """Paths of the files to look at, from the project's root."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=True).stdout.split("\0")
    return sorted({path for path in listed if path and not _NOT_READ.search(path) and (PROJECT / path).is_file()})


def accept(paths: list[str]) -> int:
    """Write the list of what is known anew."""
    command = [sys.executable, "-m", "detect_secrets", "scan", *paths]
    found = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=True).stdout
    BASELINE.write_text(re.sub(r'("generated_at": )"[^"]*"', r'\1""', found), encoding="utf-8")
    print(f"{BASELINE.relative_to(PROJECT)} is written anew: look at what changed in it.")
    return 0


def scan(paths: list[str]) -> int:
    """Fail if anything is found that is not on the list."""
    program = str(Path(sys.executable).with_name("detect-secrets-hook"))
    before, status = BASELINE.read_bytes(), 0
    for start in range(0, len(paths), _AT_ONCE):
        command = [program, "--baseline", str(BASELINE), *paths[start : start + _AT_ONCE]]
        status |= subprocess.run(command, cwd=PROJECT, check=False).returncode & 1
    for path in paths:
        if _TELEGRAM.search((PROJECT / path).read_bytes()):
            print(f"{path}: a token of Telegram's")
            status = 1
    BASELINE.write_bytes(before)  # the program notes new line numbers in it, which is nobody's business
    print("secrets found: see above" if status else f"no secret in {len(paths)} files")
    return status


def main() -> int:
    """Look, or write the list anew; returns the exit status."""
    return accept(files()) if "--accept" in sys.argv[1:] else scan(files())


if __name__ == "__main__":
    sys.exit(main())
