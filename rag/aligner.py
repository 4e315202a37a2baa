"""Decides whether a drafted sentence says nothing but what the evidence says.

Two rules, either of which is enough. The first: the draft's claim is the evidence's claim with, at most, whole members left out.
Every content word, number, unit, negation, modal, condition and population of the draft stands in the evidence in that order; a
clause that is kept is kept whole, and one that limits the rest is never left out. A draft may join two evidence sentences of one
page. The second reads words of one meaning as the same and lets the order differ where it does not matter
(`rag/claim_paraphrase.py`). When in doubt the sentence is dropped: a quote is always at hand. docs/adr/0004-aligner.md and
0021-free-paraphrases.md have the measured precision.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile

from rapidfuzz.distance import Levenshtein

from locales.language import Language
from rag.claim_members import is_one_of_two, may_go
from rag.claim_paraphrase import ParaphraseFinder
from rag.claims import ClaimWords, Item, Link, Segment, dangles, keys, segments
from rag.models.protocols import PairScorer
from rag.text import euphonic
from rag.types import Draft, Evidence, SentenceKind, SupportedSentence

_MIN_ITEMS = 2  # a shorter claim ("Sì, certo.") says nothing that evidence could support
_YES_OR_NO = re.compile(r"^\s*(?:sì|si|sí|no)\s*[,:;.]\s*", re.IGNORECASE)
_ASIDE = re.compile(r"\b(e|ed|ma|o|y|pero|u|che|que),\s(?=[^,.;]+,\s)", re.IGNORECASE)
# What follows scores close to 1 with a model of inference, what contradicts close to 0; between them it is a matter of doubt.
_REFUSED, _SURE = 0.5, 0.95
_CONTRAST = frozenset({"but", "while"})  # between two sentences that both hold, they claim nothing


@dataclass(frozen=True, slots=True)
class _Claim:
    evidence: Evidence
    segments: tuple[Segment, ...]


class Aligner:
    """Maps drafted sentences to the evidence that proves them."""

    def __init__(self, language: Language, entailment: PairScorer | None = None) -> None:
        """Read the word lists of a language.

        Args:
            language: Of drafts and evidence.
            entailment: May refuse a sentence that the rules accept, and accept one that they leave undecided; nothing else.
        """
        self._words = ClaimWords.load(language)
        self._paraphrases = ParaphraseFinder(language)
        self._entailment = entailment
        self._language = language

    def align(self, draft: Draft, evidence: Sequence[Evidence]) -> SupportedSentence | None:
        """Support a draft with one or two evidence sentences, or return None.

        Args:
            draft: One sentence.
            evidence: Candidate sentences, strongest first.

        Returns:
            The sentence with its proof; `alignment` is the share of the evidence's claim that the sentence carries, 0 to 1.
            A draft that repeats an evidence sentence is QUOTED and shown exactly as the source has it.
        """
        quoted = self._quote(draft.text, evidence)
        if quoted is not None:
            return quoted
        text = euphonic(_without_yes_or_no(draft.text), self._language)
        parts = segments(text, self._words)
        if "?" in text or _size(parts) < _MIN_ITEMS or dangles(_without_asides(text), self._words):
            return None
        claims = [_Claim(item, segments(item.sentence.text, self._words)) for item in evidence]
        supporting = self._single(parts, claims) or self._joined(parts, claims)
        if supporting:
            share = min(1.0, round(_size(parts) / max(1, sum(_size(claim.segments) for claim in supporting)), 3))
            return self._unless_refused(_written(text, [claim.evidence for claim in supporting], share))
        found, share = self._paraphrases.find(text, evidence)
        return self._unless_refused(_written(text, found, share)) if found else self._entailed(text, evidence)

    def _unless_refused(self, sentence: SupportedSentence) -> SupportedSentence | None:
        """The sentence, unless the entailment model finds that it does not follow."""
        if self._entailment is None:
            return sentence
        premise = " ".join(item.sentence.text for item in sentence.evidence)
        return sentence if self._entailment.score([(premise, sentence.text)])[0] >= _REFUSED else None

    def _entailed(self, text: str, evidence: Sequence[Evidence]) -> SupportedSentence | None:
        """What the rules leave undecided, if the entailment model is sure of it."""
        offered = self._paraphrases.undecided(text, evidence) if self._entailment is not None else []
        if self._entailment is None or not offered:
            return None
        scores = self._entailment.score([(item.sentence.text, text) for item in offered])
        best = int(scores.argmax())
        return _written(text, [offered[best]], 1.0) if scores[best] >= _SURE else None

    def _quote(self, text: str, evidence: Sequence[Evidence]) -> SupportedSentence | None:
        wanted = _bare(text)
        for item in evidence:
            if Levenshtein.distance(_bare(item.sentence.text), wanted, score_cutoff=1) <= 1 and self._same_claim(text, item):
                return SupportedSentence(text=item.sentence.text, kind=SentenceKind.QUOTED, evidence=(item,), alignment=1.0)
        return None

    def _same_claim(self, text: str, item: Evidence) -> bool:
        """Whether a draft that is all but a copy claims what the sentence claims: the source's own wording is then shown."""
        wanted, offered = (_without_braces(words) for words in (_without_yes_or_no(text), item.sentence.text))
        return segments(wanted, self._words) == segments(offered, self._words)

    def _single(self, parts: Sequence[Segment], claims: Sequence[_Claim]) -> list[_Claim]:
        return next(([claim] for claim in claims if self._supports(parts, claim.segments)), [])

    def _joined(self, parts: Sequence[Segment], claims: Sequence[_Claim]) -> list[_Claim]:
        """Two sentences of one page, joined where the draft has a clause boundary."""
        for cut in range(1, len(parts)):
            head, tail = parts[:cut], _without_contrast(parts[cut:])
            for first in claims if _size(tail) >= _MIN_ITEMS else ():
                if not self._supports(head, first.segments):
                    continue
                for second in claims:
                    same_page = second.evidence.chunk.document_id == first.evidence.chunk.document_id
                    if second is not first and same_page and self._continues(head, tail, second.segments):
                        return [first, second]
        return []

    def _continues(self, head: Sequence[Segment], tail: Sequence[Segment], offered: Sequence[Segment]) -> bool:
        """Whether `offered` supports the second half of a draft, with what it may take over from the first half.

        That is the same subject, the topic as a complement ("the rash of hives" after "hives"), or the same advice when another
        condition follows it after "or"; nothing else is ever lent.
        """
        if tail[0].conditional:
            advice = [part for part in head if not part.conditional]
            condition = [replace(tail[0], link=Link.PUNCTUATION), *tail[1:]]
            return tail[0].link is Link.OR and len(advice) < len(head) and self._supports([*advice, *condition], offered)
        if tail[0].link is Link.OR:
            return False
        if all(len(part.items) == 1 for part in head[1:]):  # else a later clause may have a subject of its own
            for length in range(_common(head[0].items, offered[0].items), 0, -1):
                whole = replace(tail[0], items=(*head[0].items[:length], *tail[0].items))
                if self._supports([whole, *tail[1:]], offered):
                    return True
        return any(self._supports(tail, reading) for reading in _about(head[0].items, offered))

    def _supports(self, parts: Sequence[Segment], offered: Sequence[Segment]) -> bool:
        """Whether the draft's clauses say nothing beyond, and lose no limit of, one evidence sentence."""
        return self._keeps_forms(parts, offered) and any(_follows(parts, reading) for reading in _readings(parts, offered))

    def _keeps_forms(self, parts: Sequence[Segment], offered: Sequence[Segment]) -> bool:
        """Whether each word differs from the evidence's word of that stem in number or gender at most."""
        known = [item for segment in offered for item in segment.items if item.form]
        return all(
            any(other.key == item.key and self._words.may_inflect(item.form, other.form or "") for other in known)
            for part in parts
            for item in part.items
            if item.form
        )


