"""The commands that Telegram offers in its menu, brought into the form that Telegram takes."""

import re
import unicodedata
from collections.abc import Mapping, Sequence

from telegram import BotCommand

from channels.errors import ChannelMisconfigured

_COMMAND_NAME = re.compile(r"[a-z0-9_]{1,32}")

CommandMenu = Mapping[str, Sequence[tuple[str, str]]]
"""For each language code the (name, description) of the commands offered; the first language is also everyone else's."""


def checked_menu(menu: CommandMenu) -> dict[str, list[BotCommand]]:
    """The menu with plain names and short descriptions.

    Raises:
        ChannelMisconfigured: If Telegram takes no command of such a name.
    """
    return {
        language: [BotCommand(_plain_name(name), description[:256]) for name, description in commands]
        for language, commands in menu.items()
    }


def _plain_name(name: str) -> str:
    folded = unicodedata.normalize("NFKD", name.lstrip("/").casefold())
    plain = "".join(letter for letter in folded if not unicodedata.combining(letter))
    if not _COMMAND_NAME.fullmatch(plain):
        raise ChannelMisconfigured(f"Telegram does not take a command named {name!r}")
    return plain
