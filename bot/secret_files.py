"""Settings from files: one file a setting in one folder, as container engines and systemd hand secrets over."""

from pathlib import Path

from bot.errors import SettingsInvalid

_MOST_BYTES = 65_536


def read_secret_files(folder: str | None, prefix: str) -> dict[str, str]:
    """Read the files of a folder, each of them named like a setting, in any case of letters, with or without the prefix.

    Args:
        folder: What SALUS_SECRETS_DIR says; nothing is read when None. Names that begin with a dot are left alone.
        prefix: Of the settings' variables.

    Returns:
        The content by the setting's name, without white space around it.

    Raises:
        SettingsInvalid: If the folder or a file cannot be read, or a file is empty; what a file holds is never told.
    """
    if folder is None:
        return {}
    try:
        files = sorted(path for path in Path(folder).expanduser().iterdir() if not path.name.startswith("."))
    except (OSError, RuntimeError):
        raise SettingsInvalid(f"SALUS_SECRETS_DIR names {folder}, which is not a folder that can be read.") from None
    return {_name(path, prefix): _content(path) for path in files}


def _name(path: Path, prefix: str) -> str:
    return path.name.lower().removeprefix(prefix.lower())


def _content(path: Path) -> str:
    try:
        with path.open("rb") as file:
            content = file.read(_MOST_BYTES + 1).decode().strip()
    except (OSError, UnicodeDecodeError):
        raise SettingsInvalid(f"{path} is not a file of text that this user may read.") from None
    if not content or len(content) >= _MOST_BYTES:
        raise SettingsInvalid(f"{path} is empty or far too long for a secret.")
    return content
