"""Hands outcomes to the messenger of whoever wrote."""

import asyncio
from collections.abc import Awaitable

from bot.metrics import DeliveryFailure
from bot.outcomes import Outcome
from bot.parts import Parts
from bot.renderer import Reader
from bot.session import Session
from channels.base import Channel
from channels.messages import InboundMessage, Platform

_LIMIT_S = 120.0


class Delivery:
    """Renders what is not an answer of the answering line, and sends it."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    def channel(self, platform: Platform) -> Channel:
        """The messenger."""
        return self._parts.channels[platform]

    def reader(self, message: InboundMessage, session: Session, *, is_new: bool = False) -> Reader:
        """Whom a reply to a message is rendered for."""
        can_delete = message.sender.platform is Platform.TELEGRAM and not message.is_group
        return Reader(platform=message.sender.platform, country=session.country, is_new=is_new, can_delete=can_delete)

    async def send(self, outcome: Outcome, message: InboundMessage, session: Session) -> None:
        """Send a reply to whoever wrote a message.

        Raises:
            RecipientGone: If the patient blocked the bot or opted out.
            DeliveryFailed: If the messenger refuses it for good or may not have received it.
        """
        rendered = self._parts.renderer.render(outcome, self.reader(message, session))
        await self.within_limit(self.channel(message.sender.platform).send(message.sender, rendered))

    async def post(self, outcome: Outcome, message: InboundMessage, session: Session) -> str | None:
        """Send a reply that may have to be deleted, and give what it is known by; raises what `send` does."""
        rendered = self._parts.renderer.render(outcome, self.reader(message, session))
        channel = self.channel(message.sender.platform)
        async with asyncio.timeout(_LIMIT_S):
            return await channel.post(message.sender, rendered)

    async def try_to_send(self, outcome: Outcome, message: InboundMessage, session: Session) -> None:
        """Send a reply after which nothing more can be said to this patient if it fails."""
        try:
            await self.send(outcome, message, session)
        except Exception as error:  # noqa: BLE001 - see above
            self._parts.metrics.note_delivery_failure(message.sender.platform, DeliveryFailure.of(error))
            self._parts.telemetry.failure("send_failed", error, patient=self._parts.telemetry.patient(message))

    async def within_limit(self, sending: Awaitable[None]) -> None:
        """Wait for a delivery, not for ever."""
        await asyncio.wait_for(sending, _LIMIT_S)
