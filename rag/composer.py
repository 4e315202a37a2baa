"""Makes an answer out of drafts and evidence: only supported sentences, at most 75 words, quotes where drafts fail."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from rag.aligner import Aligner
from rag.limits import LimitWords
from rag.types import Draft, Evidence, SentenceKind, SupportedSentence

MAX_WORDS = 75
_ACCEPTED = 0.6  # of the most words: a shorter answer whose next sentence does not fit is worth a shorter draft
ENOUGH_WORDS = 30
_STRONG = 0.5  # weaker evidence is not quoted of its own accord, unless there is nothing else
_JOINED = 2  # evidence sentences that the generator works with: the starter models join two well, and each costs half a second
_LONGEST_JOINED = 30  # words


@dataclass(slots=True)
class Composer:
    """Collects the sentences of one answer, in the order in which they may be shown.

    Each sentence goes to `on_sentence` the moment it is verified and is never taken back. One that its source limits in the next
    ("Ma non …") comes with that one, or not at all.
    """

    aligner: Aligner
    evidence: Sequence[Evidence]
    on_sentence: Callable[[SupportedSentence], None]
    limits: LimitWords
    most_words: int = MAX_WORDS
    enough_words: int = ENOUGH_WORDS  # below it an answer is filled up with quotes
    sentences: list[SupportedSentence] = field(default_factory=list)
    dropped: int = 0

    def open(self) -> None:
        """Quote the strongest evidence at once: the reader has it while the generator still reads the rest."""
        self._quote(self.evidence[0])

    def take(self, drafts: Iterable[Draft], material: Sequence[Evidence] = ()) -> bool:
        """Align drafts, until one does not fit any more or all of `material` has been said; unsupported ones are dropped.

        Returns:
            True when a supported sentence did not fit although the answer is short, so that a shorter draft is worth asking for.
        """
        for draft in drafts:
            sentence = self.aligner.align(draft, self.evidence)
            if sentence is None:
                self.dropped += 1
            elif self._is_new(sentence.evidence):
                together = self._with_limits(sentence)
                if together and not self._add(together):
                    return not self.says_enough
            if material and not self.unsaid(material):
                return False
        return False

    def prefer(self, kept: Sequence[Evidence]) -> None:
        """Quote these before the rest."""
        places = {item.place for item in kept}
        self.evidence = [*kept, *(item for item in self.evidence if item.place not in places)]

    def unsaid(self, items: Iterable[Evidence]) -> list[Evidence]:
        """Those that no sentence shown says."""
        return [item for item in items if self._is_new([item])]

    @property
    def says_enough(self) -> bool:
        """Whether the answer has most of the words that it may have."""
        return self._words() >= _ACCEPTED * self.most_words

    def fill(self) -> None:
        """Quote when to see a doctor if the evidence says it, and more until the answer says enough."""
        advice = next((item for item in self.evidence if item.is_advice), None)
        if advice is not None and not any(item.is_advice for one in self.sentences for item in one.evidence):
            self._quote(advice)
        for rank, item in enumerate(self.evidence):
            enough = self._words() >= self.enough_words or (self.sentences and item.strength < _STRONG)
            if rank > 0 and enough:
                return
            self._quote(item)

    def _quote(self, item: Evidence) -> None:
        if self._is_new([item]):
            self._add([_quote(part) for part in self.limits.whole(item) if self._is_new([part])])

    def _with_limits(self, sentence: SupportedSentence) -> list[SupportedSentence]:
        """A written sentence and the quotes of what limits its evidence; empty if those may not be shown."""
        added: dict[tuple[str, int], Evidence] = {}
        said = {item.place for item in sentence.evidence}
        for item in sentence.evidence:
            parts = self.limits.whole(item)
            without_limited = any(part.sentence.start < item.sentence.start and part.place not in said for part in parts)
            if not parts or without_limited:  # beside another sentence it would limit that one
                return []
            added |= {part.place: part for part in parts if part.sentence.start > item.sentence.start}
        return [sentence, *(_quote(part) for place, part in added.items() if place not in said and self._is_new([part]))]

    def _add(self, sentences: Sequence[SupportedSentence]) -> bool:
        """Show sentences that belong together, all or none."""
        if not sentences or self._words() + sum(map(_count, sentences)) > self.most_words:
            return False
        for sentence in sentences:
            self.sentences.append(sentence)
            self.on_sentence(sentence)
        return True

    def _is_new(self, items: Iterable[Evidence]) -> bool:
        shown = {item.place for one in self.sentences for item in one.evidence}
        return not {item.place for item in items} <= shown

    def _words(self) -> int:
        return sum(_count(sentence) for sentence in self.sentences)


def _quote(item: Evidence) -> SupportedSentence:
    return SupportedSentence(text=item.sentence.text, kind=SentenceKind.QUOTED, evidence=(item,), alignment=1.0)


def _count(sentence: SupportedSentence) -> int:
    return len(sentence.text.split())


def joinable(following: Sequence[Evidence]) -> list[Evidence]:
    """What the generator writes from: the strongest two sentences of one section, since others read oddly when they are joined.

    A list is quoted as it stands: the starter models copy it word for word, in eight seconds.
    """
    following = [item for item in following if len(item.sentence.text.split()) <= _LONGEST_JOINED]
    sections = [[item for item in following if item.chunk.chunk_id == first.chunk.chunk_id] for first in following]
    return next((section[:_JOINED] for section in sections if len(section) >= _JOINED), following[:1])
