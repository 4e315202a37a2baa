"""Whether a sentence of other words says nothing but what an evidence sentence says: the checks that a paraphrase must pass."""

from collections.abc import Sequence
from dataclasses import replace
from enum import StrEnum
from itertools import takewhile

from rag.claim_concepts import Clause, Concept, Kind, Reading
from rag.claim_members import may_go
from rag.claim_order import Pairing, keeps_roles
from rag.claim_words import ParaphraseWords
from rag.claims import Item, Link, Segment

_INDICATES = frozenset({"=indicare", "=indicar"})
_SINCE = frozenset({"da", "desde", "hacia"})
_ATTACHED = frozenset(
    {"only", "almost", "most", "all", "whole", "some", "many", "few", "much", "little", "too", "more", "less", "each"}
    | {"severe", "strong", "high", "mild", "moderate", "sudden", "lasting", "continuous", "repeated", "slow", "low"}
    | {"before", "after", "during", "number"}
)  # they limit the word beside them


class Objection(StrEnum):
    """Why a sentence is not supported."""

    ADDED = "added"
    LOST = "lost"
    NEGATION = "negation"
    CONDITION = "condition"
    ATTACHMENT = "attachment"
    ROLES = "roles"
    ADDRESS = "address"


def objection(draft: Reading, evidence: Reading, words: ParaphraseWords, lent: Sequence[Concept] = ()) -> Objection | None:
    """What speaks against the claim that `evidence` says all that `draft` says.

    Args:
        draft: The sentence in question, or a part of it.
        evidence: One evidence sentence.
        words: Of the language.
        lent: What the evidence sentence leaves unsaid because its page has said it: its topic.

    Returns:
        The first objection; None if there is none.
    """
    if draft.familiar and not evidence.familiar:
        return Objection.ADDRESS
    places, added = _match(draft, evidence, words)
    if any(not _may_be_added(concept, evidence, words, lent) for concept in added):
        return Objection.ADDED
    pairing = Pairing(draft, evidence, tuple(places))
    if any(d.form in words.familiar and e.form in words.imperatives for d, e in map(pairing.concepts, places)):
        return Objection.ADDRESS
    checks = (
        (Objection.LOST, _loses_nothing),
        (Objection.NEGATION, _keeps_negations),
        (Objection.CONDITION, _keeps_conditions),
        (Objection.ATTACHMENT, _keeps_attachments),
        (Objection.CONDITION, _keeps_alternatives),
        (Objection.ATTACHMENT, _keeps_company),
        (Objection.ROLES, keeps_roles),
    )
    if not _keeps_voices(pairing, words):
        return Objection.ROLES
    return next((name for name, check in checks if not check(pairing)), None)


def _keeps_voices(pairing: Pairing, words: ParaphraseWords) -> bool:
    """Whether what is cured does not cure: "si cura", "cura"."""
    for d, e in map(pairing.concepts, pairing.places):
        finite = d.form in words.verbs and e.form in words.verbs
        if finite and d.reflexive != e.reflexive and not (d.keys & e.keys & words.intransitive and d.form != e.form):
            return False
    return True


def _keeps_alternatives(pairing: Pairing) -> bool:
    """Whether "or" stays "or", and "and" stays "and"."""
    kept = {pairing.evidence.concepts[other].clause for _, other in pairing.places}
    drafted = {concept.clause for concept in pairing.draft.concepts}
    offered = any(pairing.evidence.clauses[place].link is Link.OR and place - 1 in kept for place in kept)
    return offered == any(pairing.draft.clauses[place].link is Link.OR and place - 1 in drafted for place in drafted)


def same(one: Concept, other: Concept, words: ParaphraseWords) -> bool:
    """Whether two concepts may mean the same."""
    if one.kind is not other.kind:
        return False
    if one.kind is Kind.WORD and not one.form.startswith("§"):
        groups = {key for key in one.keys & other.keys if key.startswith("=")}
        return bool(groups) or words.related(one.form, other.form)
    return bool(one.keys & other.keys)


def _match(draft: Reading, evidence: Reading, words: ParaphraseWords) -> tuple[list[tuple[int, int]], list[Concept]]:
    """Pair the concepts, each with the free one nearest behind the last; returns the pairs and what found no partner."""
    places: list[tuple[int, int]] = []
    added: list[Concept] = []
    taken: set[int] = set()
    last = -1
    for place, concept in enumerate(draft.concepts):
        found = [other for other, offered in enumerate(evidence.concepts) if same(concept, offered, words)]
        fresh = [other for other in found if other not in taken] or found
        if not fresh:
            added.append(concept)
            continue
        best = min(fresh, key=lambda other: (other < last, abs(other - last)))
        taken.add(best)
        places.append((place, best))
        last = best
    return places, added