def _written(text: str, evidence: Sequence[Evidence], share: float) -> SupportedSentence:
    return SupportedSentence(text=text, kind=SentenceKind.WRITTEN, evidence=tuple(evidence), alignment=share)


def _without_yes_or_no(text: str) -> str:
    """The sentence without a leading yes or no: what it would affirm is the question, which the aligner does not judge."""
    bare = _YES_OR_NO.sub("", text, count=1)
    return bare[:1].upper() + bare[1:]


def _without_asides(text: str) -> str:
    """The sentence without the comma before an aside: in "A e, se B, C" the "e" does join C."""
    return _ASIDE.sub(r"\1 ", text)


def _without_braces(text: str) -> str:
    """`{emergency}` without its braces: a generator often forgets them, and a quote has them from the source."""
    return text.replace("{", "").replace("}", "")


def _bare(text: str) -> list[str]:
    return "".join(c if c.isalnum() else " " for c in _without_yes_or_no(text).lower()).split()


def _size(parts: Sequence[Segment]) -> int:
    return sum(len(part.items) for part in parts)


def _without_contrast(parts: Sequence[Segment]) -> Sequence[Segment]:
    items = parts[0].items
    return [replace(parts[0], items=items[1:]), *parts[1:]] if items[0].marker in _CONTRAST and items[1:] else parts


