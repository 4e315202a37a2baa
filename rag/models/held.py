"""What a context holds of one answer's prompts, so that the next stage evaluates only what is new to it."""

from dataclasses import dataclass, field
from itertools import takewhile


@dataclass(slots=True)
class Held:
    """The tokens that a context evaluated after a static prefix; empty while nothing is held. Its `repr` shows none of them."""

    active: bool = False
    _prefix: str = field(default="", repr=False)
    _tokens: list[int] = field(default_factory=list, repr=False)

    def shared_with(self, prefix: str, body: list[int]) -> int:
        """How many tokens of `body` need not be evaluated again: never all, for the last one gives the next token's odds."""
        if not self._tokens or prefix != self._prefix:
            return 0
        pairs = takewhile(lambda pair: pair[0] == pair[1], zip(self._tokens, body[:-1], strict=False))
        return sum(1 for _ in pairs)

    def take(self, prefix: str, body: list[int]) -> None:
        """Note a prompt that is about to be evaluated."""
        self.forget()
        if self.active:
            self._prefix, self._tokens = prefix, list(body)

    def add(self, token: int) -> None:
        """Note a decoded token that is about to be evaluated."""
        if self.active:
            self._tokens.append(token)

    def forget(self) -> None:
        """Forget what is held."""
        self._tokens.clear()
        self._prefix = ""