def _may_be_added(concept: Concept, evidence: Reading, words: ParaphraseWords, lent: Sequence[Concept]) -> bool:
    if concept.marker == "must":  # "si applica", "applichi": pages say in both ways what is to be done
        return evidence.advises or (evidence.impersonal and not _has_marker(evidence, "may"))
    return (concept.weak and not concept.negated) or any(names(concept, topic, words) for topic in lent)


def names(concept: Concept, topic: Concept, words: ParaphraseWords) -> bool:
    """Whether a concept names a topic, or the thing that the topic is a state of: "presión arterial" of "presión arterial alta"."""
    return same(concept, topic, words) or topic.form.startswith(f"{concept.form} ")


def _has_marker(reading: Reading, name: str) -> bool:
    return any(concept.marker == name for concept in reading.concepts)


def _suggests(pairing: Pairing) -> bool:
    """Whether "A may be a sign of B" has become "if A, it may be B"."""
    both = _has_marker(pairing.draft, "may") and _has_marker(pairing.evidence, "may")
    return both and any(clause.conditional for clause in pairing.draft.clauses) and _sign(pairing.evidence) > 0


def _sign(reading: Reading) -> int:
    return next((place for place, concept in enumerate(reading.concepts) if concept.keys & _INDICATES), -1)


def _essential(concept: Concept) -> bool:
    return not concept.weak


def _loses_nothing(pairing: Pairing) -> bool:
    kept = {other for _, other in pairing.places}
    named = {key for place in kept for key in pairing.evidence.concepts[place].keys if key.startswith("=")}
    rows: list[list[bool]] = [[] for _ in pairing.evidence.clauses]
    for place, concept in enumerate(pairing.evidence.concepts):
        if concept.marker == "must" and place not in kept and (pairing.draft.advises or pairing.draft.impersonal):
            continue
        if place not in kept and concept.keys & _INDICATES and _suggests(pairing):
            continue
        if concept.marker == "each":
            continue  # "every fever is seen by a doctor" says so of a fever
        if _essential(concept):
            rows[concept.clause].append(place in kept or bool(named & concept.keys and concept.kind is Kind.WORD))
    if all(all(row) for row in rows):
        return True
    offered, counts = _segments(pairing.evidence), [sum(row) for row in rows]
    full = [place for place, segment in enumerate(offered) if segment.items]
    offered, counts = [offered[place] for place in full], [counts[place] for place in full]
    return all(
        all(rows[clause])
        or (not any(rows[clause]) and (may_go(place, offered, counts) or _is_aside(place, offered, counts)))
        or _is_other_predicate(pairing.evidence, clause, kept)
        for place, clause in enumerate(full)
        if rows[clause]
    )


def _is_other_predicate(evidence: Reading, clause: int, kept: set[int]) -> bool:
    """Whether only what a clause says of its subject is left out, and the next clause says something else of that subject."""
    here = [place for place, concept in enumerate(evidence.concepts) if concept.clause == clause and not concept.weak]
    gone = [place for place in here if place not in kept]
    after = [concept for concept in evidence.concepts if concept.clause == clause + 1]
    if not gone or not after or gone[0] == here[0] or gone != here[len(here) - len(gone) :]:
        return False
    said = [evidence.concepts[place] for place in gone]
    follows = evidence.clauses[clause + 1].link is Link.AND and after[0].article is None and not after[0].prep
    plain = said[0].verb and not any(concept.negated or (concept.marker or "number") != "number" for concept in said)
    stays = any(place in kept for place, concept in enumerate(evidence.concepts) if concept.clause == clause + 1)
    return follows and plain and stays and not evidence.clauses[clause].denied


def _is_aside(place: int, offered: Sequence[Segment], counts: Sequence[int]) -> bool:
    """A share between commas after what it measures ("very low, about 0.1 %"), or cases that are named as the main ones."""
    items = offered[place].items
    if place > 0 and len(items) == 1 and items[0].marker == "number" and offered[place].link is Link.PUNCTUATION:
        return items[0].key.endswith("percent") or "-" in items[0].key
    begins = [start for start in range(1, place + 1) if _begins_aside(offered[start])]
    return bool(begins) and not any(counts[begins[0] :])


