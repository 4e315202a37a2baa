"""What WhatsApp's rules make necessary to remember of each patient: when they last wrote, and under which message id."""

import hashlib
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

WINDOW_S = 24 * 3600  # Meta lets a business write freely for so long after the patient's last message
_TYPING_S = 20.0  # the sign goes out after 25 s, or when a message arrives
_MOST_PATIENTS = 10_000


@dataclass(slots=True)
class _Contact:
    wrote_at: float
    message_id: str
    typing_until: float = 0.0
    typing_refused: bool = False


class Contacts:
    """Keeps the last message of each address, in memory, for the addresses that wrote last; none of its words.

    Addresses are kept as hashes under a key that is drawn at start and kept nowhere else. Of an address that is not known (after
    a restart, or because many wrote since) the window counts as open: WhatsApp itself then says what it is.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._key = secrets.token_bytes(32)
        self._contacts: OrderedDict[bytes, _Contact] = OrderedDict()

    def note(self, address: str, message_id: str) -> None:
        """A patient has written."""
        digest = self._digest(address)
        self._contacts.pop(digest, None)
        self._contacts[digest] = _Contact(wrote_at=self._clock(), message_id=message_id)
        while len(self._contacts) > _MOST_PATIENTS:
            self._contacts.popitem(last=False)

    def is_window_closed(self, address: str) -> bool:
        """Whether the patient is known to have written last more than 24 hours ago (H14)."""
        contact = self._contacts.get(self._digest(address))
        return contact is not None and self._clock() - contact.wrote_at > WINDOW_S

    def typing_due(self, address: str) -> str | None:
        """The message under which the typing sign is to be asked for now; None if it stands, was refused, or nobody wrote."""
        contact = self._contacts.get(self._digest(address))
        if contact is None or contact.typing_refused or self._clock() < contact.typing_until:
            return None
        return contact.message_id

    def is_typing_shown(self, address: str) -> bool:
        """Whether the typing sign stands in the chat."""
        contact = self._contacts.get(self._digest(address))
        return contact is not None and self._clock() < contact.typing_until

    def note_typing(self, address: str, *, shown: bool) -> None:
        """The sign was asked for; after a refusal it is not asked for again before the patient's next message."""
        if contact := self._contacts.get(self._digest(address)):
            contact.typing_until = self._clock() + _TYPING_S if shown else 0.0
            contact.typing_refused = not shown

    def note_sent(self, address: str) -> None:
        """A message was sent, which takes the sign away."""
        if contact := self._contacts.get(self._digest(address)):
            contact.typing_until = 0.0

    def _digest(self, address: str) -> bytes:
        return hashlib.blake2b(address.encode(errors="replace"), digest_size=16, key=self._key).digest()
