import pytest

from channels.command_line import command_line


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("/start", "/start"),
        ("/start@SalusBot", "/start"),
        ("/lingua@salusbot es", "/lingua es"),
        ("/país", "/país"),
        ("  /lingua\nes ", "/lingua\nes"),
        ("/start@OtroBot", None),
        ("ho /start", None),
        ("/ paracetamolo", None),
        ("/8 ore", None),
        ("//", None),
        ("", None),
    ],
)
def test_a_command_is_a_slash_and_a_word(text: str, command: str | None) -> None:
    assert command_line(text, "SalusBot") == command
