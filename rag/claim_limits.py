"""Whether a paraphrase keeps what its evidence denies, on which condition, and what it offers as alternatives."""

from rag.claim_concepts import Clause, Kind, Reading
from rag.claim_order import Pairing
from rag.claims import Link

INDICATES = frozenset({"=indicare", "=indicar"})


def keeps_negations(pairing: Pairing) -> bool:
    """Whether both deny the same, as many times."""
    drafted, offered = pairing.draft.clauses, pairing.evidence.clauses
    wide_drafted, wide_offered = _wide(pairing.draft), _wide(pairing.evidence)
    pairs = [(d, e) for d, e in map(pairing.concepts, pairing.places) if d.kind is not Kind.MARKER and not (d.weak or e.weak)]
    for d, e in pairs:
        wide = e.clause in wide_offered if d.negated else d.clause in wide_drafted
        if d.negated != e.negated and ("without" in {d.negated, e.negated} or not wide):
            return False
    met = {(d.clause, e.clause) for d, e in map(pairing.concepts, pairing.places)}
    denied, refused = _denied(pairing.draft), _denied(pairing.evidence)
    for mine in {mine for mine, _ in met if drafted[mine].denied}:
        if not refused & {theirs for other, theirs in met if other == mine}:
            return False
    for theirs in {theirs for _, theirs in met if offered[theirs].denied}:
        if not denied & {mine for mine, other in met if other == theirs}:
            return False
    kept = {theirs for _, theirs in met}
    return sum(clause.denials for clause in drafted) == sum(offered[place].denials for place in kept)


def _denied(reading: Reading) -> set[int]:
    """The clauses in which something is denied, and the members joined to them."""
    return _with_members(reading, _wide(reading) | {c.clause for c in reading.concepts if c.negated == "not"})


def _wide(reading: Reading) -> set[int]:
    return _with_members(reading, {place for place, clause in enumerate(reading.clauses) if clause.denied})


def _with_members(reading: Reading, found: set[int]) -> set[int]:
    for place, clause in enumerate(reading.clauses):
        if place and clause.link is not Link.PUNCTUATION and not clause.opener and {place, place - 1} & found:
            found = found | {place, place - 1}
    return found


def keeps_conditions(pairing: Pairing) -> bool:
    """Whether what is a condition stays one, and what is said outright is."""
    kept = {pairing.evidence.concepts[other].clause for _, other in pairing.places}
    needed = any(_hypothetical(pairing.evidence.clauses[clause]) for clause in kept)
    if suggests(pairing):
        sign = _sign(pairing.evidence)
        return all(
            other < sign or d.weak or not pairing.draft.clauses[d.clause].conditional
            for (_, other), (d, _) in zip(pairing.places, map(pairing.concepts, pairing.places), strict=True)
        )
    if needed and not pairing.draft.hypothetical:
        return False
    if not needed and any(clause.conditional for clause in pairing.draft.clauses):
        return False
    # "chi ha la febbre" and "se ha la febbre" are the same condition, unless a sentence has both
    tolerant = not all(any(clause.conditional for clause in reading.clauses) for reading in (pairing.draft, pairing.evidence))
    return all(
        pair == (0, 0) or _compatible(tolerant, pairing.draft.clauses[d.clause], pairing.evidence.clauses[e.clause])
        for pair, (d, e) in zip(pairing.places, map(pairing.concepts, pairing.places), strict=True)
    )


def _hypothetical(clause: Clause) -> bool:
    return clause.conditional or clause.generic


def _compatible(tolerant: bool, d: Clause, e: Clause) -> bool:
    if d.reason != e.reason and not (d.explains or e.explains):
        return False
    return d.conditional == e.conditional or (tolerant and (d.generic or e.generic))


def keeps_alternatives(pairing: Pairing) -> bool:
    """Whether "or" stays "or", and "and" stays "and"."""
    homes: dict[int, list[int]] = {}
    for d, e in map(pairing.concepts, pairing.places):
        if not (d.weak or e.weak):
            homes.setdefault(d.clause, []).append(e.clause)
    for place, clause in enumerate(pairing.draft.clauses):
        if clause.link is Link.PUNCTUATION or place not in homes or place - 1 not in homes:
            continue
        first, last = sorted((homes[place - 1][-1], homes[place][0]))
        links = {other.link for other in pairing.evidence.clauses[first + 1 : last + 1]} - {Link.PUNCTUATION}
        if links and clause.link not in links:
            return False
    kept = {clause for clauses in homes.values() for clause in clauses}
    offered = any(pairing.evidence.clauses[place].link is Link.OR and place - 1 in kept for place in kept)
    return offered == any(pairing.draft.clauses[place].link is Link.OR and place - 1 in homes for place in homes)


def has_marker(reading: Reading, name: str) -> bool:
    """Whether a reading holds the limit called `name`."""
    return any(concept.marker == name for concept in reading.concepts)


def suggests(pairing: Pairing) -> bool:
    """Whether "A may be a sign of B" has become "if A, it may be B"."""
    both = has_marker(pairing.draft, "may") and has_marker(pairing.evidence, "may")
    return both and any(clause.conditional for clause in pairing.draft.clauses) and _sign(pairing.evidence) > 0


def _sign(reading: Reading) -> int:
    return next((place for place, concept in enumerate(reading.concepts) if concept.keys & INDICATES), -1)
