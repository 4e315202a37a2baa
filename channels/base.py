"""What every messenger must do for the conversation."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from starlette.routing import BaseRoute

from channels.messages import InboundMessage, OutboundMessage, Patient, Platform

Receive = Callable[[InboundMessage], Awaitable[None]]
"""Hands a message to the conversation; returns at once, the work is done in the background."""


class Channel(Protocol):
    """One messenger, both ways."""

    @property
    def platform(self) -> Platform:
        """Which messenger this is."""

    def routes(self) -> list[BaseRoute]:
        """HTTP routes that this channel needs (its webhooks); empty when it polls."""

    async def start(self, receive: Receive) -> None:
        """Connect and deliver every arriving message to `receive`.

        Raises:
            ChannelMisconfigured: If the messenger refuses the credentials.
        """

    async def stop(self) -> None:
        """Take no more messages and close connections; messages being sent are finished."""

    async def send(self, to: Patient, message: OutboundMessage) -> None:
        """Deliver a reply in as many parts as the messenger needs, in order.

        Raises:
            RecipientGone: If the patient blocked the bot or opted out.
            DeliveryFailed: If the messenger refuses the message for good.
        """

    async def post(self, to: Patient, message: OutboundMessage) -> str | None:
        """Deliver a message that may be changed later.

        Returns:
            What `edit` (its last part) and `delete` know the message by, or None where the messenger cannot change a message.

        Raises:
            RecipientGone: If the patient blocked the bot or opted out.
            DeliveryFailed: If the messenger refuses the message for good.
        """

    async def edit(self, to: Patient, handle: str, message: OutboundMessage) -> None:
        """Show `message` in place of the one that `post` gave `handle` for; nothing happens if it says the same already.

        Tried once: the caller decides when to try again. What does not fit one message is left out (`send_rest`), and where
        something is, so are the buttons.

        Raises:
            TryLater: If the messenger asks to wait.
            MessageGone: If the message is not there any more.
            RecipientGone: If the patient blocked the bot.
            DeliveryFailed: If it failed otherwise; trying again does no harm.
        """

    async def send_rest(self, to: Patient, message: OutboundMessage) -> None:
        """Deliver what `edit` left out of `message`, in as many parts as the messenger needs; nothing if it all fitted.

        Raises:
            RecipientGone: If the patient blocked the bot or opted out.
            DeliveryFailed: If the messenger refuses a part for good or may not have received it.
        """

    async def delete(self, to: Patient, handles: Sequence[str]) -> bool:
        """Delete messages from a private chat, where the messenger can; failures are ignored.

        Args:
            to: Whose chat it is.
            handles: What `post` gave for the bot's messages, and the `message_id` or `original_id` of the patient's.

        Returns:
            Whether all of them are gone; a patient may be told so.
        """

    async def show_typing(self, to: Patient) -> bool:
        """Show that an answer is being worked on, where the messenger can; failures are ignored.

        Returns:
            Whether the patient can be expected to see it; if not, it is to be said in words.
        """