def _common(one: Sequence[Item], other: Sequence[Item]) -> int:
    """How many words two clauses begin with in common: their subject, if nothing limits it."""
    pairs = takewhile(lambda pair: pair[0] == pair[1] and pair[0].marker is None, zip(one, other, strict=False))
    return sum(1 for _ in pairs)


def _readings(parts: Sequence[Segment], offered: Sequence[Segment]) -> Iterator[Sequence[Segment]]:
    """The evidence itself and, for a draft with one subject, what it says of either of two: "A and B may help" of A, and of B."""
    yield offered
    if len(offered) < 2 or len(parts[0].items) < 2:
        return
    first, second = offered[:2]
    pair = len(first.items) == 1 and len(second.items) > 1 and _is_plain(first.items[0]) and _is_plain(second.items[0])
    if pair and is_one_of_two(second):
        yield [replace(second, items=(*first.items, *second.items[1:]), link=first.link), *offered[2:]]
        yield [replace(second, link=first.link), *offered[2:]]


def _about(topic: Sequence[Item], offered: Sequence[Segment]) -> Iterator[Sequence[Segment]]:
    """The evidence itself, and without a complement that repeats the words with which `topic` begins."""
    yield offered
    if topic[0].marker:
        return
    named, *further = takewhile(lambda item: item.marker is None, topic)
    for place, segment in enumerate(offered):
        for start, item in enumerate(segment.items):
            length = 1 if item.key.partition(" ")[2] == named.key.rpartition(" ")[2] else 0
            while 0 < length <= len(further) and segment.items[start + length : start + length + 1] == (further[length - 1],):
                length += 1
            rest = (*segment.items[:start], *segment.items[start + length :])
            if length and rest:
                yield [*offered[:place], replace(segment, items=rest), *offered[place + 1 :]]


def _is_plain(item: Item) -> bool:
    return item.marker is None and " " not in item.key


def _follows(parts: Sequence[Segment], offered: Sequence[Segment]) -> bool:
    wanted = [key for row in keys(parts) for key in row]
    rows = keys(offered)
    if not wanted or not _is_rotation(wanted, [key for row in rows for key in row]):
        return False
    kept = [_take(row, wanted) for row in rows]
    if wanted or sum(part.reflexives for part in parts) != sum(
        segment.reflexives for segment, taken in zip(offered, kept, strict=True) if taken
    ):
        return False
    reasons = {item.key for segment in offered if segment.reason for item in segment.items}
    if any(item.key not in reasons for part in parts if part.reason for item in part.items):
        return False  # a cause and its effect changed places, or the draft made one up
    return all(
        taken == len(row) or (not taken and may_go(place, offered, kept))
        for place, (row, taken) in enumerate(zip(rows, kept, strict=True))
    )


def _take(row: Sequence[str], wanted: list[str]) -> int:
    """Strike out of `wanted` what stands in `row`; returns how much of the row that was."""
    taken = 0
    for key in row:
        if key in wanted:
            wanted.remove(key)
            taken += 1
    return taken


def _is_rotation(wanted: Sequence[str], offered: Sequence[str]) -> bool:
    """Whether the draft keeps the order of the evidence, with at most one part moved from the front to the end.

    "No se recomienda el reposo" for "el reposo no se recomienda". Swapped agents are no rotation.
    """
    return any(_is_subsequence([*wanted[cut:], *wanted[:cut]], offered) for cut in range(len(wanted)))


def _is_subsequence(wanted: Sequence[str], offered: Sequence[str]) -> bool:
    remaining = iter(offered)
    return all(key in remaining for key in wanted)
