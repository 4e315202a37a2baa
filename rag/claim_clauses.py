"""What a condition and a negation reach in the clauses of a sentence."""

from collections.abc import Sequence
from dataclasses import replace

from rag.claim_concepts import Clause, Concept, Kind
from rag.claims import Link

_SHORT = 2  # words of a member that a negation before its enumeration reaches too


def with_long_conditions(clauses: Sequence[Clause], concepts: Sequence[Concept]) -> tuple[Clause, ...]:
    """The clauses, where a condition reaches over the commas of its enumeration: "se A, B o C, chiami"; "chiami se A, B o C"."""
    found = list(clauses)
    for place, clause in enumerate(found):
        if clause.link is not Link.PUNCTUATION or clause.opener or not place or not found[place - 1].conditional:
            continue
        end = place + 1
        while end < len(found) and found[end].link is not Link.PUNCTUATION and not found[end].opener:
            end += 1
        follows = any(concept.clause >= end for concept in concepts)
        if end > place + 1 and (follows or not all(other.conditional for other in found[:place])):
            found[place:end] = [replace(other, conditional=True) for other in found[place:end]]
    return tuple(found)


def with_denied_lists(concepts: Sequence[Concept], clauses: Sequence[Clause]) -> tuple[Concept, ...]:
    """The concepts, where what denies the first member of an enumeration denies them all."""
    denied = {concept.clause for concept in concepts if concept.negated}
    reached = set(denied)
    for place in range(1, len(clauses)):
        if place - 1 in reached and _is_member(place, concepts, clauses):
            reached.add(place)
    found, left = [], reached - denied
    for concept in concepts:
        first = concept.clause in left and concept.kind is Kind.WORD and not concept.weak
        left -= {concept.clause} if first else set()
        found.append(replace(concept, negated="not") if first else concept)
    return tuple(found)


def _is_member(place: int, concepts: Sequence[Concept], clauses: Sequence[Clause]) -> bool:
    clause = clauses[place]
    here = [concept for concept in concepts if concept.clause == place]
    if clause.opener or not 0 < len(here) <= _SHORT or any(c.kind is Kind.MARKER and not c.prep for c in here):
        return False
    named = here[0].article is not None or bool(here[0].prep)  # "no cura la gripe y alivia" denies only the first
    return clause.link is Link.OR or (clause.link is Link.AND and named)
