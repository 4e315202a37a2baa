"""How one question is to be answered: in which mode, in how much detail, from which pages, and within what budget."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from rag.composer import ENOUGH_WORDS, MAX_WORDS
from rag.models.protocols import Budget
from rag.types import Detail, Evidence, Mode, SupportedSentence

OnSentence = Callable[[SupportedSentence], None]

_CANDIDATES = {Mode.FAST: 6, Mode.PRECISE: 12}  # sentences that an answer may be made from
_WORDS = {  # at most, and enough of them
    Detail.USUAL: (MAX_WORDS, ENOUGH_WORDS),
    Detail.PLAINER: (40, 20),
    Detail.MORE: (MAX_WORDS, MAX_WORDS),
}
_PLAIN_WORDS = 20  # the longest sentence that can be followed when it is read aloud


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """How one question is to be answered, and who hears of its sentences; the fields are those of `Answerer.answer`."""

    mode: Mode
    country: str | None
    budget: Budget
    on_sentence: OnSentence
    quote_only: bool = False
    pages: tuple[str, ...] = ()
    detail: Detail = Detail.USUAL
    said: Collection[tuple[str, int]] = ()

    @property
    def generates(self) -> bool:
        """Whether the generator is to be used."""
        return not self.quote_only and self.detail is Detail.USUAL

    @property
    def candidates(self) -> int:
        """How many sentences the answer may be made from."""
        return _CANDIDATES[Mode.PRECISE if self.detail is Detail.MORE else self.mode]

    @property
    def words(self) -> tuple[int, int]:
        """How many words the answer may have at most, and how many are enough."""
        return _WORDS[self.detail]

    def choose(self, evidence: Sequence[Evidence]) -> list[Evidence]:
        """The evidence that the wished detail is made of, in the order in which it is to be told."""
        if self.detail is Detail.MORE:
            return [item for item in evidence if item.place not in self.said]
        if self.detail is Detail.PLAINER:
            return sorted(evidence, key=lambda item: len(item.sentence.text.split()) > _PLAIN_WORDS)
        return list(evidence)
