"""Every text that a patient sees, in both languages, read once from the `.po` files at start."""

from collections.abc import Mapping
from pathlib import Path
from string import Formatter

from babel.messages.pofile import PoFileError, read_po

from locales.language import Language

_DIRECTORY = Path(__file__).parent


class CatalogError(Exception):
    """A message file is missing, empty or malformed: the product must not start."""


class Catalog:
    """Texts by language and dotted key."""

    def __init__(self, texts: Mapping[Language, Mapping[str, str]]) -> None:
        self._texts = {language: dict(messages) for language, messages in texts.items()}

    @classmethod
    def load(cls, directory: Path = _DIRECTORY) -> "Catalog":
        """Read `{it,es}/messages.po` below `directory`.

        Raises:
            CatalogError: If a file is missing or malformed, or holds an empty text.
        """
        return cls({language: _read(directory / language.value / "messages.po") for language in Language})

    def keys(self, language: Language) -> frozenset[str]:
        """Every key that has a text in `language`."""
        return frozenset(self._texts[language])

    def placeholders(self, language: Language, key: str) -> frozenset[str]:
        """The names that `text` needs for `key`."""
        return frozenset(name for _, name, _, _ in Formatter().parse(self._texts[language][key]) if name)

    def text(self, language: Language, key: str, **values: object) -> str:
        """The text of `key` in `language`, its placeholders filled from `values`.

        Values that the text does not name are ignored, so that one call serves texts that differ only in what they mention.

        Raises:
            KeyError: If there is no such key, or a placeholder has no value.
        """
        return self._texts[language][key].format_map(values)


def _read(path: Path) -> dict[str, str]:
    try:
        with path.open("rb") as file:
            catalog = read_po(file, abort_invalid=True)
    except (OSError, ValueError, PoFileError) as error:
        raise CatalogError(f"cannot read {path}: {error}") from error
    messages = {str(message.id): str(message.string) for message in catalog if message.id}
    empty = sorted(key for key, text in messages.items() if not text.strip())
    if empty or not messages:
        raise CatalogError(f"{path} holds no text for: {', '.join(empty) or 'any key'}")
    return messages
