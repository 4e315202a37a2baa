"""Whether a paraphrase leaves together what its evidence says together: limits with what they limit, subjects with predicates."""

from collections.abc import Sequence
from itertools import takewhile

from rag.claim_concepts import Kind, Reading
from rag.claim_order import Pairing
from rag.claims import Link

_SINCE = frozenset({"da", "desde", "hacia"})
_ATTACHED = frozenset(
    {"only", "almost", "most", "all", "whole", "some", "many", "few", "much", "little", "too", "more", "less", "each"}
    | {"severe", "strong", "high", "mild", "moderate", "sudden", "lasting", "continuous", "repeated", "slow", "low"}
    | {"before", "after", "during", "number"}
)  # they limit the word beside them


def keeps_attachments(pairing: Pairing) -> bool:
    """Whether each limit and each number limits what it limits in the evidence."""
    mine, theirs = _lists(pairing.draft), _lists(pairing.evidence)
    homes: dict[int, set[int]] = {}
    for d, e in map(pairing.concepts, pairing.places):
        if d.kind is Kind.WORD and not d.weak:
            homes.setdefault(mine[d.clause], set()).add(theirs[e.clause])
    return all(_stays(pairing, pair, homes.get(mine[pairing.concepts(pair)[0].clause], set()), theirs) for pair in pairing.places)


def _stays(pairing: Pairing, pair: tuple[int, int], home: set[int], theirs: Sequence[int]) -> bool:
    """Whether one limit or number is where its clause is; `home` are the evidence's clauses that the draft's clause speaks of."""
    d, e = pairing.concepts(pair)
    if d.own and not e.own and not pairing.draft.clauses[d.clause].conditional:
        return False  # what is said of an illness is not said of the reader's
    if d.kind is Kind.WORD:
        return True
    if d.kind is Kind.NUMBER and d.prep != e.prep and {d.prep, e.prep} & _SINCE:
        return False
    if home and theirs[e.clause] not in home and _has_words(pairing.evidence, e.clause):
        return False
    return d.marker not in _ATTACHED or _beside(pairing, pair)


def keeps_company(pairing: Pairing) -> bool:
    """Whether what one clause of the draft brings together stands together in the evidence, or shares its subject there."""
    mine, theirs = _lists(pairing.draft), _lists(pairing.evidence)
    subject = set(subject_places(pairing.evidence))
    met: dict[int, set[int]] = {}
    shared: set[int] = set()
    for place, other in pairing.places:
        d, e = pairing.draft.concepts[place], pairing.evidence.concepts[other]
        if d.kind is not Kind.WORD or d.weak or e.weak:
            continue
        if other in subject:
            shared.add(mine[d.clause])
        else:
            met.setdefault(mine[d.clause], set()).add(theirs[e.clause])
    for clause, homes in met.items():
        if len(homes) > 1 and not _is_one_thought(pairing.evidence, homes):
            return False
        if clause in shared and any(home and _has_own_subject(pairing.evidence, home) for home in homes):
            return False
    return True


def _is_one_thought(reading: Reading, clauses: set[int]) -> bool:
    """Whether clauses are told apart by commas only: an aside, an enumeration, a condition before what it is a condition of."""
    openers = {reading.clauses[clause].opener for clause in clauses if clause}
    return not openers & {"but", "while", "whereas", "although", "because", "therefore"}


def _has_own_subject(reading: Reading, clause: int) -> bool:
    first = next((concept for concept in reading.concepts if concept.clause == clause), None)
    opener = reading.clauses[clause].opener in {"but", "while", "whereas"}
    return opener and first is not None and first.article is not None and not first.prep


def _lists(reading: Reading) -> list[int]:
    """For each clause the first of the enumeration that it belongs to, itself if to none."""
    firsts: list[int] = []
    for place, clause in enumerate(reading.clauses):
        joined = bool(place) and clause.link is not Link.PUNCTUATION and not clause.opener
        member = joined and (_is_name(reading, place) or _is_name(reading, place - 1))
        firsts.append(firsts[-1] if member else place)
    return firsts


def _is_name(reading: Reading, clause: int) -> bool:
    """Whether a clause is no more than a thing and what describes it."""
    here = [concept for concept in reading.concepts if concept.clause == clause]
    return 0 < len(here) <= 3 and not any(concept.verb or concept.kind is Kind.MARKER for concept in here)


def _has_words(reading: Reading, clause: int) -> bool:
    return any(concept.clause == clause and concept.kind is Kind.WORD and not concept.weak for concept in reading.concepts)


def _beside(pairing: Pairing, pair: tuple[int, int]) -> bool:
    """Whether a word next to the limit in the draft is next to it in the evidence."""
    mine, theirs = _neighbours(pairing.draft, pair[0]), _neighbours(pairing.evidence, pair[1])
    if not theirs or not mine:
        return True
    partners = {other for place, other in pairing.places if place in mine}
    return bool(partners & set(theirs))


def _neighbours(reading: Reading, place: int) -> list[int]:
    here = reading.concepts[place]
    found = []
    for step in (-1, 1):
        at = place + step
        while 0 <= at < len(reading.concepts) and (reading.concepts[at].weak or reading.concepts[at].marker in {"must", "may"}):
            at += step
        if 0 <= at < len(reading.concepts) and reading.concepts[at].clause == here.clause:
            found.append(at)
    return found


def subject_places(reading: Reading) -> Sequence[int]:
    """The words before the first verb or limit of the first clause."""
    return [
        place
        for place, _ in takewhile(
            lambda pair: pair[1].kind is Kind.WORD and not pair[1].verb and pair[1].clause == 0, enumerate(reading.concepts)
        )
    ]
