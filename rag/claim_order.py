"""Whether two readings of the same concepts say who does what to whom alike, though in another order."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

from rag.claim_concepts import PEOPLE, Concept, Kind, Reading, agent
from rag.claims import Link

_LIGHT = frozenset({"", "di", "in", "con", "per", "su", "de", "en", "para", "sobre", "come", "como", "a"})


@dataclass(frozen=True, slots=True)
class Pairing:
    """Which concept of the evidence each concept of the draft was matched with: places in both readings, in the draft's order."""

    draft: Reading
    evidence: Reading
    places: tuple[tuple[int, int], ...]

    def concepts(self, pair: tuple[int, int]) -> tuple[Concept, Concept]:
        """The two concepts of a matched pair, the draft's first."""
        return self.draft.concepts[pair[0]], self.evidence.concepts[pair[1]]


def keeps_roles(pairing: Pairing) -> bool:
    """Whether no two concepts changed places or prepositions in a way that changes who does what."""
    moved = [pair for pair in pairing.places if _takes_part(pairing.concepts(pair)[1])]
    changed = {pair for pair in moved if not _same_governor(*pairing.concepts(pair))}
    inverted = [(one, two) for one, two in combinations(moved, 2) if one[1] > two[1]]
    if not inverted:
        return not changed
    if not changed and _is_rotation(pairing, moved):
        return True
    voice = any(agent(d) != agent(e) for d, e in map(pairing.concepts, changed))
    if changed and not (voice and _is_passive(pairing, changed, moved)):
        return False
    return all(_explained(pairing, one, two, moved, voice=voice) for one, two in inverted)


def _takes_part(concept: Concept) -> bool:
    limit = concept.marker in PEOPLE or concept.marker in {"before", "after", "pregnancy"}
    return limit or (concept.kind is Kind.WORD and not concept.weak)


def _same_governor(d: Concept, e: Concept) -> bool:
    return (
        d.prep == e.prep
        or d.role == e.role
        or (d.prep in _LIGHT and e.prep in _LIGHT)
        or {d.prep, e.prep} <= {"che", "que", *_LIGHT}
    )


def _is_rotation(pairing: Pairing, moved: Sequence[tuple[int, int]]) -> bool:
    """One part moved from the front to the end; "X is a Y" turned into "Y is the X" is none."""
    if pairing.draft.definite != pairing.evidence.definite or pairing.draft.indefinite != pairing.evidence.indefinite:
        return False
    order = [place for _, place in moved]
    if len(order) < 3:
        return False
    return any(sorted(order) == [*order[cut:], *order[:cut]] for cut in range(len(order)))


def _is_passive(pairing: Pairing, changed: set[tuple[int, int]], moved: Sequence[tuple[int, int]]) -> bool:
    """Whether what changed its preposition is who does it, named first in one wording and behind "da", "por" in the other."""
    for pair in changed:
        d, e = pairing.concepts(pair)
        if agent(d) == agent(e) or (d.prep and e.prep):
            return False
        crossed = [other for other in moved if other not in changed and (other[0] < pair[0]) != (other[1] < pair[1])]
        if not crossed:
            return False
    return len({agent(pairing.concepts(pair)[0]) for pair in changed}) == 1


def _explained(
    pairing: Pairing, one: tuple[int, int], two: tuple[int, int], moved: Sequence[tuple[int, int]], *, voice: bool
) -> bool:
    """Whether two concepts may have changed places; `one` comes first in the draft."""
    (d1, e1), (d2, e2) = pairing.concepts(one), pairing.concepts(two)
    if _of_two_clauses(pairing.evidence, e1, e2) and _of_two_clauses(pairing.draft, d1, d2):
        return True
    if d1.role != d2.role and e1.role != e2.role and _agree(d1, e1) and _agree(d2, e2):
        return True
    if voice:
        return True
    if _is_turned_around(pairing, moved):
        return True
    if _is_one_phrase(pairing, one, two) or _is_verb_and_subject(pairing, one, two):
        return True
    return _is_list(pairing, one, two, moved)


def _is_turned_around(pairing: Pairing, moved: Sequence[tuple[int, int]]) -> bool:
    """Whether what stood before "is the", or before "are signs of", now stands behind it, and the other way round."""
    d_at, e_at = pairing.draft.copula_at, pairing.evidence.copula_at
    identity = pairing.draft.definite and pairing.evidence.definite and not pairing.draft.indefinite
    if e_at < 0 or not (identity or d_at == 0):
        return False
    if d_at == 0:  # "sono segni di A: B e C" for "B e C sono segni di A"
        order = [place for _, place in moved]
        behind = [place for place in order if place >= e_at]
        return order[: len(behind)] == sorted(behind)
    return all((place < d_at) == (other >= e_at) for place, other in moved)


def _is_one_phrase(pairing: Pairing, one: tuple[int, int], two: tuple[int, int]) -> bool:
    """Whether two words beside each other in both sentences describe one thing: "gravi malformazioni", "malformazioni gravi"."""
    (d1, e1), (d2, e2) = pairing.concepts(one), pairing.concepts(two)
    beside = abs(one[0] - two[0]) == 1 == abs(one[1] - two[1]) and d1.clause == d2.clause and e1.clause == e2.clause
    two_names = (d1.article is not None and d2.article is not None) or (e1.article is not None and e2.article is not None)
    return beside and not two_names and not (d1.verb or d2.verb) and (d1.role == e1.role or d2.role == e2.role)


