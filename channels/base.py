"""What every messenger must do for the conversation."""

from collections.abc import Awaitable, Callable
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

    async def show_typing(self, to: Patient) -> None:
        """Show that an answer is being worked on, where the messenger can; failures are ignored."""
