"""Makes an answer out of drafts and evidence: only supported sentences, at most 75 words, quotes where drafts fail."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from rag.aligner import Aligner
from rag.types import Draft, Evidence, SentenceKind, SupportedSentence

MAX_WORDS = 75
_ENOUGH_WORDS = 30  # below it an answer is filled up with quotes
_STRONG = 0.5  # weaker evidence is not quoted of its own accord, unless there is nothing else
_JOINED = 2  # evidence sentences that the generator works with: the starter models join two well, and each costs half a second
_LONGEST_JOINED = 30  # words


@dataclass(slots=True)
class Composer:
    """Collects the sentences of one answer, in the order in which they may be shown.

    Each sentence goes to `on_sentence` the moment it is verified and is never taken back.
    """

    aligner: Aligner
    evidence: Sequence[Evidence]
    on_sentence: Callable[[SupportedSentence], None]
    sentences: list[SupportedSentence] = field(default_factory=list)
    dropped: int = 0

    def open(self) -> None:
        """Quote the strongest evidence at once: the reader has it while the generator still reads the rest."""
        self._add(_quote(self.evidence[0]))

    def take(self, drafts: Iterable[Draft]) -> None:
        """Align drafts until one would lead past the word limit; unsupported and repeated ones are dropped."""
        for draft in drafts:
            sentence = self.aligner.align(draft, self.evidence)
            if sentence is None:
                self.dropped += 1
            elif self._is_new(sentence) and not self._add(sentence):
                return

    def fill(self) -> None:
        """Quote when to see a doctor if the evidence says it, and more until the answer says enough."""
        advice = next((item for item in self.evidence if item.is_advice), None)
        if advice is not None and not any(item.is_advice for one in self.sentences for item in one.evidence):
            self._add(_quote(advice))
        for rank, item in enumerate(self.evidence):
            enough = self._words() >= _ENOUGH_WORDS or (self.sentences and item.strength < _STRONG)
            if rank > 0 and enough:
                return
            quote = _quote(item)
            if self._is_new(quote):
                self._add(quote)

    def _add(self, sentence: SupportedSentence) -> bool:
        if self._words() + _count(sentence) > MAX_WORDS:
            return False
        self.sentences.append(sentence)
        self.on_sentence(sentence)
        return True

    def _is_new(self, sentence: SupportedSentence) -> bool:
        shown = {_place(item) for one in self.sentences for item in one.evidence}
        return not {_place(item) for item in sentence.evidence} <= shown

    def _words(self) -> int:
        return sum(_count(sentence) for sentence in self.sentences)


def _quote(item: Evidence) -> SupportedSentence:
    return SupportedSentence(text=item.sentence.text, kind=SentenceKind.QUOTED, evidence=(item,), alignment=1.0)


def _count(sentence: SupportedSentence) -> int:
    return len(sentence.text.split())


def _place(item: Evidence) -> tuple[str, int]:
    return item.chunk.chunk_id, item.sentence.start


def joinable(evidence: Sequence[Evidence]) -> list[Evidence]:
    """What the generator writes from: the next strongest sentences, of one page, since only those may be joined.

    A list is quoted as it stands: the starter models copy it word for word, in eight seconds.
    """
    following = [item for item in evidence[1:] if len(item.sentence.text.split()) <= _LONGEST_JOINED]
    page = following[0].chunk.document_id if following else ""
    return [item for item in following if item.chunk.document_id == page][:_JOINED]
