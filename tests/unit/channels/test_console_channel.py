import asyncio
import io
import os

from rich.console import Console

from channels.console_channel import ConsoleChannel
from channels.messages import Button, InboundMessage, MessageKind, OutboundLink, OutboundMessage


class Conversation:
    def __init__(self, *replies: OutboundMessage) -> None:
        self.received: list[InboundMessage] = []
        self._replies = list(replies)
        self.answered = asyncio.Event()
        self.channel: ConsoleChannel

    async def receive(self, message: InboundMessage) -> None:
        self.received.append(message)
        await self.channel.show_typing(message.sender)
        await self.channel.send(message.sender, self._replies.pop(0))
        self.answered.set()


async def converse(lines: str, *replies: OutboundMessage) -> tuple[list[InboundMessage], str]:
    screen = io.StringIO()
    conversation = Conversation(*replies)
    conversation.channel = ConsoleChannel(Console(file=screen, width=80), io.StringIO(lines))
    await conversation.channel.start(conversation.receive)
    async with asyncio.timeout(5):
        await conversation.channel.wait_closed()
    await conversation.channel.stop()
    return conversation.received, screen.getvalue()


async def test_each_line_is_a_message_and_the_end_of_input_closes() -> None:
    reply = OutboundMessage(paragraphs=("Beva molto [1].",), links=(OutboundLink(label="ISS", url="https://esempio.it/a"),))
    received, screen = await converse("ho la febbre\n\n/aiuto\n", reply, OutboundMessage(paragraphs=("Ecco.",)))
    assert [(message.kind, message.text) for message in received] == [
        (MessageKind.TEXT, "ho la febbre"),
        (MessageKind.COMMAND, "/aiuto"),
    ]
    assert "Beva molto [1]." in screen
    assert "ISS: https://esempio.it/a" in screen


async def test_a_number_chooses_one_of_the_choices_shown() -> None:
    reply = OutboundMessage(paragraphs=("Le è stato utile?",), buttons=(Button(label="Sì", payload="fb:up:1"),))
    received, screen = await converse("ciao\n1\n", reply, OutboundMessage(paragraphs=("Grazie.",)))
    assert "1. Sì" in screen
    assert (received[1].kind, received[1].text) == (MessageKind.BUTTON, "fb:up:1")


async def test_a_terminal_that_sends_nothing_can_be_left_at_once() -> None:
    reading, writing = os.pipe()
    with os.fdopen(reading) as source, os.fdopen(writing, "w") as keyboard:
        conversation = Conversation(OutboundMessage(paragraphs=("Salve.",)))
        conversation.channel = ConsoleChannel(Console(file=io.StringIO()), source)
        await conversation.channel.start(conversation.receive)
        keyboard.write("perché?\n")
        keyboard.flush()
        async with asyncio.timeout(5):
            await conversation.answered.wait()
            await conversation.channel.stop()
            await conversation.channel.wait_closed()
        await asyncio.sleep(0.3)
    assert conversation.received[0].text == "perché?"