def _begins_aside(segment: Segment) -> bool:
    first = segment.items[0].marker
    return first == "mainly" or (segment.link is Link.AND and first in {"may", "usually", "often", "sometimes", "after"})


def _segments(reading: Reading) -> list[Segment]:
    """The reading in the form that the rule on members takes."""
    found = []
    for place, clause in enumerate(reading.clauses):
        items: list[Item] = []
        for concept in reading.concepts:
            if concept.clause == place:
                denied = concept.negated or (clause.denied and not items)
                items += [Item(key="#not", marker="not")] if denied else []
                key = min(concept.keys)
                items.append(Item(key=f"{concept.prep} {key}".strip(), marker=concept.marker))
        found.append(Segment(items=tuple(items), link=clause.link, conditional=clause.conditional, reason=clause.reason))
    return found


def _keeps_negations(pairing: Pairing) -> bool:
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
    if any(clause.denied for clause in (*drafted, *offered)):
        kept = {theirs for _, theirs in met}
        return sum(clause.denials for clause in drafted) == sum(offered[place].denials for place in kept)
    return True


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


def _keeps_conditions(pairing: Pairing) -> bool:
    kept = {pairing.evidence.concepts[other].clause for _, other in pairing.places}
    needed = any(_hypothetical(pairing.evidence.clauses[clause]) for clause in kept)
    if _suggests(pairing):
        sign = _sign(pairing.evidence)
        return all(
            other < sign or d.weak or not pairing.draft.clauses[d.clause].conditional
            for (_, other), (d, _) in zip(pairing.places, map(pairing.concepts, pairing.places), strict=True)
        )
    if needed and not pairing.draft.hypothetical:
        return False
    if not needed and any(clause.conditional for clause in pairing.draft.clauses):
        return False
    return all(
        pair == (0, 0) or _compatible(pairing.draft.clauses[d.clause], pairing.evidence.clauses[e.clause])
        for pair, (d, e) in zip(pairing.places, map(pairing.concepts, pairing.places), strict=True)
    )


def _hypothetical(clause: Clause) -> bool:
    return clause.conditional or clause.generic


def _compatible(d: Clause, e: Clause) -> bool:
    if d.reason != e.reason and not (d.explains or e.explains):
        return False
    return d.conditional == e.conditional or d.generic or e.generic


def _keeps_attachments(pairing: Pairing) -> bool:
    """Whether each limit and each number limits what it limits in the evidence."""
    mine, theirs = _lists(pairing.draft), _lists(pairing.evidence)
    homes: dict[int, set[int]] = {}
    for d, e in map(pairing.concepts, pairing.places):
        if d.kind is Kind.WORD and not d.weak:
            homes.setdefault(mine[d.clause], set()).add(theirs[e.clause])
    for pair in pairing.places:
        d, e = pairing.concepts(pair)
        if d.own and not e.own and not pairing.draft.clauses[d.clause].conditional:
            return False  # what is said of an illness is not said of the reader's
        if d.kind is Kind.WORD:
            continue
        if d.kind is Kind.NUMBER and d.prep != e.prep and {d.prep, e.prep} & _SINCE:
            return False
        home = homes.get(mine[d.clause])
        if home and theirs[e.clause] not in home and _has_words(pairing.evidence, e.clause):
            return False
        if d.marker in _ATTACHED and not _beside(pairing, pair):
            return False
    return True


def _keeps_company(pairing: Pairing) -> bool:
    """Whether what one clause of the draft brings together stands together in the evidence, or shares its subject there."""
    mine, theirs = _lists(pairing.draft), _lists(pairing.evidence)
    subject = set(_subject_places(pairing.evidence))
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


def _subject_places(reading: Reading) -> Sequence[int]:
    """The words before the first verb or limit of the first clause."""
    return [
        place
        for place, _ in takewhile(
            lambda pair: pair[1].kind is Kind.WORD and not pair[1].verb and pair[1].clause == 0, enumerate(reading.concepts)
        )
    ]


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


def part(reading: Reading, first: int, last: int) -> Reading:
    """The clauses from `first` up to `last` as a reading of their own."""
    clauses = reading.clauses[first:last]
    if clauses and clauses[0].opener not in {"if", "when", "provided", "because"}:
        clauses = (replace(clauses[0], opener=""), *clauses[1:])
    return replace(
        reading,
        clauses=clauses,
        concepts=tuple(
            replace(concept, clause=concept.clause - first) for concept in reading.concepts if first <= concept.clause < last
        ),
    )
