"""Which whole members of a sentence may be left out without changing what the rest claims."""

from collections.abc import Sequence

from rag.claims import Link, Segment

_DENIALS = frozenset({"not", "never", "nor", "none", "without", "only", "except"})
_WEAK = frozenset({"not", "never", "without", "may"})  # of "may be A or B" each half is true alone, of "is A or B" it is not
_OWN = frozenset(
    {"much", "little", "severe", "strong", "high", "mild", "moderate", "sudden", "lasting", "continuous", "repeated", "slow"}
    | {"usually", "often", "sometimes", "within", "about"}
    | {"more", "less", "number", "child", "minor", "youth", "adolescent", "newborn", "infant", "elderly", "adult", "women", "men"}
)  # what these limit is their own member: of "in adults and in older children" the first half is true alone
_QUANTITIES = frozenset({"number", "more", "less"})
_EXAMPLE = ("come ", "como ")
_TOGETHER = "con "


def has(segment: Segment, markers: frozenset[str]) -> bool:
    """Whether a segment holds one of the markers."""
    return any(item.marker in markers for item in segment.items)


def is_one_of_two(segment: Segment) -> bool:
    """Whether each of two joined subjects makes the sentence true alone: "A and B help", "A or B may help"."""
    return segment.link is Link.AND or (segment.link is Link.OR and has(segment, _WEAK))


def may_go(place: int, offered: Sequence[Segment], kept: Sequence[int]) -> bool:
    """Whether a whole member may be left out without changing what the rest claims.

    Args:
        place: Of the member among the segments.
        offered: The segments of the evidence.
        kept: How much of each segment the draft keeps.
    """
    segment = offered[place]
    if place == 0:
        return False
    if segment.reason:
        return True
    if segment.conditional:  # one of several sufficient conditions
        conditions = [other for other in offered if other.conditional]
        kept_one = any(other.conditional and taken for other, taken in zip(offered, kept, strict=True))
        return segment.link is Link.OR and kept_one and not any(has(other, _DENIALS) for other in conditions)
    return _ends_with(place, offered, kept) or _is_example(place, offered, kept) or _is_member(place, offered, kept)


def _ends_with(place: int, offered: Sequence[Segment], kept: Sequence[int]) -> bool:
    """Whether a member belongs to a condition that goes with everything behind it."""
    return any(offered[start].conditional and not any(kept[start:]) for start in range(1, place))


def _is_example(place: int, offered: Sequence[Segment], kept: Sequence[int]) -> bool:
    begins = [start for start in range(1, place + 1) if offered[start].items[0].key.startswith(_EXAMPLE)]
    return bool(begins) and not any(kept[begins[-1] : place + 1])


def _is_member(place: int, offered: Sequence[Segment], kept: Sequence[int]) -> bool:
    """Whether a member is one of a plain enumeration, and nothing that is kept may be said of it."""
    segment = offered[place]
    if any(other.conditional and taken for other, taken in zip(offered, kept, strict=True)):
        return False
    if segment.link is Link.OR and not any(has(other, _WEAK) for other in offered[:place]):
        return False
    if segment.link is Link.AND and offered[place - 1].items[-1].key.startswith(_TOGETHER):
        return False  # "with fever and a cough": one without the other is another case
    if any(item.marker and item.marker not in _own(segment) for item in segment.items):
        return False
    return len(segment.items) == 1 or not any(kept[place + 1 :])


def _own(segment: Segment) -> frozenset[str]:
    """The markers that go with a member: none of "(between 38) and 39 °C", "(two weeks) or more"."""
    plain = any(item.marker is None for item in segment.items)
    joined = segment.link is Link.AND or (segment.link is Link.OR and plain)
    return _OWN if joined and segment.items[0].marker not in _QUANTITIES else frozenset()
