"""Buttons for messengers without buttons: the choices are numbered, and a reply with the number or the label counts as a tap."""

import time
import unicodedata
from collections import OrderedDict
from collections.abc import Callable, Sequence

from channels.messages import Button

_VALID_S = 30 * 60  # after half an hour a bare "2" is more likely an answer to something else
_MOST_PATIENTS = 10_000


class NumberedReplies:
    """Remembers, in memory and for half an hour, the choices of the last message sent to each address."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._offers: OrderedDict[str, tuple[float, tuple[Button, ...]]] = OrderedDict()

    def offer(self, address: str, buttons: Sequence[Button]) -> None:
        """Replace the address's choices; a message without any withdraws the earlier ones."""
        self.purge()
        self._offers.pop(address, None)
        if buttons:
            self._offers[address] = (self._clock() + _VALID_S, tuple(buttons))
            while len(self._offers) > _MOST_PATIENTS:
                self._offers.popitem(last=False)

    def purge(self) -> None:
        """Forget all choices that have lapsed; they may say what a patient complained of."""
        now = self._clock()
        while self._offers and next(iter(self._offers.values()))[0] <= now:
            self._offers.popitem(last=False)

    def payload(self, address: str, text: str) -> str | None:
        """The payload that a reply chooses, or None if it chooses nothing."""
        valid_until, buttons = self._offers.get(address, (0.0, ()))
        if self._clock() >= valid_until:
            self._offers.pop(address, None)
            return None
        reply = _bare(text)
        for number, button in enumerate(buttons, start=1):
            if reply in {str(number), _bare(button.label)}:
                return button.payload
        return None


def numbered_lines(hint: str, buttons: Sequence[Button], template: str = "{number}. {label}") -> str:
    """The hint, if there is one, and one line a choice; empty without buttons."""
    if not buttons:
        return ""
    lines = "\n".join(template.format(number=number, label=button.label) for number, button in enumerate(buttons, start=1))
    return f"{hint}\n{lines}".strip()


def _bare(text: str) -> str:
    decomposed = unicodedata.normalize("NFKD", text.strip().strip(".,;:!?¡¿)(«»\"'").strip().casefold())
    return "".join(sign for sign in decomposed if not unicodedata.combining(sign))
