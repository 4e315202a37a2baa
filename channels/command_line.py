"""What counts as a command: a slash and a word, on every messenger the same."""

import re

# Letters of any language: a library's command rule is ASCII only and would pass "/país" on as a question.
_COMMAND = re.compile(r"/(?P<name>[^\W\d_]\w*)(?:@(?P<bot>\w+))?(?P<rest>(?:\s.*)?)", re.DOTALL)


def command_line(text: str, bot_name: str | None = None) -> str | None:
    """The command as typed, without the "@BotName" that a group adds, or None if the text is no command for this bot."""
    found = _COMMAND.fullmatch(text.strip())
    if found is None or (found["bot"] and found["bot"].casefold() != (bot_name or "").casefold()):
        return None
    return f"/{found['name']}{found['rest']}"
