"""What can fail at a messenger.

ChannelError
├── DeliveryFailed      the messenger refused the message for good
│   ├── RecipientGone   the patient blocked the bot or opted out: the session can be dropped
│   ├── WindowClosed    the patient wrote too long ago to be written to freely
│   ├── MessageGone     the message to be changed is not there any more, or too old to be changed
│   └── TryLater        the messenger asks to wait before it is called again
├── ChannelMisconfigured   a token, secret or address is missing or wrong
└── ChannelUnreachable     the messenger could not be reached at start
"""


class ChannelError(Exception):
    """Root of everything that `channels` raises; its text never holds a patient's words, name, number, or a token."""


class DeliveryFailed(ChannelError):
    """The messenger refused the message for good."""


class RecipientGone(DeliveryFailed):
    """The patient blocked the bot or opted out."""


class WindowClosed(DeliveryFailed):
    """The patient wrote too long ago: until the next message, WhatsApp takes nothing but approved templates."""


class MessageGone(DeliveryFailed):
    """The message to be changed is not there any more, or too old to be changed."""


class TryLater(DeliveryFailed):
    """The messenger asks to wait `wait_s` seconds before it is called again."""

    def __init__(self, wait_s: float) -> None:
        super().__init__(f"the messenger asks to wait {wait_s:.0f} s")
        self.wait_s = wait_s


class ChannelMisconfigured(ChannelError):
    """A token, secret or address is missing or wrong."""


class ChannelUnreachable(ChannelError):
    """The messenger could not be reached at start; trying again later may help."""
