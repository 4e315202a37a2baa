import io

from rich.console import Console

from bot.terminal_answer import TerminalAnswer
from channels.messages import OutboundMessage


def printed(*grown: str, whole: OutboundMessage) -> str:
    screen = io.StringIO()
    console = Console(file=screen, width=80)
    answer = TerminalAnswer(console, console.status("…"))
    for text in grown:
        answer.grow(OutboundMessage(paragraphs=(text,)))
    answer.finish(whole)
    return screen.getvalue()


def test_each_sentence_is_printed_once_and_the_closing_comes_last() -> None:
    whole = OutboundMessage(paragraphs=("Uno. Due. Tre.",), closing=("Chiusura.",))
    assert printed("Uno.", "Uno. Due.", whole=whole) == "Uno.\n\nDue.\n\nTre.\n\nChiusura.\n\n"


def test_what_did_not_grow_is_printed_whole() -> None:
    assert printed(whole=OutboundMessage(paragraphs=("Mi scusi.",))) == "Mi scusi.\n\n"