def _is_verb_and_subject(pairing: Pairing, one: tuple[int, int], two: tuple[int, int]) -> bool:
    """Whether a verb and the only noun it can have as its subject changed places: "le molesta la luz", "la luz le molesta"."""
    for reading, places in ((pairing.draft, (one[0], two[0])), (pairing.evidence, (one[1], two[1]))):
        first, second = (reading.concepts[place] for place in places)
        if first.clause != second.clause or first.verb == second.verb or first.role or second.role:
            return False
        nouns = [
            concept
            for concept in reading.concepts
            if concept.clause == first.clause
            and not concept.role
            and not (concept.verb or concept.weak)
            and concept.article is not None
        ]
        if len(nouns) != 1:
            return False
    return True


def _agree(d: Concept, e: Concept) -> bool:
    return d.role == e.role


def _of_two_clauses(reading: Reading, one: Concept, two: Concept) -> bool:
    first, second = reading.clauses[one.clause], reading.clauses[two.clause]
    return first.conditional != second.conditional or first.reason != second.reason


def _is_list(pairing: Pairing, one: tuple[int, int], two: tuple[int, int], moved: Sequence[tuple[int, int]]) -> bool:
    """Whether the smallest stretch around both, the same in both sentences, is an enumeration of the same members."""
    d_span, e_span = sorted((one[0], two[0])), sorted((one[1], two[1]))
    while True:
        inside = [pair for pair in moved if d_span[0] <= pair[0] <= d_span[1] or e_span[0] <= pair[1] <= e_span[1]]
        d_new = [min(pair[0] for pair in inside), max(pair[0] for pair in inside)]
        e_new = [min(pair[1] for pair in inside), max(pair[1] for pair in inside)]
        if (d_new, e_new) == (d_span, e_span):
            break
        d_span, e_span = d_new, e_new
    members = _members(pairing, inside, 0)
    alike = members is not None and members == _members(pairing, inside, 1) and _links(pairing, d_span, e_span)
    alike = alike and not _are_two_predicates(pairing.evidence, e_span) and not _are_two_predicates(pairing.draft, d_span)
    return alike and all(_agree(*pairing.concepts(pair)) for pair in (one, two)) and _keeps_edge(pairing, inside)


def _are_two_predicates(reading: Reading, span: Sequence[int]) -> bool:
    """Whether the first thing belongs to a verb before it and the last to one behind it, or only the last is denied."""
    first, last = (reading.concepts[place] for place in span)
    before = any(concept.verb and concept.clause == first.clause for concept in reading.concepts[: span[0]])
    behind = any(
        concept.verb and concept.clause == last.clause and not concept.relative for concept in reading.concepts[span[1] + 1 :]
    )
    return (before and behind) or (reading.clauses[last.clause].denied and not reading.clauses[first.clause].denials)


def _keeps_edge(pairing: Pairing, inside: Sequence[tuple[int, int]]) -> bool:
    """Whether what describes the last member of the evidence's enumeration still describes that member."""
    d_last, e_last = max(inside, key=lambda pair: pair[1])
    if e_last + 1 >= len(pairing.evidence.concepts):
        return True
    last, following = pairing.evidence.concepts[e_last : e_last + 2]
    describes = following.clause == last.clause and following.kind is Kind.WORD and following.article is None
    describes = describes and (following.relative or not following.verb)
    if not describes or following.weak:
        return True
    return (d_last + 1, e_last + 1) in pairing.places


def _members(pairing: Pairing, inside: Sequence[tuple[int, int]], side: int) -> list[list[int]] | None:
    """The stretch cut at its commas and conjunctions, each member as sorted places in the evidence; None if it is one member."""
    reading = (pairing.draft, pairing.evidence)[side]
    members: dict[int, list[int]] = {}
    verbs: set[int] = set()
    acts: set[int] = set()
    for pair in inside:
        concept = pairing.concepts(pair)[side]
        home = concept.clause - reading.clauses[concept.clause].aside
        members.setdefault(home, []).append(pair[1])
        acts |= {home} if concept.verb and not concept.relative else set()
        verbs |= {home} if any(other.verb for other in reading.concepts if other.clause == concept.clause) else set()
    apart = any(reading.clauses[home].apart for home in sorted(members)[1:])
    alike = (not acts and not apart) or verbs == set(members)  # a thing and what is done with another are no enumeration
    return sorted(sorted(member) for member in members.values()) if len(members) > 1 and alike else None


def _links(pairing: Pairing, d_span: Sequence[int], e_span: Sequence[int]) -> bool:
    """Whether both stretches are joined alike: "or" stays "or", and a condition begins in neither."""
    found = []
    for reading, span in ((pairing.draft, d_span), (pairing.evidence, e_span)):
        first, last = (reading.concepts[place].clause for place in span)
        clauses = reading.clauses[first + 1 : last + 1]
        if any(clause.opener and clause.link is not Link.OR for clause in clauses):
            return False
        found.append({clause.link for clause in clauses} - {Link.PUNCTUATION})
    return found[0] == found[1] or not all(found)
