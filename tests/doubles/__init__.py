"""Messengers as real HTTP servers on the loopback address, for tests that go over the wire."""

from tests.doubles.bot_api import BotApiDouble
from tests.doubles.local_server import LocalServer
from tests.doubles.twilio_api import TwilioDouble, post_signed_form

__all__ = ["BotApiDouble", "LocalServer", "TwilioDouble", "post_signed_form"]
