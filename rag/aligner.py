"""Decides whether a drafted sentence says nothing but what the evidence says.

The rule: the draft's claim must be the evidence's claim with, at most, whole members left out. Every content word, number, unit,
negation, modal, condition and population of the draft must stand in the evidence in the same order, and none of the evidence's
limiting words may be lost from a clause that is kept. A draft may join two evidence sentences of one page. When in doubt the
sentence is dropped: a quote is always at hand (docs/adr/0004-aligner.md has the measured precision).
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from rapidfuzz.distance import Levenshtein

from locales.language import Language
from rag.claims import ClaimWords, Item, Segment, keys, segments
from rag.types import Draft, Evidence, SentenceKind, SupportedSentence

_MIN_ITEMS = 2  # a shorter claim ("Sì, certo.") says nothing that evidence could support
_KEPT_SHARE = 0.6  # of the content words of a clause that is kept: below it the clause says something else
_YES_OR_NO = re.compile(r"^\s*(?:sì|si|sí|no)\s*[,:;.]\s*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Claim:
    evidence: Evidence
    segments: tuple[Segment, ...]

    @property
    def items(self) -> list[Item]:
        return [item for segment in self.segments for item in segment.items]


class Aligner:
    """Maps drafted sentences to the evidence that proves them."""

    def __init__(self, language: Language) -> None:
        self._words = ClaimWords.load(language)

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
        text = _without_yes_or_no(draft.text)
        parts = segments(text, self._words)
        if sum(len(part.items) for part in parts) < _MIN_ITEMS:
            return None
        claims = [_Claim(item, segments(item.sentence.text, self._words)) for item in evidence]
        supporting = self._single(parts, claims) or self._joined(parts, claims)
        if not supporting:
            return None
        carried = sum(len(part.items) for part in parts) / max(1, sum(len(claim.items) for claim in supporting))
        return SupportedSentence(
            text=text,
            kind=SentenceKind.WRITTEN,
            evidence=tuple(claim.evidence for claim in supporting),
            alignment=min(1.0, round(carried, 3)),
        )

    def _quote(self, text: str, evidence: Sequence[Evidence]) -> SupportedSentence | None:
        wanted = _bare(text)
        for item in evidence:
            if Levenshtein.distance(_bare(item.sentence.text), wanted, score_cutoff=1) <= 1 and self._same_claim(text, item):
                return SupportedSentence(text=item.sentence.text, kind=SentenceKind.QUOTED, evidence=(item,), alignment=1.0)
        return None

    def _same_claim(self, text: str, item: Evidence) -> bool:
        """Whether a draft that is all but a copy claims what the sentence claims: the source's own wording is then shown."""
        wanted = segments(_without_yes_or_no(text), self._words)
        offered = segments(item.sentence.text, self._words)
        return [keys(part.items) for part in wanted] == [keys(part.items) for part in offered]

    def _single(self, parts: Sequence[Segment], claims: Sequence[_Claim]) -> list[_Claim]:
        for claim in claims:
            if _supports(parts, claim):
                return [claim]
        return []

    def _joined(self, parts: Sequence[Segment], claims: Sequence[_Claim]) -> list[_Claim]:
        """Two sentences of one page, joined where the draft has a clause boundary."""
        whole = frozenset(keys(item for part in parts for item in part.items))
        for cut in range(1, len(parts)):
            for first in claims:
                if not _supports(parts[:cut], first, whole):
                    continue
                for second in claims:
                    same_page = second.evidence.chunk.document_id == first.evidence.chunk.document_id
                    if second is not first and same_page and _supports(parts[cut:], second, whole):
                        return [first, second]
        return []


def _without_yes_or_no(text: str) -> str:
    """The sentence without a leading yes or no: what it would affirm is the question, which the aligner does not judge."""
    bare = _YES_OR_NO.sub("", text, count=1)
    return bare[:1].upper() + bare[1:]


def _bare(text: str) -> list[str]:
    return "".join(c if c.isalnum() else " " for c in _without_yes_or_no(text).lower()).split()


def _supports(parts: Sequence[Segment], claim: _Claim, whole: frozenset[str] | None = None) -> bool:
    """Whether the draft's clauses say nothing beyond, and lose no limit of, one evidence sentence.

    `whole` holds the words of the whole draft when `parts` are only half of it: what this half leaves out of its evidence (its
    subject, the advice that a condition belongs to) must then stand in the other half, or it would be said of something else.
    """
    wanted = keys(item for part in parts for item in part.items)
    offered = keys(claim.items)
    if not wanted or not (_is_rotation(wanted, offered) or _is_permutation_of_clauses(parts, claim.segments)):
        return False
    return _keeps_limits(wanted, claim.segments, whole)


def _is_permutation_of_clauses(parts: Sequence[Segment], offered: Sequence[Segment]) -> bool:
    """Whether each clause of the draft stands, in its own order, inside one clause of the evidence."""
    return all(any(_is_rotation(keys(part.items), keys(segment.items)) for segment in offered) for part in parts)


def _is_rotation(wanted: Sequence[str], offered: Sequence[str]) -> bool:
    """Whether the draft keeps the order of the evidence, with at most one part moved from the front to the end.

    "No se recomienda el reposo" for "el reposo no se recomienda". Swapped agents are no rotation.
    """
    return any(_is_subsequence([*wanted[cut:], *wanted[:cut]], offered) for cut in range(len(wanted)))


def _keeps_limits(wanted: Sequence[str], offered: Sequence[Segment], whole: frozenset[str] | None) -> bool:
    remaining = list(wanted)
    kept_of: list[list[Item]] = []
    for segment in offered:
        kept_of.append([item for item in segment.items if _take(item.key, remaining)])
    if not kept_of[0] and not all(item.key in (whole or ()) for item in offered[0].items):
        return False  # the first clause names what the others are about
    condition_kept = any(kept for segment, kept in zip(offered, kept_of, strict=True) if segment.conditional)
    for segment, kept in zip(offered, kept_of, strict=True):
        lost = _lost(segment, kept)
        if whole is not None and (kept or (condition_kept and not segment.conditional)):
            if not all(item.key in whole for item in lost):
                return False
        elif not _may_lose(segment, kept, lost, condition_kept=condition_kept):
            return False
    return not remaining


def _take(key: str, remaining: list[str]) -> bool:
    if key not in remaining:
        return False
    remaining.remove(key)
    return True


def _lost(segment: Segment, kept: Sequence[Item]) -> list[Item]:
    lost = list(segment.items)
    for item in kept:
        lost.remove(item)
    return lost


def _may_lose(segment: Segment, kept: Sequence[Item], lost: Sequence[Item], *, condition_kept: bool) -> bool:
    """Whether what is missing from a clause may be left out without changing what the rest claims."""
    if not lost:
        return True
    if not kept:  # the whole member is left out: an alternative of a condition, or one of a plain enumeration
        if segment.alternative:
            return True
        return not segment.conditional and not condition_kept and not any(item.marker for item in lost)
    if segment.conditional or any(item.marker for item in lost):
        return False
    content = [item for item in segment.items if item.marker is None]
    return len([item for item in kept if item.marker is None]) >= _KEPT_SHARE * len(content)


def _is_subsequence(wanted: Sequence[str], offered: Sequence[str]) -> bool:
    remaining = iter(offered)
    return all(key in remaining for key in wanted)
