"""What can fail at a messenger.

ChannelError
├── DeliveryFailed      the messenger refused the message for good
│   └── RecipientGone   the patient blocked the bot or opted out: the session can be dropped
├── ChannelMisconfigured   a token, secret or address is missing or wrong
└── ChannelUnreachable     the messenger could not be reached at start
"""


class ChannelError(Exception):
    """Root of everything that `channels` raises; its text never holds a patient's words, name, number, or a token."""


class DeliveryFailed(ChannelError):
    """The messenger refused the message for good."""


class RecipientGone(DeliveryFailed):
    """The patient blocked the bot or opted out."""


class ChannelMisconfigured(ChannelError):
    """A token, secret or address is missing or wrong."""


class ChannelUnreachable(ChannelError):
    """The messenger could not be reached at start; trying again later may help."""
